"""The file of an index: one header, then its arrays as they are in memory.

`docs/formats.md` specifies it. Opening checks the header, the length of the file and of every
array; what stands in the arrays is checked by `verify`. The native core never follows a number in
them beyond its array, so a file that nobody has verified gives wrong answers at worst.
"""

import json
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from kinhash import _native, storage
from kinhash.arrays import Array
from kinhash.codes import Codes
from kinhash.errors import FormatError, InvalidInputError
from kinhash.index import planner

FORMAT = 2
VERIFIED_BELOW = 256 * 2**20  # bytes up to which a file is verified unless told otherwise

# The arrays of a segment in the order of the file, and its numbers: the core declares both.
SECTIONS = _native.segment_arrays()
NUMBERS = _native.segment_numbers()

_START = struct.Struct("<8sIIQ")  # magic, format, checksum of the header, length of its JSON
_ALIGN = 64
_LONGEST_HEADER = 2**20
_PIECE = 2**22  # bytes that are written or summed, and entries that are checked, at a time


class Stored(NamedTuple):
    """An index as its file has it."""

    header: dict[str, Any]
    arrays: dict[str, Array]
    segment: _native.Segment

    @property
    def numbers(self) -> dict[str, Any]:
        """What the arrays do not say themselves."""
        numbers: dict[str, Any] = self.header["numbers"]
        return numbers


def write(
    path: str | os.PathLike[str],
    arrays: dict[str, Array],
    numbers: dict[str, Any],
    *,
    n_bits: int,
    signed: bool,
    memory: str,
    made_by: str | None = None,
) -> None:
    """Write the arrays and numbers of one segment to `path`, all or nothing, without a copy.

    Raises:
        InvalidInputError: The folder does not exist or cannot be written.
    """
    sections: list[dict[str, Any]] = [
        {
            "name": name,
            "dtype": dtype,
            "length": len(arrays[name]),
            "offset": 0,
            "crc32": "00000000",
        }
        for name, dtype in SECTIONS.items()
    ]
    header = {
        "kind": "index",
        "kinhash": storage.VERSION,
        "n_bits": n_bits,
        "signed": signed,
        "memory": memory,
        "made_by": made_by,
        "n_items": len(arrays["narrow_ids"]) + len(arrays["wide_ids"]),
        "n_codes": len(arrays["offsets"]) - 1,
        "numbers": {name: numbers[name] for name in NUMBERS},
        "sections": sections,
    }
    # Offsets depend on the header's length and stand in it: room for the longest.
    length = _padded(_START.size + len(json.dumps(header)) + 20 * len(SECTIONS))
    with storage.atomic(path) as part, part.open("wb") as file:
        file.seek(length)
        for section in sections:
            section["offset"] = file.tell()
            section["crc32"] = f"{_copy(arrays[section['name']], section['dtype'], file):08x}"
        file.seek(0)
        file.write(_packed(header, length))


def _copy(array: Array, dtype: str, file: BinaryIO) -> int:
    """Write one section, filled up with zeros; return its checksum."""
    checksum = 0
    for piece in _pieces(np.ascontiguousarray(array, dtype).view(np.uint8)):
        checksum = zlib.crc32(piece.data, checksum)
        file.write(piece.data)
    filling = bytes(_padded(array.nbytes) - array.nbytes)
    file.write(filling)
    return zlib.crc32(filling, checksum)


def _packed(header: dict[str, Any], length: int) -> bytes:
    """Return the first `length` bytes of a file."""
    text = json.dumps(header, sort_keys=True).encode().ljust(length - _START.size)
    checksum = _header_checksum(FORMAT, text)
    return _START.pack(storage.INDEX_MAGIC, FORMAT, checksum, len(text)) + text


def _header_checksum(version: int, text: bytes) -> int:
    return zlib.crc32(_START.pack(storage.INDEX_MAGIC, version, 0, len(text)) + text)


