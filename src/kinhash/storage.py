"""The on-disk format: safetensors with one JSON header entry, versioned and checksummed.

`docs/formats.md` specifies it. Nothing in a file is ever executed.
"""

import contextlib
import errno
import fcntl
import hashlib
import importlib.metadata
import json
import os
import re
import reprlib
import secrets
import stat
import struct
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from kinhash.arrays import Array
from kinhash.errors import FormatError, InvalidInputError

FORMAT = 3  # one number for models, codes and indexes; this module has written 1 and 3
VERSION = importlib.metadata.version("kinhash")
INDEX_MAGIC = b"kinindex"  # how the other format starts: kinhash.index.file

_KEY = "kinhash"
# Stands where the checksum goes while the checksum is computed; no other text looks like it.
_UNSIGNED = hashlib.sha256(b"kinhash").hexdigest()
_JSON_TYPES = {
    bool: "true or false",
    dict: "an object",
    float: "a number",
    int: "an integer",
    list: "a list",
    str: "a string",
    type(None): "null",
}


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write `header` (JSON values) and `arrays` to `path`, all or nothing.

    Raises:
        InvalidInputError: The folder does not exist or cannot be written, or the header has a value
            that JSON cannot hold.
    """
    raw = packed(header, arrays)
    with atomic(path) as part:
        part.write_bytes(raw)


def packed(header: dict[str, Any], arrays: dict[str, Array]) -> bytes:
    """Return what `write` writes.

    Raises:
        InvalidInputError: The header has a value that JSON cannot hold.
    """
    entry = {
        "format": FORMAT,
        "kinhash": VERSION,
        **header,
        "sha256": _UNSIGNED,
    }
    tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    text = json.dumps(entry, sort_keys=True, default=_plain)
    raw = safetensors.numpy.save(tensors, metadata={_KEY: text})
    digest = hashlib.sha256(raw).hexdigest()
    return raw.replace(_UNSIGNED.encode(), digest.encode(), 1)


def _plain(value: object) -> Any:  # noqa: ANN401 - a Python number
    """Return a NumPy scalar, such as a parameter may be, as what JSON holds."""
    if isinstance(value, np.generic):
        return value.item()
    raise InvalidInputError(
        f"A file cannot hold {reprlib.repr(value)} of type {type(value).__name__}. "
        "Use numbers, strings, lists and dicts."
    )


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and the arrays of a file that `write` made.

    Raises:
        InvalidInputError: There is no such file, or it cannot be read.
        FormatError: It is truncated, damaged, of another program, or of a newer format.
    """
    path = Path(path)
    if is_index(path):
        raise FormatError(f"{path} is an index, not a model or codes. Open it with kinhash.load.")
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InvalidInputError(f"Cannot read {path}: {reason(error)}.") from error
    return unpacked(raw, str(path))


