"""`CMSSH`: cross-modal similarity-sensitive hashing, boosted over pairs."""

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from kinhash.arguments import check_integer, check_number
from kinhash.arrays import Array
from kinhash.codes import MAX_BITS
from kinhash.encoders import LinearEncoder, as_float32
from kinhash.methods.modalities.modality import Modality
from kinhash.methods.modalities.model import AnyLabels, AnyPairs, MultimodalMethod, two_modalities
from kinhash.methods.parts.boosting import balanced, draw_pairs, reweighted
from kinhash.methods.supervision.views import view_source
from kinhash.progress import Report, progress_bar, silent
from kinhash.vocabulary import N_WORDS

Matrix = Any  # a dense array or a sparse csr_array

MIN_CORRELATION = 1e-6  # a bit that agrees no better than by chance teaches nothing
MAX_TRIES = 5  # directions looked at before a bit by chance is taken
SMALL = 64  # up to so many columns, all singular vectors come sooner than the first one alone


class WeightedPairs(NamedTuple):
    """Pairs across two modalities."""

    left: Array  # (n_pairs,) rows of the one
    right: Array  # (n_pairs,) rows of the other
    weights: Array  # (n_pairs,) positive for similar pairs, negative for dissimilar ones


class Boosted(NamedTuple):
    """What `boost` learns: bit b is set where P[b] x + a[b], or Q[b] y + b[b], is positive."""

    P: Array  # (n_bits, d1), float32
    a: Array  # (n_bits,), float32
    Q: Array  # (n_bits, d2), float32
    b: Array  # (n_bits,), float32
    history: list[dict[str, float]]


class _Bit(NamedTuple):
    """One bit of both modalities, how well it agrees with the pairs, and for which it is equal."""

    p: Array
    a: float
    q: Array
    b: float
    r: float
    same: Array  # (n_pairs,) bool