def _padded(n: int) -> int:
    return -(-n // _ALIGN) * _ALIGN


def _pieces(array: Array) -> Iterator[Array]:
    return (array[first : first + _PIECE] for first in range(0, len(array), _PIECE))


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what an index file says about itself, without opening its arrays; and its `format`.

    Raises:
        InvalidInputError: There is no such file, or it cannot be read.
        FormatError: It is truncated, foreign or newer, or its header is damaged.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            version, text = _header_text(path, file, size)
    except OSError as error:
        raise InvalidInputError(f"Cannot read {path}: {storage.reason(error)}.") from error
    try:
        header = json.loads(text)
        _check_header(header)
        end = max(_padded(_end(section)) for section in header["sections"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise FormatError(f"{path}: the header is not complete: {error}.") from error
    if size < end:
        raise _short(path, f"{end} bytes", size)
    if size > end:
        raise _damaged(path, f"expected {end} bytes, got {size}")
    return {**header, "format": version}


def _header_text(path: Path, file: BinaryIO, size: int) -> tuple[int, bytes]:
    """Return the format and the JSON of the header, once its checksum has been seen to be right."""
    start = file.read(_START.size)
    if start[:8] != storage.INDEX_MAGIC:
        raise _foreign(path, start, file.read(_LONGEST_HEADER))
    if len(start) < _START.size:
        raise _short(path, f"the first {_START.size} bytes", size)
    _, version, checksum, length = _START.unpack(start)
    if not 1 <= version <= FORMAT:
        raise FormatError(
            f"{path} is an index of format {version}; this release reads formats 1 to "
            f"{FORMAT}. Upgrade kinhash."
        )
    if length > _LONGEST_HEADER:
        raise _damaged(path, f"its header has {length} bytes, at most {_LONGEST_HEADER} fit")
    text = file.read(length)
    if len(text) < length:
        raise _short(path, f"a header of {_START.size + length} bytes", size)
    found = _header_checksum(version, text)
    if found != checksum:
        raise _damaged(
            path, f"the checksum of its header is {found:08x}, the file says {checksum:08x}"
        )
    return version, text


def read(path: str | os.PathLike[str], *, mmap: bool = True, verify: bool | None = None) -> Stored:
    """Return the index in a file that `write` made.

    Args:
        path: The file.
        mmap: Leave the arrays in the file, which pages of it are read as they are needed and
            shared between processes; else read them into memory.
        verify: Check all arrays; by default for files below 256 MB.

    Raises:
        InvalidInputError: There is no such file, or it cannot be read.
        FormatError: It is truncated, damaged, of another program, or of a newer format.
    """
    path = Path(path)
    header = read_header(path)
    try:
        raw = np.memmap(path, np.uint8, "r") if mmap else np.fromfile(path, np.uint8)
    except OSError as error:
        raise InvalidInputError(f"Cannot read {path}: {storage.reason(error)}.") from error
    raw = np.asarray(raw)  # a plain array, which keeps the map alive
    raw.flags.writeable = False
    sections = {section["name"]: section for section in header["sections"]}
    if len(raw) < max(_padded(_end(section)) for section in sections.values()):
        raise _damaged(path, "it became shorter while it was opened")
    arrays = {
        name: raw[section["offset"] : _end(section)].view(section["dtype"])
        for name, section in sections.items()
    }
    if verify is None:
        verify = len(raw) < VERIFIED_BELOW
    if verify:
        for section in sections.values():
            _check_sum(path, section, raw[section["offset"] : _padded(_end(section))])
    if header["format"] == 1:
        # Its lists had no own rows. Without them a search takes longer, and finds the same.
        arrays |= {name: np.zeros(0, np.uint32) for name in ("near_starts", "near_rows")}
    try:
        segment = _native.Segment(arrays, header["numbers"])
        stored = Stored(header, arrays, segment)
        if verify:
            _check_arrays(stored)
    except (ValueError, TypeError) as error:
        raise FormatError(f"{path}: the arrays do not fit: {error}.") from error
    return stored


def _check_sum(path: Path, section: dict[str, Any], raw: Array) -> None:
    checksum = 0
    for piece in _pieces(raw):
        checksum = zlib.crc32(piece.data, checksum)
    if f"{checksum:08x}" != section["crc32"]:
        raise _damaged(
            path,
            f"the checksum of `{section['name']}` is {checksum:08x}, the file says "
            f"{section['crc32']}",
        )


def _end(section: dict[str, Any]) -> int:
    size: int = section["length"] * np.dtype(section["dtype"]).itemsize
    return int(section["offset"]) + size


def _damaged(path: Path, what: str) -> FormatError:
    return FormatError(f"{path} is damaged: {what}. Restore it from a copy, or build it again.")


def _short(path: Path, expected: str, size: int) -> FormatError:
    return FormatError(f"{path} is cut short: expected {expected}, got {size}.")


def _foreign(path: Path, start: bytes, rest: bytes) -> FormatError:
    """Return the error for a file that is no index, with what it is where we know that."""
    try:
        entry = storage._entry(path, start + rest)  # noqa: SLF001 - the other format
    except FormatError:
        return FormatError(
            f"{path} is not an index, or is cut short: expected it to start with "
            f"{storage.INDEX_MAGIC!r}, got {start[:8]!r}."
        )
    what = f"a model ({entry['method']!r})" if "method" in entry else str(entry.get("kind"))
    return FormatError(
        f"{path} is not an index but holds {what}. Read it with kinhash.load, and build an index "
        "from its codes."
    )


def _claim(holds: object, what: str) -> None:
    if not holds:
        raise ValueError(what)


def _check_header(header: dict[str, Any]) -> None:
    """Check everything that is followed without another look, whoever wrote the checksum."""
    n_bits, numbers = header["n_bits"], header["numbers"]
    whole = [n_bits, header["n_items"], header["n_codes"]]
    whole += [
        value for section in header["sections"] for value in (section["length"], section["offset"])
    ]
    whole += [numbers[name] for name, kind in NUMBERS.items() if kind is int]
    _claim(
        all(type(value) is int and 0 <= value < 2**63 for value in whole), "a number is no count"
    )
    _claim(1 <= n_bits <= 1024, f"`n_bits` must be in [1, 1024], got {n_bits}")
    _claim(type(header["signed"]) is bool, f"`signed` is {header['signed']!r}")
    _claim(header["memory"] in planner.MEMORY, f"`memory` is {header['memory']!r}")
    _claim(isinstance(header["made_by"], str | None), f"`made_by` is {header['made_by']!r}")
    n_words = -(-n_bits // 64) * (2 if header["signed"] else 1)
    _claim(
        numbers["n_words"] == n_words,
        f"{n_bits} bits take {n_words} words, the file says {numbers['n_words']}",
    )
    _claim(numbers["group_radius"] <= 2048, f"`group_radius` is {numbers['group_radius']}")
    _claim(
        numbers["levels"] <= 2 and numbers["n_chunks"] <= 64, "`levels` or `n_chunks` is too high"
    )
    _claim(type(numbers["chunk_candidates"]) in {int, float}, "`chunk_candidates` is no number")
    found = {section["name"]: section["dtype"] for section in header["sections"]}
    _claim(
        found == SECTIONS and len(header["sections"]) == len(SECTIONS),
        f"expected the sections {SECTIONS}, got {found}",
    )
    lengths = {section["name"]: section["length"] for section in header["sections"]}
    counted = lengths["narrow_ids"] + lengths["wide_ids"], lengths["offsets"] - 1
    _claim(
        counted == (header["n_items"], header["n_codes"]),
        f"there are {counted} items and codes, the file says "
        f"{(header['n_items'], header['n_codes'])}",
    )
    # One after the other, with nothing between that no checksum covers.
    ends = [section["offset"] for section in header["sections"][1:]]
    for section, end in zip(header["sections"], ends, strict=False):
        _claim(
            _padded(_end(section)) == end, f"`{section['name']}` does not end where the next starts"
        )
    _claim(all(s["offset"] % _ALIGN == 0 for s in header["sections"]), "a section is not aligned")


def _check_arrays(stored: Stored) -> None:
    """Check that the structures are sound, a piece at a time.

    Raises:
        ValueError: They are not, with what is wrong.
    """
    arrays, header, numbers = stored.arrays, stored.header, stored.numbers
    n_codes, n_words = header["n_codes"], numbers["n_words"]
    codes = arrays["codes"].reshape(n_codes, n_words)
    offsets = arrays["offsets"]
    ids = arrays["narrow_ids"] if len(arrays["narrow_ids"]) else arrays["wide_ids"]
    _claim(_ascends(offsets, strictly=True), "`offsets` do not ascend")
    _claim(not n_codes or len(arrays["slots"]) > n_codes, "`slots` are fewer than the codes")
    used = np.zeros(n_words, np.uint64)
    searcher = _native.Searcher([stored.segment])
    step = max(1, _PIECE // 64 // n_words)
    for first in range(0, n_codes, step):
        some = codes[first : first + step]
        Codes(some, header["n_bits"], signed=header["signed"])  # raises where a bit is too many
        used |= np.bitwise_or.reduce(some, axis=0)
        # Each code must lead to its own ids: then the hash table is sound and no code stands twice.
        answer = searcher.radius(some, 0, sort=False, n_threads=1)
        starts, found, _ = _native.answer_arrays(answer)
        own: Array = offsets[first : first + len(some) + 1].astype(np.int64)
        _claim(
            np.array_equal(starts, own - own[0]),
            f"a code at rows {first} to {first + len(some)} is not found by its hash",
        )
        _claim(
            np.array_equal(found, ids[own[0] : own[-1]]),
            f"a code at rows {first} to {first + len(some)} stands twice",
        )
        ascends = found[1:] > found[:-1]
        ascends[own[1:-1] - own[0] - 1] = True
        _claim(ascends.all(), "the ids of a code do not ascend")
    _claim(np.array_equal(used, arrays["used"]), "`used` are not the bits of the codes")
    if len(arrays["group_starts"]):
        _check_table(arrays["group_starts"], n_codes, "group_starts")
        _check_groups(codes, stored)
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
    _claim(
        np.array_equal(rows[starts[3 * listed]], listed),
        "`near_rows` of a code do not begin with it",
    )


def _check_groups(codes: Array, stored: Stored) -> None:
    """Check that every code is near its leader."""
    starts = stored.arrays["group_starts"]
    leaders = stored.arrays["leaders"].reshape(-1, codes.shape[1])
    step = max(1, _PIECE // 64 // codes.shape[1])
    for first in range(0, len(codes), step):
        some = codes[first : first + step]
        mine = np.searchsorted(starts, np.arange(first, first + len(some)), side="right") - 1
        distances = np.bitwise_count(some ^ leaders[mine]).sum(axis=1, dtype=np.int64)
        farthest = int(distances.max())
        _claim(
            farthest <= stored.numbers["group_radius"],
            f"a code is {farthest} bits from its leader, not {stored.numbers['group_radius']}",
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
    _claim(
        starts[0] == 0 and starts[-1] == end and _ascends(starts, strictly=False),
        f"`{name}` do not ascend from 0 to {end}",
    )


def _check_rows(rows: Array, n_codes: int, name: str) -> None:
    highest = max((int(piece.max()) for piece in _pieces(rows)), default=-1)
    _claim(highest < n_codes, f"`{name}` lead to row {highest} of {n_codes}")
