"""How well codes retrieve: precision and recall at a radius, tie-aware mAP, precision at k.

Codes rank a database only up to ties, so everything here derives from one table per query: how many
items, and how many relevant ones, lie at each distance. Where the order inside a tie matters, the
value is its expectation over all orders, in closed form: shuffling the database changes nothing.
"""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import digamma

from kinhash.codes import Codes
from kinhash.errors import InvalidInputError

Array = npt.NDArray[Any]


def evaluate_codes(
    query_codes: Codes,
    query_labels: npt.ArrayLike,
    db_codes: Codes,
    db_labels: npt.ArrayLike,
    *,
    radii: Sequence[int] = (0, 2),
    at: Sequence[int] = (10, 5000),
) -> dict[str, float]:
    """Return every retrieval measure of searching `db_codes` with `query_codes`.

    All rates are fractions, and means over queries:

    - `map`: expected average precision of the whole ranking.
    - `map@{k}`, `mp@{k}` for each k in `at`: average precision and precision of the first k.
      Average precision at k is divided by min(k, relevant items), precision by min(k, n).
    - `precision@r{r}`, `recall@r{r}` for each r in `radii`: a query that retrieves nothing has
      precision 0. `f1@r{r}` is 2PR / (P + R) of these two means.
    - `empty@r{r}`: the share of queries that retrieve nothing; `mean_matches@r{r}`: how many items
      a query retrieves.
    - `unique_codes`, `mean_active`, `sd_active`: different codes, and mean and population standard
      deviation of the active bits, in the database.

    Quote F1 only beside `map`, `unique_codes` and `mean_matches`: one code for everything scores
    18 % on ten balanced classes.

    Args:
        query_codes: `n_queries` codes, at least one.
        query_labels: `(n_queries,)` class labels (relevant: the same class), or a
            `(n_queries, n_labels)` matrix of 0 and 1 (relevant: at least one label in common).
        db_codes: `n` codes, at least one, with the same `n_bits` and `signed`.
        db_labels: `(n,)` or `(n, n_labels)`, of the same kind as `query_labels`.
        radii: Inclusive distances, each at least 0.
        at: Ranking lengths, each at least 1; more than `n` means the whole ranking.

    Returns:
        Flat keys as above. Queries without a relevant item in the database are left out of `map`,
        `map@{k}` and `recall`, with a warning; if all are, these and `f1` are nan.

    Raises:
        InvalidInputError: Codes or labels that do not fit each other, an empty side, or a radius or
            ranking length out of range.

    Example:
        >>> codes = Codes.from_dense([[0, 1, 1], [0, 1, 1], [1, 0, 0]])
        >>> labels = ["a", "b", "b"]
        >>> result = evaluate_codes(codes, labels, codes, labels, radii=[0], at=[1])
        >>> result["precision@r0"], result["mp@1"], result["unique_codes"]
        (0.6666666666666666, 0.6666666666666666, 2.0)
    """
    radii = _checked_integers("radii", radii, least=0)
    at = _checked_integers("at", at, least=1)
    n_all, n_relevant = distance_table(query_codes, query_labels, db_codes, db_labels)
    n_stranded = int(np.sum(n_relevant.sum(axis=1) == 0))
    if n_stranded:
        warnings.warn(
            f"{n_stranded} of {len(query_codes)} queries have no relevant item in the database; "
            "they are left out of map, map@k and recall.",
            stacklevel=2,
        )
    result = {"map": _mean_of_known(average_precision(n_all, n_relevant))}
    for k in at:
        result[f"map@{k}"] = _mean_of_known(average_precision(n_all, n_relevant, at=k))
        result[f"mp@{k}"] = float(precision_at_k(n_all, n_relevant, k).mean())
    for radius in radii:
        precisions, recalls = precision_recall_at_radius(n_all, n_relevant, radius)
        precision, recall = float(precisions.mean()), _mean_of_known(recalls)
        n_retrieved = n_all[:, : radius + 1].sum(axis=1)
        result[f"precision@r{radius}"] = precision
        result[f"recall@r{radius}"] = recall
        result[f"f1@r{radius}"] = _f1(precision, recall)
        result[f"empty@r{radius}"] = float(np.mean(n_retrieved == 0))
        result[f"mean_matches@r{radius}"] = float(n_retrieved.mean())
    n_active = db_codes.n_active
    result["unique_codes"] = float(db_codes.n_unique)
    result["mean_active"] = float(n_active.mean())
    result["sd_active"] = float(n_active.std())
    return result


