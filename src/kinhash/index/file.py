"""The file of an index: one header, then its arrays as they are in memory.

`docs/formats.md` specifies it. Opening checks the header, the length of the file and of every
array; `verification` checks the content. The native core compares each number that it reads from
an array with the end of the array that the number leads to, so a file that nobody has verified
gives wrong answers at worst.
"""

import json
import os
import reprlib
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from kinhash import _native, storage
from kinhash.arrays import Array
from kinhash.calibration import Calibration
from kinhash.codes import MAX_BITS, words_per_code
from kinhash.errors import FormatError, InvalidInputError
from kinhash.ids import Texts
from kinhash.index import verification
from kinhash.index.memory import MEMORY
from kinhash.index.segments import rank_bytes
from kinhash.index.verification import require

FORMAT = 3  # format 2 has no rank bits
VERIFIED_BELOW = 256 * 2**20  # bytes up to which a file is verified unless told otherwise

# The arrays of a segment in the order of the file, and its numbers: the core declares both.
SECTIONS = _native.segment_arrays()
NUMBERS = _native.segment_numbers()
# And, after these, where ids are strings, the table of them.
NAMES = {"id_starts": "<u8", "id_texts": "|u1"}
# After these come the arrays of a calibration, if there is one.
OF_CALIBRATION = {f"calibration/{name}": dtype for name, dtype in Calibration.DTYPES.items()}

_START = struct.Struct("<8sIIQ")  # magic, format, checksum of the header, length of its JSON
_ALIGN = 64
_LONGEST_HEADER = 2**20
_PIECE = 2**22  # bytes that are written or summed at a time


class Stored(NamedTuple):
    """An index as its file has it."""

    header: dict[str, Any]
    arrays: dict[str, Array]
    segment: _native.Segment
    names: Texts | None = None  # the strings by which items are known
    calibration: Calibration | None = None

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
    n_rank_bits: int = 0,
    names: Texts | None = None,
    calibration: Calibration | None = None,
) -> None:
    """Write the arrays and numbers of one segment to `path`, all or nothing, without a copy.

    Where ids are strings, `names` holds them, and the segment's ids are their numbers.

    Raises:
        InvalidInputError: The folder does not exist or cannot be written.
    """
    dtypes = SECTIONS
    if names is not None:
        dtypes = dtypes | NAMES
        arrays = arrays | {"id_starts": names.starts, "id_texts": names.texts}
    if calibration is not None:
        dtypes = dtypes | OF_CALIBRATION
        of_calibration = calibration.arrays().items()
        arrays = arrays | {f"calibration/{name}": array for name, array in of_calibration}
    sections: list[dict[str, Any]] = [
        {
            "name": name,
            "dtype": dtype,
            "length": len(arrays[name]),
            "offset": 0,
            "crc32": "00000000",
        }
        for name, dtype in dtypes.items()
    ]
    header = {
        "kind": "index",
        "kinhash": storage.VERSION,
        "n_bits": n_bits,
        "n_rank_bits": n_rank_bits,
        "signed": signed,
        "memory": memory,
        "made_by": made_by,
        "calibration": None if calibration is None else calibration.header(),
        "n_items": len(arrays["narrow_ids"]) + len(arrays["wide_ids"]),
        "n_codes": len(arrays["offsets"]) - 1,
        "numbers": {name: numbers[name] for name in NUMBERS},
        "sections": sections,
    }
    # Offsets depend on the header's length and stand in it: room for the longest.
    length = _padded(_START.size + len(json.dumps(header)) + 20 * len(sections))
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
        FormatError: It is truncated, foreign or of another format, or its header is damaged.
    """
    path = Path(path)
    storage.check_is_file(path)
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            version, text = _header_text(path, file, size)
    except OSError as error:
        raise InvalidInputError(f"Cannot read {path}: {storage.reason(error)}.") from error
    try:
        header = json.loads(text)
        if version == 2:
            header = _without_rank_bits(header)
        _check_header(header)
        end = max(_padded(_end(section)) for section in header["sections"])
    except KeyError as error:
        raise FormatError(f"{path}: the header is not sound: {error} is missing.") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise FormatError(f"{path}: the header is not sound: {error}.") from error
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
    if not 2 <= version <= FORMAT:
        # Format 1 was never released, so no release has to read it.
        advice = "Upgrade kinhash." if version > FORMAT else "Build the index again from its codes."
        raise FormatError(
            f"{path} is an index of format {version}; this release reads formats 2 to {FORMAT}. "
            f"{advice}"
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


def _without_rank_bits(header: dict[str, Any]) -> dict[str, Any]:
    """Return a header of format 2 as one of format 3, with an empty section of rank bits."""
    sections = header["sections"]
    at = [section["name"] for section in sections].index("slots")
    none = {"name": "ranks", "dtype": SECTIONS["ranks"], "length": 0, "crc32": "00000000"}
    return {
        **header,
        "n_rank_bits": 0,
        "numbers": {**header["numbers"], "rank_bytes": 0},
        "sections": [*sections[:at], {**none, "offset": sections[at]["offset"]}, *sections[at:]],
    }


def read(path: str | os.PathLike[str], *, mmap: bool = True, verify: bool | None = None) -> Stored:
    """Return the index in a file that `write` made.

    Args:
        path: The file.
        mmap: Leave the arrays in the file, which pages of it are read as they are needed and
            shared between processes; else read them into memory.
        verify: Check all arrays; by default for files below 256 MB.

    Raises:
        InvalidInputError: There is no such file, or it cannot be read.
        FormatError: It is truncated, damaged, of another program, or of another format.
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
    for name, section in sections.items():
        if verify or name in OF_CALIBRATION:  # which is small
            _check_sum(path, section, raw[section["offset"] : _padded(_end(section))])
    calibration = _calibration(path, header, arrays)
    try:
        names = _popped_names(arrays)
        arrays = {name: arrays[name] for name in SECTIONS}
        segment = _native.Segment(arrays, header["numbers"])
        stored = Stored(header, arrays, segment, names, calibration)
        if verify:
            verification.check(
                arrays,
                header["numbers"],
                segment,
                n_bits=header["n_bits"],
                signed=header["signed"],
                n_rank_bits=header["n_rank_bits"],
                names=names,
            )
    except (ValueError, TypeError) as error:
        raise FormatError(f"{path}: the arrays do not fit: {str(error).rstrip('.')}.") from error
    return stored


