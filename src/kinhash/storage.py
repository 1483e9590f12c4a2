"""The on-disk format: safetensors with one JSON header entry, versioned and checksummed.

`docs/formats.md` specifies it. Nothing in a file is ever executed.
"""

import contextlib
import hashlib
import importlib.metadata
import json
import os
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy

from kinhash.codes import Codes
from kinhash.errors import FormatError, InvalidInputError

FORMAT = 1
VERSION = importlib.metadata.version("kinhash")
INDEX_MAGIC = b"kinindex"  # how the other format starts: kinhash.index.file

Array = npt.NDArray[Any]

_KEY = "kinhash"
# Stands where the checksum goes while the checksum is computed; no other text looks like it.
_UNSIGNED = hashlib.sha256(b"kinhash").hexdigest()


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write `header` (JSON values) and `arrays` to `path`, all or nothing.

    Raises:
        InvalidInputError: The folder does not exist or cannot be written.
    """
    entry = {
        "format": FORMAT,
        "kinhash": VERSION,
        **header,
        "sha256": _UNSIGNED,
    }
    tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    raw = safetensors.numpy.save(tensors, metadata={_KEY: json.dumps(entry, sort_keys=True)})
    digest = hashlib.sha256(raw).hexdigest()
    with atomic(path) as part:
        part.write_bytes(raw.replace(_UNSIGNED.encode(), digest.encode(), 1))


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and the arrays of a file that `write` made.

    Raises:
        InvalidInputError: There is no such file, or it cannot be read.
        FormatError: It is truncated, damaged, of another program, or of a newer format.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            if file.read(len(INDEX_MAGIC)) == INDEX_MAGIC:
                raise FormatError(
                    f"{path} is an index, not a model or codes. "
                    "Open it with kinhash.HammingIndex.load."
                )
            file.seek(0)
            raw = file.read()
    except OSError as error:
        raise InvalidInputError(f"Cannot read {path}: {reason(error)}.") from error
    entry = _entry(path, raw)
    version = entry.get("format")
    if not isinstance(version, int) or not 1 <= version <= FORMAT:
        raise FormatError(
            f"{path} has format {version}; this release reads formats 1 to {FORMAT}. "
            "Upgrade kinhash."
        )
    digest = str(entry.pop("sha256", ""))
    found = hashlib.sha256(raw.replace(digest.encode(), _UNSIGNED.encode(), 1)).hexdigest()
    if len(digest) != len(_UNSIGNED) or found != digest:
        raise FormatError(
            f"{path} is damaged: its checksum is {found[:12]}, the file says {digest[:12]!r}. "
            "Restore it from a copy, or train again."
        )
    try:
        arrays = safetensors.numpy.load(raw)
    except safetensors.SafetensorError as error:
        raise FormatError(f"{path} is damaged: {error}. Restore it from a copy.") from error
    return entry, arrays


class StoredCodes(NamedTuple):
    """Codes as `save_codes` wrote them."""

    codes: Codes
    ids: Array | None  # int64, (n,)
    made_by: str | None  # fingerprint of the encoder


def save_codes(
    path: str | os.PathLike[str],
    codes: Codes,
    *,
    ids: Array | None = None,
    made_by: str | None = None,
) -> None:
    """Write codes, the ids of their items and their encoder's fingerprint, all or nothing."""
    header = {
        "kind": "codes",
        "n_bits": codes.n_bits,
        "signed": codes.signed,
        "made_by": made_by,
    }
    arrays = {"words": codes.words}
    if ids is not None:
        if len(ids) != len(codes):
            raise InvalidInputError(f"There are {len(ids)} ids for {len(codes)} codes.")
        arrays["ids"] = np.asarray(ids, np.int64)
    write(path, header, arrays)


def stored_codes(header: dict[str, Any], arrays: dict[str, Array]) -> StoredCodes:
    """Return the codes of a file that `read` has read.

    Raises:
        FormatError: Something is missing or does not fit.
    """
    try:
        codes = Codes(arrays["words"], header["n_bits"], signed=header["signed"])
        found = StoredCodes(codes, arrays.get("ids"), header["made_by"])
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"the codes are not complete: {error}.") from error
    if found.ids is not None and (found.ids.dtype != np.int64 or found.ids.shape != (len(codes),)):
        raise FormatError(
            f"`ids` must be int64 of shape ({len(codes)},), "
            f"the file has {found.ids.dtype} of shape {found.ids.shape}."
        )
    return found


def _entry(path: Path, raw: bytes) -> dict[str, Any]:
    """Return our JSON entry of the safetensors header."""
    foreign = FormatError(
        f"{path} is not a kinhash file, or is cut short: expected a safetensors header with a "
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

    Raises:
        InvalidInputError: The folder does not exist or cannot be written.
    """
    path = Path(path)
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InvalidInputError(f"Cannot write {path}: {reason(error)}.") from error
    os.close(descriptor)
    part = Path(name)
    try:
        yield part
        # mkstemp makes private files; what a user saves gets the permissions of any new file.
        umask = os.umask(0)
        os.umask(umask)
        part.chmod(0o666 & ~umask)
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise InvalidInputError(f"Cannot write {path}: {reason(error)}.") from error
    finally:
        part.unlink(missing_ok=True)


def reason(error: OSError) -> str:
    """Return why the system refused, for the end of a sentence."""
    return (error.strerror or str(error)).lower()
