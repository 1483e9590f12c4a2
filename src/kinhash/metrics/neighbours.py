"""How many of the true nearest neighbours codes find: measures for data without labels."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kinhash.arguments import check_choice
from kinhash.arrays import Array, Integers
from kinhash.codes import ORDERS, Codes, Order
from kinhash.errors import InvalidInputError
from kinhash.metrics.checks import checked_integers, checked_own
from kinhash.metrics.retrieval import (
    distance_table,
    n_differing_bits,
    pair_tables,
    ratio,
)


def evaluate_neighbours(
    query_codes: Codes,
    db_codes: Codes,
    neighbours: npt.ArrayLike,
    *,
    radii: Sequence[int] = (0, 2),
    at: Sequence[int] = (100, 500),
    own: npt.ArrayLike | None = None,
    order: Order = "nested",
) -> dict[str, float]:
    """Return how many of each query's true neighbours searching with codes finds.

    All rates are fractions, and means over queries:

    - `recall@{k}` for each k in `at`: the share of the neighbours among the first k items. Where a
      tie of codes reaches beyond place k, its items count with the probability of being among the
      first k: the expectation over all orders inside ties.
    - `recall@r{r}` for each r in `radii`: the share within the radius; `empty@r{r}`: the share of
      queries that retrieve nothing; `mean_matches@r{r}`: how many items a query retrieves.
    - `unique_codes`, `mean_active`, `sd_active`: as in `evaluate_codes`.

    Radii are of the buckets; `recall@{k}` is of the whole order.

    Args:
        query_codes: `n_queries` codes, at least one.
        db_codes: `n` codes, at least one, with the same lengths and `signed`.
        neighbours: `(n_queries, n_neighbours)` different rows of the database for each query, in
            any order, such as `true_neighbours` returns.
        radii: Inclusive distances, each at least 0.
        at: Ranking lengths, each at least 1.
        own: `(n_queries,)` rows of the database: the item that each query is, which is left out.
        order: "nested" by distance, then rank distance; "total" by the sum of both. The same for
            codes without rank bits.

    Raises:
        InvalidInputError: Codes that do not fit each other, an empty side, or an argument out of
            range.

    Example:
        >>> codes = Codes.from_dense([[0, 1], [0, 1], [1, 1]])
        >>> found = evaluate_neighbours(codes[:1], codes, [[0, 2]], radii=[0], at=[1])
        >>> found["recall@1"], found["recall@r0"]  # one of two equal codes is first
        (0.25, 0.5)
    """
    radii = checked_integers("radii", radii, least=0)
    at = checked_integers("at", at, least=1)
    check_choice("order", order, ORDERS)
    query_codes.check_comparable(db_codes, "`query_codes`", "the database")
    left_out = checked_own(own, len(query_codes), len(db_codes))
    rows = _checked_neighbours(neighbours, len(query_codes), len(db_codes), left_out)
    # No item is relevant by label: the tables only count all items.
    problem = query_codes, np.zeros(len(query_codes), int), db_codes, np.ones(len(db_codes), int)
    n_all, _ = distance_table(*problem, own=own)
    distances = _to_each(query_codes.words, db_codes.words, rows)
    expected = np.empty((len(query_codes), len(at)))
    if not db_codes.n_rank_bits:
        places = np.broadcast_to(np.arange(n_all.shape[1]), n_all.shape)
        expected[:] = _expected_shares(places, n_all, distances, at)
    else:
        rank_distances = _to_each(query_codes.rank_words, db_codes.rank_words, rows)
        base = 64 * db_codes.rank_words.shape[1] + 1 if order == "nested" else 1
        for table in pair_tables(*problem, own=own):
            places = base * table.distances + table.rank_distances
            wanted = base * distances[table.queries] + rank_distances[table.queries]
            by_place = np.argsort(places, axis=1, kind="stable")
            expected[table.queries] = _expected_shares(
                np.take_along_axis(places, by_place, axis=1),
                np.take_along_axis(table.n_all, by_place, axis=1),
                wanted,
                at,
            )
    result = {f"recall@{k}": float(expected[:, i].mean()) for i, k in enumerate(at)}
    for radius in radii:
        n_retrieved = n_all[:, : radius + 1].sum(axis=1)
        result[f"recall@r{radius}"] = float((distances <= radius).mean())
        result[f"empty@r{radius}"] = float(np.mean(n_retrieved == 0))
        result[f"mean_matches@r{radius}"] = float(n_retrieved.mean())
    n_active = db_codes.n_active
    result["unique_codes"] = float(db_codes.n_unique)
    result["mean_active"] = float(n_active.mean())
    result["sd_active"] = float(n_active.std())
    return result


def _expected_shares(places: Array, n_all: Array, wanted: Array, at: Sequence[int]) -> Array:
    """Return the expected share of the wanted items among the first k of each query, for each k.

    Args:
        places: `(n_queries, n_columns)`, ascending in each row; some may be equal.
        n_all: How many items stand there, same shape.
        wanted: `(n_queries, n_neighbours)`: where each neighbour stands.
        at: Ranking lengths.

    Returns:
        float64, `(n_queries, len(at))`.
    """
    # All rows in one ascending sequence, which one binary search serves.
    offset = np.arange(len(places))[:, None] * (int(max(places.max(), wanted.max())) + 1)
    flat, sought = (places + offset).ravel(), wanted + offset
    n_up_to = np.concatenate([[0], np.cumsum(n_all)])
    before_row = n_up_to[np.arange(len(places)) * places.shape[1]][:, None]
    n_before = n_up_to[np.searchsorted(flat, sought)] - before_row
    n_tied = n_up_to[np.searchsorted(flat, sought, side="right")] - before_row - n_before
    shares = [ratio(np.clip(k - n_before, 0, n_tied), n_tied, empty=0.0).mean(axis=1) for k in at]
    return np.stack(shares, axis=1) if shares else np.empty((len(places), 0))


def _to_each(query_words: Array, words: Array, rows: Integers) -> Integers:
    """Return the distance of each query to each of its rows: `(n_queries, n_rows)`."""
    found = [n_differing_bits(query_words, words[column]) for column in rows.T]
    return np.stack(found, axis=1)


def _checked_neighbours(
    neighbours: npt.ArrayLike, n_queries: int, n_items: int, left_out: Array | None
) -> Integers:
    rows = np.asarray(neighbours)
    if rows.ndim != 2 or len(rows) != n_queries or not rows.size or rows.dtype.kind not in "iu":
        raise InvalidInputError(
            f"`neighbours` must hold one or more row numbers for each of the {n_queries} queries, "
            f"got {rows.dtype} of shape {rows.shape}."
        )
    if rows.min() < 0 or rows.max() >= n_items:
        raise InvalidInputError(
            f"`neighbours` must hold rows of the database, 0 to {n_items - 1}, "
            f"got {rows.min()} to {rows.max()}."
        )
    in_order = np.sort(rows, axis=1)
    is_twice = (in_order[:, 1:] == in_order[:, :-1]).any(axis=1)
    if is_twice.any():
        raise InvalidInputError(
            "`neighbours` must be different rows for each query, but query "
            f"{int(np.argmax(is_twice))} has one of them twice."
        )
    if left_out is not None and (rows == left_out[:, None]).any():
        raise InvalidInputError(
            "`neighbours` must not hold the items that `own` leaves out. Pass the same `own` to "
            "`true_neighbours`."
        )
    return rows.astype(np.int64)
