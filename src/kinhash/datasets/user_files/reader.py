"""Whatever the user has, by its kind: a path's ending, or the library of a table."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinhash import tables
from kinhash.datasets.user_files.arrays import array_items, npy_items, npz_items
from kinhash.datasets.user_files.batches import Items
from kinhash.datasets.user_files.columnar import arrow_source, parquet_source
from kinhash.datasets.user_files.columns import Wanted, choose_columns
from kinhash.datasets.user_files.delimited import delimited_source
from kinhash.datasets.user_files.folder import folder_source, part_files
from kinhash.datasets.user_files.json_lines import json_lines_source
from kinhash.datasets.user_files.sources import Source, TableSource, kind_of
from kinhash.datasets.user_files.tables import TableItems
from kinhash.errors import InvalidInputError

_DELIMITED = (".csv", ".tsv")
_SOURCES: dict[str, Callable[[Path], Source]] = {
    ".parquet": parquet_source,
    ".arrow": arrow_source,
    ".feather": arrow_source,
    ".jsonl": json_lines_source,
}
_COMPRESSED = (".csv", ".tsv", ".jsonl", ".npy")  # the others are compressed already, or can be

SUFFIXES = (".npz", ".npy", ".parquet", ".arrow", ".feather", ".csv", ".tsv", ".jsonl")


def open_items(
    data: Any,  # noqa: ANN401 - whatever the user has
    *,
    features: str | Sequence[str] | None = None,
    labels: str | None = None,
    ids: str | None = None,
    text: str | None = None,
    modalities: Sequence[str] | None = None,
    delimiter: str | None = None,
) -> Items:
    """Return rows to read: of a file, a folder of parts, a table of any library or an array.

    Nothing but names and kinds of columns is read until rows are asked for.

    Args:
        data: A path that ends in one of `SUFFIXES`, also with .gz; a folder of such files, which
            are read in the order of their names; a frame or table, as `kinhash.tables.as_table`
            takes it; or an array of numbers.
        features: Names or patterns, such as "e*", of the columns that are the vectors: a single
            one of lists, or numbers. By default the only column of lists, or else all of numbers,
            unless texts or modalities are asked for; of an .npz file the array `vectors`, or the
            only two-dimensional one.
        labels: The column of the labels; by default `label` or `labels`, if it is there.
        ids: That of the ids, integers or strings; by default `id` or `ids`.
        text: That of the texts.
        modalities: Several kinds of vectors or texts: see `kinhash.datasets.load`.
        delimiter: What separates the cells of text files, if not what the ending says.

    Raises:
        InvalidInputError: There is no such file, its ending is unknown, or a column is not there.
        MissingExtraError: It is a table, and pyarrow is not installed.

    Example:
        >>> items = open_items(np.eye(4, 2))
        >>> items.n_rows, [len(batch) for batch in items.batches(3)], items.read().vectors.dtype
        (4, [3, 1], dtype('float32'))
    """
    wanted = Wanted(features, labels, ids, text, modalities)
    if isinstance(data, str | os.PathLike):
        return _of_path(Path(data), wanted, delimiter)
    if delimiter is not None:
        raise InvalidInputError("`delimiter` belongs to .csv and .tsv files. Leave it out.")
    table = tables.as_table(data)
    if table is not None:
        name = f"the {type(data).__name__}"
        return table_items(name, TableSource(name, table), wanted)
    array = np.asarray(data)
    return array_items("array", "the array", [array], wanted)


def open_source(path: Path, delimiter: str | None = None) -> Source:
    """Return the table in a file or a folder of parts, whatever its columns are.

    Raises:
        InvalidInputError: There is no such file, or it holds arrays.
    """
    if path.is_dir():
        paths = part_files(path)
        for part in paths:
            _check_is_table(part, _checked_ending(part, delimiter))
        return folder_source(path, paths, lambda part: _source(part, delimiter))
    _check_is_table(path, _checked_ending(path, delimiter))
    return _source(path, delimiter)


def _check_is_table(path: Path, suffix: str) -> None:
    if suffix in {".npz", ".npy"}:
        raise InvalidInputError(f"{path} must be a table with named columns, got arrays.")


def ending(path: Path) -> str | None:
    """Return which of `SUFFIXES` a path ends in, with or without .gz; None if in none.

    Example:
        >>> ending(Path("items.CSV.gz")), ending(Path("notes.txt"))
        ('.csv', None)
    """
    inner = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    suffix = inner.suffix.lower()
    return suffix if suffix in SUFFIXES else None


def _of_path(path: Path, wanted: Wanted, delimiter: str | None) -> Items:
    if path.is_dir():
        return _of_folder(path, wanted, delimiter)
    suffix = _checked_ending(path, delimiter)
    if suffix == ".npz":
        return npz_items(path, wanted)
    name = (path.with_suffix("") if path.suffix.lower() == ".gz" else path).stem
    if suffix == ".npy":
        return npy_items(name, [path], wanted)
    return table_items(name, _source(path, delimiter), wanted)


def _of_folder(folder: Path, wanted: Wanted, delimiter: str | None) -> Items:
    paths = part_files(folder)
    suffixes = {path: _checked_ending(path, delimiter) for path in paths}
    first = suffixes[paths[0]]
    other = next((path for path in paths if suffixes[path] != first), None)
    if other is not None:
        raise InvalidInputError(
            f"All parts must end alike, but {paths[0].name} and {other.name} in {folder} do not."
        )
    if first == ".npz":
        raise InvalidInputError(f"{folder} holds .npz files, which are no parts of one table.")
    if first == ".npy":
        return npy_items(folder.name, paths, wanted)
    source = folder_source(folder, paths, lambda path: _source(path, delimiter))
    return table_items(folder.name, source, wanted)


def table_items(name: str, source: Source, wanted: Wanted) -> TableItems:
    """Return the rows of a table, whose name and source messages and users call it by.

    Raises:
        InvalidInputError: It has no rows, or a column is not there.
    """
    if source.n_rows == 0:
        raise InvalidInputError(f"{source.name} must have at least one row, but has none.")
    kinds = [(field.name, kind_of(field.type)) for field in source.schema]
    return TableItems(name, source, choose_columns(kinds, wanted, source.name))


def _source(path: Path, delimiter: str | None) -> Source:
    suffix = ending(path) or ""
    return delimited_source(path, delimiter) if suffix in _DELIMITED else _SOURCES[suffix](path)


def _checked_ending(path: Path, delimiter: str | None) -> str:
    """Return the ending of a file that is there.

    Raises:
        InvalidInputError: It is not there, its ending is unknown, or has no delimiter.
    """
    suffix = ending(path)
    if suffix is None:
        raise InvalidInputError(
            f"{path} must end in {', '.join(SUFFIXES)}, got {path.suffix or 'no ending'!r}."
        )
    if not path.is_file():
        raise InvalidInputError(f"There is no file {path}.")
    if path.suffix.lower() == ".gz" and suffix not in _COMPRESSED:
        raise InvalidInputError(
            f"{path} cannot be read compressed as a whole. Unpack it; a {suffix} file can be "
            "compressed inside."
        )
    if delimiter is not None and suffix not in _DELIMITED:
        raise InvalidInputError(
            f"`delimiter` belongs to .csv and .tsv files, and {path} is none. Leave it out."
        )
    if delimiter is not None and len(delimiter) != 1:
        raise InvalidInputError(f"`delimiter` must be one character, got {delimiter!r}.")
    return suffix
