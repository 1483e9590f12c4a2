"""How well codes retrieve: precision and recall at a radius, tie-aware mAP, precision at k.

Codes rank a database only up to ties, so everything here derives from one table per query: how many
items, and how many relevant ones, lie at each distance, or at each pair of bucket and rank distance
that occurs. Where the order inside a tie matters, the value is its expectation over all orders, in
closed form: shuffling the database changes nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import digamma

from kinhash import _native
from kinhash.arguments import check_choice, checked_threads
from kinhash.arrays import Array, Integers
from kinhash.codes import ORDERS, Codes, Order
from kinhash.errors import InvalidInputError, unknown_name, warn
from kinhash.metrics.checks import checked_integers, checked_labels, checked_own, mean_of_known

CHUNK_BYTES = 64 * 2**20  # of tables of pairs of distances


def evaluate_codes(
    query_codes: Codes,
    query_labels: npt.ArrayLike,
    db_codes: Codes,
    db_labels: npt.ArrayLike,
    *,
    radii: Sequence[int] = (0, 2),
    at: Sequence[int] = (10, 5000),
    own: npt.ArrayLike | None = None,
    order: Order = "nested",
) -> dict[str, float]:
    """Return every retrieval measure of searching `db_codes` with `query_codes`.

    Rankings (`map` in all its forms, `mp`) take the order of buckets and rank bits; everything else
    is of the buckets. All rates are fractions, and means over queries:

    - `map`: expected average precision of the whole ranking; `map_best` and `map_worst`: with the
      luckiest and unluckiest order inside ties. `ramap`: see `radius_aware_precision`.
    - `map@{k}`, `mp@{k}` for each k in `at`: average precision and precision of the first k.
      Average precision at k is divided by min(k, relevant items), precision by min(k, n).
    - `precision@r{r}`, `recall@r{r}` for each r in `radii`: a query that retrieves nothing has
      precision 0. `f1@r{r}` is 2PR / (P + R) of these two means.
    - `empty@r{r}`: the share of queries that retrieve nothing; `mean_matches@r{r}`: how many items
      a query retrieves.
    - `unique_codes`, `mean_active`, `sd_active`: different buckets, and mean and population
      standard deviation of their active bits, in the database.

    Quote F1 only beside `map`, `unique_codes` and `mean_matches`: one code for everything scores
    18 % on ten balanced classes.

    Args:
        query_codes: `n_queries` codes, at least one.
        query_labels: `(n_queries,)` class labels (relevant: the same class), or a
            `(n_queries, n_labels)` matrix of 0 and 1 (relevant: at least one label in common).
        db_codes: `n` codes, at least one, with the same lengths and `signed`.
        db_labels: `(n,)` or `(n, n_labels)`, of the same kind as `query_labels`.
        radii: Inclusive distances, each at least 0.
        at: Ranking lengths, each at least 1; more than `n` means the whole ranking.
        own: `(n_queries,)` row numbers of the database: for each query the item that it is itself,
            which is left out for this query. For searching items among themselves.
        order: Of the ranking: "nested" by distance, then rank distance; "total" by the sum of both.
            The same for codes without rank bits.

    Returns:
        Flat keys as above. Queries without a relevant item in the database are left out of `map`,
        `map@{k}` and `recall`, with a warning; if all are, these and `f1` are nan.

    Raises:
        InvalidInputError: Codes or labels that do not fit each other, an empty side, a radius or
            ranking length out of range, an `own` that is no row of the database, or an unknown
            `order`.

    Example:
        >>> codes = Codes.from_dense([[0, 1, 1], [0, 1, 1], [1, 0, 0]])
        >>> labels = ["a", "b", "b"]
        >>> result = evaluate_codes(codes, labels, codes, labels, radii=[0], at=[1])
        >>> result["precision@r0"], result["mp@1"], result["unique_codes"]
        (0.6666666666666666, 0.6666666666666666, 2.0)
    """
    radii = checked_integers("radii", radii, least=0)
    at = checked_integers("at", at, least=1)
    check_choice("order", order, ORDERS)
    n_all, n_relevant = distance_table(query_codes, query_labels, db_codes, db_labels, own=own)
    pairs = None
    if db_codes.n_rank_bits:
        pairs = pair_tables(query_codes, query_labels, db_codes, db_labels, own=own)
    result = measures_of_counts(n_all, n_relevant, pairs, radii=radii, at=at, order=order)
    n_active = db_codes.n_active
    result["unique_codes"] = float(db_codes.n_unique)
    result["mean_active"] = float(n_active.mean())
    result["sd_active"] = float(n_active.std())
    return result


def measures_of_counts(
    n_all: Array,
    n_relevant: Array,
    pairs: Iterable["PairTable"] | None = None,
    *,
    radii: Sequence[int],
    at: Sequence[int],
    order: Order = "nested",
) -> dict[str, float]:
    """Return the measures of `evaluate_codes` that are of answers, from what they are counted of.

    Args:
        n_all: Items at each distance, `(n_queries, n_distances)`, column d for distance d.
        n_relevant: Relevant ones among them, same shape.
        pairs: If there are rank bits, tables of pairs of distances in which each query comes once.
        radii: As in `evaluate_codes`.
        at: As in `evaluate_codes`.
        order: As in `evaluate_codes`.
    """
    n_stranded = int(np.sum(n_relevant.sum(axis=1) == 0))
    if n_stranded:
        warn(
            f"{n_stranded} of {len(n_all)} queries have no relevant item in the database; "
            "they are left out of map, map@k and recall.",
            UserWarning,
        )
    tables: Iterable[tuple[Array, Array, Array]] = [(np.arange(len(n_all)), n_all, n_relevant)]
    if pairs is not None:
        tables = ((table.queries, *ranking_table(table, order)) for table in pairs)
    ranked = _ranking_measures(tables, len(n_all), at)
    result = {name: mean_of_known(ranked[name]) for name in ("map", "map_best", "map_worst")}
    result["ramap"] = float(radius_aware_precision(n_all, n_relevant).mean())
    for k in at:
        result[f"map@{k}"] = mean_of_known(ranked[f"map@{k}"])
        result[f"mp@{k}"] = float(ranked[f"mp@{k}"].mean())
    for radius in radii:
        precisions, recalls = precision_recall_at_radius(n_all, n_relevant, radius)
        precision, recall = float(precisions.mean()), mean_of_known(recalls)
        n_retrieved = n_all[:, : radius + 1].sum(axis=1)
        result[f"precision@r{radius}"] = precision
        result[f"recall@r{radius}"] = recall
        result[f"f1@r{radius}"] = f1_of(precision, recall)
        result[f"empty@r{radius}"] = float(np.mean(n_retrieved == 0))
        result[f"mean_matches@r{radius}"] = float(n_retrieved.mean())
    return result


def distance_table(
    query_codes: Codes,
    query_labels: npt.ArrayLike,
    db_codes: Codes,
    db_labels: npt.ArrayLike,
    *,
    own: npt.ArrayLike | None = None,
    n_threads: int | None = None,
) -> tuple[Array, Array]:
    """Return how many items, and how many relevant items, lie at each distance of each query.

    Distances are the buckets'. Takes and refuses what `evaluate_codes` does. Equal buckets of the
    database are counted together, so the work grows with the number of different ones; memory
    grows with the database alone.

    Returns:
        `n_all` and `n_relevant`: int64, `(n_queries, farthest + 1)`, where column d counts distance
        d and `farthest` is `n_bucket_bits`, or twice that for signed codes.
    """
    query_codes.check_comparable(db_codes, "`query_codes`", "the database")
    query_labels, db_labels = checked_labels(
        query_labels, len(query_codes), db_labels, len(db_codes)
    )
    left_out = checked_own(own, len(query_codes), len(db_codes))
    # Items that share a code share a distance: measure it once and weigh it by their number.
    words, code_of_item = different_rows(db_codes.words)
    n_distances = farthest_distance(db_codes) + 1
    n_all = counts_by_distance(
        query_codes.words, words, np.bincount(code_of_item), n_distances, n_threads
    )
    if left_out is not None:
        to_own = n_differing_bits(query_codes.words, db_codes.words[left_out])
        n_all[np.arange(len(n_all)), to_own] -= 1
    n_relevant = np.empty_like(n_all)
    for queries, relevant in relevant_items(query_labels, db_labels):
        n_items = np.bincount(code_of_item[relevant], minlength=len(words))
        used = np.flatnonzero(n_items)
        n_relevant[queries] = counts_by_distance(
            query_codes.words[queries], words[used], n_items[used], n_distances, n_threads
        )
        if left_out is not None:
            rows = np.flatnonzero(queries)
            rows = rows[relevant[left_out[rows]]]
            n_relevant[rows, to_own[rows]] -= 1
    return n_all, n_relevant


class PairTable(NamedTuple):
    """How many items of some queries lie at each pair of bucket and rank distance that occurs.

    A row has its pairs in ascending order, then columns without items.
    """

    queries: Integers  # (n,) row numbers
    distances: Array  # (n, n_columns), of the buckets
    rank_distances: Array  # (n, n_columns)
    n_all: Integers  # (n, n_columns)
    n_relevant: Integers  # (n, n_columns)


def pair_tables(
    query_codes: Codes,
    query_labels: npt.ArrayLike,
    db_codes: Codes,
    db_labels: npt.ArrayLike,
    *,
    own: npt.ArrayLike | None = None,
    n_threads: int | None = None,
) -> Iterator[PairTable]:
    """Yield the table of pairs of distances of a few queries at a time; each query comes once.

    Takes and refuses what `evaluate_codes` does. A table takes at most about 64 MB, or one query's
    worth of pairs where that is more: there are as many as database codes at most.
    """
    query_codes.check_comparable(db_codes, "`query_codes`", "the database")
    query_labels, db_labels = checked_labels(
        query_labels, len(query_codes), db_labels, len(db_codes)
    )
    left_out = checked_own(own, len(query_codes), len(db_codes))
    n_words = db_codes.words.shape[1]
    both, code_of_item = different_rows(np.hstack([db_codes.words, db_codes.rank_words]))
    words, ranks = (np.ascontiguousarray(part) for part in np.hsplit(both, [n_words]))
    n_items = np.bincount(code_of_item)
    base = 64 * ranks.shape[1] + 1  # a key is distance * base + rank distance
    width = min(len(both), (64 * n_words + 1) * base)
    step = max(1, CHUNK_BYTES // (20 * width))
    for queries, relevant in relevant_items(query_labels, db_labels):
        n_hits = np.bincount(code_of_item[relevant], minlength=len(both))
        chosen = np.flatnonzero(queries)
        for start in range(0, len(chosen), step):
            rows = chosen[start : start + step]
            keys, n_all, n_relevant = (
                np.empty((len(rows), width), kind) for kind in (np.int32, np.int64, np.int64)
            )
            n_used = _native.count_pairs(
                np.ascontiguousarray(query_codes.words[rows]),
                np.ascontiguousarray(query_codes.rank_words[rows]),
                words,
                ranks,
                n_items.astype(np.uint32),
                n_hits.astype(np.uint32),
                keys,
                n_all,
                n_relevant,
                checked_threads("n_threads", n_threads),
            )
            keys, n_all, n_relevant = (part[:, :n_used] for part in (keys, n_all, n_relevant))
            if left_out is not None:
                items = left_out[rows]
                own_keys = base * n_differing_bits(query_codes.words[rows], db_codes.words[items])
                own_keys += n_differing_bits(
                    query_codes.rank_words[rows], db_codes.rank_words[items]
                )
                at = np.arange(len(rows)), np.argmax(keys == own_keys[:, None], axis=1)
                n_all[at] -= 1
                n_relevant[at] -= relevant[items]
            yield PairTable(rows, *np.divmod(keys, base), n_all, n_relevant)


def ranking_table(table: PairTable, order: Order = "nested") -> tuple[Array, Array]:
    """Return how many items, and relevant ones, stand at each place of an order, first to last.

    Args:
        table: Of pairs of distances.
        order: "nested" by distance, then rank distance; "total" by the sum of both.

    Returns:
        `n_all` and `n_relevant`: int64, `(n, n_places)`.
    """
    if order == "nested":
        return table.n_all, table.n_relevant
    # Columns without items have the largest key, which is no distance.
    places = np.where(table.n_all > 0, table.distances + table.rank_distances, 0)
    return _by_place(table.n_all, places), _by_place(table.n_relevant, places)


def average_precision(
    n_all: Array,
    n_relevant: Array,
    *,
    at: int | None = None,
    ties: Literal["expected", "best", "worst"] = "expected",
) -> Array:
    """Return each query's average precision, by default expected over all orders inside ties.

    The sum of precisions at the relevant positions, over the number of relevant items; with `at`,
    the sum over the first `at` positions, over min(at, number of relevant items).

    Args:
        n_all: Items at each distance, `(n_queries, n_distances)`, nearest first.
        n_relevant: Relevant ones among them, same shape.
        at: Where the ranking is cut off, at least 1; None ranks everything.
        ties: "expected" over all orders, or the "best" or "worst" of them: what a lucky or an
            unlucky order of the database gives.

    Returns:
        float64, `(n_queries,)`; nan for a query without a relevant item.

    Raises:
        InvalidInputError: `ties` is unknown.
    """
    if ties not in ("expected", "best", "worst"):
        raise unknown_name("kind of ties", str(ties), ("expected", "best", "worst"))
    n_before = np.cumsum(n_all, axis=1) - n_all
    hits_before = np.cumsum(n_relevant, axis=1) - n_relevant
    n_counted = _counted(n_all, at)
    if ties == "expected":
        total = _expected_precisions(n_all, n_relevant, n_counted, n_before, hits_before)
    else:
        # Relevant ones stand first or last in their tie: after `skipped` others, the j-th of them
        # has hits_before + j hits at position n_before + skipped + j.
        skipped = 0 if ties == "best" else n_all - n_relevant
        n_hits = np.clip(n_counted - skipped, 0, n_relevant)
        start = n_before + skipped
        harmonic = digamma(start + n_hits + 1.0) - digamma(start + 1.0)
        total = (n_hits + (hits_before - start) * harmonic).sum(axis=1)
    return ratio(total, _capped(n_relevant.sum(axis=1), at), empty=np.nan)


def _expected_precisions(
    n_all: Array, n_relevant: Array, n_counted: Array, n_before: Array, hits_before: Array
) -> Array:
    """Return the expected sum of precisions at the relevant ones of the counted positions."""
    # The k-th of a tie's n items, r of them relevant, is relevant with probability r / n. It then
    # has 1 + (k - 1) c expected hits of its own tie up to itself, where c = (r - 1) / (n - 1), and
    # stands at position n_before + k. So the tie adds
    #     r / n * sum over k of (hits_before + 1 + (k - 1) c) / (n_before + k),
    # and since k - 1 = (n_before + k) - (n_before + 1), the sum over k needs harmonic numbers only.
    c = (n_relevant - 1) / np.maximum(n_all - 1, 1)
    harmonic = digamma(n_before + n_counted + 1.0) - digamma(n_before + 1.0)
    sums = n_counted * c + (hits_before + 1 - c * (n_before + 1)) * harmonic
    total: Array = (n_relevant / np.maximum(n_all, 1) * sums).sum(axis=1)
    return total


def radius_aware_precision(n_all: Array, n_relevant: Array) -> Array:
    """Return each query's mean precision over all radii: its mean over queries is RAMAP.

    Jiang, Li and Li (2019), "On the evaluation metric for hashing", without their cost of looking
    up: precision within radius 0, 1, ... up to the code's length, 0 where nothing is retrieved.
    Codes whose answers lie near are told from codes that rank as well at a larger distance.

    Args:
        n_all: Items at each distance, `(n_queries, n_distances)`, column d for distance d.
        n_relevant: Relevant ones among them, same shape.
    """
    precisions = ratio(np.cumsum(n_relevant, axis=1), np.cumsum(n_all, axis=1), empty=0.0)
    mean: Array = precisions.mean(axis=1)
    return mean


def precision_recall_curve(
    n_all: Array, n_relevant: Array, *, max_radius: int | None = None, n_levels: int = 100
) -> tuple[Array, Array]:
    """Return recall levels and the mean precision at each, for what lies within a radius.

    A query's precision at a level is that of the shortest ranking that reaches the level, with the
    relevant items of a tie spread evenly over it, and 0 where the radius does not reach so far.

    Args:
        n_all: Items at each distance, `(n_queries, n_distances)`, column d for distance d.
        n_relevant: Relevant ones among them, same shape.
        max_radius: Largest accepted distance; None accepts all.
        n_levels: How many levels: 1 / n_levels, 2 / n_levels, ... 1.

    Returns:
        Two float64 arrays, `(n_levels,)`. Queries without a relevant item are left out.
    """
    distances = np.broadcast_to(np.arange(n_all.shape[1]), n_all.shape)
    within = distances <= (n_all.shape[1] if max_radius is None else max_radius)
    levels = np.arange(1, n_levels + 1) / n_levels
    return levels, _mean_curve(_precisions_at(levels, n_all, n_relevant, within))


def ranking_curve(
    query_codes: Codes,
    query_labels: npt.ArrayLike,
    db_codes: Codes,
    db_labels: npt.ArrayLike,
    *,
    max_radius: int | None = None,
    n_levels: int = 100,
    own: npt.ArrayLike | None = None,
    order: Order = "nested",
) -> tuple[Array, Array]:
    """Return the curve of `precision_recall_curve`, of a ranking by buckets and rank bits.

    Args:
        query_codes: As in `evaluate_codes`, as are the labels, `db_codes`, `own` and `order`.
        query_labels: Theirs.
        db_codes: What is searched.
        db_labels: Theirs.
        max_radius: Only what lies within this distance of the buckets is ranked; None ranks all.
        n_levels: How many levels: 1 / n_levels, 2 / n_levels, ... 1.
        own: Items to leave out.
        order: Of the ranking.
    """
    check_choice("order", order, ORDERS)
    farthest = farthest_distance(db_codes)
    radius = farthest if max_radius is None else min(max_radius, farthest)
    levels = np.arange(1, n_levels + 1) / n_levels
    precisions = np.empty((len(query_codes), n_levels))
    for table in pair_tables(query_codes, query_labels, db_codes, db_labels, own=own):
        n_all, n_relevant, within = table.n_all, table.n_relevant, table.distances <= radius
        if order == "total":
            # What lies beyond the radius stands after everything that is ranked.
            last = farthest + db_codes.n_rank_bits + 1
            places = np.where(within, table.distances + table.rank_distances, last)
            n_all, n_relevant = (_by_place(part, places, last + 1) for part in (n_all, n_relevant))
            within = np.broadcast_to(np.arange(last + 1) < last, n_all.shape)
        precisions[table.queries] = _precisions_at(levels, n_all, n_relevant, within)
    return levels, _mean_curve(precisions)


def _precisions_at(levels: Array, n_all: Array, n_relevant: Array, within: Array) -> Array:
    """Return each query's precision at each level of recall; nan if nothing is relevant."""
    precisions = np.full((len(n_all), len(levels)), np.nan)
    for row in np.flatnonzero(n_relevant.sum(axis=1)):
        everything, relevant = n_all[row], n_relevant[row]
        wanted = levels * relevant.sum()
        hits, positions = np.cumsum(relevant), np.cumsum(everything)
        tie = np.searchsorted(hits, wanted - 1e-9)  # the first whose hits reach the level
        before = hits[tie] - relevant[tie]
        share = (wanted - before) / relevant[tie]
        precision = wanted / (positions[tie] - everything[tie] + share * everything[tie])
        precisions[row] = np.where(within[row, tie], precision, 0.0)
    return precisions