def _popped_names(arrays: dict[str, Array]) -> Texts | None:
    """Take the table of strings out of the arrays, if it is there, and return it."""
    if "id_starts" not in arrays:
        return None
    starts = arrays.pop("id_starts")
    return Texts(arrays.pop("id_texts"), starts)


def _calibration(
    path: Path, header: dict[str, Any], arrays: dict[str, Array]
) -> Calibration | None:
    """Return the calibration, in memory of its own."""
    if header.get("calibration") is None:
        return None
    own = {
        name: np.array(arrays[f"calibration/{name}"], dtype)
        for name, dtype in Calibration.DTYPES.items()
    }
    kind = {name: header[name] for name in ("n_bits", "n_rank_bits", "signed")}
    try:
        return Calibration.restored(header["calibration"], own, **kind)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error


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
        entry = storage._entry(str(path), start + rest)  # noqa: SLF001 - the other format
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


def _check_header(header: dict[str, Any]) -> None:
    """Check everything that is followed without another look, whoever wrote the checksum."""
    for name, kind in (("kind", str), ("kinhash", str), ("numbers", dict), ("sections", list)):
        require(type(header[name]) is kind, f"`{name}` is {reprlib.repr(header[name])}")
    require(all(type(s) is dict for s in header["sections"]), "a section is no object")
    require(all(type(s["crc32"]) is str for s in header["sections"]), "a checksum is no string")
    n_bits, n_rank_bits, numbers = header["n_bits"], header["n_rank_bits"], header["numbers"]
    whole = [n_bits, n_rank_bits, header["n_items"], header["n_codes"]]
    whole += [
        value for section in header["sections"] for value in (section["length"], section["offset"])
    ]
    whole += [numbers[name] for name, kind in NUMBERS.items() if kind is int]
    require(
        all(type(value) is int and 0 <= value < 2**63 for value in whole), "a number is no count"
    )
    require(1 <= n_bits <= MAX_BITS, f"`n_bits` must be in [1, {MAX_BITS}], got {n_bits}")
    require(n_rank_bits < n_bits, f"`n_rank_bits` must be below {n_bits}, got {n_rank_bits}")
    require(type(header["signed"]) is bool, f"`signed` is {reprlib.repr(header['signed'])}")
    n_stored = n_bits + (n_bits - n_rank_bits if header["signed"] else 0)
    require(
        n_stored <= MAX_BITS, f"a code must have at most {MAX_BITS} stored bits, got {n_stored}"
    )
    require(header["memory"] in MEMORY, f"`memory` is {reprlib.repr(header['memory'])}")
    require(
        isinstance(header["made_by"], str | None), f"`made_by` is {reprlib.repr(header['made_by'])}"
    )
    n_words = words_per_code(n_bits - n_rank_bits, signed=header["signed"])
    require(
        numbers["n_words"] == n_words,
        f"{n_bits - n_rank_bits} bits take {n_words} words, the file says {numbers['n_words']}",
    )
    require(
        numbers["rank_bytes"] == rank_bytes(n_rank_bits),
        f"{n_rank_bits} rank bits take {rank_bytes(n_rank_bits)} bytes, the file says "
        f"{numbers['rank_bytes']}",
    )
    require(numbers["group_radius"] <= MAX_BITS, f"`group_radius` is {numbers['group_radius']}")
    require(
        numbers["levels"] <= 2 and numbers["n_chunks"] <= 64, "`levels` or `n_chunks` is too high"
    )
    require(type(numbers["chunk_candidates"]) in {int, float}, "`chunk_candidates` is no number")
    about = header.get("calibration")
    require(isinstance(about, dict | None), f"`calibration` is {reprlib.repr(about)}")
    found = {section["name"]: section["dtype"] for section in header["sections"]}
    expected = SECTIONS if "id_starts" not in found else SECTIONS | NAMES
    if about is not None:
        expected = expected | OF_CALIBRATION
    require(
        found == expected and len(header["sections"]) == len(expected),
        f"expected the sections {', '.join(expected)}, got {reprlib.repr(found)}",
    )
    lengths = {section["name"]: section["length"] for section in header["sections"]}
    counted = lengths["narrow_ids"] + lengths["wide_ids"], lengths["offsets"] - 1
    require(
        counted == (header["n_items"], header["n_codes"]),
        f"there are {counted} items and codes, the file says "
        f"{(header['n_items'], header['n_codes'])}",
    )
    n_names = lengths.get("id_starts", header["n_items"] + 1) - 1
    require(
        n_names == header["n_items"],
        f"`id_starts` are of {n_names} strings, but there are {header['n_items']} items",
    )
    # One after the other, with nothing between that no checksum covers.
    ends = [section["offset"] for section in header["sections"][1:]]
    for section, end in zip(header["sections"], ends, strict=False):
        require(
            _padded(_end(section)) == end, f"`{section['name']}` does not end where the next starts"
        )
    require(all(s["offset"] % _ALIGN == 0 for s in header["sections"]), "a section is not aligned")


