"""The immutable parts of an index: segments of items, and the state that a search takes."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar

import numpy as np

from kinhash import _native
from kinhash.arrays import Array, Bytes, Integers, Words
from kinhash.ids import Ids, Texts
from kinhash.index import memory
from kinhash.index.names import Names
from kinhash.matches import Matches, NamedMatches

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


def rank_bytes(n_rank_bits: int) -> int:
    """Return how many bytes the rank bits of an item take: 1, 2, 4, or a multiple of 8."""
    return next((n for n in (0, 1, 2, 4) if n_rank_bits <= 8 * n), -(-n_rank_bits // 64) * 8)


def packed_ranks(rank_words: Words, n_rank_bits: int) -> Bytes:
    """Return rank bits as segments store them: uint8, `(n, rank_bytes(n_rank_bits))`."""
    raw = np.ascontiguousarray(rank_words, "<u8").view(np.uint8)
    return np.ascontiguousarray(raw[:, : rank_bytes(n_rank_bits)])


def rank_words(packed: Bytes, n_rank_bits: int) -> Words:
    """Return the words of rank bits that `packed_ranks` gave."""
    padded = np.zeros((len(packed), -(-n_rank_bits // 64) * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u8").astype(np.uint64, copy=False)


@dataclasses.dataclass(frozen=True, eq=False)
class Segment:
    """Some of the items: fixed arrays, and which of them still count."""

    arrays: dict[str, Array]
    numbers: dict[str, Any]
    built: _native.Segment
    alive: Array | None  # (n_items,) bool; None if all are

    @classmethod
    def build(
        cls,
        words: Array,
        ids: Array | None,
        wanted: memory.Structures,
        ranks: Bytes | None = None,
    ) -> Self:
        """Return the segment of these items with the structures that are wanted.

        Args:
            words: Their buckets.
            ids: Their ids; without, items are called by their numbers.
            wanted: The structures.
            ranks: Their rank bits as `packed_ranks` gives them, if they have any.
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
            None if ranks is None else np.ascontiguousarray(ranks),
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

    def called(self, ids: Array) -> Self:
        """Return the same items under other ids, narrow ones in the same order."""
        none = self.arrays["wide_ids"][:0]
        renamed = {"narrow_ids": ids.astype(np.uint32), "wide_ids": none}
        return self.of(self.arrays | renamed, self.numbers, self.alive)

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

    def ranks_of(self, items: Array) -> Bytes:
        """Return the rank bits of some items: uint8, `(n, rank_bytes)`."""
        ranks = self.arrays["ranks"].reshape(self.n_items, self.numbers["rank_bytes"])
        return ranks[items]

    def contents(self) -> tuple[Array, Array, Bytes]:
        """Return the words, ids and rank bits of all items that count."""
        items = np.arange(self.n_items) if self.alive is None else np.flatnonzero(self.alive)
        return self.words_of(items), self.ids[items].astype(np.int64), self.ranks_of(items)

    @property
    def alive_ids(self) -> Array:
        """The ids of all items that count."""
        return (self.ids if self.alive is None else self.ids[self.alive]).astype(np.int64)


class State:
    """All items at one moment. A search takes it once; a change puts another in its place.

    Args:
        segments: The items. Where ids are strings, segments know an item by its number.
        names: The strings, by number; None where ids are integers.

    Attributes:
        seen: What `kinhash.index.precision` has found out about their distances; None before.
    """

    __slots__ = ("matches", "n_items", "names", "searcher", "seen", "segments")

    def __init__(self, segments: tuple[Segment, ...], names: Names | None = None) -> None:
        self.segments, self.names = segments, names
        self.searcher = _native.Searcher([segment.native for segment in segments])
        self.n_items = self.searcher.n_items()
        self.seen: object = None
        # Called with an answer of the core. Chosen here, so that no search has to ask.
        self.matches: Callable[[_native.Answer], Matches] = (
            Matches._of if names is None else functools.partial(NamedMatches._called, names)  # noqa: SLF001
        )

    def numbers(self) -> Integers:
        """Return the numbers of all items that count, in ascending order."""
        return np.sort(np.concatenate([segment.alive_ids for segment in self.segments]))

    def has_kind(self, ids: Ids) -> bool:
        """Return whether ids are of the kind that is stored; no ids are of both."""
        return isinstance(ids, Texts) == (self.names is not None) or not len(ids)

    def numbers_of(self, ids: Ids) -> Integers:
        """Return the numbers by which segments may know ids of this kind; -1 for none."""
        if not isinstance(ids, Texts):
            return ids
        return np.full(len(ids), -1) if self.names is None else self.names.numbers_of(ids)

    def called(self, numbers: Integers) -> Array:
        """Return the ids of numbers as the user has them."""
        return numbers if self.names is None else self.names.strings(numbers)
