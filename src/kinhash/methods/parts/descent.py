"""`Adam`: gradient descent in NumPy, for maps too small to need more."""

from collections.abc import Sequence

import numpy as np

from kinhash.arrays import Array

FIRST, SECOND = 0.9, 0.999  # decay of the moments, as Kingma and Ba (2015) have them


class Adam:
    """Changes arrays in place, against their gradients; the rate falls to zero along a cosine.

    Args:
        parameters: Float arrays.
        learning_rate: At the start.
        n_steps: When it is zero.
    """

    def __init__(self, parameters: Sequence[Array], learning_rate: float, n_steps: int) -> None:
        self._parameters = parameters
        self._moments = [(np.zeros_like(p), np.zeros_like(p)) for p in parameters]
        self._learning_rate, self._n_steps, self._done = learning_rate, n_steps, 0

    def step(self, gradients: Sequence[Array]) -> None:
        """Take one step."""
        self._done += 1
        t = self._done
        rate = self._learning_rate * (1 + np.cos(np.pi * t / self._n_steps)) / 2
        for parameter, gradient, (m, v) in zip(
            self._parameters, gradients, self._moments, strict=True
        ):
            m[...] = FIRST * m + (1 - FIRST) * gradient
            v[...] = SECOND * v + (1 - SECOND) * gradient * gradient
            size = np.sqrt(v / (1 - SECOND**t)) + 1e-8
            parameter[...] = parameter - rate * (m / (1 - FIRST**t)) / size