def distance_table(
    query_codes: Codes,
    query_labels: npt.ArrayLike,
    db_codes: Codes,
    db_labels: npt.ArrayLike,
) -> tuple[Array, Array]:
    """Return how many items, and how many relevant items, lie at each distance of each query.

    Takes and refuses what `evaluate_codes` does. Equal database codes are counted together, so the
    work grows with the number of different codes; memory grows with the database alone.

    Returns:
        `n_all` and `n_relevant`: int64, `(n_queries, farthest + 1)`, where column d counts distance
        d and `farthest` is `n_bits`, or twice that for signed codes.
    """
    query_codes.check_comparable(db_codes, "`query_codes`", "the database")
    query_labels, db_labels = _checked_labels(
        np.asarray(query_labels), len(query_codes), np.asarray(db_labels), len(db_codes)
    )
    # Items that share a code share a distance: measure it once and weigh it by their number.
    words, code_of_item = np.unique(db_codes.words, axis=0, return_inverse=True)
    code_of_item = code_of_item.reshape(-1)
    n_distances = db_codes.n_bits * (2 if db_codes.signed else 1) + 1
    n_all = _counts_by_distance(query_codes.words, words, np.bincount(code_of_item), n_distances)
    n_relevant = np.empty_like(n_all)
    for queries, relevant in _relevant_items(query_labels, db_labels):
        n_items = np.bincount(code_of_item[relevant], minlength=len(words))
        used = np.flatnonzero(n_items)
        n_relevant[queries] = _counts_by_distance(
            query_codes.words[queries], words[used], n_items[used], n_distances
        )
    return n_all, n_relevant


def average_precision(n_all: Array, n_relevant: Array, *, at: int | None = None) -> Array:
    """Return each query's average precision, expected over all orders inside ties.

    The sum of precisions at the relevant positions, over the number of relevant items; with `at`,
    the sum over the first `at` positions, over min(at, number of relevant items).

    Args:
        n_all: Items at each distance, `(n_queries, n_distances)`, nearest first.
        n_relevant: Relevant ones among them, same shape.
        at: Where the ranking is cut off, at least 1; None ranks everything.

    Returns:
        float64, `(n_queries,)`; nan for a query without a relevant item.
    """
    n_before = np.cumsum(n_all, axis=1) - n_all
    hits_before = np.cumsum(n_relevant, axis=1) - n_relevant
    n_counted = _counted(n_all, at)
    # The k-th of a tie's n items, r of them relevant, is relevant with probability r / n. It then
    # has 1 + (k - 1) c expected hits of its own tie up to itself, where c = (r - 1) / (n - 1), and
    # stands at position n_before + k. So the tie adds
    #     r / n * sum over k of (hits_before + 1 + (k - 1) c) / (n_before + k),
    # and since k - 1 = (n_before + k) - (n_before + 1), the sum over k needs harmonic numbers only.
    c = (n_relevant - 1) / np.maximum(n_all - 1, 1)
    harmonic = digamma(n_before + n_counted + 1.0) - digamma(n_before + 1.0)
    sums = n_counted * c + (hits_before + 1 - c * (n_before + 1)) * harmonic
    total = (n_relevant / np.maximum(n_all, 1) * sums).sum(axis=1)
    return _ratio(total, _capped(n_relevant.sum(axis=1), at), empty=np.nan)


