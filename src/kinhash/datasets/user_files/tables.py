"""Tables, .csv and .parquet, as data sets; needs pyarrow."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from kinhash.datasets.dataset import Dataset
from kinhash.datasets.user_files.fields import (
    Modality,
    as_ids,
    as_labels,
    as_vectors,
    choose,
    first_vectors,
)
from kinhash.errors import InvalidInputError

# What pandas calls the index that it writes as one more column of a .csv or .parquet file.
_INDEX_NAMES = ("", "__index_level_0__")
_MAX_LISTED = 5

ArrowTable = Any  # pyarrow has no types
ArrowColumn = Any
ArrowType = Any


def read_table(
    path: Path, *, features: str | None = None, labels: str | None = None, ids: str | None = None
) -> Dataset:
    """Return a table's list column or else its numeric columns as vectors, with labels and ids.

    Beside a list column, other columns are left alone. Without one, each column must be a number,
    the labels or the ids.
    """
    table = _read(path)
    found = table.column_names
    label_column = choose("labels", labels, ("label", "labels"), found, str(path))
    id_column = choose("ids", ids, ("id", "ids"), found, str(path))
    vector_column = choose("features", features, (), found, str(path))
    others = [name for name in found if name not in (label_column, id_column)]
    if vector_column is None:
        vector_column = _only_list(path, table, others)
    if vector_column is None:
        vectors = _from_numbers(path, table, others)
    else:
        vectors = _from_lists(table.column(vector_column), f"`{vector_column}` in {path}")
    numbers, names = _labels(path, table, label_column)
    own_ids = _ids(path, table, id_column)
    return Dataset(path.stem, vectors, labels=numbers, names=names, ids=own_ids)


def read_table_modalities(
    path: Path, modalities: Sequence[str], *, labels: str | None = None, ids: str | None = None
) -> Dataset | None:
    """Return the columns of a table that make up the modalities, with labels and ids.

    For "image", that is a column `image` of texts or lists, or else the numeric columns `image_0`,
    `image_1` and so on, in the table's order. Other columns are left alone. None if a single one
    is asked for and is not there: then the table may hold nothing else.
    """
    table = _read(path)
    found = table.column_names
    columns = {name: _columns_of(name, found) for name in modalities}
    missing = [name for name, own in columns.items() if not own]
    if missing and len(modalities) == 1:
        return None
    if missing:
        raise InvalidInputError(
            f"{path} has no modality {', '.join(map(repr, missing))}: neither a column of that "
            f"name nor {missing[0]}_0, {missing[0]}_1, .... Its columns: {_listed(found)}."
        )
    twice = [name for name, own in columns.items() if len(own) > 1 and own[0] == name]
    if twice:
        raise InvalidInputError(f"{path} has two columns {twice[0]!r}. Rename one.")
    label_column = choose("labels", labels, ("label", "labels"), found, str(path))
    id_column = choose("ids", ids, ("id", "ids"), found, str(path))
    values = {name: _modality(path, table, name, own) for name, own in columns.items()}
    numbers, names = _labels(path, table, label_column)
    return Dataset(
        path.stem,
        first_vectors(values),
        labels=numbers,
        names=names,
        ids=_ids(path, table, id_column),
        modalities=values,
    )


def _columns_of(modality: str, found: Sequence[str]) -> list[str]:
    numbered = re.compile(re.escape(modality) + r"_?\d+")
    if modality in found:
        return [name for name in found if name == modality]
    return [name for name in found if numbered.fullmatch(name)]


def _modality(path: Path, table: ArrowTable, name: str, own: list[str]) -> Modality:
    """Return vectors, or texts; a text that is not there is empty."""
    if own != [name]:
        return _from_numbers(path, table, own)
    column, source = table.column(name), f"`{name}` in {path}"
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return tuple("" if text is None else text for text in column.to_pylist())
    if _is_list(column.type):
        return _from_lists(column, source)
    raise InvalidInputError(
        f"{source} must hold texts or lists of numbers, got {column.type}. Numbers of a modality "
        f"are columns called {name}_0, {name}_1, ...."
    )


def _labels(
    path: Path, table: ArrowTable, column: str | None
) -> tuple[Any, tuple[str, ...] | None]:
    if column is None:
        return None, None
    source = f"`{column}` in {path}"
    return as_labels(_values(table.column(column), source), source)


def _ids(path: Path, table: ArrowTable, column: str | None) -> npt.NDArray[np.int64] | None:
    if column is None:
        return None
    source, values = f"`{column}` in {path}", table.column(column)
    _check_complete(values, source)
    return as_ids(_values(values, source), source)


def _read(path: Path) -> ArrowTable:
    is_csv = path.suffix.lower() == ".csv"
    try:
        # Not `read_table`: that takes a folder called year=2024 for one more column.
        table = pa.csv.read_csv(path) if is_csv else pa.parquet.ParquetFile(path).read()
        table.validate(full=True)
        names = table.column_names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise InvalidInputError(f"{path} cannot be read: {reason}.") from error
    if is_csv:
        _check_header(path, names)
    if table.num_rows == 0:
        raise InvalidInputError(f"{path} must have at least one row, but has none.")
    return table


def _check_header(path: Path, names: list[str]) -> None:
    """Tell a file without a header, whose first item would be lost, from columns named 0, 1, 2."""
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return
    if numbers not in (list(range(len(names))), list(range(1, len(names) + 1))):
        raise InvalidInputError(
            f"{path} must start with a line of column names, but starts with {names[0]}. "
            "Add a line of names."
        )


def _only_list(path: Path, table: ArrowTable, names: list[str]) -> str | None:
    kinds = dict(zip(table.column_names, table.schema.types, strict=True))
    lists = [name for name in names if _is_list(kinds[name])]
    if len(lists) > 1:
        raise InvalidInputError(
            f"{path} has several columns of lists: {_listed(lists)}. Name one with `features`."
        )
    return lists[0] if lists else None


def _from_lists(column: ArrowColumn, source: str) -> npt.NDArray[np.float32]:
    """Return the vectors of a column of equally long lists."""
    if not _is_list(column.type) or not _is_number(column.type.value_type):
        raise InvalidInputError(f"{source} must hold lists of numbers, got {column.type}.")
    _check_complete(column, source)
    lengths = pa.compute.min_max(pa.compute.list_value_length(column)).as_py()
    if lengths["min"] != lengths["max"]:
        raise InvalidInputError(
            f"{source} must hold lists of one length, got {lengths['min']} to {lengths['max']}."
        )
    values = _numbers(pa.compute.list_flatten(column))
    return as_vectors(values.reshape(len(column), lengths["min"]), source)


def _from_numbers(path: Path, table: ArrowTable, names: list[str]) -> npt.NDArray[np.float32]:
    """Return the vectors whose coordinates are the columns called `names`, in the table's order."""
    wanted = set(names)
    columns = [
        (name, column)
        for name, column in zip(table.column_names, table.columns, strict=True)
        if name in wanted
    ]
    foreign = [f"{name} ({column.type})" for name, column in columns if not _is_number(column.type)]
    if foreign:
        raise InvalidInputError(
            f"{path} has columns that are neither numbers nor labels nor ids: {_listed(foreign)}. "
            "Name the label column with `labels` and the id column with `ids`, and remove the rest."
        )
    if any(name in _INDEX_NAMES for name in names):
        raise InvalidInputError(
            f"{path} has a column without a name, such as pandas writes for its index. "
            "Write it with index=False, or name the column and choose it with `ids`."
        )
    if not columns:
        raise InvalidInputError(f"{path} must have numeric columns for the vectors, but has none.")
    vectors = np.empty((table.num_rows, len(columns)), dtype=np.float32)
    # A value too large for float32 becomes infinite: whoever uses the vectors names its row.
    with np.errstate(over="ignore"):
        for j, (_, column) in enumerate(columns):
            vectors[:, j] = _numbers(column)
    return vectors


