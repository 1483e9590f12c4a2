"""What a command reads: data by name, by path or from stdin, and files that kinhash wrote."""

import dataclasses
import sys
import tempfile
from pathlib import Path
from typing import Any

from kinhash.codes import Codes
from kinhash.datasets import Dataset
from kinhash.datasets import load as load_dataset
from kinhash.errors import InvalidInputError
from kinhash.methods import HashMethod, load
from kinhash.progress import progress_bar
from kinhash.storage import StoredCodes, read, stored_codes

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
        InvalidInputError: The file cannot be read, or holds codes.
        FormatError: It is damaged or of another program.
    """
    model: HashMethod = _loaded(path, HashMethod, "a model, such as `kinhash train` writes")
    return model


def load_codes(path: Path, model: HashMethod) -> StoredCodes:
    """Return the codes in a file, with their ids, that `model` made.

    Raises:
        InvalidInputError: The file cannot be read, holds a model, or codes of another encoder.
        FormatError: It is damaged or of another program.
    """
    _loaded(path, Codes, "codes, such as `kinhash encode` writes")
    stored = stored_codes(*read(path))
    if stored.made_by not in (None, model.encoder_.fingerprint):
        raise InvalidInputError(
            f"{path} was made by encoder {stored.made_by}, but the model's is "
            f"{model.encoder_.fingerprint}. Encode the items again with this model."
        )
    return stored


def _loaded(path: Path, kind: type, expected: str) -> Any:  # noqa: ANN401 - of that kind
    found = load(path)
    if not isinstance(found, kind):
        holds = "codes" if isinstance(found, Codes) else "a model"
        raise InvalidInputError(f"{path} must hold {expected}, but it holds {holds}.")
    return found
