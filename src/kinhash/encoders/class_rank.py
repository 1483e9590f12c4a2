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
from kinhash.encoders.kernel import rbf
from kinhash.encoders.vectors import unit_length
from kinhash.errors import FormatError


@dataclasses.dataclass(frozen=True, eq=False)
class ClassRankEncoder(ClassLevelsEncoder):
    """Codes with both parts, from V = W x + bias, `(n_classes + n_rank_bits,)`.

    The bucket holds, in levels, the class probabilities: softmax (or, for tags, logistic) of the
    first n_classes outputs over `temperature`. The rank bits are the signs of the other outputs
    plus G sqrt(p), p the probabilities at temperature 1.
    """

    kind = "class-rank"
    _may_be_empty = frozenset({"G"})

    G: Array  # (n_rank_bits, n_classes)
    temperature: float
    unit_rows: bool  # whether standardised rows are brought to unit length, as sparse ones are

    @property
    def n_bits(self) -> int:
        """Entries per code it gives, bucket and rank."""
        return int(self.class_codes.shape[-1]) + self.n_rank_bits

    @property
    def n_rank_bits(self) -> int:
        """How many of the entries are rank bits."""
        return int(self.G.shape[0])

    def _inputs(self, standard: Array) -> Array:
        return unit_length(standard) if self.unit_rows else standard

    def _predicted(self, standard: Array) -> Array:
        return self._split(standard)[0]

    def _outputs(self, standard: Array) -> Array:
        """Return the bucket with -1 for 0, then the outputs behind the rank bits, float32."""
        likely, ranks = self._split(standard)
        known = ~np.isnan(likely).any(axis=1, keepdims=True)
        bucket = 2 * written(np.where(known, likely, 0), self.class_codes).astype(np.float32) - 1
        return np.where(known, np.concatenate([bucket, ranks], axis=1), np.float32(np.nan))

    def _split(self, standard: Array) -> tuple[Array, Array]:
        """Return the sharpened probabilities, and what the signs of are rank bits."""
        n_classes = self.class_codes.shape[1]
        outputs = self._inputs(standard) @ self.W.T + self.bias
        finite = np.isfinite(outputs).all(axis=1, keepdims=True)
        logits = np.where(finite, outputs[:, :n_classes], 0)
        sharp = probabilities(logits / np.float32(self.temperature), exclusive=self.exclusive)
        likely = probabilities(logits, exclusive=self.exclusive)
        ranks = outputs[:, n_classes:] + np.sqrt(likely) @ self.G.T
        return np.where(finite, sharp, np.float32(np.nan)), ranks

    def _check(self) -> None:
        if not self.class_codes.size:
            raise FormatError(
                "`class_codes` of the encoder must have a level, a class and a bit at least, the "
                f"file has shape {self.class_codes.shape}."
            )
        super()._check()

    def _shapes(self) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
        return super()._shapes() | _rows(self.G, self.class_codes, shape_of(self.W)[1])


@dataclasses.dataclass(frozen=True, eq=False)
class KernelClassRankEncoder(ClassRankEncoder, KernelClassLevelsEncoder):
    """The same of V = W k(x) + bias, k the kernel with the anchors."""

    kind = "kernel-class-rank"

    def _inputs(self, standard: Array) -> Array:
        return rbf(super()._inputs(standard), self.anchors, self.gamma)

    def _shapes(self) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
        n_anchors, _ = shape_of(self.anchors)
        return super()._shapes() | _rows(self.G, self.class_codes, n_anchors)


def _rows(
    G: Array, class_codes: Array, n_inputs: int
) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
    """Return the shapes of what has a row for each class, and then one for each rank bit."""
    n_rank_bits = G.shape[0] if G.ndim == 2 else 0
    n_levels, n_classes, n_bits = class_codes.shape if class_codes.ndim == 3 else (0, 0, 0)
    return {
        "W": (np.float32, (n_classes + n_rank_bits, n_inputs)),
        "bias": (np.float32, (n_classes + n_rank_bits,)),
        "class_codes": (np.uint8, (n_levels, n_classes, n_bits)),
        "G": (np.float32, (n_rank_bits, n_classes)),
    }
