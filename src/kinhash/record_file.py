"""A file of records as JSON lines, sorted by their keys, that several runs may add to."""

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kinhash import storage
from kinhash.errors import InvalidInputError

if sys.platform != "win32":
    import fcntl

Record = dict[str, Any]  # with a "key", by which it is found


def read(file: Path) -> dict[str, Record]:
    """Return the records of a file by their keys; none if there is no such file.

    Raises:
        InvalidInputError: The file cannot be read, or a line is not a record.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"Cannot read the records in {file}: {error}.") from error
    found = {}
    for number, line in enumerate(lines, 1):
        try:
            one = json.loads(line)
            found[one["key"]] = one
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInputError(
                f"Line {number} of {file} is not a record: {error}. Delete that line."
            ) from error
    return found


def add(file: Path, made: Record) -> None:
    """Write the file again with one more record, or with one replaced; its folder is made, too.

    Raises:
        InvalidInputError: The file holds something else, or cannot be written.
    """
    with contextlib.suppress(FileExistsError):
        file.parent.mkdir(parents=True)
    with _only_writer(file.parent):
        known = read(file) | {made["key"]: made}
        lines = [json.dumps(known[key], separators=(",", ":")) + "\n" for key in sorted(known)]
        with storage.atomic(file) as part:
            part.write_text("".join(lines), encoding="utf-8")


@contextlib.contextmanager
def _only_writer(folder: Path) -> Iterator[None]:
    """Hold a lock on the folder: of two runs at once, neither may lose a record of the other."""
    if sys.platform == "win32":  # no such lock: one run at a time
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks: one run at a time
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
