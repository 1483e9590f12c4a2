"""The specification of exact search: the same answers as any index, in a few lines of NumPy."""

import numpy as np
import numpy.typing as npt

from kinhash.arguments import check_choice
from kinhash.arrays import Array
from kinhash.codes import ORDERS, Codes, Order
from kinhash.errors import InvalidInputError
from kinhash.matches import Matches

CHUNK_BYTES = 64 * 2**20


def distances(queries: Codes, items: Codes) -> Array:
    """Return the number of differing stored bits of every query's and item's bucket.

    Beside the answer, takes about 64 MB, or one query's worth of words where that is more.

    Args:
        queries: `n_queries` codes.
        items: `n` codes with the same lengths and `signed`.

    Returns:
        int32, `(n_queries, n)`; for signed codes the l1 distance, so a flipped sign counts 2.

    Raises:
        InvalidInputError: The two differ in length or `signed`.
    """
    queries.check_comparable(items, "`queries`", "the database")
    return _n_differing(queries.words, items.words)


def rank_distances(queries: Codes, items: Codes) -> Array:
    """Return the number of differing rank bits of every query and item: int32, as `distances`."""
    queries.check_comparable(items, "`queries`", "the database")
    return _n_differing(queries.rank_words, items.rank_words)


def search_radius(
    items: Codes,
    queries: Codes,
    radius: int,
    *,
    ids: npt.ArrayLike | None = None,
    order: Order = "nested",
) -> Matches:
    """Return every item whose bucket is within `radius` of each query's.

    Args:
        items: `n` codes to search.
        queries: `n_queries` codes with the same lengths and `signed`.
        radius: Largest accepted distance; 0 means identical buckets. A radius beyond the largest
            possible distance returns every item.
        ids: int64 or strings, `(n,)`: what to call the items; 0 to n - 1 unless given. Strings
            stand in the order of adding, by which ties go.
        order: Of each row: "nested" by distance, then rank distance, then id; "total" by the sum
            of both distances, then id.

    Raises:
        InvalidInputError: The codes are not comparable, `radius` is negative or not an integer, or
            `ids` do not fit the items.

    Example:
        >>> items = Codes.from_dense([[0, 1, 1], [0, 0, 1], [0, 1, 1]])
        >>> ids, distances = search_radius(items, items[0], radius=1)[0]
        >>> ids.tolist(), distances.tolist()
        ([0, 2, 1], [0, 0, 1])
    """
    queries.check_comparable(items, "`queries`", "the database")
    check_choice("order", order, ORDERS)
    if not _is_integer(radius) or radius < 0:
        farthest = items.n_bucket_bits * (2 if items.signed else 1)
        raise InvalidInputError(f"`radius` must be an integer in [0, {farthest}], got {radius!r}.")
    numbers, names = _checked_ids(ids, len(items))
    rows = (_ranked(query, items, numbers, order) for query in queries)
    return _joined([row[:, row[1] <= radius] for row in rows], items, names)


def search_top_k(
    items: Codes,
    queries: Codes,
    k: int,
    *,
    ids: npt.ArrayLike | None = None,
    order: Order = "nested",
) -> Matches:
    """Return the first `k` items of each query; fewer than `k` items are all returned.

    Args:
        items: `n` codes to search.
        queries: `n_queries` codes with the same lengths and `signed`.
        k: How many matches each query gets, at least 1.
        ids: As in `search_radius`.
        order: As in `search_radius`.

    Raises:
        InvalidInputError: The codes are not comparable, `k` is not a positive integer, or `ids` do
            not fit the items.

    Example:
        >>> items = Codes.from_dense([[0, 1, 1], [0, 0, 1], [0, 1, 1]])
        >>> ids, distances = search_top_k(items, items[1], k=2)[0]
        >>> ids.tolist(), distances.tolist()
        ([1, 0], [0, 1])
    """
    queries.check_comparable(items, "`queries`", "the database")
    check_choice("order", order, ORDERS)
    if not _is_integer(k) or k < 1:
        raise InvalidInputError(f"`k` must be an integer of at least 1, got {k!r}.")
    numbers, names = _checked_ids(ids, len(items))
    rows = (_ranked(query, items, numbers, order) for query in queries)
    return _joined([row[:, :k] for row in rows], items, names)


def _n_differing(queries: Array, items: Array) -> Array:
    result = np.empty((len(queries), len(items)), np.int32)
    # A word takes 8 bytes of differing bits and 1 of their count.
    step = max(1, CHUNK_BYTES // max(1, items.size * 9))
    for start in range(0, len(queries), step):
        rows = slice(start, start + step)
        n_differing = np.bitwise_count(queries[rows, None] ^ items)
        n_differing.sum(axis=2, dtype=np.int32, out=result[rows])  # from (n_rows, n, n_words)
    return result


def _ranked(query: Codes, items: Codes, ids: Array, order: Order) -> Array:
    """Return ids, distances and rank distances of all items in order: int64, `(3, n)`."""
    bucket, rank = distances(query, items)[0], rank_distances(query, items)[0]
    keys = (ids, bucket + rank) if order == "total" else (ids, rank, bucket)
    found: Array = np.stack([ids, bucket, rank]).astype(np.int64)
    return found[:, np.lexsort(keys)]


def _joined(rows: list[Array], items: Codes, names: Array | None) -> Matches:
    offsets = np.cumsum([0, *(row.shape[1] for row in rows)], dtype=np.int64)
    ids, bucket, rank = np.concatenate([np.zeros((3, 0), np.int64), *rows], axis=1)
    called = ids if names is None else names[ids]
    return Matches(offsets, called, bucket, rank if items.n_rank_bits else None)


def _checked_ids(ids: npt.ArrayLike | None, n_items: int) -> tuple[Array, Array | None]:
    """Return the number of each item, and what to call the numbers if they are not the ids."""
    if ids is None:
        return np.arange(n_items, dtype=np.int64), None
    array = np.asarray(ids)
    if array.shape != (n_items,):
        raise InvalidInputError(
            f"`ids` must have shape ({n_items},), one per item, got shape {array.shape}."
        )
    if array.dtype.kind in "OU":
        return np.arange(n_items, dtype=np.int64), array.astype(object)
    # An empty list has no type of its own; bool and uint64 would change their values or meaning.
    if array.size and (array.dtype.kind not in "iu" or not np.can_cast(array.dtype, np.int64)):
        raise InvalidInputError(f"`ids` must be int64 or strings, got {array.dtype}.")
    return array.astype(np.int64), None


def _is_integer(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
