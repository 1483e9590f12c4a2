"""What goes into the networks: rows as a network sees them, of one modality or of several."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from kinhash.arrays import Array, Matrix
from kinhash.encoders import CHUNK_ROWS, as_float32, is_sparse, unit_length

# Standardised inputs up to this size are kept in memory; larger ones are read batch by batch.
RESIDENT_BYTES = 128 * 2**20


class Lift(Protocol):
    """A fixed first layer of the network."""

    @property
    def n_outputs(self) -> int:
        """How many outputs it has."""
        ...

    def __call__(self, X: Array) -> Array:
        """Return its outputs for standardised vectors, float32."""
        ...


class Inputs:
    """Rows of `X` as the network sees them, on the device: standardised, of unit length or lifted.

    Args:
        X: The training vectors; of a sparse matrix, only the rows of a batch are ever dense.
        mean: What is taken from them.
        scale: What they are multiplied by then.
        device: Where torch trains.
        lift: From standardised vectors to `n_outputs` inputs of the network, instead of unit
            length.
    """

    def __init__(
        self,
        X: Matrix,
        mean: Array,
        scale: Array,
        device: str,
        lift: Lift | None = None,
    ) -> None:
        self._X, self._mean, self._scale, self._device = X, mean, scale, device
        self._view = unit_length if lift is None else lift
        self._resident: Tensor | None = None
        width = X.shape[1] if lift is None else lift.n_outputs
        if X.shape[0] * width * 4 > RESIDENT_BYTES:
            return
        if not is_sparse(X):
            self._resident = self._standardised(np.arange(len(X)))
        elif lift is not None:  # its outputs are dense, and cost more than a batch of sparse rows
            starts = range(0, X.shape[0], CHUNK_ROWS)
            rows = [np.arange(low, min(low + CHUNK_ROWS, X.shape[0])) for low in starts]
            self._resident = torch.cat([self._standardised(some) for some in rows])

    def _standardised(self, rows: Array) -> Tensor:
        chosen: Any = self._X[rows]
        if is_sparse(chosen):
            chosen = chosen.toarray()
        chunk = self._view((as_float32(chosen) - self._mean) * self._scale)
        return torch.from_numpy(chunk).to(self._device)

    def __getitem__(self, rows: Array) -> Tensor:
        """Return the given rows, `(b, n_features)`."""
        if self._resident is None:
            return self._standardised(rows)
        return self._resident[torch.from_numpy(rows).to(self._device)]


class MultimodalInputs:
    """Views by their numbers in `pairs.Views`, as each modality's network sees them.

    Args:
        inputs: Those of each modality.
        starts: Where each modality's views begin.
    """

    def __init__(self, inputs: Sequence[Inputs], starts: Array) -> None:
        self._inputs, self._starts = tuple(inputs), starts

    def __getitem__(self, views: Array) -> list[Tensor]:
        """Return the given views (ascending) of each modality."""
        ends = np.searchsorted(views, self._starts)
        return [
            inputs[views[low:high] - first]
            for inputs, first, low, high in zip(
                self._inputs, self._starts, ends, ends[1:], strict=False
            )
        ]
