"""The files that a command writes: checked before the long work, not after it."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from kinhash.errors import InvalidInputError


def check_output(path: Path, *, force: bool, inputs: tuple[str | Path | None, ...] = ()) -> None:
    """Raise unless `path` can be written: a new file, or with `force` one that is not an input.

    Raises:
        InvalidInputError: It exists, is no file, is one of `inputs`, or its folder is missing or
            not writable.
    """
    # A link stays, and the file that it leads to is written.
    folder = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if not folder.exists():
        raise InvalidInputError(f"Cannot write {path}: there is no folder {folder}. Create it.")
    if not folder.is_dir():
        raise InvalidInputError(f"Cannot write {path}: {folder} is a file, not a folder.")
    if path.is_dir():
        raise InvalidInputError(f"Cannot write {path}: it is a folder. Name a file in it.")
    if path.exists() and not path.is_file():  # replacing a device would break more than this run
        raise InvalidInputError(f"Cannot write {path}: it is not a regular file.")
    if path.exists() and any(_is_same(path, other) for other in inputs):
        raise InvalidInputError(f"Cannot write {path}: it is read here. Choose another name.")
    if os.path.lexists(path) and not force:
        raise InvalidInputError(f"{path} exists already. Pass --force to replace it.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInputError(f"Cannot write {path}: the folder {folder} is not writable.")


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[None]:
    """Remove the folder that the block makes at `path` if the block fails and leaves it empty."""
    was_there = path.exists()
    try:
        yield
    except BaseException:
        if not was_there:
            with contextlib.suppress(OSError):
                path.rmdir()
        raise


def _is_same(path: Path, other: str | Path | None) -> bool:
    try:
        return other is not None and path.samefile(other)
    except OSError:  # a data set's name, or a file that is not there: whoever reads it will say so
        return False
