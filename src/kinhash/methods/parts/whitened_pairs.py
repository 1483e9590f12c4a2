"""Codes from pairs alone: signs of projections in which similar rows differ least.

Similar rows differ by a scatter S, rows at random by a scatter T. A cosine of rows whitened by S
and T tells a near-duplicate from a row that only looks alike: directions that most rows share count
little, and so do those that copying changes. Signs of orthogonal projections keep that cosine. How
far S is shrunk towards T, and which radius tells best, is measured on pairs held out, among all
rows: the nearest row that is not listed as similar is what a radius must leave out.
"""

import dataclasses

import numpy as np
import scipy.linalg
import scipy.sparse

from kinhash.arrays import Array, Matrix
from kinhash.codes import Codes
from kinhash.encoders import LinearEncoder
from kinhash.encoders.blocks import one_blas_thread
from kinhash.errors import InvalidInputError, warn
from kinhash.methods.parts.seen_rows import MAX_COLUMNS, SeenRows, seen_rows
from kinhash.metrics.retrieval import n_differing_bits
from kinhash.metrics.similar_pairs import pair_counts
from kinhash.pairs import Pairs

SHRINKAGES = (0.3, 3.0, 30.0)  # the share of T, where that of S is 1
USUAL_SHRINKAGE = 3.0  # where nothing can be held out
RIDGE = 1e-3  # of the mean variance: directions in which no row differs stay finite
LENGTHS = (64, 128, 256, 512)  # of which one is chosen where nobody says
NEAR_BEST = 0.01  # of F1: no code is made longer for less
MUCH_BETTER = 0.05  # of F1: worth saying
MAX_PAIRS = 10_000  # similar ones that are learned from
MAX_ROWS = 20_000  # whose scatter is taken
MAX_COMPARED = 6_000  # rows among which a held-out pair must be found
N_WORDS_DIRECTIONS = 512  # of vectors with more columns than can be decomposed


@dataclasses.dataclass(frozen=True)
class PairFacts:
    """What a fit from pairs found out.

    Attributes:
        n_bits: Length of the code, given or chosen.
        radius: The radius with the highest F1 of pairs.
        f1: That F1.
        precision: The share of similar ones among the pairs within the radius.
        recall: The share of the similar pairs that are within the radius.
        shrinkage: The chosen share of T.
        held_out: Whether these are of pairs not learned from; if not, they flatter.
        f1_of_length: The highest F1 for each length that was tried.
    """

    n_bits: int
    radius: int
    f1: float
    precision: float
    recall: float
    shrinkage: float
    held_out: bool
    f1_of_length: dict[int, float]

    def record(self) -> dict[str, float]:
        """Return them as one entry of a `history_`."""
        lengths = {f"f1_{n}_bits": f1 for n, f1 in self.f1_of_length.items()}
        own = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name != "f1_of_length"
        }
        return own | lengths

    def message(self) -> str:
        """Return what to tell the user: the radius, and how well it tells duplicates."""
        seen = "held-out" if self.held_out else "the learned"
        return (
            f"With {self.n_bits} bits, radius {self.radius} tells similar pairs best: precision "
            f"{self.precision:.0%} and recall {self.recall:.0%} on {seen} pairs."
        )


@dataclasses.dataclass(frozen=True, eq=False)
class _Problem:
    """Rows by their place in `values`, and what is known of them."""

    values: Array  # (n, d) float64
    similar: Array  # (n_pairs, 2)
    dissimilar: Array  # (n_others, 2)
    component: Array  # (n,) rows joined by similar pairs, directly or not, share a number
    n_rows: int  # of the data, of which these may be a part
    n_similar: int


