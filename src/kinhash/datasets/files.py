"""The user's own files: which reader a path's ending calls for."""

from pathlib import Path

from kinhash.datasets.array_files import read_npy, read_npz
from kinhash.datasets.dataset import Dataset
from kinhash.errors import InvalidInputError, MissingExtraError

SUFFIXES = (".npz", ".npy", ".parquet", ".csv")


def load_file(
    path: Path, *, features: str | None = None, labels: str | None = None, ids: str | None = None
) -> Dataset:
    """Return the content of a file that ends in one of `SUFFIXES`, as `load` describes it.

    Raises:
        InvalidInputError: There is no such file, its content does not fit, or it has no array or
            column of a name asked for.
        MissingExtraError: A .csv or .parquet file is to be read and pyarrow is not installed.
    """
    if not path.is_file():
        raise InvalidInputError(f"There is no file {path}.")
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
    try:
        # Not at the top of the file: pyarrow is an extra, and slow to import.
        from kinhash.datasets.table_files import read_table  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("pyarrow"):
            raise
        raise MissingExtraError("Reading .csv and .parquet files needs pyarrow", "files") from error
    return read_table(path, features=features, labels=labels, ids=ids)
