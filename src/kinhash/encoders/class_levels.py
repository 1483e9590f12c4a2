"""`ClassLevelsEncoder` and its kernel kind: probabilities of classes, written in levels."""

import dataclasses

import numpy as np

from kinhash.arrays import Array
from kinhash.encoders.base import shape_of
from kinhash.encoders.blocks import BlockEncoder
from kinhash.encoders.kernel import rbf
from kinhash.errors import FormatError


def probabilities(logits: Array, *, exclusive: bool) -> Array:
    """Return the probability of each class: they sum to 1 if `exclusive`, else each is its own."""
    if not exclusive:
        each: Array = 0.5 * (1 + np.tanh(0.5 * logits))  # the logistic function, never overflowing
        return each
    likely: Array = np.exp(logits - logits.max(axis=1, keepdims=True))
    likely /= likely.sum(axis=1, keepdims=True)
    return likely


def written(likely: Array, class_codes: Array) -> Array:
    """Return the codes of rows of probabilities, int8 `(n, n_bits)`.

    A code has the bits of level l (from 1) of each class whose probability is at least
    (l - 0.5) / n_levels. Where none is, it has those of level 1 of the likeliest class.

    Args:
        likely: `(n, n_classes)` probabilities.
        class_codes: `(n_levels, n_classes, n_bits)` of 0 and 1.
    """
    n_levels, n_classes, n_bits = class_codes.shape
    thresholds = (np.arange(n_levels, dtype=np.float32) + np.float32(0.5)) / np.float32(n_levels)
    reached = likely[:, None, :] >= thresholds[:, None]  # (n, n_levels, n_classes)
    rows = np.flatnonzero(~reached[:, 0].any(axis=1))
    reached[rows, 0, likely[rows].argmax(axis=1)] = True
    flat = reached.reshape(len(likely), n_levels * n_classes).astype(np.float32)
    n_set = flat @ class_codes.reshape(-1, n_bits).astype(np.float32)  # small counts: exact
    return (n_set > 0).astype(np.int8)


@dataclasses.dataclass(frozen=True, eq=False)
class ClassLevelsEncoder(BlockEncoder):
    """Codes of class probabilities: softmax (or, for tags, logistic) of W x + bias, in levels."""

    kind = "class-levels"

    W: Array  # (n_classes, n_inputs)
    bias: Array  # (n_classes,)
    class_codes: Array  # (n_levels, n_classes, n_bits) uint8 of 0 and 1
    exclusive: bool  # whether a row has one class, or any number of tags

    @property
    def n_bits(self) -> int:
        """Entries per code it gives."""
        return int(self.class_codes.shape[-1])

    def _inputs(self, standard: Array) -> Array:
        """Return what the linear map takes, `(n, n_inputs)`, of standardised rows."""
        return standard

    def predict(self, X: Array) -> Array:
        """Return the probability of each class, float32 `(n, n_classes)`; NaN if out of range."""
        return self._predicted(self.standardise(X))

    def _predicted(self, standard: Array) -> Array:
        logits = self._inputs(standard) @ self.W.T + self.bias
        finite = np.isfinite(logits).all(axis=1, keepdims=True)
        likely = probabilities(np.where(finite, logits, 0), exclusive=self.exclusive)
        return np.where(finite, likely, np.float32(np.nan))

    def _outputs(self, standard: Array) -> Array:
        """Return the codes with -1 for 0, float32 `(n, n_bits)`; NaN if out of range."""
        likely = self._predicted(standard)
        known = ~np.isnan(likely).any(axis=1, keepdims=True)
        codes = written(np.where(known, likely, 0), self.class_codes)
        return np.where(known, 2 * codes.astype(np.float32) - 1, np.float32(np.nan))

    def _check(self) -> None:
        super()._check()
        if self.class_codes.max() > 1:
            raise FormatError("`class_codes` of the encoder must hold only 0 and 1.")

    def _shapes(self) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
        n_classes, n_inputs = shape_of(self.W)
        n_levels, _, n_bits = self.class_codes.shape if self.class_codes.ndim == 3 else (0, 0, 0)
        return {
            "mean": (np.float32, (n_inputs,)),
            "scale": (np.float32, (n_inputs,)),
            "W": (np.float32, (n_classes, n_inputs)),
            "bias": (np.float32, (n_classes,)),
            "class_codes": (np.uint8, (n_levels, n_classes, n_bits)),
        }


@dataclasses.dataclass(frozen=True, eq=False)
class KernelClassLevelsEncoder(ClassLevelsEncoder):
    """The same of W k(x) + bias, k the kernel with the anchors."""

    kind = "kernel-class-levels"

    anchors: Array  # (n_anchors, n_features), standardised
    gamma: float

    def _inputs(self, standard: Array) -> Array:
        return rbf(standard, self.anchors, self.gamma)

    def _shapes(self) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
        n_anchors, n_features = shape_of(self.anchors)
        return super()._shapes() | {
            "mean": (np.float32, (n_features,)),
            "scale": (np.float32, (n_features,)),
            "anchors": (np.float32, (n_anchors, n_features)),
            "W": (np.float32, (len(self.W), n_anchors)),
        }