def unpacked(raw: bytes, source: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and the arrays that `packed` made bytes of.

    Args:
        raw: The bytes.
        source: What messages call them.

    Raises:
        FormatError: They are cut short, damaged, of another program, or of a newer format.
    """
    entry = _entry(source, raw)
    version = entry.get("format")
    if type(version) is not int or not 1 <= version <= FORMAT:
        raise FormatError(
            f"{source} has format {reprlib.repr(version)}; this release reads formats 1 to "
            f"{FORMAT}. Upgrade kinhash."
        )
    digest = entry.pop("sha256", None)
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        raise FormatError(f"{source} is damaged: it has no checksum. Restore it from a copy.")
    found = hashlib.sha256(raw.replace(digest.encode(), _UNSIGNED.encode(), 1)).hexdigest()
    if found != digest:
        raise FormatError(
            f"{source} is damaged or cut short: its checksum is {found[:12]}, the file says "
            f"{digest[:12]!r}. Restore it from a copy, or write it again."
        )
    try:
        arrays = safetensors.numpy.load(raw)
    # Types that NumPy lacks (bfloat16) and shapes that it refuses come as whatever it raises.
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError, ImportError) as error:
        raise FormatError(
            f"{source} is damaged: its arrays cannot be read ({error}). Restore it from a copy."
        ) from error
    return entry, arrays


def value(header: dict[str, Any], name: str, *kinds: type) -> Any:  # noqa: ANN401 - of those kinds
    """Return the entry `name` of a header, which must be of one of the given JSON types.

    Raises:
        FormatError: It is missing, or of another type.
    """
    if name not in header:
        raise FormatError(f"the entry `{name}` is missing.")
    found = header[name]
    if type(found) not in kinds:
        expected = " or ".join(_JSON_TYPES[kind] for kind in kinds)
        raise FormatError(f"`{name}` must be {expected}, the file has {reprlib.repr(found)}.")
    return found


def check_names(what: str, found: Collection[str], known: Collection[str]) -> None:
    """Raise FormatError if a file has an entry or an array that this release does not know."""
    unknown = sorted(set(found) - set(known))
    if unknown:
        raise FormatError(
            f"the {what} {reprlib.repr(unknown[0])} is unknown; this release knows "
            f"{', '.join(sorted(known))}. Upgrade kinhash."
        )


def is_index(path: Path) -> bool:
    """Return whether a file starts as that of an index does.

    Raises:
        InvalidInputError: There is no such file, or it cannot be read.
        FormatError: It is empty.
    """
    check_is_file(path)
    try:
        with path.open("rb") as file:
            start = file.read(len(INDEX_MAGIC))
    except OSError as error:
        raise InvalidInputError(f"Cannot read {path}: {reason(error)}.") from error
    if not start:
        raise FormatError(f"{path} is not a kinhash file: it is empty.")
    return start == INDEX_MAGIC


def check_is_file(path: Path) -> None:
    """Raise InvalidInputError unless there is a file to read; opening a pipe could wait for ever.

    Raises:
        InvalidInputError: There is nothing, a folder, a pipe or a device.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise InvalidInputError(f"Cannot read {path}: {reason(error)}.") from error
    except ValueError as error:  # a zero byte in the path
        raise InvalidInputError(f"Cannot read {str(path)!r}: {error}.") from error
    if stat.S_ISDIR(mode):
        raise InvalidInputError(f"Cannot read {path}: it is a folder. Name a file in it.")
    if not stat.S_ISREG(mode):
        raise InvalidInputError(
            f"Cannot read {path}: it is a pipe or a device. Copy its content to a file first."
        )


def _entry(source: str, raw: bytes) -> dict[str, Any]:
    """Return our JSON entry of the safetensors header."""
    foreign = FormatError(
        f"{source} is not a kinhash file, or is cut short: expected a safetensors header with a "
        f"{_KEY!r} entry, got {len(raw)} bytes that start with {raw[:8]!r}."
    )
    if len(raw) < 8:
        raise foreign
    (length,) = struct.unpack("<Q", raw[:8])
    try:
        header = json.loads(raw[8 : 8 + length])
        entry = json.loads(header["__metadata__"][_KEY])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise foreign from None
    if not isinstance(entry, dict):
        raise foreign
    return entry


@contextlib.contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside `path`; it takes that name if the block succeeds, or vanishes.

    A file that is replaced leaves its permissions, and where the system allows it its owner and
    group, to the new one. A symbolic link stays: the file that it leads to is replaced. When the
    block is over, the file and its new name are on the disk. Temporary files that killed processes
    left for the same `path` are removed.

    Raises:
        InvalidInputError: The folder does not exist or cannot be written, or `path` is no file.
    """
    part = None
    try:
        target, before = _target(Path(path))
        _sweep(target)
        descriptor, part = _new_part(target, private=before is not None)
        try:
            yield part
            with contextlib.suppress(FileNotFoundError):
                before = target.stat()  # it may have changed in the meantime
            if before is not None:
                _take_over(descriptor, before)
            os.fsync(descriptor)
            part.replace(target)
            _sync_folder(target.parent)
        finally:
            os.close(descriptor)  # the lock ends here, so not before the rename
    except OSError as error:
        raise InvalidInputError(f"Cannot write {path}: {reason(error)}.") from error
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


def _target(path: Path) -> tuple[Path, os.stat_result | None]:
    """Return the file behind all symbolic links, and what is known of it if it is there."""
    before = None
    with contextlib.suppress(FileNotFoundError):  # a circle of links is another error
        before = path.stat()
    if before is not None and stat.S_ISDIR(before.st_mode):
        raise InvalidInputError(f"Cannot write {path}: it is a folder. Name a file in it.")
    if before is not None and not stat.S_ISREG(before.st_mode):
        # Replacing a device would break more than this save.
        raise InvalidInputError(f"Cannot write {path}: it is not a regular file.")
    return Path(os.path.realpath(path)), before


def _part_prefix(target: Path) -> str:
    return f".{target.name[:50]}."  # cut: a name may have 255 bytes, and this one is longer


def _new_part(target: Path, *, private: bool) -> tuple[int, Path]:
    """Return a new file beside `target`, open and locked, and its path.

    The kernel gives it the permissions of any new file; `private` ones until the block is over.
    """
    while True:
        part = target.with_name(f"{_part_prefix(target)}{secrets.token_hex(8)}.part")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
        descriptor = os.open(part, flags, 0o600 if private else 0o666)
        _lock(descriptor, wait=True)
        if part.exists():  # else another save has swept it away before it was locked
            return descriptor, part
        os.close(descriptor)


def _lock(descriptor: int, *, wait: bool) -> bool:
    """Return whether the file is now locked; the lock ends with the process, however that ends."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # somebody else has it, or the file system has no locks
        return False
    return True


def _sweep(target: Path) -> None:
    """Remove the temporary files of saves of `target` whose process is gone."""
    pattern = re.compile(re.escape(_part_prefix(target)) + r"[0-9a-f]{16}\.part")
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _remove_if_dead(entry.path)


def _remove_if_dead(part: str) -> None:
    descriptor = os.open(part, os.O_RDWR | os.O_NOFOLLOW)
    try:
        if _lock(descriptor, wait=False):  # its writer would hold the lock
            os.unlink(part)  # noqa: PTH108 - a path from scandir
    finally:
        os.close(descriptor)


def _take_over(descriptor: int, before: os.stat_result) -> None:
    """Give a file the owner, group and permissions of the one it replaces, as far as allowed."""
    mode = stat.S_IMODE(before.st_mode) & 0o777
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (before.st_uid, before.st_gid):
        try:
            os.fchown(descriptor, before.st_uid, before.st_gid)
        except OSError:
            try:
                os.fchown(descriptor, -1, before.st_gid)
            except OSError:  # what its group was allowed, another group may not be
                mode = mode & 0o707 | (mode & 0o007) << 3
    os.fchmod(descriptor, mode)


def _sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk: until then, a power failure may undo a rename."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder that can be written but not read
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:  # file systems that cannot do that
            raise
    finally:
        os.close(descriptor)


def reason(error: OSError) -> str:
    """Return why the system refused, for the end of a sentence."""
    return (error.strerror or str(error)).lower()
