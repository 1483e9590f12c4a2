"""`ClassCode`: the predicted class, written as a code."""

from typing import Self

import numpy as np
import numpy.typing as npt
from sklearn.svm import SVC

from kinhash.arguments import check_integer, check_number
from kinhash.arrays import Array, Labels
from kinhash.codes import MAX_BITS
from kinhash.encoders import ClassEncoder, as_float32
from kinhash.errors import InvalidInputError
from kinhash.methods.model import HashMethod
from kinhash.methods.standardisation import check_varies, standardisation
from kinhash.methods.supervision.rows import label_source
from kinhash.pairs import LabelSource

N_CANDIDATES = 4096  # random codes that class codes are chosen from, when bits are few


class ClassCode(HashMethod):
    """Gives every item the code of its predicted class: the control for supervised hashing.

    Sablayrolles et al., *How should we evaluate supervised hashing?* (ICASSP 2017), retrieval
    through class labels: a classifier's answer, stored in place of a code, does as well as learned
    codes when a match means the same class. Here a support vector machine with an RBF kernel on
    standardised vectors answers. It tells nothing about items within a class, or about classes it
    was not shown.

    Each class has n_bits // n_classes bits of its own, so different classes are twice that apart.
    With fewer bits than classes, class codes are chosen one by one, each far from those before.

    The paper does not say which parameters: `C` and `gamma` here suited held-out parts of
    CIFAR-10's training rows.

    Args:
        n_bits: Length of the codes, 1 to 4,096.
        C: How much a training error costs.
        gamma: Of the kernel exp(-gamma ||x - y||^2 / n_features).
        seed: Chooses which bits each class gets.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> model = ClassCode(n_bits=20).fit(X[:1000], y[:1000])
        >>> model.encode(X).n_unique
        10
    """

    name = "classcode"

    def __init__(
        self, n_bits: int = 64, *, C: float = 3.0, gamma: float = 1.0, seed: int = 0
    ) -> None:
        self.n_bits = n_bits
        self.C = C
        self.gamma = gamma
        self.seed = seed

    def fit(self, X: npt.ArrayLike, y: Labels | None = None) -> Self:
        """Learn from vectors and their classes; returns self.

        Args:
            X: `(n, n_features)` numbers.
            y: `(n,)` class labels, of two to 2^n_bits classes.

        Raises:
            InvalidInputError: A parameter, the vectors or the labels cannot be used.
        """
        with self._unchanged_on_failure():
            self._fit(X, y)
        return self

    def _fit(self, X: npt.ArrayLike, y: Labels | None) -> None:
        check_integer("n_bits", self.n_bits, 1, MAX_BITS)
        check_number("C", self.C, 0, open_low=True)
        check_number("gamma", self.gamma, 0, open_low=True)
        check_integer("seed", self.seed, 0)
        vectors = self._checked(X, reset=True)
        source = label_source("ClassCode", y, len(vectors))
        if not isinstance(source, LabelSource):
            raise InvalidInputError(
                f"`y` must be one class per row for ClassCode, got a matrix of "
                f"{source.tags.shape[1]} tags. Use SparseHash or KSH for tags."
            )
        labels = source.labels
        codes = class_codes(int(labels.max()) + 1, self.n_bits, np.random.default_rng(self.seed))
        mean, scale, constant = standardisation(vectors)
        check_varies(constant)
        standard = (as_float32(vectors) - mean) * scale
        gamma = self.gamma / vectors.shape[1]
        machine = SVC(C=self.C, gamma=gamma, cache_size=500).fit(standard, labels)
        # For two classes scikit-learn turns LIBSVM's signs around, so that class 1 is positive.
        sign = -1.0 if len(codes) == 2 else 1.0
        self.encoder_ = ClassEncoder(
            mean,
            scale,
            support=machine.support_vectors_.astype(np.float32),
            coefficients=sign * machine.dual_coef_,
            intercepts=sign * machine.intercept_,
            n_support=machine.n_support_.astype(np.int64),
            class_codes=codes,
            gamma=gamma,
        )
        self.history_ = []


def class_codes(n_classes: int, n_bits: int, rng: np.random.Generator) -> Array:
    """Return one different code per class, uint8 `(n_classes, n_bits)`.

    Raises:
        InvalidInputError: There are more classes than codes.
    """
    if n_bits >= n_classes:
        bits = rng.permutation(n_bits)[: n_bits // n_classes * n_classes]
        codes = np.zeros((n_classes, n_bits), np.uint8)
        np.put_along_axis(codes, bits.reshape(n_classes, -1), 1, axis=1)
        return codes
    if n_classes > 2**n_bits:
        raise InvalidInputError(
            f"`n_bits` must be at least {(n_classes - 1).bit_length()} to tell {n_classes} "
            f"classes apart, got {n_bits}."
        )
    return _far_apart(_candidates(max(N_CANDIDATES, 4 * n_classes), n_bits, rng), n_classes)


def _candidates(n: int, n_bits: int, rng: np.random.Generator) -> Array:
    """Return about `n` different random codes; every code there is, if those are fewer."""
    if 2**n_bits <= n:
        every = np.arange(2**n_bits)[:, None] >> np.arange(n_bits) & 1
        return rng.permutation(every).astype(np.uint8)
    return rng.permutation(np.unique(rng.integers(0, 2, (n, n_bits), np.uint8), axis=0))


def _far_apart(codes: Array, n: int) -> Array:
    """Return the first code, then n - 1 times the one farthest from those so far."""
    chosen = [0]
    nearest = (codes != codes[0]).sum(axis=1)
    while len(chosen) < n:
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, (codes != codes[chosen[-1]]).sum(axis=1))
    return codes[chosen]
