"""`rerank`: the matches of a search put in order by the vectors themselves."""

from collections.abc import Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt

from kinhash import _native
from kinhash.arguments import check_choice, check_integer, checked_threads
from kinhash.arrays import Array, Floats, Integers
from kinhash.errors import InvalidInputError
from kinhash.ids import Texts, as_new_ids
from kinhash.matches import Distances, Matches, Precisions

Similarity = Literal["cosine", "dot", "l2"]
SIMILARITIES: tuple[Similarity, ...] = ("cosine", "dot", "l2")  # as the core numbers them


class Ranked:
    """Matches in the order of `similarities`, the largest first in each row.

    Args:
        matches: What was found, in that order; distances are those of the codes.
        similarities: float32, `(n_matches,)`.

    Example:
        >>> ranked = Ranked(Matches([0, 2], [7, 3], [1, 0]), np.array([0.9, 0.5], np.float32))
        >>> ids, similarities = ranked[0]
        >>> ids.tolist(), ranked.distances.tolist()
        ([7, 3], [1, 0])
    """

    __slots__ = ("matches", "similarities")

    def __init__(self, matches: Matches, similarities: Floats) -> None:
        if similarities.shape != matches.ids.shape:
            raise InvalidInputError(
                f"`similarities` must be one for each of {len(matches.ids)} matches, got shape "
                f"{similarities.shape}."
            )
        self.matches = matches
        self.similarities = similarities.view()
        self.similarities.flags.writeable = False

    @property
    def offsets(self) -> Integers:
        """Where each row starts: int64, `(n_queries + 1,)`."""
        return self.matches.offsets

    @property
    def ids(self) -> Integers:
        """The ids of all rows, one after the other."""
        return self.matches.ids

    @property
    def distances(self) -> Distances:
        """The distances of the codes: int32."""
        return self.matches.distances

    @property
    def rank_distances(self) -> Distances | None:
        """The distances of the rank bits: int32; None if they were not computed."""
        return self.matches.rank_distances

    @property
    def precision(self) -> Precisions | None:
        """How likely each match is similar to its query, by the codes: float32; None if unknown."""
        return self.matches.precision

    @property
    def counts(self) -> Integers:
        """How many matches each query has: int64, `(n_queries,)`."""
        return self.matches.counts

    def __len__(self) -> int:
        return len(self.matches)

    def __getitem__(self, query: int) -> tuple[Integers, Floats]:
        """Return `(ids, similarities)` of one query."""
        if not -len(self) <= query < len(self):
            raise IndexError(f"query {query} of {len(self)}")
        row = slice(*self.offsets[query % len(self) :][:2])
        return self.ids[row], self.similarities[row]

    def __iter__(self) -> Iterator[tuple[Integers, Floats]]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Ranked(n_queries={len(self)}, n_matches={len(self.similarities)})"


def rerank(
    matches: Matches,
    queries: npt.ArrayLike,
    vectors: Array,
    *,
    metric: Similarity = "cosine",
    k: int = 10,
    ids: npt.ArrayLike | None = None,
    n_threads: int | None = None,
) -> Ranked:
    """Return the `k` matches of each query whose vectors are most similar to it.

    Codes find candidates, vectors order them: search for more than is wanted, 500 for the best 10,
    say, then rerank. Only the rows of the candidates are read, so `vectors` may be a memory-mapped
    file that is larger than memory.

    The order is by similarity, then id; strings go by their row in `vectors`. Each similarity is
    computed in float32 in an order that depends on nothing but the width of the vectors, so answers
    do not depend on the batch or on the number of threads.

    Args:
        matches: What a search found, a row for each query.
        queries: `(n_queries, n_features)` numbers: the vectors that were searched with.
        vectors: `(n, n_features)`, float32, float16 or int8, the numbers of a row side by side: the
            vectors of the items. A `numpy.memmap` stays on disk.
        metric: "cosine", "dot" for the dot product, or "l2". Similarities of "l2" are minus the
            Euclidean distance, so that the largest are the nearest. The cosine with a vector of
            zeros is 0.
        k: How many to keep at most.
        ids: `(n,)` different ids: which item each row of `vectors` belongs to. By default the id of
            an item is its row.
        n_threads: All cores by default.

    Raises:
        InvalidInputError: A match has no row in `vectors`; vectors are not finite, or not of the
            queries' width; or an argument is out of range.

    Example:
        >>> vectors = np.array([[1, 0], [0, 1], [3, 4]], np.float32)
        >>> found = Matches([0, 3], [0, 1, 2], [0, 0, 1])
        >>> ids, similarities = rerank(found, [[0, 2]], vectors, k=2)[0]
        >>> ids.tolist(), [round(float(s), 2) for s in similarities]
        ([1, 2], [1.0, 0.8])
    """
    check_choice("metric", metric, SIMILARITIES)
    check_integer("k", k, 1)
    threads = checked_threads("n_threads", n_threads)
    _check_vectors(vectors)
    asked = _checked_queries(queries, len(matches), vectors.shape[1])
    rows = _rows_of(matches.ids, ids, len(vectors))
    tie_breakers = rows if matches.ids.dtype == object else matches.ids
    offsets = np.concatenate([[0], np.cumsum(np.minimum(matches.counts, k))])
    chosen = np.empty(offsets[-1], np.int64)
    similarities = np.empty(offsets[-1], np.float32)
    bad = _native.rerank(
        vectors,
        asked,
        matches.offsets,
        rows,
        tie_breakers,
        SIMILARITIES.index(metric),
        offsets,
        chosen,
        similarities,
        threads,
    )
    if bad < len(rows):
        raise _unusable(
            matches.ids[bad : bad + 1].tolist()[0], int(rows[bad]), vectors, has_ids=ids is not None
        )
    return Ranked(matches._chosen(offsets, chosen), similarities)  # noqa: SLF001 - its own half