class CMSSH(MultimodalMethod):
    """Learns dense codes for two modalities, one bit after the other.

    Bronstein et al., *Data fusion through cross-modality metric learning using
    similarity-sensitive hashing* (2010): see `boost`.

    Vectors are standardised and brought to unit length first. `learning_rate` is not the paper's,
    whose steps are AdaBoost's (`learning_rate=1`): half of them did better on held-out parts of
    the training rows of two data sets.

    Args:
        n_bits: Length of the codes, 1 to 4,096.
        n_pairs: Pairs of each kind, similar and dissimilar, to draw from the labels.
        n_thresholds: Thresholds per bit and modality to choose from.
        learning_rate: Share of AdaBoost's step to take, in (0, 1].
        n_words: Words of the vocabulary of a modality that is given as texts.
        n_neighbors: Without labels or pairs, an item is similar to this many nearest items.
        seed: Draws the pairs.
        verbose: Show a progress bar on a terminal.

    Attributes:
        history_: For each bit its `correlation`, `alpha`, `error` and `bound`: see `boost`.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> model = CMSSH(n_bits=16).fit({"upper": X[:, 1:32], "lower": X[:, 40:]}, y)
        >>> model.encode(X[:3, 40:], modality="lower").n_bits
        16
    """

    name = "cmssh"

    def __init__(
        self,
        n_bits: int = 64,
        *,
        n_pairs: int = 50_000,
        n_thresholds: int = 31,
        learning_rate: float = 0.5,
        n_words: int = N_WORDS,
        n_neighbors: int = 10,
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        self.n_bits = n_bits
        self.n_pairs = n_pairs
        self.n_thresholds = n_thresholds
        self.learning_rate = learning_rate
        self.n_words = n_words
        self.n_neighbors = n_neighbors
        self.seed = seed
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_integer("n_bits", self.n_bits, 1, MAX_BITS)
        check_integer("n_pairs", self.n_pairs, 1)
        check_integer("n_thresholds", self.n_thresholds, 1)
        check_number("learning_rate", self.learning_rate, 0, 1, open_low=True)
        check_integer("n_words", self.n_words, 1)
        check_integer("n_neighbors", self.n_neighbors, 1)
        check_integer("seed", self.seed, 0)

    def _learn(self, modalities: dict[str, Modality], y: AnyLabels, pairs: AnyPairs) -> None:
        x, t = two_modalities(self.name, modalities)
        rng = np.random.default_rng(self.seed)
        source = view_source(modalities, y, pairs, n_neighbors=self.n_neighbors, seed=self.seed)
        across = dataclasses.replace(source, across_only=True)
        left, right, similar = draw_pairs(across, self.n_pairs, rng)
        with progress_bar(f"CMSSH, {self.n_bits} bits", shown=self.verbose) as report:
            found = boost(
                x.unit_rows(),
                t.unit_rows(),
                left,
                right - x.n_rows,
                similar,
                n_bits=self.n_bits,
                n_thresholds=self.n_thresholds,
                learning_rate=self.learning_rate,
                rng=rng,
                report=report,
            )
        self.history_ = found.history
        self.encoders_ = {
            x.name: LinearEncoder(x.mean, x.scale, found.P, bias=found.a),
            t.name: LinearEncoder(t.mean, t.scale, found.Q, bias=found.b),
        }


def boost(
    X: Matrix,
    Y: Matrix,
    left: Array,
    right: Array,
    similar: Array,
    *,
    n_bits: int,
    n_thresholds: int,
    learning_rate: float = 1.0,
    rng: np.random.Generator,
    report: Report = silent,
) -> Boosted:
    """Learn bits of two modalities one after the other, each on the pairs got wrong so far.

    Bronstein et al., *Data fusion through cross-modality metric learning using
    similarity-sensitive hashing* (2010): AdaBoost over pairs (x_k, y_k) of known similarity
    s_k = +-1. A weak classifier of pairs is a bit of each modality: the product of
    sign(p x + a) and sign(q y + b). Its correlation with the similarities,

        r = sum_k w_k s_k sign(p x_k + a) sign(q y_k + b),

    is maximised in two steps. Without the signs it is p' C q, with C = sum_k w_k s_k x_k y_k' of
    centred vectors, so p and q are the leading singular vectors of C. Then a and b are the best of
    all combinations of `n_thresholds` quantiles of p x and of q y. Weights are multiplied by
    exp(-alpha s_k c_k), c_k = +-1 the classifier's answer and alpha = log((1 + r) / (1 - r)) / 2
    times the learning rate, and normalised. Similar and dissimilar pairs start with half of the
    weight each.

    Adding a vector to all rows changes nothing but a and b: C is centred at the weighted mean of
    the pairs. Sparse rows therefore stay sparse. Where p and q agree with the pairs no better than
    by chance, the next singular vectors are looked at, then random ones.

    Args:
        X: `(n, d1)` rows of one modality, a float32 array or a sparse csr_array.
        Y: `(m, d2)` rows of the other one, of either kind.
        left: A row of `X` for each pair.
        right: A row of `Y` for each pair.
        similar: Booleans, one per pair; there are pairs of both kinds.
        n_bits: Bits to learn.
        n_thresholds: Thresholds per modality to choose from, at least 1.
        learning_rate: Share of AdaBoost's step to take, in (0, 1]. Where the later bits would chase
            the noise of the training pairs, less does better.
        rng: Draws the first vectors of the search for p and q, and random ones.
        report: Told after each bit.

    Returns:
        The bits. `history` has for each one its `correlation` r, `alpha`, the weighted `error`
        (1 - r) / 2, and `bound`: no more than this share of the initial weight is on pairs that
        the sum of all bits so far, weighted by alpha, gets wrong.
    """
    rows, left = np.unique(left, return_inverse=True)
    X = X[rows]
    rows, right = np.unique(right, return_inverse=True)
    Y = Y[rows]
    pairs = WeightedPairs(left, right, balanced(similar))
    bits: list[_Bit] = []
    history: list[dict[str, float]] = []
    bound = 1.0
    for step in range(1, n_bits + 1):
        bit = _next_bit(X, Y, pairs, n_thresholds, rng)
        weights, alpha, total = reweighted(pairs.weights, bit.same, bit.r, learning_rate)
        pairs = pairs._replace(weights=weights)
        bound *= total
        bits.append(bit)
        history.append(
            {
                "step": step,
                "correlation": bit.r,
                "alpha": alpha,
                "error": (1 - bit.r) / 2,
                "bound": bound,
            }
        )
        report(step, n_bits, f"correlation {bit.r:.3f}")
    P, a, Q, b = (np.array([bit[field] for bit in bits], np.float32) for field in range(4))
    return Boosted(P, a, Q, b, history)


def _next_bit(
    X: Matrix, Y: Matrix, pairs: WeightedPairs, n_thresholds: int, rng: np.random.Generator
) -> _Bit:
    """Return the first of a few bits that agrees with the pairs better than by chance."""
    for p, q in _directions(moments(X, Y, pairs), rng):
        z, t = X @ p, Y @ q
        a, b, r = best_thresholds(z, t, pairs, n_thresholds)
        # Where a bit of X opposes that of Y, the opposite of the one agrees with the other.
        sign = -1 if r < 0 else 1
        same = (z > a)[pairs.left] == (sign * t > sign * b)[pairs.right]
        r = float(pairs.weights @ np.where(same, 1, -1))
        bit = _Bit(p, -a, sign * q, -sign * b, r, same)
        if r > MIN_CORRELATION:
            break
    return bit


def _directions(C: Array, rng: np.random.Generator) -> Iterator[tuple[Array, Array]]:
    """Give the leading singular vectors of `C`, as float32; then the next ones; then random ones.

    Of the two signs of a pair of vectors, the one is given that makes p's largest entry positive.
    """
    smallest = np.finfo(np.float32).eps * np.linalg.norm(C)
    for _ in range(MAX_TRIES):
        p, size, q = leading(C, rng)
        if not size > smallest:
            break
        sign = np.sign(p[np.abs(p).argmax()])
        yield as_float32(sign * p), as_float32(sign * q)
        C = C - size * np.outer(p, q)
    p, q = (as_float32(rng.standard_normal((n,))) for n in C.shape)
    yield p / np.linalg.norm(p), q / np.linalg.norm(q)


def moments(X: Matrix, Y: Matrix, pairs: WeightedPairs) -> Array:
    """Return C = sum_k w_k (x_k - x)(y_k - y)', x and y the means of the pairs weighted by |w_k|.

    Args:
        X: `(n, d1)` rows, dense or sparse.
        Y: `(m, d2)` rows.
        pairs: Rows of both, and w.
    """
    left, right, weights = pairs
    n, m = X.shape[0], Y.shape[0]
    # By rows, not pair by pair: rows are in many pairs.
    M: Matrix = scipy.sparse.coo_array((weights, (left, right)), shape=(n, m)).tocsr()
    M = M.astype(np.float32)
    sparse = scipy.sparse.issparse(X), scipy.sparse.issparse(Y)
    # If one side is sparse, the other meets M first: M times a sparse side is not so sparse.
    C: Matrix = (Y.T @ (M.T @ X)).T if sparse == (False, True) else X.T @ (M @ Y)
    if all(sparse):
        C = C.toarray()
    # Per pair, its weight and its share of all weights; summed over the pairs of each row.
    both = weights, np.abs(weights) / np.abs(weights).sum()
    sum_x, mean_x = (X.T @ np.stack([np.bincount(left, w, n) for w in both], 1).astype(X.dtype)).T
    sum_y, mean_y = (Y.T @ np.stack([np.bincount(right, w, m) for w in both], 1).astype(Y.dtype)).T
    rest = mean_x * weights.sum() - sum_x
    centred: Array = C - np.outer(mean_x, sum_y) + np.outer(rest, mean_y)
    return centred


def leading(C: Array, rng: np.random.Generator) -> tuple[Array, float, Array]:
    """Return the leading left singular vector of `C`, its singular value, and the right vector."""
    if min(C.shape) > SMALL and np.any(C):
        start = rng.standard_normal(min(C.shape))
        try:
            U, sizes, Vt = scipy.sparse.linalg.svds(C, k=1, v0=start)
            return U[:, 0], float(sizes[0]), Vt[0]
        except scipy.sparse.linalg.ArpackNoConvergence:  # values too near to one another
            pass
    U, sizes, Vt = scipy.linalg.svd(C, full_matrices=False)
    return U[:, 0], float(sizes[0]), Vt[0]


def best_thresholds(
    z: Array, t: Array, pairs: WeightedPairs, n_thresholds: int
) -> tuple[float, float, float]:
    """Return the two thresholds that agree best with similarity, and how well they do.

    Maximises |r|, r the sum of weights over pairs whose values are both above or both below their
    thresholds, minus the sum over the others. Tries every combination at once: r follows from the
    weights below one threshold, below the other, and below both.

    Args:
        z: Projected rows of one modality.
        t: Projected rows of the other one.
        pairs: Entries of both, and their weights.
        n_thresholds: Thresholds of each modality.
    """
    a, b = quantiles(z, n_thresholds), quantiles(t, n_thresholds)
    shape = len(a) + 1, len(b) + 1
    cell = np.searchsorted(a, z)[pairs.left] * shape[1] + np.searchsorted(b, t)[pairs.right]
    table = np.bincount(cell, pairs.weights, shape[0] * shape[1]).reshape(shape)
    below = table.cumsum(axis=0).cumsum(axis=1)
    # With u, v = 1 for values below and 0 above, the signs' product is (1 - 2 u)(1 - 2 v).
    r = below[-1, -1] - 2 * below[:-1, -1:] - 2 * below[-1:, :-1] + 4 * below[:-1, :-1]
    at = np.unravel_index(np.abs(r).argmax(), r.shape)
    return float(a[at[0]]), float(b[at[1]]), float(r[at])


def quantiles(values: Array, n: int) -> Array:
    """Return at most `n` different thresholds, ascending, that cut the values into equal shares.

    Each lies half-way between two different values. Where many are equal, there are fewer
    thresholds; where all are, it is that value.
    """
    ordered = np.sort(values)
    ranks = len(ordered) * np.arange(1, n + 1) // (n + 1)
    after = np.searchsorted(ordered, ordered[np.maximum(ranks, 1) - 1], side="right")
    after = np.unique(after[after < len(ordered)])
    if not len(after):
        after = np.searchsorted(ordered, ordered[-1:])  # the last value against all others
    if not after[0]:
        return ordered[:1]
    found: Array = ordered[after - 1] + (ordered[after] - ordered[after - 1]) / 2
    return found
