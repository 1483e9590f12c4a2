"""`ClassRankEncoder` and its kernel kind: buckets of class words, and rank bits, of one product."""

import dataclasses

import numpy as np

from kinhash.arrays import Array
from kinhash.encoders.base import shape_of
from kinhash.encoders.class_levels import (
    ClassLevelsEncoder,
    KernelClassLevelsEncoder,
    probabilities,
    written,
)
from kinhash.encoders.vectors import unit_length


@dataclasses.dataclass(frozen=True, eq=False)
class ClassRankEncoder(ClassLevelsEncoder):
    """Codes with both parts, from V = W x + bias, `(n_classes + n_rank_bits,)`.

    The bucket holds the class probabilities of the first n_classes outputs in levels; the rank
    bits are the signs of the others.
    """

    kind = "class-rank"

    unit_rows: bool  # whether standardised rows are brought to unit length, as sparse ones are

    @property
    def n_bits(self) -> int:
        """Entries per code it gives, bucket and rank."""
        return int(self.class_codes.shape[-1]) + self.n_rank_bits

    @property
    def n_rank_bits(self) -> int:
        """How many of the entries are rank bits."""
        return max(0, len(self.W) - self._n_classes)

    @property
    def _n_classes(self) -> int:
        return int(self.class_codes.shape[1])

    def standardise(self, X: Array) -> Array:
        """Return the rows of `X` as the map sees them, float32."""
        standard = super().standardise(X)
        return unit_length(standard) if self.unit_rows else standard

    def predict(self, X: Array) -> Array:
        """Return the probability of each class, float32 `(n, n_classes)`; NaN if out of range."""
        likely: Array = self._split(X)[0]
        return likely

    def forward(self, X: Array) -> Array:
        """Return the bucket with -1 for 0, then the outputs behind the rank bits, float32."""
        likely, ranks = self._split(X)
        known = ~np.isnan(likely).any(axis=1, keepdims=True)
        bucket = 2 * written(np.where(known, likely, 0), self.class_codes).astype(np.float32) - 1
        return np.where(known, np.concatenate([bucket, ranks], axis=1), np.float32(np.nan))

    def _split(self, X: Array) -> tuple[Array, Array]:
        outputs = self._inputs(X) @ self.W.T + self.bias
        finite = np.isfinite(outputs).all(axis=1, keepdims=True)
        logits = np.where(finite, outputs[:, : self._n_classes], 0)
        likely = probabilities(logits, exclusive=self.exclusive)
        return np.where(finite, likely, np.float32(np.nan)), outputs[:, self._n_classes :]

    def _shapes(self) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
        return super()._shapes() | _rows(self.W, self.class_codes)


@dataclasses.dataclass(frozen=True, eq=False)
class KernelClassRankEncoder(ClassRankEncoder, KernelClassLevelsEncoder):
    """The same of V = W k(x) + bias, k the kernel with the anchors."""

    kind = "kernel-class-rank"

    def _shapes(self) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
        return KernelClassLevelsEncoder._shapes(self) | _rows(self.W, self.class_codes)


def _rows(
    W: Array, class_codes: Array
) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
    """Return the shapes of what has a row for each class, and then one for each rank bit."""
    n_outputs, _ = shape_of(W)
    n_levels, n_classes, n_bits = class_codes.shape if class_codes.ndim == 3 else (0, 0, 0)
    if n_classes > n_outputs:
        n_classes = 0  # fits nothing
    return {
        "bias": (np.float32, (n_outputs,)),
        "class_codes": (np.uint8, (n_levels, n_classes, n_bits)),
    }