def _check_vectors(vectors: Array) -> None:
    if not isinstance(vectors, np.ndarray) or vectors.ndim != 2:
        got = (
            f"shape {vectors.shape}" if isinstance(vectors, np.ndarray) else type(vectors).__name__
        )
        raise InvalidInputError(f"`vectors` must be a two-dimensional array, got {got}.")
    if vectors.dtype not in (np.float32, np.float16, np.int8):
        raise InvalidInputError(
            f"`vectors` must be float32, float16 or int8, got {vectors.dtype}. Convert them, as by "
            "`vectors.astype(np.float32)`."
        )
    if vectors.shape[1] < 1:
        raise InvalidInputError("`vectors` must have at least one column, got none.")
    if vectors.size and (
        (vectors.strides[1] != vectors.itemsize and vectors.shape[1] > 1)
        or not vectors.flags.aligned
    ):
        raise InvalidInputError(
            "`vectors` must hold the numbers of each row side by side. Copy them, as by "
            "`np.ascontiguousarray(vectors)`."
        )


def _checked_queries(queries: npt.ArrayLike, n_queries: int, n_features: int) -> Floats:
    array = np.asarray(queries)
    if array.shape != (n_queries, n_features):
        raise InvalidInputError(
            f"`queries` must be {n_queries} vectors of width {n_features}, one for each row of "
            f"`matches` and as wide as `vectors`, got shape {array.shape}."
        )
    if array.dtype.kind not in "fiub":
        raise InvalidInputError(f"`queries` must hold numbers, got {array.dtype}.")
    with np.errstate(over="ignore"):
        asked = np.ascontiguousarray(array, np.float32)
    is_finite = np.isfinite(asked).all(axis=1)
    if not is_finite.all():
        raise InvalidInputError(
            f"`queries` must be finite, but row {int(np.argmin(is_finite))} holds NaN, infinity or "
            "a number too large for float32."
        )
    return asked


def _rows_of(found: Array, ids: npt.ArrayLike | None, n: int) -> Integers:
    """Return the row of each match, -1 where it has none."""
    if ids is None:
        if found.dtype == object:
            raise InvalidInputError(
                "`matches` have strings as ids. Pass `ids`: which item each row of `vectors` "
                "belongs to."
            )
        return found
    known = as_new_ids(ids, n, what="rows of `vectors`")
    if len(found) and n and isinstance(known, Texts) != (found.dtype == object):
        kinds = ("strings", "integers")[:: 1 if found.dtype == object else -1]
        raise InvalidInputError(
            f"`ids` must be {kinds[0]}, as the ids of `matches` are, got {kinds[1]}."
        )
    if isinstance(known, Texts):
        return known.numbers_of(Texts.encoded(found.tolist()))
    order = np.argsort(known, kind="stable")
    in_order = known[order]
    if not n:
        return np.full(len(found), -1)
    places = np.minimum(np.searchsorted(in_order, found), n - 1)
    return np.where(in_order[places] == found, order[places], -1)


def _unusable(item: object, row: int, vectors: Array, *, has_ids: bool) -> InvalidInputError:
    n = len(vectors)
    if 0 <= row < n:
        wrong = "NaN or infinity" if not np.isfinite(vectors[row]).all() else "too large numbers"
        return InvalidInputError(f"`vectors` must be finite, but row {row} holds {wrong}.")
    if has_ids:
        return InvalidInputError(
            f"`ids` must hold the id of each match, but {item!r} is not there."
        )
    return InvalidInputError(
        f"`vectors` must have a row for each id of `matches`, but there is no row {item!r} of {n}. "
        "Pass `ids` where the id of an item is not its row."
    )
