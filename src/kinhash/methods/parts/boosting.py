"""What the methods share that learn projections and thresholds from a sample of pairs."""

import itertools
import math
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy.sparse

from kinhash.arguments import check_integer, check_number
from kinhash.arrays import Array, Labels
from kinhash.codes import MAX_BITS
from kinhash.encoders import LinearEncoder, as_float32, unit_length
from kinhash.errors import InvalidInputError
from kinhash.methods.model import HashMethod
from kinhash.methods.standardisation import check_varies, standardisation
from kinhash.methods.supervision.rows import pair_source
from kinhash.pairs import Pairs, Source

# Pairs are drawn within this many random groups of rows at most, so that time and memory do not
# grow with the data.
MAX_GROUPS = 20
GROUP_ROWS = 1000
MAX_CORRELATION = 0.999  # a bit that errs nowhere would leave weights of zero


class PairwiseMethod(HashMethod):
    """Signs of learned projections. Subclasses choose projections and thresholds in `_learn`."""

    n_bits: int
    n_pairs: int
    n_neighbors: int
    threshold: float | None
    seed: int

    def _learn(self, U: Array, i: Array, j: Array, similar: Array) -> tuple[Array, Array]:
        """Return W and thresholds: bit b is set where W[b] x exceeds threshold b.

        Args:
            U: Vectors `(n, n_features)`, standardised and of unit length.
            i: One row of each pair.
            j: The other one.
            similar: Booleans, one per pair; there are pairs of both kinds.
        """
        raise NotImplementedError

    def _check_parameters(self) -> None:
        check_integer("n_bits", self.n_bits, 1, MAX_BITS)
        check_integer("n_pairs", self.n_pairs, 1)
        check_integer("n_neighbors", self.n_neighbors, 1)
        check_integer("seed", self.seed, 0)
        if self.threshold is not None:
            check_number("threshold", self.threshold, 0, open_low=True)

    def _check_size(self, n_rows: int, n_varying: int) -> None:
        """Raise InvalidInputError if that many rows and columns cannot give `n_bits` bits."""

    def fit(
        self,
        X: npt.ArrayLike,
        y: Labels | None = None,
        *,
        pairs: Pairs | None = None,
    ) -> Self:
        """Learn from vectors and what is similar among them; returns self.

        Args:
            X: `(n, n_features)` numbers; of a memory-mapped array only the drawn rows are kept.
            y: `(n,)` class labels, or an `(n, n_tags)` 0/1 matrix (similar = share a tag). Without
                `y` and `pairs`, nearby rows are similar: see `n_neighbors` and `threshold`.
            pairs: Explicit similar and dissimilar pairs of rows, instead of `y`.

        Raises:
            InvalidInputError: A parameter, the vectors or the labels cannot be used.
        """
        with self._unchanged_on_failure():
            self._fit(X, y, pairs)
        return self

    def _fit(self, X: npt.ArrayLike, y: Labels | None, pairs: Pairs | None) -> None:
        self._check_parameters()
        vectors = self._checked(X, reset=True)
        source = pair_source(
            vectors,
            y,
            pairs,
            n_neighbors=self.n_neighbors,
            threshold=self.threshold,
            seed=self.seed,
        )
        mean, scale, constant = standardisation(vectors)
        check_varies(constant)
        self._check_size(len(vectors), int(np.sum(~constant)))
        i, j, similar = draw_pairs(source, self.n_pairs, np.random.default_rng(self.seed))
        rows, at = np.unique(np.concatenate([i, j]), return_inverse=True)
        U = unit_length((as_float32(vectors[rows]) - mean) * scale)
        self.history_ = []
        W, thresholds = self._learn(U, at[: len(i)], at[len(i) :], similar)
        self.encoder_ = LinearEncoder(
            mean, scale, W.astype(np.float32), bias=-thresholds.astype(np.float32)
        )


