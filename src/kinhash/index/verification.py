"""The full check of an index: its arrays hold just what a search relies on."""

from typing import Any

import numpy as np

from kinhash import _native
from kinhash.arguments import default_threads
from kinhash.arrays import Array, Bytes
from kinhash.codes import Codes
from kinhash.ids import Texts, check_table

_PIECE = 2**22  # entries that are checked at a time
_LISTS = 2**12  # lists of neighbours that are checked at a time
_PLENTY = 1e30  # a budget with room for every table


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
    n_rank_bits: int = 0,
    names: Texts | None = None,
) -> None:
    """Check that searches of a segment are exact.

    Takes the memory of its look-up tables once more: they are compared with new ones.

    Args:
        arrays: All arrays of the segment, whose lengths fit.
        numbers: What the arrays do not say themselves.
        segment: The same arrays as the native core searches them.
        n_bits: Entries per code, bucket and rank.
        signed: Whether entries of the bucket may be -1.
        n_rank_bits: How many of the entries are rank bits.
        names: The ids of the items where they are strings; else the segment has them.

    Raises:
        ValueError: An array is not as it should be; the message names it.
    """
    n_codes, n_words = len(arrays["offsets"]) - 1, numbers["n_words"]
    codes = arrays["codes"].reshape(n_codes, n_words)
    _check_buckets(codes, arrays, segment, n_bits=n_bits - n_rank_bits, signed=signed)
    _check_ids(arrays)
    if names is not None:
        _check_names(names, arrays)
    if n_rank_bits:
        _check_ranks(arrays["ranks"].reshape(-1, numbers["rank_bytes"]), n_rank_bits)
    if len(arrays["group_starts"]):
        _check_groups(codes, arrays, numbers)
    trusted = _check_tables(codes, arrays, numbers)
    if len(arrays["near_starts"]):
        require(numbers["levels"] == 2, "`near_starts` need two levels of deletion keys")
        _check_lists(codes, arrays["near_starts"], arrays["near_rows"], trusted)