def fit_pairs_alone(
    X: Matrix, pairs: Pairs, mean: Array, scale: Array, *, n_bits: int | None, seed: int
) -> tuple[LinearEncoder, PairFacts]:
    """Return the encoder learned from vectors and pairs of near-duplicates, and what was found.

    All bits are bucket bits. Useful radii are large, and follow from how rare similar pairs are
    among the rows of `X`: learn from data like the data that is searched.

    Args:
        X: `(n, n_features)` numbers, an array or csr.
        pairs: Rows that are similar. Without a dissimilar one, every pair that is not listed is
            dissimilar, but for rows that similar pairs join by way of others; with some, shrinkage
            and radius are chosen by these. Pairs listed as both are dropped, with a warning.
        mean: What is taken from the vectors.
        scale: What they are multiplied by then.
        n_bits: Length of the code; None: the shortest of 64 to 512 that is nearly the best.
        seed: Draws rows, held-out pairs and projections.

    Raises:
        InvalidInputError: No similar pair is left.

    Warns:
        UserWarning: Another length tells similar pairs much better; names it.
    """
    rng = np.random.default_rng(seed)
    similar, dissimilar = _listed(pairs)
    chosen = similar[np.sort(rng.permutation(len(similar))[:MAX_PAIRS])]
    others = rng.permutation(np.setdiff1d(np.arange(X.shape[0]), chosen))
    rows = np.unique(np.concatenate([chosen.ravel(), others[: max(0, MAX_ROWS - chosen.size)]]))
    n_directions = X.shape[1] if X.shape[1] <= MAX_COLUMNS else N_WORDS_DIRECTIONS
    with one_blas_thread():  # how products are cut up would change the last digits
        seen = seen_rows(X, rows, mean, scale, n_directions=n_directions, seed=seed)
        problem = _Problem(
            seen.values.astype(np.float64),
            np.searchsorted(rows, chosen),
            np.searchsorted(rows, dissimilar[np.isin(dissimilar, rows).all(axis=1)]),
            _components(chosen, X.shape[0])[rows],
            X.shape[0],
            len(similar),
        )
        lengths = tuple(sorted({*LENGTHS, *(() if n_bits is None else (n_bits,))}))
        projections = _orthogonal(max(lengths), seen.values.shape[1], rng)
        facts = _chosen(problem, projections, lengths, n_bits, rng)
        every_row = np.ones(len(rows), bool)
        W = _whitened(problem, every_row, facts.shrinkage, projections[: facts.n_bits])
    if n_bits is not None:
        _advise(facts)
    return _encoder(W, seen, mean, scale), facts


def _advise(facts: PairFacts) -> None:
    """Warn if another length does much better: of several the shortest that nearly does best."""
    most = max(facts.f1_of_length.values())
    if facts.held_out and most > facts.f1 + MUCH_BETTER:
        better = _shortest(facts.f1_of_length)
        warn(
            f"{facts.n_bits} bits tell held-out similar pairs from others with an F1 of "
            f"{facts.f1:.2f}, at radius {facts.radius}. n_bits={better} reaches "
            f"{facts.f1_of_length[better]:.2f}.",
            UserWarning,
        )


def _shortest(f1_of_length: dict[int, float]) -> int:
    """Return the shortest length that is nearly the best."""
    most = max(f1_of_length.values())
    return min(n for n, f1 in f1_of_length.items() if f1 >= most - NEAR_BEST)


def _encoder(W: Array, seen: SeenRows, mean: Array, scale: Array) -> LinearEncoder:
    weights, bias = seen.linear(W.astype(np.float32), np.zeros(len(W), np.float32))
    return LinearEncoder(mean, scale, weights, bias=bias)


def _listed(pairs: Pairs) -> tuple[Array, Array]:
    """Return the different similar and dissimilar pairs, without those that are both."""
    ends = np.sort(np.stack([pairs.i, pairs.j], axis=1), axis=1)
    pair, number = np.unique(ends, axis=0, return_inverse=True)
    number = number.ravel()
    is_similar, is_dissimilar = (np.zeros(len(pair), bool) for _ in range(2))
    is_similar[number[pairs.similar]] = True
    is_dissimilar[number[~pairs.similar]] = True
    both = is_similar & is_dissimilar
    if both.any():
        i, j = pair[int(np.argmax(both))]
        warn(
            f"{both.sum()} of `pairs` are listed as similar and as dissimilar and are ignored, the "
            f"first of rows {i} and {j}.",
            UserWarning,
        )
    if not np.any(is_similar & ~both):
        raise InvalidInputError("`pairs` list no similar pair. Add some.")
    return pair[is_similar & ~both], pair[is_dissimilar & ~both]


def _components(similar: Array, n_rows: int) -> Array:
    ones = np.ones(len(similar), np.int8)
    graph = scipy.sparse.coo_array((ones, (similar[:, 0], similar[:, 1])), shape=(n_rows, n_rows))
    return scipy.sparse.csgraph.connected_components(graph, directed=False)[1]