def precision_at_k(n_all: Array, n_relevant: Array, k: int) -> Array:
    """Return the expected share of relevant items among each query's first `k`.

    Args:
        n_all: Items at each distance, `(n_queries, n_distances)`, nearest first.
        n_relevant: Relevant ones among them, same shape.
        k: Length of the ranking; more than there are items means all of them.

    Returns:
        float64, `(n_queries,)`: relevant ones among the first k, over min(k, number of items).
    """
    hits = (n_relevant * _ratio(_counted(n_all, k), n_all, empty=0.0)).sum(axis=1)
    return _ratio(hits, _capped(n_all.sum(axis=1), k), empty=0.0)


def precision_recall_at_radius(n_all: Array, n_relevant: Array, radius: int) -> tuple[Array, Array]:
    """Return each query's precision and recall over the items within an inclusive radius.

    Args:
        n_all: Items at each distance, `(n_queries, n_distances)`, column d for distance d.
        n_relevant: Relevant ones among them, same shape.
        radius: Largest accepted distance.

    Returns:
        Two float64 arrays, `(n_queries,)`. Precision is 0 where nothing is retrieved; recall is nan
        where nothing is relevant.
    """
    n_retrieved = n_all[:, : radius + 1].sum(axis=1)
    n_hits = n_relevant[:, : radius + 1].sum(axis=1)
    precision = _ratio(n_hits, n_retrieved, empty=0.0)
    return precision, _ratio(n_hits, n_relevant.sum(axis=1), empty=np.nan)


def average_precision_of_ranking(relevant: npt.ArrayLike, *, at: int | None = None) -> Array:
    """Return the average precision of strict rankings, such as by real-valued distance.

    Normalised as in `average_precision`, which it equals where there are no ties.

    Args:
        relevant: bool, `(n_queries, n)`: whether each query's item at each rank, nearest first, is
            relevant.
        at: Where the ranking is cut off, at least 1; None ranks everything.

    Returns:
        float64, `(n_queries,)`; nan for a query without a relevant item.

    Raises:
        InvalidInputError: `relevant` is not a bool matrix.

    Example:
        >>> average_precision_of_ranking([[True, False, True]]).round(3).tolist()
        [0.833]
    """
    relevant = np.asarray(relevant)
    if relevant.ndim != 2 or relevant.dtype != np.bool_:
        raise InvalidInputError(
            "`relevant` must be bool of shape (n_queries, n), "
            f"got {relevant.dtype} of shape {relevant.shape}."
        )
    totals = np.zeros(len(relevant))
    for row, hits in enumerate(relevant):
        positions = np.flatnonzero(hits[:at]) + 1
        totals[row] = np.sum(np.arange(1, len(positions) + 1) / positions)
    return _ratio(totals, _capped(relevant.sum(axis=1), at), empty=np.nan)


def _counts_by_distance(queries: Array, words: Array, n_items: Array, n_distances: int) -> Array:
    """Count, for each row of `queries`, the items at each distance; `words[i]` is `n_items[i]`."""
    planes = np.ascontiguousarray(words.T)  # (n_words, n): adding up whole rows is fast
    weights = n_items.astype(np.float64)  # exact: counts stay far below 2**53
    counts = np.empty((len(queries), n_distances), np.int64)
    for row, query in enumerate(queries):
        differing = np.bitwise_count(planes ^ query[:, None]).sum(axis=0, dtype=np.intp)
        counts[row] = np.bincount(differing, weights, n_distances)
    return counts


def _relevant_items(query_labels: Array, db_labels: Array) -> Iterator[tuple[Array, Array]]:
    """Yield a mask of queries with equal labels and a mask of the items relevant to them."""
    if query_labels.ndim == 1:
        for label in np.unique(query_labels):
            yield query_labels == label, db_labels == label
    else:
        kinds, kind_of_query = np.unique(query_labels, axis=0, return_inverse=True)
        for kind, labels in enumerate(kinds):
            yield kind_of_query.reshape(-1) == kind, np.any(db_labels[:, labels], axis=1)