def _mean_curve(precisions: Array) -> Array:
    known = precisions[~np.isnan(precisions).any(axis=1)]
    mean: Array = known.sum(axis=0) / max(1, len(known))
    return mean


def precision_at_k(n_all: Array, n_relevant: Array, k: int) -> Array:
    """Return the expected share of relevant items among each query's first `k`.

    Args:
        n_all: Items at each distance, `(n_queries, n_distances)`, nearest first.
        n_relevant: Relevant ones among them, same shape.
        k: Length of the ranking; more than there are items means all of them.

    Returns:
        float64, `(n_queries,)`: relevant ones among the first k, over min(k, number of items).
    """
    hits = (n_relevant * ratio(_counted(n_all, k), n_all, empty=0.0)).sum(axis=1)
    return ratio(hits, _capped(n_all.sum(axis=1), k), empty=0.0)


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
    precision = ratio(n_hits, n_retrieved, empty=0.0)
    return precision, ratio(n_hits, n_relevant.sum(axis=1), empty=np.nan)


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
    return ratio(totals, _capped(relevant.sum(axis=1), at), empty=np.nan)


def different_rows(words: Array) -> tuple[Array, Array]:
    """Return the different rows of `words`, and which of them each row is."""
    if words.shape[1] == 1:  # as numbers, which is many times faster than as rows
        numbers, row_of = np.unique(words[:, 0], return_inverse=True)
        return numbers[:, None], row_of
    rows, row_of = np.unique(words, axis=0, return_inverse=True)
    return rows, row_of.reshape(-1)