def _orthogonal(n: int, d: int, rng: np.random.Generator) -> Array:
    """Return random unit vectors `(n, d)`, orthogonal in runs of d."""
    runs = [np.linalg.qr(rng.standard_normal((d, d)))[0].T for _ in range(-(-n // d))]
    return np.concatenate(runs)[:n]


def _whitened(problem: _Problem, known: Array, shrinkage: float, projections: Array) -> Array:
    """Return the projections of rows whitened by S + shrinkage T, `(n, d)`.

    Args:
        problem: Rows and pairs.
        known: `(n_rows,)`: rows that may be looked at.
        shrinkage: Where both have the same trace.
        projections: `(n, d)`.
    """
    pairs = problem.similar[known[problem.similar].all(axis=1)]
    differences = problem.values[pairs[:, 0]] - problem.values[pairs[:, 1]]
    S = differences.T @ differences
    # Of each group of copies one row: many copies would make their own directions look common.
    alone = np.unique(np.where(known, problem.component, -1), return_index=True)[1]
    rows = problem.values[alone[known[alone]]]
    T = (centred := rows - rows.mean(axis=0)).T @ centred
    d = len(T)
    scatter = np.zeros((d, d))
    for part, weight in ((S, 1.0), (T, shrinkage)):
        trace = np.trace(part)
        if trace > 0:
            scatter += weight * part / trace
    scatter += (RIDGE / d) * max(np.trace(scatter), np.finfo(float).tiny) * np.eye(d)
    # Any square root will do: projections are random, and only a rotation differs.
    root = np.linalg.cholesky(scatter)
    W: Array = scipy.linalg.solve_triangular(root, projections.T, lower=True, trans="T").T
    unit: Array = W / np.sqrt(np.einsum("ij,ij->i", W, W))[:, None]
    return unit


def _chosen(
    problem: _Problem,
    projections: Array,
    lengths: tuple[int, ...],
    n_bits: int | None,
    rng: np.random.Generator,
) -> PairFacts:
    """Return shrinkage, length and radius with the highest F1 of pairs held out in turns.

    The length is `n_bits`, unless that is None.
    """
    groups = np.unique(problem.component[problem.similar])
    fold_of = np.full(int(problem.component.max()) + 1, -1)
    fold_of[groups] = rng.permutation(len(groups)) % 2
    held_out = len(groups) > 1
    folds = (0, 1) if held_out else (-2,)  # none: learned pairs are all there is to look at
    shrinkages = SHRINKAGES if held_out else (USUAL_SHRINKAGE,)
    compared = [_compared(problem, fold_of, fold, rng) for fold in folds]
    best: dict[int, tuple[float, float, int, float, float]] = {}
    for shrinkage in shrinkages:
        codes = []
        for fold, rows in zip(folds, compared, strict=True):
            known = fold_of[problem.component] != fold
            W = _whitened(problem, known, shrinkage, projections)
            codes.append((problem.values[rows] @ W.T > 0).astype(np.int8))
        for length in lengths:
            curves = [
                _rates(problem, rows, Codes.from_dense(bits[:, :length]))
                for rows, bits in zip(compared, codes, strict=True)
            ]
            f1, precision, recall = np.mean(curves, axis=0)
            radius = int(f1.argmax())
            found = (float(f1[radius]), shrinkage, radius, precision[radius], recall[radius])
            if length not in best or found[0] > best[length][0]:
                best[length] = found
    f1_of_length = {length: found[0] for length, found in best.items()}
    chosen = _shortest(f1_of_length) if n_bits is None else n_bits
    f1, shrinkage, radius, precision, recall = best[chosen]
    return PairFacts(
        n_bits=chosen,
        radius=radius,
        f1=f1,
        precision=float(precision),
        recall=float(recall),
        shrinkage=shrinkage,
        held_out=held_out,
        f1_of_length=f1_of_length,
    )


def _compared(problem: _Problem, fold_of: Array, fold: int, rng: np.random.Generator) -> Array:
    """Return the rows among which the pairs of a fold are looked for: theirs, and rows of none."""
    of_row = fold_of[problem.component]
    paired = np.flatnonzero(of_row == fold if fold >= 0 else of_row >= 0)
    others = rng.permutation(np.flatnonzero(of_row < 0))[: max(0, MAX_COMPARED - len(paired))]
    return np.sort(np.concatenate([paired, others]))


def _rates(problem: _Problem, rows: Array, codes: Codes) -> tuple[Array, Array, Array]:
    """Return F1, precision and recall of the pairs within each radius, as among all rows."""
    n = len(rows)
    is_in, at = np.zeros(len(problem.values), bool), np.zeros(len(problem.values), np.int64)
    is_in[rows], at[rows] = True, np.arange(n)
    listed, far = (
        at[part[is_in[part].all(axis=1)]] for part in (problem.similar, problem.dissimilar)
    )
    n_distances = codes.n_bits + 1
    if len(far):
        n_far = _counts(codes, far, n_distances)
        weight = len(problem.dissimilar) / len(far)
    else:
        n_all, n_joined = pair_counts(codes, problem.component[rows])
        n_far = (n_all - n_joined)[:n_distances]
        weight = problem.n_rows * (problem.n_rows - 1) / (n * (n - 1))
    hits = np.cumsum(_counts(codes, listed, n_distances)) * (problem.n_similar / len(listed))
    wrong = np.cumsum(n_far) * weight
    precision = hits / np.maximum(hits + wrong, np.finfo(float).tiny)
    recall = hits / problem.n_similar
    f1 = 2 * hits / (hits + wrong + problem.n_similar)
    return f1, precision, recall


def _counts(codes: Codes, pairs: Array, n_distances: int) -> Array:
    """Return how many of the pairs of codes lie at each distance."""
    distances = n_differing_bits(codes.words[pairs[:, 0]], codes.words[pairs[:, 1]])
    return np.bincount(distances, minlength=n_distances)
