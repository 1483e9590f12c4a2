"""The user's own files: which reader a path's ending calls for."""

import dataclasses
import types
from collections.abc import Sequence
from pathlib import Path

from kinhash.datasets.dataset import Dataset
from kinhash.datasets.user_files.arrays import read_npy, read_npz, read_npz_modalities
from kinhash.errors import InvalidInputError, MissingExtraError

SUFFIXES = (".npz", ".npy", ".parquet", ".csv")


def load_file(
    path: Path,
    *,
    features: str | None = None,
    labels: str | None = None,
    ids: str | None = None,
    modalities: Sequence[str] | None = None,
) -> Dataset:
    """Return the content of a file that ends in one of `SUFFIXES`, as `load` describes it.

    Raises:
        InvalidInputError: There is no such file, its content does not fit, or it has no array or
            column of a name asked for.
        MissingExtraError: A .csv or .parquet file is to be read and pyarrow is not installed.
    """
    if not path.is_file():
        raise InvalidInputError(f"There is no file {path}.")
    if modalities is None:
        return _plain(path, features, labels, ids)
    found = None if features is not None else _with_modalities(path, modalities, labels, ids)
    if found is not None:
        return found
    if len(modalities) > 1:
        raise InvalidInputError(
            f"{path} must have an array or column for each modality, {', '.join(modalities)}, so "
            "`features` cannot name one."
            if features is not None
            else f"{path} holds a single array without a name. Store the modalities "
            f"{', '.join(modalities)} in an .npz file."
        )
    plain = _plain(path, features, labels, ids)
    return dataclasses.replace(plain, modalities={modalities[0]: plain.vectors})


def _plain(path: Path, features: str | None, labels: str | None, ids: str | None) -> Dataset:
    """Return a file with one kind of vectors."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        for option, value in (("features", features), ("labels", labels), ("ids", ids)):
            if value is not None:
                raise InvalidInputError(
                    f"`{option}` names an array, but {path} holds a single one without a name. "
                    "Store several arrays in an .npz file."
                )
        return read_npy(path)
    if suffix == ".npz":
        return read_npz(path, features=features, labels=labels, ids=ids)
    found: Dataset = _tables().read_table(path, features=features, labels=labels, ids=ids)
    return found


def _with_modalities(
    path: Path, modalities: Sequence[str], labels: str | None, ids: str | None
) -> Dataset | None:
    """Return the modalities of a file; None where a single one is asked for and is not there."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return None
    if suffix == ".npz":
        return read_npz_modalities(path, modalities, labels=labels, ids=ids)
    found: Dataset | None = _tables().read_table_modalities(
        path, modalities, labels=labels, ids=ids
    )
    return found


def _tables() -> types.ModuleType:
    try:
        # Not at the top of the file: pyarrow is an extra, and slow to import.
        from kinhash.datasets.user_files import tables as table_files  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("pyarrow"):
            raise
        raise MissingExtraError("Reading .csv and .parquet files needs pyarrow", "files") from error
    return table_files
