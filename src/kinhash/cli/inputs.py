"""What a command reads: data by name, by path or from stdin, and files that kinhash wrote."""

import dataclasses
import sys
import tempfile
from pathlib import Path

from kinhash.datasets import Dataset
from kinhash.datasets import load as load_dataset
from kinhash.encoders import Encoder
from kinhash.errors import FormatError, InvalidInputError
from kinhash.index.hamming import HammingIndex
from kinhash.methods import HashMethod, load
from kinhash.progress import progress_bar
from kinhash.storage import INDEX_MAGIC, StoredCodes, read, stored_codes

STDIN = "-"
STDIN_NAME = "standard input"


def load_data(
    data: str, *, features: str | None, labels: str | None, ids: str | None, root: Path | None
) -> Dataset:
    """Return the data set called `data`, the file at that path, or the CSV on stdin for "-".

    Raises:
        KinhashError: As `kinhash.datasets.load`.
    """
    if data == STDIN:
        return _from_stdin(features, labels, ids)
    with progress_bar(f"Reading {data}") as report:
        return load_dataset(
            data, root=root, features=features, labels=labels, ids=ids, progress=report
        )


def _from_stdin(features: str | None, labels: str | None, ids: str | None) -> Dataset:
    if sys.stdin is None:
        raise InvalidInputError("Cannot read the data: standard input is closed.")
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        file.write(sys.stdin.buffer.read())
        file.flush()
        try:
            dataset = load_dataset(file.name, features=features, labels=labels, ids=ids)
        except InvalidInputError as error:
            raise InvalidInputError(str(error).replace(file.name, STDIN_NAME)) from error
    return dataclasses.replace(dataset, name=STDIN_NAME)


def load_model(path: Path) -> HashMethod:
    """Return the model in a file.

    Raises:
        InvalidInputError: The file cannot be read, or holds something else.
        FormatError: It is damaged or of another program.
    """
    found = None if holds_index(path) else load(path)
    if not isinstance(found, HashMethod):
        holds = "an index" if found is None else "codes"
        raise _unwanted(path, "a model, such as `kinhash train` writes", holds)
    return found


def load_codes(path: Path, wanted: str = "codes, such as `kinhash encode` writes") -> StoredCodes:
    """Return the codes in a file, with their ids.

    Raises:
        InvalidInputError: The file cannot be read, or holds something else than is `wanted`.
        FormatError: It is damaged or of another program.
    """
    if holds_index(path):
        raise _unwanted(path, wanted, "an index")
    header, arrays = read(path)
    if header.get("kind") != "codes":
        raise _unwanted(path, wanted, f"a {header.get('kind')}")
    try:
        return stored_codes(header, arrays)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error


def load_items(path: Path, model: HashMethod) -> HammingIndex:
    """Return the index in a file, or one of the codes in it, that `model` made.

    Raises:
        InvalidInputError: The file cannot be read, holds a model, or items of another encoder.
        FormatError: It is damaged or of another program.
    """
    encoder = model.encoder_
    if holds_index(path):
        index = HammingIndex.load(path)
        made_by = index.made_by
    else:
        stored = load_codes(path, "an index or codes, such as `kinhash index` or `encode` writes")
        made_by = stored.made_by
        index = build_index(path, stored, memory="lean")  # for one search: the least to build
    if made_by not in (None, encoder.fingerprint):
        raise InvalidInputError(
            f"{path} was made by encoder {made_by}, but the model's is {encoder.fingerprint}. "
            "Encode the items again with this model."
        )
    if (index.n_bits, index.signed) != (encoder.n_bits, encoder.signed):
        raise InvalidInputError(
            f"{path} holds {_kind(index)} codes, but the model makes {_kind(encoder)} ones. "
            "Encode the items again with this model."
        )
    return index


def build_index(path: Path, stored: StoredCodes, *, memory: str) -> HammingIndex:
    """Return an index of the codes that were read from `path`.

    Raises:
        InvalidInputError: Two of them have the same id.
    """
    with progress_bar(f"Indexing {path}"):
        try:
            return HammingIndex(stored.codes, stored.ids, memory=memory, made_by=stored.made_by)
        except InvalidInputError as error:
            raise InvalidInputError(f"{path}: {error}") from error


def holds_index(path: Path) -> bool:
    """Whether a file starts as an index does; what cannot be read does not."""
    try:
        with path.open("rb") as file:
            return file.read(len(INDEX_MAGIC)) == INDEX_MAGIC
    except OSError:
        return False


def _kind(codes: HammingIndex | Encoder) -> str:
    return f"{'signed ' if codes.signed else ''}{codes.n_bits}-bit"


def _unwanted(path: Path, wanted: str, holds: str) -> InvalidInputError:
    return InvalidInputError(f"{path} must hold {wanted}, but it holds {holds}.")