def farthest_distance(codes: Codes) -> int:
    """Return the largest distance of two buckets."""
    return codes.n_bucket_bits * (2 if codes.signed else 1)


def n_differing_bits(words: Array, others: Array) -> Array:
    """Return the number of differing bits of each pair of rows: int64, `(n,)`."""
    n_differing: Array = np.bitwise_count(words ^ others).sum(axis=1, dtype=np.int64)
    return n_differing


def _by_place(counts: Array, places: Array, n_places: int | None = None) -> Array:
    """Return the sums of `counts` with equal places in a row: int64, `(n, n_places)`."""
    n_places = n_places or int(places.max()) + 1
    cells = (np.arange(len(counts))[:, None] * n_places + places).ravel()
    sums = np.bincount(cells, counts.ravel(), len(counts) * n_places)  # exact below 2**53
    return sums.astype(np.int64).reshape(len(counts), n_places)


def _ranking_measures(
    tables: Iterable[tuple[Array, Array, Array]], n_queries: int, at: Sequence[int]
) -> dict[str, Array]:
    """Return `map`, `map_best`, `map_worst`, and `map@{k}` and `mp@{k}` of every query."""
    names = ["map", "map_best", "map_worst", *(f"{kind}@{k}" for k in at for kind in ("map", "mp"))]
    found = {name: np.empty(n_queries) for name in names}
    for queries, n_all, n_relevant in tables:
        found["map"][queries] = average_precision(n_all, n_relevant)
        found["map_best"][queries] = average_precision(n_all, n_relevant, ties="best")
        found["map_worst"][queries] = average_precision(n_all, n_relevant, ties="worst")
        for k in at:
            found[f"map@{k}"][queries] = average_precision(n_all, n_relevant, at=k)
            found[f"mp@{k}"][queries] = precision_at_k(n_all, n_relevant, k)
    return found


def counts_by_distance(
    queries: Array, words: Array, n_items: Array, n_distances: int, n_threads: int | None = None
) -> Array:
    """Count, for each row of `queries`, the items at each distance; `words[i]` is `n_items[i]`."""
    counts = np.empty((len(queries), 64 * words.shape[1] + 1), np.int64)
    _native.count_distances(
        np.ascontiguousarray(queries),
        np.ascontiguousarray(words),
        n_items.astype(np.uint32),
        counts,
        checked_threads("n_threads", n_threads),
    )
    return counts[:, :n_distances]


def relevant_items(query_labels: Array, db_labels: Array) -> Iterator[tuple[Array, Array]]:
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


def ratio(part: Array, whole: Array, *, empty: float) -> Array:
    """Return `part / whole`, and `empty` where `whole` is 0."""
    return np.where(whole > 0, part / np.maximum(whole, 1), empty)


def f1_of(precision: float, recall: float) -> float:
    """Return the harmonic mean; 0 where both are, and nan where recall is unknown."""
    # Not `> 0`: an unknown recall makes F1 unknown, not 0.
    return 0.0 if precision + recall == 0 else 2 * precision * recall / (precision + recall)