def _check_buckets(
    codes: Array, arrays: dict[str, Array], segment: _native.Segment, *, n_bits: int, signed: bool
) -> None:
    """Check that each code stands once, is found by its hash and leads to its own ids."""
    offsets = arrays["offsets"]
    ids = arrays["narrow_ids"] if len(arrays["narrow_ids"]) else arrays["wide_ids"]
    require(_ascends(offsets, strictly=True), "`offsets` do not ascend")
    require(not len(codes) or len(arrays["slots"]) > len(codes), "`slots` are too few")
    used = np.zeros(codes.shape[1], np.uint64)
    searcher = _native.Searcher([segment])
    step = max(1, _PIECE // 64 // codes.shape[1])
    for first in range(0, len(codes), step):
        some = codes[first : first + step]
        where = f"at rows {first} to {first + len(some) - 1}"
        Codes(some, n_bits, signed=signed)  # raises if bits beyond `n_bits` are set
        used |= np.bitwise_or.reduce(some, axis=0)
        answer = searcher.radius(some, 0, sort=False, n_threads=1)
        starts, found, *_ = _native.answer_arrays(answer)
        own: Array = offsets[first : first + len(some) + 1].astype(np.int64)
        require(
            np.array_equal(starts, own - own[0]),
            f"`slots` do not lead to one of the `codes` {where}",
        )
        require(
            np.array_equal(found, ids[own[0] : own[-1]]), f"one of the `codes` {where} stands twice"
        )
        ascends = found[1:] > found[:-1]
        ascends[own[1:-1] - own[0] - 1] = True
        require(ascends.all(), f"the ids of one of the `codes` {where} do not ascend")
    require(np.array_equal(used, arrays["used"]), "`used` are not the bits of the codes")


def _check_ids(arrays: dict[str, Array]) -> None:
    """Check that no id stands under two codes."""
    for name in ("narrow_ids", "wide_ids"):
        ordered = np.sort(arrays[name])
        twice = ordered[1:][ordered[1:] == ordered[:-1]]
        if len(twice):
            raise ValueError(f"`{name}` hold {twice[0]} twice")


def _check_names(names: Texts, arrays: dict[str, Array]) -> None:
    """Check that each item has a string of its own; that no number stands twice is known."""
    for name in ("narrow_ids", "wide_ids"):
        numbers = arrays[name]
        if len(numbers):
            wrong = numbers[(numbers < 0) | (numbers >= len(names))]
            require(
                not len(wrong), f"`{name}` hold {wrong[:1]}, but there are {len(names)} strings"
            )
    check_table(names)


def _check_ranks(ranks: Bytes, n_rank_bits: int) -> None:
    """Check that no bits beyond the rank bits are set."""
    beyond = np.arange(8 * ranks.shape[1]) >= n_rank_bits
    mask = np.packbits(beyond, bitorder="little")
    step = max(1, _PIECE // ranks.shape[1])
    for first in range(0, len(ranks), step):
        require(
            not (ranks[first : first + step] & mask).any(),
            f"`ranks` set bits beyond {n_rank_bits} rank bits",
        )


def _check_groups(codes: Array, arrays: dict[str, Array], numbers: dict[str, Any]) -> None:
    """Check that every code is near its leader."""
    starts = arrays["group_starts"]
    _check_starts(starts, len(codes), "group_starts")
    leaders = arrays["leaders"].reshape(-1, codes.shape[1])
    step = max(1, _PIECE // 64 // codes.shape[1])
    for first in range(0, len(codes), step):
        some = codes[first : first + step]
        mine = np.searchsorted(starts, np.arange(first, first + len(some)), side="right") - 1
        distances = np.bitwise_count(some ^ leaders[mine]).sum(axis=1, dtype=np.int64)
        farthest = int(distances.max())
        require(
            farthest <= numbers["group_radius"],
            f"`leaders` are {farthest} bits from a code, more than {numbers['group_radius']}",
        )


def _check_tables(
    codes: Array, arrays: dict[str, Array], numbers: dict[str, Any]
) -> _native.Searcher:
    """Check deletion keys and chunks; return a search of the rows of the codes by new tables."""
    n_active = np.bitwise_count(codes).sum(axis=1, dtype=np.int64)
    for level in range(1, numbers["levels"] + 1):
        # Counted first: of dense codes, keys that nobody has stored could take all memory.
        n_keys = int((n_active if level == 1 else n_active * (n_active - 1) // 2).sum())
        n_rows = len(arrays[f"key{level}_rows"])
        require(n_rows == n_keys, f"`key{level}_rows` has {n_rows} entries for {n_keys} keys")
    built, built_numbers = _native.build_segment(
        codes,
        None,
        levels=numbers["levels"],
        n_chunks=numbers["n_chunks"],
        groups=False,
        n_far=0,
        n_listed=0,
        budget=_PLENTY,
    )
    for name in ("levels", "n_chunks"):
        require(built_numbers[name] == numbers[name], f"`{name}` is not that of the sections")
    tables = [f"{name}_{part}" for name in ("key1", "key2", "chunk") for part in ("starts", "rows")]
    for name in ("codes", *tables):
        require(np.array_equal(built[name], arrays[name]), f"`{name}` do not fit the codes")
    return _native.Searcher([_native.Segment(built, built_numbers)])


def _check_lists(codes: Array, starts: Array, rows: Array, trusted: _native.Searcher) -> None:
    """Check that a listed code has all of its neighbours: itself, then by distance and row."""
    _check_starts(starts, len(rows), "near_starts")
    sizes = np.diff(starts.astype(np.int64)).reshape(-1, 3)  # up to one bit, two and three bits
    is_listed, is_far = sizes[:, 0] > 0, sizes[:, 2] > 0
    require(not sizes[~is_listed].any(), "`near_starts` list neighbours without their code")
    for radius, chosen in ((2, is_listed & ~is_far), (3, is_far)):
        listed = np.flatnonzero(chosen)
        for first in range(0, len(listed), _LISTS):
            some = listed[first : first + _LISTS]
            where = f"of one of the codes at rows {some[0]} to {some[-1]}"
            answer = trusted.radius(codes[some], radius, sort=True, n_threads=default_threads())
            offsets, found, distances, _ = _native.answer_arrays(answer)
            of = np.repeat(np.arange(len(some)), np.diff(offsets))
            part = 3 * of + np.maximum(distances, 1) - 1
            expected = np.bincount(part, minlength=3 * len(some)).reshape(-1, 3)
            require(
                np.array_equal(sizes[some], expected), f"`near_starts` {where} leave neighbours out"
            )
            begin = starts[3 * some].astype(np.int64)
            at = np.arange(len(found)) + np.repeat(begin - offsets[:-1], np.diff(offsets))
            require(np.array_equal(rows[at], found), f"`near_rows` {where} are not its neighbours")


def _check_starts(starts: Array, end: int, name: str) -> None:
    require(
        starts[0] == 0 and starts[-1] == end and _ascends(starts, strictly=False),
        f"`{name}` do not ascend from 0 to {end}",
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
