"""`ClassEncoder`: the code of the class that a support vector machine predicts."""

import dataclasses
import functools
from typing import Any

import numpy as np

from kinhash.arrays import Array
from kinhash.encoders.base import shape_of
from kinhash.encoders.blocks import BlockEncoder
from kinhash.encoders.kernel import rbf
from kinhash.errors import FormatError


@dataclasses.dataclass(frozen=True, eq=False)
class ClassEncoder(BlockEncoder):
    """One code per class; the class wins most of the one-against-one votes of an RBF machine.

    Decides in float64, as the library that trained it did, so that both predict the same.
    """

    kind = "class"

    support: Array  # (n_support, n_features) support vectors, standardised, grouped by class
    coefficients: Array  # (n_classes - 1, n_support) float64, in the order of LIBSVM
    intercepts: Array  # (n_classes * (n_classes - 1) / 2,) float64: classes 0-1, 0-2, ..., 1-2, ...
    n_support: Array  # (n_classes,) int64
    class_codes: Array  # (n_classes, n_bits) uint8 of 0 and 1
    gamma: float

    @property
    def n_bits(self) -> int:
        """Entries per code it gives."""
        return int(self.class_codes.shape[1])

    @functools.cached_property
    def _support(self) -> Array:
        return self.support.astype(np.float64)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_support"}

    def predict(self, X: Array) -> Array:
        """Return the number of the predicted class of each row, int64 `(n,)`."""
        return self._predicted(self.standardise(X))

    def _predicted(self, standard: Array) -> Array:
        kernel = rbf(standard.astype(np.float64), self._support, self.gamma)
        n_classes = len(self.n_support)
        ends = np.cumsum(self.n_support)
        # What the support vectors of class c say in its duel with each other class.
        said = [
            kernel[:, end - n : end] @ self.coefficients[:, end - n : end].T
            for n, end in zip(self.n_support, ends, strict=True)
        ]
        votes = np.zeros((len(standard), n_classes), np.int64)
        duels = zip(*np.triu_indices(n_classes, 1), self.intercepts, strict=True)
        for i, j, intercept in duels:
            first_wins = said[i][:, j - 1] + said[j][:, i] + intercept > 0
            votes[:, i] += first_wins
            votes[:, j] += ~first_wins
        winners: Array = votes.argmax(axis=1)  # the first of equals, as in LIBSVM
        return winners

    def _outputs(self, standard: Array) -> Array:
        """Return the codes with -1 for 0, float32 `(n, n_bits)`."""
        return 2 * self.class_codes[self._predicted(standard)].astype(np.float32) - 1

    def _check(self) -> None:
        super()._check()
        n = len(self.support)
        # Each of them first: a sum of large numbers may wrap round to the right one.
        each_fits = np.all((self.n_support >= 0) & (self.n_support <= n))
        if not each_fits or self.n_support.sum() != n:
            raise FormatError(
                f"`n_support` of the encoder must be counts that sum to its {n} support vectors."
            )
        if self.class_codes.max() > 1:
            raise FormatError("`class_codes` of the encoder must hold only 0 and 1.")

    def _shapes(self) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
        n_support, n_features = shape_of(self.support)
        n_classes, n_bits = shape_of(self.class_codes)
        return {
            "mean": (np.float32, (n_features,)),
            "scale": (np.float32, (n_features,)),
            "support": (np.float32, (n_support, n_features)),
            "coefficients": (np.float64, (n_classes - 1, n_support)),
            "intercepts": (np.float64, (n_classes * (n_classes - 1) // 2,)),
            "n_support": (np.int64, (n_classes,)),
            "class_codes": (np.uint8, (n_classes, n_bits)),
        }
