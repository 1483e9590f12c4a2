"""The immutable parts of an index: segments of items, and the state that a search takes."""

import dataclasses
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar

import numpy as np

from kinhash import _native
from kinhash.arrays import Array
from kinhash.index import memory

Value = TypeVar("Value")


class _Lazy(Generic[Value]):
    """A property that is computed when first read; several threads may compute it at once.

    `functools.cached_property` of Python 3.11 takes a lock for all instances: a process forked
    meanwhile would wait for it for ever.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __get__(self, instance: Any, owner: type) -> Value:  # noqa: ANN401 - of any class
        value = instance.__dict__[self._compute.__name__] = self._compute(instance)
        return value


@dataclasses.dataclass(frozen=True, eq=False)
class Segment:
    """Some of the items: fixed arrays, and which of them still count."""

    arrays: dict[str, Array]
    numbers: dict[str, Any]
    built: _native.Segment
    alive: Array | None  # (n_items,) bool; None if all are

    @classmethod
    def build(cls, words: Array, ids: Array | None, wanted: memory.Structures) -> Self:
        """Return the segment of these items with the structures that are wanted.

        Without `ids`, items are called by their numbers.
        """
        small = len(words) <= memory.SMALL
        arrays, numbers = _native.build_segment(
            np.ascontiguousarray(words),
            ids,
            0 if small else wanted.levels,
            0 if small else wanted.n_chunks_of(words.shape[1]),
            wanted.groups and not small,
            0 if small else wanted.n_far(len(words)),
            0 if small else wanted.n_listed(len(words)),
            wanted.budget,
        )
        return cls.of(arrays, numbers)

    @classmethod
    def of(
        cls, arrays: dict[str, Array], numbers: dict[str, Any], alive: Array | None = None
    ) -> Self:
        """Return the segment of arrays and numbers that `build_segment` made."""
        return cls(arrays, numbers, _native.Segment(arrays, numbers), alive)

    def __reduce__(self) -> tuple[Any, ...]:
        return Segment.of, (self.arrays, self.numbers, self.alive)

    @property
    def ids(self) -> Array:
        """The id of each item, bucket by bucket."""
        narrow = self.arrays["narrow_ids"]
        return narrow if len(narrow) else self.arrays["wide_ids"]

    @property
    def n_items(self) -> int:
        """All items, removed ones too."""
        return len(self.ids)

    @_Lazy
    def n_alive(self) -> int:
        """The items that still count."""
        return self.n_items if self.alive is None else int(self.alive.sum())

    @_Lazy
    def bounds(self) -> tuple[int, int]:
        """The lowest and the highest id."""
        return (int(self.ids.min()), int(self.ids.max())) if self.n_items else (0, -1)

    @_Lazy
    def order(self) -> Array:
        """The items in the order of their ids; made when an id is first looked for."""
        return np.argsort(self.ids, kind="stable")

    def positions(self, ids: Array) -> Array:
        """Return the item with each id, -1 where there is none that counts."""
        low, high = self.bounds
        found = np.full(len(ids), -1, np.int64)
        possible = np.flatnonzero((ids >= low) & (ids <= high))
        if len(possible):
            wanted = ids[possible].astype(self.ids.dtype)
            at = self.order[
                np.minimum(np.searchsorted(self.ids, wanted, sorter=self.order), self.n_items - 1)
            ]
            hit = self.ids[at] == wanted
            if self.alive is not None:
                hit &= self.alive[at]
            found[possible[hit]] = at[hit]
        return found

    def without(self, items: Array) -> Self:
        """Return the segment with the given items gone."""
        alive = np.ones(self.n_items, bool) if self.alive is None else self.alive.copy()
        alive[items] = False
        left = dataclasses.replace(self, alive=alive)
        # Where an id stands has not changed; sorting them again would cost as much as a build.
        left.__dict__.update(order=self.order, bounds=self.bounds)
        return left

    def restricted(self, alive: Array) -> _native.Segment:
        """Return what searches only the items of a mask."""
        return self.built.with_alive(np.packbits(alive, bitorder="little"))

    @_Lazy
    def native(self) -> _native.Segment:
        """What searches the items that count."""
        return self.built if self.alive is None else self.restricted(self.alive)

    def words_of(self, items: Array) -> Array:
        """Return the codes of some items."""
        rows = np.searchsorted(self.arrays["offsets"], items, side="right") - 1
        return self.arrays["codes"].reshape(-1, self.numbers["n_words"])[rows]

    def contents(self) -> tuple[Array, Array]:
        """Return the words and ids of all items that count."""
        items = np.arange(self.n_items) if self.alive is None else np.flatnonzero(self.alive)
        return self.words_of(items), self.ids[items].astype(np.int64)


class State:
    """All items at one moment. A search takes it once; a change puts another in its place."""

    __slots__ = ("n_items", "searcher", "segments")

    def __init__(self, segments: tuple[Segment, ...]) -> None:
        self.segments = segments
        self.searcher = _native.Searcher([segment.native for segment in segments])
        self.n_items = self.searcher.n_items()