def describe(path: Path, *, verify: bool = False) -> dict[str, Any]:
    """Return facts about the index in a file, as JSON has them, without building it.

    Args:
        path: The file.
        verify: Check all of it, however large.

    Raises:
        InvalidInputError: There is no such file, or it cannot be read.
        FormatError: It is damaged, or of another format.
    """
    header, arrays, _, names, calibration = read(path, verify=verify or None)
    n_bytes = sum(array.nbytes for array in arrays.values()) + (
        0 if names is None else names.n_bytes
    )
    return {
        "kind": header["kind"],
        "format": header["format"],
        "kinhash": header["kinhash"],
        "n": header["n_items"],
        "ids": "integers" if names is None else "strings",
        "n_bits": header["n_bits"],
        "n_bucket_bits": header["n_bits"] - header["n_rank_bits"],
        "n_rank_bits": header["n_rank_bits"],
        "signed": header["signed"],
        "unique_codes": header["n_codes"],
        "memory": header["memory"],
        "bytes_per_item": n_bytes / header["n_items"] if header["n_items"] else None,
        "structures": _structure_sizes(arrays),
        "calibration": None if calibration is None else calibration.facts(),
    }


def _structure_sizes(arrays: dict[str, Array]) -> dict[str, int]:
    """Return the bytes of each structure that there is, by the names of `explain`."""
    parts = {
        "lookup": ("slots",),
        "deletions_1": ("key1_starts", "key1_rows"),
        "deletions_2": ("key2_starts", "key2_rows"),
        "chunks": ("chunk_starts", "chunk_rows"),
        "groups": ("leaders", "group_starts"),
        "neighbours": ("near_starts", "near_rows"),
    }
    sizes = {part: sum(arrays[name].nbytes for name in names) for part, names in parts.items()}
    return {part: size for part, size in sizes.items() if size}
