"""`Matches`: the ragged answer to a batch of queries."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from kinhash import _native
from kinhash.arrays import Array, Integers
from kinhash.errors import InvalidInputError
from kinhash.ids import Texts, as_ids
from kinhash.tables import arrow

Distances = npt.NDArray[np.int32]
Precisions = npt.NDArray[np.float32]
Held = tuple[Integers, Array, Distances, Distances | None]


class Matches:
    """What each query found: row i is `ids[offsets[i]:offsets[i + 1]]` with its distances.

    The arrays are read-only.

    Args:
        offsets: int64, `(n_queries + 1,)`, starting at 0 and never decreasing.
        ids: int64, or strings, `(n_matches,)`.
        distances: int32, `(n_matches,)`, of the buckets.
        rank_distances: int32, `(n_matches,)`, of the rank bits; None where they were not computed.
        precision: float32, `(n_matches,)`, how likely each match is similar to its query; None
            where nobody has told.

    Example:
        >>> m = Matches(np.array([0, 2, 2]), np.array([7, 3]), np.array([0, 1], np.int32))
        >>> len(m), m.counts.tolist()
        (2, [2, 0])
        >>> ids, distances = m[0]
        >>> ids.tolist(), distances.tolist()
        ([7, 3], [0, 1])
    """

    __slots__ = ("_held", "_precision")

    def __init__(
        self,
        offsets: Array,
        ids: Array,
        distances: Array,
        rank_distances: Array | None = None,
        precision: Array | None = None,
    ) -> None:
        offsets = np.asarray(offsets, np.int64)
        ids, distances = _as_array(ids), np.asarray(distances, np.int32)
        if offsets.ndim != 1 or len(offsets) < 1 or offsets[0] != 0 or np.any(np.diff(offsets) < 0):
            raise InvalidInputError("`offsets` must start at 0 and never decrease.")
        if ids.shape != (offsets[-1],) or distances.shape != (offsets[-1],):
            raise InvalidInputError(
                f"`offsets` end at {offsets[-1]} but `ids` have shape {ids.shape} "
                f"and `distances` {distances.shape}."
            )
        ranks = None if rank_distances is None else np.asarray(rank_distances, np.int32)
        if ranks is not None and ranks.shape != ids.shape:
            raise InvalidInputError(
                f"`rank_distances` must be one for each of {len(ids)} matches, got shape "
                f"{ranks.shape}."
            )
        if precision is not None:
            self._precision: Precisions | Callable[[Distances, Distances | None], Precisions]
            self._precision = np.array(precision, np.float32)
            if self._precision.shape != ids.shape:
                raise InvalidInputError(
                    f"`precision` must be one for each of {len(ids)} matches, got shape "
                    f"{self._precision.shape}."
                )
            self._precision.flags.writeable = False
        # Views: the caller's own arrays stay writeable.
        views = (
            offsets.view(),
            ids.view(),
            distances.view(),
            None if ranks is None else ranks.view(),
        )
        for array in views:
            if array is not None:
                array.flags.writeable = False
        self._held: _native.Answer | Held = views

    @classmethod
    def _of(cls, answer: "_native.Answer | Held") -> Self:
        """Return the matches of an answer of the core, whose arrays are made when first read."""
        made = cls.__new__(cls)
        made._held = answer  # noqa: SLF001 - its own class
        return made

    def _rated(self, rate: Callable[[Distances, Distances | None], Precisions]) -> Self:
        """Return the same matches with the `precision` that `rate` gives to their distances."""
        made = type(self)._of(self._arrays())  # noqa: SLF001 - its own class
        made._precision = rate  # noqa: SLF001
        return made

    def _chosen(self, offsets: Array, places: Array) -> "Matches":
        """Return the matches at some places of the arrays, whose rows start at `offsets`."""
        ranks, precision = self.rank_distances, self.precision
        return Matches(
            offsets,
            self.ids[places],
            self.distances[places],
            None if ranks is None else ranks[places],
            None if precision is None else precision[places],
        )

    def _release(self) -> None:
        """Drop the arrays. The next answer gets their memory if nobody else holds one of them."""
        self._held = _NOTHING
        if hasattr(self, "_precision"):
            del self._precision

    def _arrays(self) -> Held:
        held = self._held
        if not isinstance(held, tuple):
            self._held = held = _native.answer_arrays(held)
        return held

    @property
    def offsets(self) -> Integers:
        """Where each row starts: int64, `(n_queries + 1,)`."""
        return self._arrays()[0]

    @property
    def ids(self) -> Array:
        """The ids of all rows, one after the other: int64, or an array of `str`."""
        return self._arrays()[1]

    @property
    def distances(self) -> Distances:
        """The distances that go with `ids`: int32."""
        return self._arrays()[2]

    @property
    def rank_distances(self) -> Distances | None:
        """The distances of the rank bits that go with `ids`: int32; None if not computed."""
        return self._arrays()[3]

    @property
    def precision(self) -> Precisions | None:
        """How likely each match is similar to its query: float32; None where nobody has told.

        A search with `min_precision` tells, and `HammingIndex.with_precision`.
        """
        # An attribute that is never set costs the fastest searches nothing.
        found = getattr(self, "_precision", None)
        if callable(found):
            found = found(self.distances, self.rank_distances)
            found.flags.writeable = False
            self._precision = found
        return found

    @property
    def counts(self) -> Integers:
        """How many matches each query has: int64, `(n_queries,)`."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, query: int) -> tuple[Array, Distances]:
        """Return `(ids, distances)` of one query."""
        if not -len(self) <= query < len(self):
            raise IndexError(f"query {query} of {len(self)}")
        row = slice(*self.offsets[query % len(self) :][:2])
        return self.ids[row], self.distances[row]

    def __iter__(self) -> Iterator[tuple[Array, Distances]]:
        return (self[i] for i in range(len(self)))

    def to_arrow(self) -> Any:  # noqa: ANN401 - untyped
        """Return a `pyarrow.Table` with a row for each match: query, id, distance, rank_distance.

        `query` is the query's row, int64; queries without a match have no row. The columns
        `rank_distance` and `precision` are there if they were computed.

        Raises:
            MissingExtraError: pyarrow is not installed.
        """
        columns = {
            "query": np.repeat(np.arange(len(self)), self.counts),
            "id": self.ids,
            "distance": self.distances,
            "rank_distance": self.rank_distances,
            "precision": self.precision,
        }
        return arrow().table({k: v for k, v in columns.items() if v is not None})

    def to_pandas(self) -> Any:  # noqa: ANN401 - untyped
        """Return the same as a `pandas.DataFrame`."""
        return self.to_arrow().to_pandas()

    def __repr__(self) -> str:
        return f"Matches(n_queries={len(self)}, n_matches={len(self.distances)})"

    def __reduce__(self) -> tuple[type["Matches"], tuple[Array | None, ...]]:
        arrays = self.offsets, self.ids, self.distances, self.rank_distances
        return Matches, (*arrays, self.precision)