def draw_pairs(
    source: Source, n_pairs: int, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Return two rows of each drawn pair, and whether they are similar.

    Args:
        source: What is similar.
        n_pairs: Pairs of each kind that are wanted; fewer come if there are fewer.
        rng: Draws.

    Raises:
        InvalidInputError: There are no pairs of one kind.
    """
    n_groups = min(MAX_GROUPS, source.n_batches(GROUP_ROWS))
    wanted = math.ceil(n_pairs / n_groups)
    drawn = []
    for group in itertools.islice(source.batches(rng, GROUP_ROWS), n_groups):
        rows = np.sort(group)
        similar, known = source.relate(rows)
        for kind in (True, False):
            i, j = np.nonzero(np.triu(known & (similar == kind), 1))
            chosen = rng.permutation(len(i))[:wanted]
            drawn.append((rows[i[chosen]], rows[j[chosen]], np.full(len(chosen), kind)))
    left, right, alike = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
    if alike.all() or not alike.any():
        present, absent = ("similar", "dissimilar")[:: 1 if alike.all() else -1]
        raise InvalidInputError(
            f"All {len(alike)} pairs that were drawn are {present}; learning codes needs {absent} "
            "ones too. Add rows or pairs, or coarser or finer labels."
        )
    return left, right, alike


def balanced(similar: Array) -> Array:
    """Return weights of pairs that sum to 1/2 for each kind, negative for the dissimilar ones."""
    n_similar = int(similar.sum())
    n_dissimilar = len(similar) - n_similar
    return np.where(similar, 0.5 / n_similar, -0.5 / n_dissimilar)


def moments(U: Array, i: Array, j: Array, weights: Array) -> Array:
    """Return sum_k w_k (x_k y_k' + y_k x_k') / 2 over the pairs x = U[i], y = U[j]."""
    n = len(U)
    A = scipy.sparse.csr_array((weights, (i, j)), shape=(n, n))
    C: Array = U.T @ (A @ U)  # far fewer products than pair by pair: rows are in many pairs
    return (C + C.T) / 2


def best_threshold(a: Array, b: Array, weights: Array) -> tuple[float, float]:
    """Return the threshold that agrees best with similarity, and how well it does.

    Two values agree where both or neither exceed the threshold t. Maximises the correlation
    r(t) = sum of weights over agreeing pairs - sum over disagreeing ones, exactly: r changes only
    where t passes a value, so one sweep over the sorted values tries all thresholds.

    Args:
        a: One projected value of each pair, `(n,)`.
        b: The other one.
        weights: Positive for similar pairs, negative for dissimilar ones.
    """
    # A pair disagrees while min <= t < max: it enters at the one end and leaves at the other.
    ends = np.concatenate([np.minimum(a, b), np.maximum(a, b)])
    order = np.argsort(ends, kind="stable")
    ends = ends[order]
    disagreeing = np.cumsum(np.concatenate([weights, -weights])[order])[:-1]
    # Between equal values there is no room for a threshold.
    disagreeing[ends[1:] == ends[:-1]] = np.inf
    best = int(disagreeing.argmin())
    if not np.isfinite(disagreeing[best]):
        return float(ends[0]), float(weights.sum())  # all values are equal, so all pairs agree
    middle = float(ends[best] + (ends[best + 1] - ends[best]) / 2)
    return middle, float(weights.sum() - 2 * disagreeing[best])


def reweighted(
    weights: Array, same: Array, r: float, learning_rate: float = 1.0
) -> tuple[Array, float, float]:
    """Return the weights after a bit, its alpha, and by what they were divided.

    Args:
        weights: Positive for similar pairs, negative for dissimilar ones.
        same: Whether the bit is the same for both items of each pair.
        r: The correlation of the two.
        learning_rate: Share of AdaBoost's step to take.
    """
    r = min(max(r, -MAX_CORRELATION), MAX_CORRELATION)
    alpha = float(learning_rate * np.log((1 + r) / (1 - r)) / 2)
    raised = weights * np.exp(-alpha * np.where(same, 1, -1) * np.sign(weights))
    total = float(np.abs(raised).sum())
    return raised / total, alpha, total
