"""Where data sets lie on disk, and what to say when one is not there."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from kinhash.errors import InvalidInputError


def data_root(root: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of the data sets: `root`, else `$KINHASH_DATA`, else `~/.cache/kinhash`."""
    if root is not None:
        return Path(root).expanduser()
    named = os.environ.get("KINHASH_DATA")
    return Path(named).expanduser() if named else user_cache()


def user_cache() -> Path:
    """Return the folder that is used when none is named."""
    return Path.home() / ".cache" / "kinhash"


def missing_data(
    title: str, files: Sequence[str], folders: Iterable[Path], remedy: str
) -> InvalidInputError:
    """Return the error for a data set of which `files` are in none of `folders`."""
    places = ", ".join(str(folder) for folder in dict.fromkeys(folders))
    return InvalidInputError(
        f"{title} was not found: looked for {', '.join(files)} in {places}. {remedy}"
    )


def find_folder(title: str, root: Path, name: str, files: Sequence[str], remedy: str) -> Path:
    """Return `root/name`, or else `root` itself, whichever holds all of `files`.

    Raises:
        InvalidInputError: Neither does; it says what was looked for, where, and `remedy`.
    """
    folders = (root / name, root)
    for folder in folders:
        if all((folder / file).is_file() for file in files):
            return folder
    raise missing_data(title, files, folders, remedy)
