"""`GaussianUnits`: a fixed layer, above which a linear one learns in the space of a kernel."""

from typing import Any

import numpy as np
import numpy.typing as npt

from kinhash.encoders import as_float32
from kinhash.encoders.kernel import rbf

Array = npt.NDArray[Any]

SMALLEST = 1e-3  # added to the eigenvalues of the kernel: below it there is only rounding


class GaussianUnits:
    """A fixed layer whose outputs have the inner products of a Gaussian kernel, nearly.

    Args:
        centres: `(n_outputs, n_features)`, standardised.
        gamma: The kernel is exp(-gamma ||x - c||^2).
    """

    def __init__(self, centres: Array, gamma: float) -> None:
        self.centres, self.gamma = centres, float(gamma)
        K = rbf(centres.astype(np.float64), centres, self.gamma)
        values, vectors = np.linalg.eigh(K)
        # K^(-1/2): rows at the centres then have exactly their kernel as inner products.
        self.whitening = (vectors / np.sqrt(np.maximum(values, 0) + SMALLEST)) @ vectors.T
        # All kernel values are positive: without their mean, all bits would start as ones.
        self.mean = K.mean(axis=0) @ self.whitening

    @property
    def n_outputs(self) -> int:
        """How many outputs it has."""
        return len(self.centres)

    def __call__(self, X: Array) -> Array:
        """Return the outputs for standardised vectors, float32 `(n, n_outputs)`."""
        outputs: Array = rbf(X, self.centres, self.gamma) @ self.whitening.astype(np.float32)
        outputs -= self.mean.astype(np.float32)
        return outputs


def units_at_rows(
    X: Array, mean: Array, scale: Array, n_units: int, *, gamma: float, seed: int
) -> GaussianUnits:
    """Return units at random rows of `X`, at all of them if there are fewer.

    Args:
        X: The training vectors.
        mean: What is taken from them.
        scale: What they are multiplied by then.
        n_units: How many.
        gamma: Sharpness: the kernel's width is the mean squared distance of two rows, over this.
        seed: Draws the rows.
    """
    rows = np.random.default_rng(seed).permutation(len(X))[:n_units]
    centres = (as_float32(X[np.sort(rows)]) - mean) * scale
    # The variances of standardised columns are 1, and two rows differ by twice their sum.
    return GaussianUnits(centres, gamma / (2 * np.sum(scale > 0)))
