"""The specification of exact search: the same answers as any index, in a few lines of NumPy."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from kinhash.arrays import Array
from kinhash.codes import Codes
from kinhash.errors import InvalidInputError
from kinhash.matches import Matches

CHUNK_BYTES = 64 * 2**20


def distances(queries: Codes, items: Codes) -> Array:
    """Return the number of differing stored bits of every query and item.

    Beside the answer, takes about 64 MB, or one query's worth of words where that is more.

    Args:
        queries: `n_queries` codes.
        items: `n` codes with the same `n_bits` and `signed`.

    Returns:
        int32, `(n_queries, n)`; for signed codes the l1 distance, so a flipped sign counts 2.

    Raises:
        InvalidInputError: The two differ in `n_bits` or `signed`.
    """
    queries.check_comparable(items, "`queries`", "the database")
    result = np.empty((len(queries), len(items)), np.int32)
    # A word takes 8 bytes of differing bits and 1 of their count.
    step = max(1, CHUNK_BYTES // max(1, items.words.size * 9))
    for start in range(0, len(queries), step):
        rows = slice(start, start + step)
        n_differing = np.bitwise_count(queries.words[rows, None] ^ items.words)
        n_differing.sum(axis=2, dtype=np.int32, out=result[rows])  # from (n_rows, n, n_words)
    return result


def search_radius(
    items: Codes, queries: Codes, radius: int, *, ids: npt.ArrayLike | None = None
) -> Matches:
    """Return every item within `radius` of each query, by distance, then by id.

    Args:
        items: `n` codes to search.
        queries: `n_queries` codes with the same `n_bits` and `signed`.
        radius: Largest accepted distance; 0 means identical codes. A radius beyond the largest
            possible distance returns every item.
        ids: int64, `(n,)`: what to call the items; 0 to n - 1 unless given.

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
    if not _is_integer(radius) or radius < 0:
        farthest = items.n_bits * (2 if items.signed else 1)
        raise InvalidInputError(f"`radius` must be an integer in [0, {farthest}], got {radius!r}.")
    names = _checked_ids(ids, len(items))
    return _joined(_ranked(row, names, radius) for row in _rows(queries, items))


def search_top_k(
    items: Codes, queries: Codes, k: int, *, ids: npt.ArrayLike | None = None
) -> Matches:
    """Return the `k` nearest items of each query, by distance, then by id.

    Exact; at equal distance the lowest ids win. Fewer than `k` items are all returned.

    Args:
        items: `n` codes to search.
        queries: `n_queries` codes with the same `n_bits` and `signed`.
        k: How many matches each query gets, at least 1.
        ids: int64, `(n,)`: what to call the items; 0 to n - 1 unless given.

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
    if not _is_integer(k) or k < 1:
        raise InvalidInputError(f"`k` must be an integer of at least 1, got {k!r}.")
    names = _checked_ids(ids, len(items))
    return _joined(
        _ranked(row, names, _kth_smallest(row, k), at_most=k) for row in _rows(queries, items)
    )


def _rows(queries: Codes, items: Codes) -> Iterable[Array]:
    return (distances(query, items)[0] for query in queries)


def _ranked(
    row: Array, ids: Array, radius: int, *, at_most: int | None = None
) -> tuple[Array, Array]:
    kept = np.flatnonzero(row <= radius)
    kept = kept[np.lexsort((ids[kept], row[kept]))][:at_most]
    return ids[kept], row[kept]


def _kth_smallest(row: Array, k: int) -> int:
    return int(np.partition(row, k - 1)[k - 1] if k < len(row) else row.max(initial=0))


def _joined(rows: Iterable[tuple[Array, Array]]) -> Matches:
    ids, dists = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    for row_ids, row_distances in rows:
        ids.append(row_ids)
        dists.append(row_distances)
    # The leading empty row makes the first offset 0.
    offsets = np.cumsum([len(row) for row in ids], dtype=np.int64)
    return Matches(offsets, np.concatenate(ids), np.concatenate(dists))


def _checked_ids(ids: npt.ArrayLike | None, n_items: int) -> Array:
    if ids is None:
        return np.arange(n_items, dtype=np.int64)
    array = np.asarray(ids)
    if array.shape != (n_items,):
        raise InvalidInputError(
            f"`ids` must have shape ({n_items},), one per item, got shape {array.shape}."
        )
    # An empty list has no type of its own; bool and uint64 would change their values or meaning.
    if array.size and (array.dtype.kind not in "iu" or not np.can_cast(array.dtype, np.int64)):
        raise InvalidInputError(f"`ids` must be int64, got {array.dtype}.")
    return array.astype(np.int64)


def _is_integer(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
