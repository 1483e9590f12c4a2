"""The full check of an index: its arrays hold what a search relies on."""

from typing import Any

import numpy as np
import numpy.typing as npt

from kinhash import _native
from kinhash.codes import Codes

Array = npt.NDArray[Any]

_PIECE = 2**22  # entries that are checked at a time


def require(holds: object, what: str) -> None:
    """Raise ValueError with `what` is wrong unless it `holds`."""
    if not holds:
        raise ValueError(what)


def check(
    arrays: dict[str, Array],
    numbers: dict[str, Any],
    segment: _native.Segment,
    *,
    n_bits: int,
    signed: bool,
) -> None:
    """Check that the arrays of a segment are sound.

    Args:
        arrays: All arrays of the segment, whose lengths fit.
        numbers: What the arrays do not say themselves.
        segment: The same arrays as the native core searches them.
        n_bits: Entries per code.
        signed: Whether entries may be -1.

    Raises:
        ValueError: They are not sound; the message names the array.
    """
    n_codes, n_words = len(arrays["offsets"]) - 1, numbers["n_words"]
    codes = arrays["codes"].reshape(n_codes, n_words)
    offsets = arrays["offsets"]
    ids = arrays["narrow_ids"] if len(arrays["narrow_ids"]) else arrays["wide_ids"]
    require(_ascends(offsets, strictly=True), "`offsets` do not ascend")
    require(not n_codes or len(arrays["slots"]) > n_codes, "`slots` are fewer than the codes")
    used = np.zeros(n_words, np.uint64)
    searcher = _native.Searcher([segment])
    step = max(1, _PIECE // 64 // n_words)
    for first in range(0, n_codes, step):
        some = codes[first : first + step]
        Codes(some, n_bits, signed=signed)  # raises where a bit is too many
        used |= np.bitwise_or.reduce(some, axis=0)
        # Each code must lead to its own ids: then the hash table is sound and no code stands twice.
        starts, found, _ = searcher.radius(some, 0, sort=False, n_threads=1)
        own: Array = offsets[first : first + len(some) + 1].astype(np.int64)
        require(
            np.array_equal(starts, own - own[0]),
            f"a code at rows {first} to {first + len(some)} is not found by its hash",
        )
        require(
            np.array_equal(found, ids[own[0] : own[-1]]),
            f"a code at rows {first} to {first + len(some)} stands twice",
        )
        ascends = found[1:] > found[:-1]
        ascends[own[1:-1] - own[0] - 1] = True
        require(ascends.all(), "the ids of a code do not ascend")
    require(np.array_equal(used, arrays["used"]), "`used` are not the bits of the codes")
    if len(arrays["group_starts"]):
        _check_table(arrays["group_starts"], n_codes, "group_starts")
        _check_groups(codes, arrays, numbers)
    for name in ("key1", "key2", "near"):
        if len(arrays[f"{name}_starts"]):
            rows = arrays[f"{name}_rows"]
            _check_table(arrays[f"{name}_starts"], len(rows), f"{name}_starts")
            _check_rows(rows, n_codes, f"{name}_rows")
    if len(arrays["near_starts"]):
        _check_lists(arrays["near_starts"], arrays["near_rows"])
    if numbers["n_chunks"]:
        for table in arrays["chunk_starts"].reshape(numbers["n_chunks"], -1):
            _check_table(table, n_codes, "chunk_starts")
        _check_rows(arrays["chunk_rows"], n_codes, "chunk_rows")


def _check_lists(starts: Array, rows: Array) -> None:
    """Check that every list begins with the code that it is of."""
    listed = np.flatnonzero(starts[:-1:3] < starts[1::3])
    require(
        np.array_equal(rows[starts[3 * listed]], listed),
        "`near_rows` of a code do not begin with it",
    )


def _check_groups(codes: Array, arrays: dict[str, Array], numbers: dict[str, Any]) -> None:
    """Check that every code is near its leader."""
    starts = arrays["group_starts"]
    leaders = arrays["leaders"].reshape(-1, codes.shape[1])
    step = max(1, _PIECE // 64 // codes.shape[1])
    for first in range(0, len(codes), step):
        some = codes[first : first + step]
        mine = np.searchsorted(starts, np.arange(first, first + len(some)), side="right") - 1
        distances = np.bitwise_count(some ^ leaders[mine]).sum(axis=1, dtype=np.int64)
        farthest = int(distances.max())
        require(
            farthest <= numbers["group_radius"],
            f"a code is {farthest} bits from its leader, not {numbers['group_radius']}",
        )


def _ascends(array: Array, *, strictly: bool) -> bool:
    compare = np.greater if strictly else np.greater_equal
    return all(
        bool(
            compare(
                array[first + 1 : first + _PIECE + 1],
                array[first : first + _PIECE][: len(array) - first - 1],
            ).all()
        )
        for first in range(0, len(array) - 1, _PIECE)
    )


def _check_table(starts: Array, end: int, name: str) -> None:
    require(
        starts[0] == 0 and starts[-1] == end and _ascends(starts, strictly=False),
        f"`{name}` do not ascend from 0 to {end}",
    )


def _check_rows(rows: Array, n_codes: int, name: str) -> None:
    highest = int(rows.max(initial=0))
    require(highest < n_codes or not len(rows), f"`{name}` lead to row {highest} of {n_codes}")
