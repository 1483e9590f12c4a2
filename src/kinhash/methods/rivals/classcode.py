"""`ClassCode`: the predicted class, or the probabilities of classes, written as a code."""

import math
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
from kinhash.methods.parts.class_probabilities import fit_class_probabilities
from kinhash.methods.parts.class_words import dense_words, sparse_words
from kinhash.methods.parts.sharpening import NEAR, best_temperature
from kinhash.methods.standardisation import check_varies, standardisation
from kinhash.methods.supervision.rows import label_source, membership
from kinhash.pairs import LabelSource

WORD_BITS = (2, 4, 6, 8)  # active bits of class codes that share bits: the codes stay sparse


class ClassCode(HashMethod):
    """Gives every item the code of its predicted class: the control for supervised hashing.

    Sablayrolles et al., *How should we evaluate supervised hashing?* (ICASSP 2017), retrieval
    through class labels: a classifier's answer, stored in place of a code, does as well as learned
    codes when a match means the same class. Here a support vector machine with an RBF kernel on
    standardised vectors answers. It tells nothing about items within a class, or about classes it
    was not shown.

    Each class has n_bits // n_classes bits of its own, so different classes are twice that apart.
    Where that is less than two, classes have words of up to 8 active bits, chosen one by one, each
    far from those before.

    With `levels`, the code says how likely each class is: ridge regression, over Gaussian units
    or the plain vectors, calibrated on rows left out, gives probabilities, which are sharpened,
    p^(1 / temperature) scaled to sum 1, and written as a thermometer. Level l of a class is set
    when its probability is at least (l - 0.5) / levels, and has n_bits // (levels * n_classes) bits
    of its own. Where that is none, the code is the union of the words of all classes that reach the
    first level. An item always has the first level of its likeliest class. Tags are written that
    way with any number of levels, each with a probability of its own.

    The paper does not say which parameters: `C` and `gamma` here suited held-out parts of
    CIFAR-10's training rows.

    Args:
        n_bits: Length of the codes, 1 to 4,096.
        C: How much a training error costs the support vector machine.
        gamma: Of the machine's kernel, exp(-gamma ||x - y||^2 / n_features); units have half of it.
        levels: How finely the probability of a class is written; 1 writes the class alone.
        temperature: Below 1, probabilities get nearer to 0 and 1, and codes coarser. If left at
            None, it has the best mean of F1 at r = 0 and F1 at r <= 2 when training rows, coded by
            regressions that did not see them, are searched with one another.
        seed: Chooses which bits each class gets, and the Gaussian units.

    Attributes:
        history_: With `levels` or tags, what was chosen: `penalty`, `temperature`, whether there
            are `gaussian_units`, and the `left_out_loss`.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> model = ClassCode(n_bits=20).fit(X[:1000], y[:1000])
        >>> model.encode(X).n_unique
        10
    """

    name = "classcode"

    def __init__(
        self,
        n_bits: int = 64,
        *,
        C: float = 3.0,
        gamma: float = 1.0,
        levels: int = 1,
        temperature: float | None = None,
        seed: int = 0,
    ) -> None:
        self.n_bits = n_bits
        self.C = C
        self.gamma = gamma
        self.levels = levels
        self.temperature = temperature
        self.seed = seed

    def fit(self, X: npt.ArrayLike, y: Labels | None = None) -> Self:
        """Learn from vectors and their classes; returns self.

        Args:
            X: `(n, n_features)` numbers.
            y: `(n,)` class labels, of two to 2^n_bits classes; or an `(n, n_tags)` 0/1 matrix.

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
        check_integer("levels", self.levels, 1, MAX_BITS)
        if self.temperature is not None:
            check_number("temperature", self.temperature, 0.001, 1000)
        check_integer("seed", self.seed, 0)
        vectors = self._checked(X, reset=True)
        source = label_source("ClassCode", y, len(vectors))
        rng = np.random.default_rng(self.seed)
        if isinstance(source, LabelSource) and self.levels == 1:
            codes = class_codes(int(source.labels.max()) + 1, self.n_bits, rng)
            self._fit_machine(vectors, source.labels, codes)
            return
        targets = membership(source)
        codes = level_codes(self.levels, targets.shape[1], self.n_bits, rng)
        mean, scale, constant = standardisation(vectors)
        check_varies(constant)
        fitted = fit_class_probabilities(
            vectors,
            mean,
            scale,
            targets,
            exclusive=isinstance(source, LabelSource),
            gamma=self.gamma,
            seed=self.seed,
        )
        temperature = self.temperature
        if temperature is None:
            temperature = best_temperature(
                fitted.left_out_probabilities, targets[fitted.rows], codes
            )
        self.encoder_ = fitted.encoder(codes, float(temperature))
        self.history_ = [
            {
                "penalty": fitted.penalty,
                "temperature": float(temperature),
                "gaussian_units": fitted.units is not None,
                "left_out_loss": fitted.loss,
                "kept": True,
            }
        ]

    def _fit_machine(self, vectors: Array, labels: Array, codes: Array) -> None:
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

    Bits of its own for each class where each has two or more; else words of a few bits that lie
    more than `NEAR` apart, if there are such words.

    Raises:
        InvalidInputError: There are more classes than codes.
    """
    own = _own_bits((n_classes,), n_bits, rng) if n_bits >= n_classes else None
    if own is not None and n_bits // n_classes > 1:
        return own
    if n_classes > 2**n_bits:
        raise InvalidInputError(
            f"`n_bits` must be at least {(n_classes - 1).bit_length()} to tell {n_classes} "
            f"classes apart, got {n_bits}."
        )
    words = _words(n_classes, n_bits, rng)
    if words is not None:
        return words
    if own is not None:
        return own
    return dense_words(n_classes, n_bits, rng)


def level_codes(n_levels: int, n_classes: int, n_bits: int, rng: np.random.Generator) -> Array:
    """Return the bits of each level of each class, uint8 `(n_levels, n_classes, n_bits)`.

    With too few bits for that, the first level has the word of the class, and the others nothing.

    Raises:
        InvalidInputError: There are more classes than codes.
    """
    if n_levels > 1 and n_bits >= n_levels * n_classes:
        return _own_bits((n_levels, n_classes), n_bits, rng)
    codes = np.zeros((n_levels, n_classes, n_bits), np.uint8)
    codes[0] = class_codes(n_classes, n_bits, rng)
    return codes


def _own_bits(shape: tuple[int, ...], n_bits: int, rng: np.random.Generator) -> Array:
    """Return equally many random bits for each of several things, none of them shared."""
    n = int(np.prod(shape))
    bits = rng.permutation(n_bits)[: n_bits // n * n]
    codes = np.zeros((n, n_bits), np.uint8)
    np.put_along_axis(codes, bits.reshape(n, -1), 1, axis=1)
    return codes.reshape(*shape, n_bits)


def _words(n_classes: int, n_bits: int, rng: np.random.Generator) -> Array | None:
    """Return words with equally many active bits, as far apart as found; None if that is near."""
    best, apart = None, NEAR
    for n_active in WORD_BITS:
        if 2 * n_active > n_bits or math.comb(n_bits, n_active) < n_classes:
            continue
        words = sparse_words(n_classes, n_bits, n_active, rng)
        n_shared = words.astype(np.float32) @ words.T.astype(np.float32)
        np.fill_diagonal(n_shared, 0)
        least = 2 * (n_active - int(n_shared.max()))
        if least > apart:
            best, apart = words, least
    return best
