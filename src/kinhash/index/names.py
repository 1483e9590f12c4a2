"""The strings by which the user knows the items of an index, in the order of adding."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from kinhash.arrays import Array, Integers
from kinhash.errors import InvalidInputError
from kinhash.ids import Texts, as_ids


class Names:
    """Strings by number: the core calls an item by its number, its place in the order of adding.

    A removed item leaves its string here, and an id that comes back gets a new number, as if it had
    never been there; so of equal strings the last one counts. Immutable, in parts like an index:
    each at least twice as long as the next, so that adding costs in proportion to what is added.

    Args:
        parts: The strings, one part after the other.

    Example:
        >>> names = Names([Texts.encoded(["b", "a"])]).with_more(Texts.encoded(["c"]))
        >>> names.strings(np.array([2, 0])).tolist()
        ['c', 'b']
        >>> names.numbers_of(Texts.encoded(["a", "x"])).tolist()
        [1, -1]
    """

    __slots__ = ("_ends", "parts")

    def __init__(self, parts: Sequence[Texts]) -> None:
        self.parts = tuple(parts)
        self._ends = np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __reduce__(self) -> tuple[Any, ...]:
        return Names, (self.parts,)

    @property
    def n_bytes(self) -> int:
        """The size of the strings, without what looks them up."""
        return sum(part.n_bytes for part in self.parts)

    def with_more(self, texts: Texts) -> "Names":
        """Return these strings and, after them, others."""
        parts = [*self.parts, texts]
        while len(parts) > 1 and len(parts[-2]) < 2 * len(parts[-1]):
            parts[-2:] = [Texts.joined(parts[-2:])]
        return Names(parts)

    def numbers_of(self, asked: Texts) -> Integers:
        """Return the last number of each string, -1 where there is none."""
        numbers = np.full(len(asked), -1, np.int64)
        for part, start in zip(self.parts, self._ends.tolist(), strict=False):
            found = part.numbers_of(asked)
            numbers = np.where(found >= 0, found + start, numbers)
        return numbers

    def number_of(self, item: object) -> Integers:
        """Return the last number of one string, -1 of anything else: `(1,)`."""
        try:
            asked = as_ids([item]) if isinstance(item, str) else None
        except InvalidInputError:  # half of a surrogate pair
            asked = None
        return self.numbers_of(asked) if isinstance(asked, Texts) else np.full(1, -1)

    def strings(self, numbers: Array) -> npt.NDArray[np.object_]:
        """Return the strings of these numbers: an array of `str`; "" where there is none."""
        if len(self.parts) == 1:
            return self.parts[0].decoded(numbers)
        strings = np.full(len(numbers), "", object)
        of = np.searchsorted(self._ends, numbers, side="right") - 1
        for i, part in enumerate(self.parts):
            mine = np.flatnonzero(of == i)
            strings[mine] = part.decoded(numbers[mine] - self._ends[i])
        return strings

    def kept(self, numbers: Array) -> Texts:
        """Return the strings of these numbers, which ascend, as one table."""
        of = np.searchsorted(self._ends, numbers, side="right") - 1
        parts = enumerate(self.parts)
        return Texts.joined([part[numbers[of == i] - self._ends[i]] for i, part in parts])

    @classmethod
    def of(cls, ids: object) -> Self | None:
        """Return the names of items that are added first, or None if their ids are integers."""
        return cls([ids]) if isinstance(ids, Texts) else None