def _values(column: ArrowColumn, source: str) -> npt.NDArray[Any]:
    """Return a column of numbers or text; what is empty becomes NaN or an empty text."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type):  # a column of a .csv file with nothing in it
        return np.full(len(column), np.nan)
    if _is_number(column.type):
        return _numbers(column)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return np.array([text or "" for text in column.to_pylist()], dtype=np.str_)
    raise InvalidInputError(f"{source} must hold whole numbers or text, got {column.type}.")


def _check_complete(column: ArrowColumn, source: str) -> None:
    if column.null_count:
        raise InvalidInputError(
            f"{source} must have a value in each row, but {column.null_count} of {len(column)} "
            "are empty."
        )


def _numbers(column: ArrowColumn) -> npt.NDArray[Any]:
    """Return a numeric column; what is empty becomes NaN."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    elif pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy())


def _is_number(kind: ArrowType) -> bool:
    is_kind = (
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_boolean,
        pa.types.is_decimal,
    )
    return any(test(kind) for test in is_kind)


def _is_list(kind: ArrowType) -> bool:
    is_kind = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(test(kind) for test in is_kind)


def _listed(names: list[str]) -> str:
    rest = len(names) - _MAX_LISTED
    shown = ", ".join(names[:_MAX_LISTED])
    return f"{shown} and {rest} more" if rest > 0 else shown
