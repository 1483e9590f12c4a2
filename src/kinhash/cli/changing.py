"""An index that a command changes in its file: locked, and replaced as a whole or not at all."""

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from kinhash.cli import inputs
from kinhash.cli.messages import kept
from kinhash.codes import StoredCodes
from kinhash.datasets.user_files.packed import SUFFIXES, Form
from kinhash.errors import InvalidInputError
from kinhash.ids import as_new_ids
from kinhash.index.hamming import HammingIndex
from kinhash.progress import progress_bar

PIECE = 2**17  # items between two steps of the progress bar


@contextlib.contextmanager
def index_in(path: Path) -> Iterator[HammingIndex]:
    """Give the index in a file, which is written there when the block is over.

    Raises:
        InvalidInputError: The file cannot be read or written, holds something else, or another
            process changes it.
        FormatError: It is damaged or of another program.
    """
    with kept(f"nothing was changed: {path} is as it was."):
        if path.exists() and not os.access(path, os.W_OK):
            raise InvalidInputError(f"Cannot write {path}: it is read-only.")
        index = inputs.load_index(path)
        with _locked(path):
            yield index
            with progress_bar(f"Writing {path}"):
                index.save(path)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock on the file, so that no other command changes the index meanwhile."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever had the lock before has put another file in its place.
            is_free = os.path.samestat(os.fstat(file.fileno()), path.stat())
        except BlockingIOError:
            is_free = False
        if not is_free:
            raise InvalidInputError(
                f"{path} is being changed by another process. Run this again when that is done."
            )
        yield


def fitting_codes(
    path: Path, index: HammingIndex, *, column: str | None, ids: str | None
) -> StoredCodes:
    """Return the codes in a file, with ids, if they fit the index.

    Raises:
        KinhashError: As `inputs.load_any_codes`; or they have other lengths than those of the
            index, were made by another encoder, or have no ids.
    """
    is_foreign = path.suffix.lower() in SUFFIXES
    form = Form(index.n_bits, index.n_rank_bits, index.signed) if is_foreign else Form()
    stored = inputs.load_any_codes(path, form, column=column, ids=ids)
    holds, wanted = (inputs.kind_of(codes, ranked=True) for codes in (stored.codes, index))
    if holds != wanted:
        raise InvalidInputError(f"{path} holds {holds}, but the index has {wanted}.")
    if None not in (stored.made_by, index.made_by) and stored.made_by != index.made_by:
        raise InvalidInputError(
            f"{path} was made by encoder {stored.made_by}, but the index by {index.made_by}. "
            "Encode the items with the model of the index."
        )
    if stored.ids is None:
        raise InvalidInputError(
            f"{path} has no ids, and items are added under ids of their own. Encode the data with "
            "ids, which --ids names."
        )
    return stored


def add(index: HammingIndex, path: Path, stored: StoredCodes, *, update: bool) -> tuple[int, int]:
    """Add the codes from `path` to an index; return how many items are new, and how many replaced.

    Args:
        index: What to add to.
        path: What messages call the codes.
        stored: Codes that `fitting_codes` returned.
        update: Replace the codes of items that are stored; else these are refused.

    Raises:
        InvalidInputError: Two ids are alike, stored already, or of another kind than the index's.
    """
    ids: list[int | str] = [] if stored.ids is None else stored.ids.tolist()
    known = set(index.ids.tolist()) if update else set()
    old = [row for row, item in enumerate(ids) if item in known]
    new = [row for row, item in enumerate(ids) if item not in known] if old else range(len(ids))
    try:
        as_new_ids(ids, len(stored.codes))
        with progress_bar(f"Adding {path}") as report:
            for start in range(0, len(new), PIECE):
                rows = new[start : start + PIECE]
                index.add(stored.codes[list(rows)], [ids[row] for row in rows])
                report(start + len(rows), len(new))
            index.update(stored.codes[old], [ids[row] for row in old])
    except InvalidInputError as error:
        told = str(error).replace("`ids`", "the ids").replace("Use update", "Pass --update")
        raise InvalidInputError(f"{path}: {told}") from error
    return len(new), len(old)


def as_stored(ids: Sequence[str], index: HammingIndex) -> list[int] | list[str]:
    """Return ids that were typed as those of an index: the same, or whole numbers; each once.

    Raises:
        InvalidInputError: The ids of the index are integers, and one is no integer.
    """
    once = list(dict.fromkeys(ids))
    if index.ids.dtype == object:
        return once
    numbers = []
    for text in once:
        try:
            numbers.append(int(text))
        except ValueError:
            raise InvalidInputError(
                f"The ids of this index are whole numbers, got {text!r}."
            ) from None
    return list(dict.fromkeys(numbers))