class Strings(Protocol):
    """Names of items, by number."""

    def strings(self, numbers: Array) -> Array:
        """Return the strings of these numbers: an array of `str`."""


class NamedMatches(Matches):
    """Matches of an index whose ids are strings: they are made when `ids` is first read."""

    __slots__ = ("_ids", "_names")

    @classmethod
    def _called(cls, names: Strings, answer: "_native.Answer") -> Self:
        """Return the matches of an answer of the core, whose ids are the numbers of `names`."""
        made = cls._of(answer)
        made._names, made._ids = names, None  # noqa: SLF001 - its own class
        return made

    _names: Strings
    _ids: Array | None

    def _rated(self, rate: Callable[[Distances, Distances | None], Precisions]) -> Self:
        made = super()._rated(rate)
        made._names, made._ids = self._names, self._ids  # noqa: SLF001
        return made

    def _release(self) -> None:
        super()._release()
        self._ids = None

    @property
    def ids(self) -> Array:
        """The ids of all rows, one after the other: an array of `str`."""
        if self._ids is None:
            strings = self._names.strings(self._arrays()[1])
            strings.flags.writeable = False
            self._ids = strings
        return self._ids


def _as_array(ids: Array) -> Array:
    """Return int64, or an array of `str`."""
    array = np.asarray(ids)
    if array.dtype.kind not in "OUST" or array.ndim != 1:
        return np.asarray(array, np.int64)
    checked = as_ids(ids)  # refuses what is no id
    if isinstance(checked, Texts):
        return array if array.dtype == object else checked.decoded()
    return checked if len(checked) else array.astype(object)


# The arrays of an answer to no queries.
_NOTHING: Held = np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32), None
for _array in _NOTHING[:3]:
    _array.flags.writeable = False