def _counted(n_all: Array, at: int | None) -> Array:
    """Return how many items at each distance are among the first `at` of the ranking."""
    if at is None:
        return n_all
    n_before = np.cumsum(n_all, axis=1) - n_all
    counted: Array = np.clip(at - n_before, 0, n_all)
    return counted


def _capped(numbers: Array, at: int | None) -> Array:
    return numbers if at is None else np.minimum(numbers, at)


def _ratio(part: Array, whole: Array, *, empty: float) -> Array:
    """Return `part / whole`, and `empty` where `whole` is 0."""
    return np.where(whole > 0, part / np.maximum(whole, 1), empty)


def _mean_of_known(values: Array) -> float:
    """Return the mean without nan; nan where nothing else is left."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _f1(precision: float, recall: float) -> float:
    # Not `> 0`: an unknown recall makes F1 unknown, not 0.
    return 0.0 if precision + recall == 0 else 2 * precision * recall / (precision + recall)


def _checked_integers(name: str, values: Sequence[int], *, least: int) -> tuple[int, ...]:
    if np.ndim(values) != 1 or not all(
        isinstance(v, (int, np.integer)) and not isinstance(v, bool) and v >= least for v in values
    ):
        raise InvalidInputError(
            f"`{name}` must be a sequence of integers of at least {least}, got {values!r}."
        )
    return tuple(int(v) for v in values)


def _checked_labels(
    query_labels: Array, n_queries: int, db_labels: Array, n_items: int
) -> tuple[Array, Array]:
    """Return both labels, label matrices as bool, or say why they cannot be compared."""
    for side, labels, n_codes in (("query", query_labels, n_queries), ("db", db_labels, n_items)):
        if n_codes == 0:
            raise InvalidInputError(f"`{side}_codes` must hold at least one code, got none.")
        if labels.ndim not in (1, 2):
            raise InvalidInputError(
                f"`{side}_labels` must have shape (n,) or (n, n_labels), got shape {labels.shape}."
            )
        if len(labels) != n_codes:
            raise InvalidInputError(
                f"`{side}_labels` have {len(labels)} rows but `{side}_codes` have {n_codes} codes. "
                "Pass one label, or one row of labels, per code."
            )
        if labels.dtype.kind == "f" and np.isnan(labels).any():
            raise InvalidInputError(f"`{side}_labels` hold nan. Leave items without a label out.")
    if query_labels.ndim != db_labels.ndim or query_labels.shape[1:] != db_labels.shape[1:]:
        raise InvalidInputError(
            f"`query_labels` have shape {query_labels.shape} but `db_labels` have shape "
            f"{db_labels.shape}. Pass class labels for both, or the same label columns for both."
        )
    if query_labels.ndim == 2:
        return _as_bool("query_labels", query_labels), _as_bool("db_labels", db_labels)
    families = _family(query_labels), _family(db_labels)
    if families[0] != families[1] and "objects" not in families:
        raise InvalidInputError(
            f"`query_labels` are {families[0]} but `db_labels` are {families[1]}. "
            "Use the same kind for both."
        )
    return query_labels, db_labels


def _as_bool(name: str, labels: Array) -> Array:
    wrong = (labels != 0) & (labels != 1)
    if np.any(wrong):
        raise InvalidInputError(
            f"`{name}` of shape {labels.shape} must hold only 0 and 1, got {labels[wrong][0]!s}. "
            "Pass class labels as a 1-dimensional array."
        )
    return labels.astype(np.bool_)


def _family(labels: Array) -> str:
    return {"U": "strings", "S": "bytes", "O": "objects"}.get(labels.dtype.kind, "numbers")
