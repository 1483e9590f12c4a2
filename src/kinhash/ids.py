"""Ids of items as the user has them: all integers, or all strings, which are numbered.

The core knows items by integers. Where ids are strings, an item's integer is its number: its place
in a table of strings, `Texts`.
"""

import reprlib
from collections.abc import Sequence
from typing import Any, Self, TypeGuard

import numpy as np
import numpy.typing as npt

from kinhash import _native
from kinhash.arrays import Array, Bytes, Integers, Words
from kinhash.errors import InvalidInputError

MAX_BYTES = _native.LONGEST_TEXT  # of one id in UTF-8
MAX_TEXTS = _native.MOST_TEXTS  # ids that are strings, in one index

_PIECE = 2**16  # strings that are decoded at a time


class Texts:
    """Different strings by number, as one block of UTF-8. Immutable.

    Args:
        texts: uint8: the strings, one after the other.
        starts: uint64, `(n + 1,)`: string i is `texts[starts[i]:starts[i + 1]]`. They may come
            from a damaged file: a string that does not fit is empty.

    Example:
        >>> texts = Texts.encoded(["sku-1", "sku-7"])
        >>> len(texts), texts.decoded(np.array([1])).tolist()
        (2, ['sku-7'])
        >>> texts.numbers_of(Texts.encoded(["sku-7", "sku-9"])).tolist()
        [1, -1]
    """

    __slots__ = ("_slots", "starts", "texts")

    def __init__(self, texts: Bytes, starts: Words) -> None:
        self.texts, self.starts = texts.view(), starts.view()
        self.texts.flags.writeable = self.starts.flags.writeable = False
        self._slots: tuple[Array, int, int] | None = None

    @classmethod
    def encoded(cls, values: Sequence[str]) -> "Texts":
        """Return the table of strings, which need not differ.

        Raises:
            InvalidInputError: One is no string, or no valid Unicode.
        """
        return _as_texts(list(values), "values")

    @classmethod
    def joined(cls, parts: Sequence["Texts"]) -> Self:
        """Return the strings of all parts, one part after the other."""
        texts, starts, end = [np.zeros(0, np.uint8)], [np.zeros(1, np.uint64)], np.uint64(0)
        for part in parts:
            texts.append(part.texts)
            starts.append(part.starts[1:] + end)
            end += np.uint64(len(part.texts))
        return cls(np.concatenate(texts), np.concatenate(starts))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, numbers: Array) -> "Texts":
        """Return the strings at these numbers as a table of their own."""
        return Texts(*_native.take_texts(self.texts, self.starts, _as_numbers(numbers)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Texts, (np.array(self.texts), np.array(self.starts))

    @property
    def n_bytes(self) -> int:
        """The size of the table, without what looks strings up."""
        return self.texts.nbytes + self.starts.nbytes

    def decoded(self, numbers: Array | None = None) -> npt.NDArray[np.object_]:
        """Return the strings at these numbers, or all: an array of `str`, "" for none."""
        if numbers is None:
            numbers = np.arange(len(self))
        strings = np.empty(len(numbers), object)
        strings[:] = _native.decode_texts(self.texts, self.starts, _as_numbers(numbers))
        return strings

    def numbers_of(self, asked: "Texts") -> Integers:
        """Return the number of each of other strings, -1 where there is none; of two, the last."""
        numbers = np.empty(len(asked), np.int64)
        slots = self._lookup()[0]
        _native.find_texts(self.texts, self.starts, slots, asked.texts, asked.starts, numbers)
        return numbers

    def twice(self) -> tuple[int, int] | None:
        """Return the numbers of two equal strings, of which the second comes first of all such."""
        _, first, second = self._lookup()
        return None if first < 0 else (first, second)

    def _lookup(self) -> tuple[Array, int, int]:
        """Return the hash table, and two equal strings; made when first needed."""
        if self._slots is None:
            self._slots = _native.text_slots(self.texts, self.starts)
        return self._slots


Ids = Integers | Texts  # as they are after a check


def as_ids(ids: npt.ArrayLike, name: str = "ids") -> Ids:
    """Return ids as int64 or as a table of strings; they may repeat.

    Args:
        ids: `(n,)` integers or strings: an array, a list, or a column of a frame.
        name: What the user calls them, for messages.

    Raises:
        InvalidInputError: They are of another kind, of both kinds, or missing in a row.
    """
    if isinstance(ids, list | tuple) and ids and isinstance(ids[0], str):
        return _as_texts(list(ids), name)  # not by an array, all of whose strings would be as long
    array = _as_array(ids, name)
    if array.ndim == 1 and array.dtype.kind in "iu":
        return _fitting(array, name)
    if array.ndim == 1 and not array.size:
        return np.zeros(0, np.int64)  # an empty list has floats
    if array.ndim == 1 and array.dtype.kind in "OUT":
        values = array.tolist()
        return _as_integers(values, name) if is_integer(values[0]) else _as_texts(values, name)
    if array.ndim == 1 and array.dtype.kind == "f" and np.isnan(array).any():
        raise _missing(name, int(np.argmax(np.isnan(array))), "NaN")
    raise InvalidInputError(
        f"`{name}` must be integers or strings, one per item, got {array.dtype} of shape "
        f"{array.shape}."
    )


def as_new_ids(ids: npt.ArrayLike, n: int, name: str = "ids", what: str = "codes") -> Ids:
    """Return the ids of `n` items that are to be stored: each once, and within the limits.

    Args:
        ids: As of `as_ids`.
        n: How many there must be.
        name: What the user calls them, and ...
        what: ... what they are the ids of, for messages.

    Raises:
        InvalidInputError: As `as_ids`; or they are not `n`, two are alike, or a string is empty,
            too long, or has a zero byte.
    """
    checked = as_ids(ids, name)
    if len(checked) != n:
        raise InvalidInputError(f"`{name}` must be one for each of {n} {what}, got {len(checked)}.")
    if isinstance(checked, Texts):
        _check_limits(checked, name)
    check_distinct(checked, name)
    return checked


def check_distinct(ids: Ids, name: str = "ids") -> None:
    """Raise InvalidInputError if two ids are alike: the message names the id and both rows."""
    rows = ids.twice() if isinstance(ids, Texts) else _twice(ids)
    if rows is not None:
        raise InvalidInputError(
            f"`{name}` hold {shown(ids, rows[0])} twice, in rows {rows[0]} and {rows[1]}. "
            "Give each item an id of its own."
        )


def shown(ids: Ids, row: int) -> str:
    """Return the id in a row as messages show it."""
    found = ids.decoded(np.array([row])) if isinstance(ids, Texts) else ids[row : row + 1]
    return reprlib.repr(found.tolist()[0])


def check_table(texts: Texts) -> None:
    """Raise ValueError unless a table that comes from a file holds different ids within the limits.

    The message names `id_starts` or `id_texts`.
    """
    starts, raw = texts.starts, texts.texts
    if starts[0] != 0 or starts[-1] != len(raw) or not (starts[1:] > starts[:-1]).all():
        raise ValueError(f"`id_starts` do not ascend from 0 to {len(raw)}")
    lengths = np.diff(starts)
    if lengths.size and lengths.max() > MAX_BYTES:
        row = int(np.argmax(lengths))
        raise ValueError(f"`id_texts` have {lengths[row]} bytes in row {row}, at most {MAX_BYTES}")
    for first in range(0, len(texts), _PIECE):
        _check_utf8(raw, starts[first : first + _PIECE + 1], first)
    rows = texts.twice()
    if rows is not None:
        raise ValueError(
            f"`id_texts` hold {shown(texts, rows[0])} twice, in rows {rows[0]} and {rows[1]}"
        )


def _check_utf8(raw: Bytes, starts: Words, first: int) -> None:
    """Raise ValueError unless the strings between `starts` are valid, each one by itself."""
    part = raw[int(starts[0]) : int(starts[-1])].tobytes()
    at = part.find(0)
    # A string that starts within a character ends the one before in its middle.
    within = np.flatnonzero(raw[starts[:-1].astype(np.int64)] & 0xC0 == 0x80)
    if within.size:
        at = int(starts[within[0]] - starts[0])
    try:
        part.decode()
    except UnicodeDecodeError as error:
        at = error.start
    if at >= 0:
        row = first + int(np.searchsorted(starts, starts[0] + np.uint64(at), side="right")) - 1
        raise ValueError(f"`id_texts` in row {row} are not UTF-8 without zero bytes")


def _as_array(ids: npt.ArrayLike, name: str) -> Array:
    try:
        array = np.asarray(ids)
    except ValueError:  # lists of several lengths
        raise InvalidInputError(
            f"`{name}` must be integers or strings, one per item, got lists of several lengths."
        ) from None
    if isinstance(ids, list | tuple) and array.ndim == 1 and array.dtype.kind in "USTf":
        # NumPy makes strings of all values beside a string, and floats of large integers.
        array = np.empty(len(ids), object)
        array[:] = ids
    return array


def _as_texts(values: list[Any], name: str) -> Texts:
    texts, starts = _native.encode_texts(values)
    row = len(starts) - 1
    if row == len(values):
        return Texts(texts, starts)
    wrong = values[row]
    if isinstance(wrong, str):
        raise InvalidInputError(
            f"`{name}` must be valid Unicode, got {reprlib.repr(wrong)} in row {row}."
        )
    raise _of_another_kind(values, row, name)


def _as_integers(values: list[Any], name: str) -> Integers:
    for row, value in enumerate(values):
        if not is_integer(value):
            raise _of_another_kind(values, row, name)
        if not -(2**63) <= value < 2**63:
            raise InvalidInputError(f"`{name}` must fit into int64, got {value} in row {row}.")
    return np.array(values, np.int64)


def _of_another_kind(values: list[Any], row: int, name: str) -> InvalidInputError:
    """Return the error for a value that is no integer among integers, or no string."""
    wrong = values[row]
    is_nan = isinstance(wrong, float | np.floating) and wrong != wrong  # noqa: PLR0124 - NaN
    if wrong is None or is_nan or type(wrong).__name__ in {"NAType", "NaTType"}:
        return _missing(name, row, repr(wrong))
    if is_integer(wrong) or isinstance(wrong, str):
        return InvalidInputError(
            f"`{name}` must be all integers or all strings, got {reprlib.repr(values[0])} in row 0 "
            f"and {reprlib.repr(wrong)} in row {row}."
        )
    return InvalidInputError(
        f"`{name}` must be integers or strings, got {reprlib.repr(wrong)} of type "
        f"{type(wrong).__name__} in row {row}."
    )


def _missing(name: str, row: int, got: str) -> InvalidInputError:
    return InvalidInputError(
        f"`{name}` must have an id in each row, got {got} in row {row}. Give that item an id, or "
        "leave it out."
    )


def _check_limits(texts: Texts, name: str) -> None:
    if len(texts) > MAX_TEXTS:
        raise InvalidInputError(f"`{name}` may be at most {MAX_TEXTS:,} strings, got {len(texts)}.")
    lengths = np.diff(texts.starts)
    if lengths.size and not lengths.all():
        raise InvalidInputError(
            f"`{name}` must not be empty strings, got one in row {int(np.argmin(lengths))}. Give "
            "that item an id, or leave it out."
        )
    if lengths.size and lengths.max() > MAX_BYTES:
        row = int(np.argmax(lengths))
        raise InvalidInputError(
            f"`{name}` must have at most {MAX_BYTES:,} bytes in UTF-8, got {lengths[row]:,} in row "
            f"{row}."
        )
    zeros = np.flatnonzero(texts.texts == 0)
    if zeros.size:
        row = int(np.searchsorted(texts.starts, zeros[0], side="right")) - 1
        raise InvalidInputError(
            f"`{name}` must not have a zero byte, which databases refuse, got {shown(texts, row)} "
            f"in row {row}."
        )


def _fitting(array: Array, name: str) -> Integers:
    """Return integers as int64, and refuse those that would become others."""
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        row = int(np.argmax(array))
        raise InvalidInputError(f"`{name}` must fit into int64, got {array[row]} in row {row}.")
    return np.ascontiguousarray(array, np.int64)


def _twice(ids: Integers) -> tuple[int, int] | None:
    """Return the rows of two equal ids, the second of which comes first of all such rows."""
    if np.all(ids[1:] > ids[:-1]):
        return None
    ordered = np.sort(ids)  # several times as fast as finding the rows
    if not np.any(ordered[1:] == ordered[:-1]):
        return None
    order = np.argsort(ids, kind="stable")
    row = int(order[1:][ids[order[1:]] == ids[order[:-1]]].min())
    return int(np.argmax(ids == ids[row])), row


def is_integer(value: object) -> TypeGuard[int | np.integer[Any]]:
    """Return whether a value is an integer; a bool is none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _as_numbers(numbers: Array) -> Integers:
    return np.ascontiguousarray(numbers, np.int64)
