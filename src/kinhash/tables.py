"""Tables of any library as Arrow, and their columns as vectors and texts; needs pyarrow."""

import difflib
import fnmatch
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from kinhash.arrays import Array, Floats, Integers
from kinhash.errors import InvalidInputError, MissingExtraError

# pyarrow, pandas and the others have no types, or must not be imported for them.
ArrowTable = Any  # a pyarrow Table or RecordBatch
ArrowColumn = Any
ArrowType = Any

UNNAMED = ""  # how the one column of a Series or an array is called
_MAX_LISTED = 5


def arrow() -> ModuleType:
    """Return pyarrow, which is an extra and slow to import.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        import pyarrow  # noqa: ICN001, PLC0415 - lazily
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("pyarrow"):
            raise
        raise MissingExtraError("Reading tables needs pyarrow", "files") from error
    return pyarrow  # type: ignore[no-any-return]  # untyped


def as_table(data: object) -> ArrowTable | None:
    """Return data as a `pyarrow.Table`, its memory shared where that is possible.

    Frames and Series of pandas and Polars, tables, batches, readers and arrays of PyArrow, data
    sets of Hugging Face and their columns, relations of DuckDB, and anything else with Arrow's
    PyCapsule interface. A single column, such as a Series, is a table of one column, called
    `UNNAMED` unless it has a name. An index of pandas is left out. A reader is read to its end.

    Returns:
        The table, or None if it is none of these, such as a NumPy array or a list.

    Raises:
        InvalidInputError: It is a table that Arrow cannot hold, or one of several.
        MissingExtraError: It is a table, and pyarrow is not installed.
    """
    convert = _converter(data)
    if convert is None:
        return None
    pa = arrow()
    try:
        found = convert(pa, data)
    except (pa.ArrowException, TypeError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(
            f"The {type(data).__name__} cannot be read as a table: {first_line(error)}."
        ) from error
    if not isinstance(found, pa.Table):  # an array, or one in chunks
        name = getattr(data, "name", None)
        found = pa.table([found], names=[name if isinstance(name, str) else UNNAMED])
    return found


def _converter(data: object) -> Any | None:  # noqa: ANN401 - a function, of whatever there is
    """Return what makes Arrow of `data`, called with pyarrow and it; None if it is no table."""
    for module, kind, convert in _KINDS:
        known = getattr(sys.modules.get(module), kind, None)
        if known is not None and isinstance(data, known):
            return convert
    if isinstance(data, type | np.ndarray):
        return None
    if hasattr(data, "__arrow_c_stream__"):
        return _from_stream
    if hasattr(data, "__arrow_c_array__"):
        return lambda pa, data: _from_stream(pa, pa.chunked_array([pa.array(data)]))
    return None


def _from_stream(pa: Any, data: Any) -> Any:  # noqa: ANN401 - untyped
    """Return the table of a stream of records, or the chunked array of a stream of one column."""
    if isinstance(data, pa.Table | pa.ChunkedArray):
        return data
    if isinstance(data, pa.RecordBatch | pa.RecordBatchReader):
        return pa.table(data) if isinstance(data, pa.RecordBatch) else data.read_all()
    column = pa.chunked_array(data)
    if not pa.types.is_struct(column.type):
        return column
    batches = [pa.RecordBatch.from_struct_array(chunk) for chunk in column.chunks]
    return pa.Table.from_batches(batches, pa.schema(list(column.type)))


def _from_data_set(_: ModuleType, data: Any) -> Any:  # noqa: ANN401 - untyped
    return data.with_format("arrow")[:]


def _from_data_set_column(_: ModuleType, data: Any) -> Any:  # noqa: ANN401 - untyped
    return data.source.with_format("arrow")[:].column(data.column_name)


def _refuse_splits(_: ModuleType, data: Any) -> Any:  # noqa: ANN401 - untyped
    raise InvalidInputError(
        f"A {type(data).__name__} holds several data sets, {', '.join(map(str, data))}. "
        "Choose one by its name."
    )


def _refuse_iterable(_: ModuleType, data: Any) -> Any:  # noqa: ANN401 - untyped
    raise InvalidInputError(
        f"An {type(data).__name__} has no length. Load it without streaming=True."
    )


# What has no capsules, in all versions or in some. Looked up in `sys.modules`: whoever has an
# object of a library has imported it.
_KINDS = (
    ("pandas", "DataFrame", lambda pa, data: pa.Table.from_pandas(data, preserve_index=False)),
    ("pandas", "Series", lambda pa, data: pa.chunked_array([pa.array(data, from_pandas=True)])),
    ("polars", "LazyFrame", lambda pa, data: _from_stream(pa, data.collect())),
    ("datasets", "Dataset", _from_data_set),
    ("datasets.arrow_dataset", "Column", _from_data_set_column),
    ("datasets", "DatasetDict", _refuse_splits),
    ("datasets", "IterableDatasetDict", _refuse_splits),
    ("datasets", "IterableDataset", _refuse_iterable),
)


def matching(
    names: Sequence[str],
    patterns: str | Sequence[str],
    *,
    option: str,
    source: str | None = None,
    kind: str = "column",
) -> list[str]:
    """Return the names that patterns choose, in the order of the patterns, then of `names`.

    Args:
        names: Those of a table's columns.
        patterns: Names, or patterns such as "e*" and "e[0-9]", separated by commas or as a list.
            What is a name as it stands is no pattern.
        option: What the user calls the patterns, for messages.
        source: What they call the table, and what has these names: columns, or arrays of a file.
        kind: See `source`.

    Raises:
        InvalidInputError: A pattern matches nothing; the nearest name is suggested.

    Example:
        >>> matching(["sku", "e0", "e1", "price"], "e*,price", option="features")
        ['e0', 'e1', 'price']
    """
    if isinstance(patterns, str):
        # A name may have a comma in it.
        patterns = [patterns] if patterns in names else [one.strip() for one in patterns.split(",")]
    known = set(names)
    found: dict[str, None] = {}
    for pattern in patterns:
        if pattern in known:
            found[pattern] = None
            continue
        chosen = [name for name in names if fnmatch.fnmatchcase(name, pattern)]
        if not chosen:
            raise no_column(option, pattern, names, source=source, kind=kind)
        found |= dict.fromkeys(chosen)
    return list(found)


def no_column(
    option: str,
    asked: str,
    names: Sequence[str],
    *,
    source: str | None = None,
    kind: str = "column",
) -> InvalidInputError:
    """Return the error for a name or a pattern that no column has."""
    place = f" of {source}" if source else ""
    known = f"The {kind}s: {listed(names)}." if names else f"It has no {kind}s."
    if any(sign in asked for sign in "*?["):
        return InvalidInputError(f"`{option}` {asked!r} matches no {kind}{place}. {known}")
    near = difflib.get_close_matches(asked, names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return InvalidInputError(f"`{option}` {asked!r} is no {kind}{place}.{hint} {known}")


def vectors(
    table: ArrowTable, columns: Sequence[str] | None = None, *, source: str = "the table"
) -> Floats:
    """Return the vectors of a table, float32 `(n, d)`.

    Not copied, and read-only, where they already are float32, in one chunk and in one column of
    lists. An empty number becomes NaN, and one too large for float32 infinity: whoever uses the
    vectors names the row.

    Args:
        table: A pyarrow Table or RecordBatch.
        columns: The column of lists that holds them, of equal length, or the numeric columns whose
            values they are made of, in this order. By default, the only column of lists, or else
            all columns, which must be numbers.
        source: What messages call the table.

    Raises:
        InvalidInputError: There is no such column, there is none at all, or one holds no numbers,
            lists of several lengths, or an empty list.
    """
    names = table.column_names
    if columns is None:
        lists = [n for n, kind in zip(names, table.schema.types, strict=True) if is_vector(kind)]
        if len(lists) > 1:
            raise InvalidInputError(
                f"{source} has several columns of lists: {listed(lists)}. Choose one."
            )
        columns = lists or names
    places = {name: place for place, name in reversed(list(enumerate(names)))}
    for name in columns:
        if name not in places:
            raise no_column("columns", name, names)
    chosen = range(len(names)) if columns is names else [places[name] for name in columns]
    return vectors_at(table, chosen, source=source)


def vectors_at(
    table: ArrowTable,
    columns: Sequence[int],
    *,
    source: str,
    first_row: int = 0,
    width: int | None = None,
) -> Floats:
    """Return the same of columns by their places: two may have one name.

    Args:
        table: A pyarrow Table or RecordBatch.
        columns: Their places.
        source: What messages call the table.
        first_row: The number of its first row, where it is a part.
        width: How long lists are in the rows before.
    """
    names = table.column_names
    chosen = [(names[i], table.column(i)) for i in columns]
    if len(chosen) == 1 and is_list(chosen[0][1].type):
        name, column = chosen[0]
        return _from_lists(column, f"`{name}` in {source}" if name else source, first_row, width)
    if not chosen:
        raise InvalidInputError(
            f"{source} must have numeric columns for the vectors, but has none."
        )
    made = np.empty((table.num_rows, len(chosen)), np.float32)
    with np.errstate(over="ignore"):  # becomes infinite
        for j, (name, column) in enumerate(chosen):
            if not is_number(column.type):
                raise _no_number(name, column, source, first_row)
            made[:, j] = numbers(column)
    return made


def _no_number(name: str, column: ArrowColumn, source: str, first_row: int) -> InvalidInputError:
    if is_list(column.type):
        return InvalidInputError(
            f"`{name}` in {source} holds lists, which are whole vectors. Choose it alone."
        )
    got = f"got {column.type}"
    if is_text(column.type):
        texts = column.to_pylist()
        row = next((i for i, text in enumerate(texts) if text is not None and _is_word(text)), None)
        if row is not None:
            got = f"got the text {texts[row][:40]!r} in row {first_row + row}"
    return InvalidInputError(
        f"`{name}` in {source} must hold numbers, {got}. Choose the columns that do."
    )


def _is_word(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return True
    return False


def _from_lists(column: ArrowColumn, source: str, first_row: int, width: int | None) -> Floats:
    """Return the vectors of a column of equally long lists."""
    if not is_vector(column.type):
        raise InvalidInputError(f"{source} must hold lists of numbers, got {column.type}.")
    chunks = [_storage(chunk) for chunk in getattr(column, "chunks", [column]) if len(chunk)]
    if not chunks:
        raise InvalidInputError(f"{source} must have at least one row, but has none.")
    row, parts = first_row, []
    seen = f"in row {first_row}" if width is None else "in the rows before"
    for chunk in chunks:
        if chunk.null_count:
            empty = row + int(np.argmax(chunk.is_null().to_numpy(zero_copy_only=False)))
            raise InvalidInputError(
                f"{source} must have a list in each row, but {chunk.null_count} of {len(chunk)} "
                f"are empty: the first in row {empty}."
            )
        lengths = _lengths(chunk)
        width = int(lengths[0]) if width is None else width
        if (lengths != width).any():
            i = int(np.argmax(lengths != width))
            raise InvalidInputError(
                f"{source} must hold lists of one length, got {width} {seen} and "
                f"{lengths[i]} in row {row + i}."
            )
        parts.append(numbers(chunk.flatten()).reshape(len(chunk), width))
        row += len(chunk)
    if not width:
        raise InvalidInputError(f"{source} must hold lists of at least one number, got empty ones.")
    with np.errstate(over="ignore"):  # becomes infinite
        if len(parts) == 1:
            return parts[0].astype(np.float32, copy=False)
        made = np.empty((row - first_row, width), np.float32)
        return np.concatenate(parts, out=made, casting="unsafe")


def _lengths(chunk: ArrowColumn) -> npt.NDArray[np.int64]:
    import pyarrow.compute  # noqa: PLC0415 - lazily

    if arrow().types.is_fixed_size_list(chunk.type):
        return np.full(len(chunk), chunk.type.list_size, np.int64)
    lengths = pyarrow.compute.list_value_length(chunk)
    return np.asarray(lengths.to_numpy(zero_copy_only=False), np.int64)


def texts(column: ArrowColumn, source: str) -> list[str]:
    """Return the texts of a column; one that is not there is empty.

    Raises:
        InvalidInputError: It holds no texts.
    """
    column = plain(column)
    if not is_text(column.type):
        raise InvalidInputError(f"{source} must hold texts, got {column.type}.")
    return ["" if text is None else text for text in column.to_pylist()]


def ids(column: ArrowColumn, source: str, *, first_row: int = 0) -> Array:
    """Return the ids in a column: int64, or an object array of strings.

    Raises:
        InvalidInputError: It holds neither whole numbers nor texts, or one is empty.
    """
    column = plain(column)
    if column.null_count and len(column):
        empty = np.asarray(column.is_null().to_numpy(zero_copy_only=False))
        raise InvalidInputError(
            f"{source} must have an id in each row, but {empty.sum()} of {len(empty)} are empty: "
            f"the first in row {first_row + int(empty.argmax())}."
        )
    if is_text(column.type):
        return np.array([*column.to_pylist(), None], dtype=object)[:-1]
    types = arrow().types
    if not (types.is_integer(column.type) or types.is_floating(column.type)):
        raise InvalidInputError(
            f"{source} must hold whole numbers or texts as ids, got {column.type}."
        )
    return whole_numbers(numbers(column), source, first_row=first_row)


def whole_numbers(array: Array, source: str, *, first_row: int = 0) -> Integers:
    """Return numbers as int64.

    Raises:
        InvalidInputError: One is not whole, or too large.
    """
    if array.dtype.kind == "f":
        is_whole = np.isfinite(array) & (array == np.floor(array)) & (np.abs(array) < 2.0**53)
    else:
        is_whole = np.asarray(array <= np.iinfo(np.int64).max)
    if not is_whole.all():
        row = int(np.argmin(is_whole))
        raise InvalidInputError(
            f"{source} must hold whole numbers that fit into 64 bits, "
            f"got {array[row]} in row {first_row + row}."
        )
    return array.astype(np.int64)


def values(column: ArrowColumn, source: str) -> Array:
    """Return a column of numbers or texts; what is empty becomes NaN or an empty text.

    Raises:
        InvalidInputError: It holds something else.
    """
    column = plain(column)
    if arrow().types.is_null(column.type):  # a column with nothing in it
        return np.full(len(column), np.nan)
    if is_number(column.type):
        return numbers(column)
    if is_text(column.type):
        return np.array([text or "" for text in column.to_pylist()], dtype=np.str_)
    raise InvalidInputError(f"{source} must hold whole numbers or text, got {column.type}.")


def numbers(column: ArrowColumn) -> Array:
    """Return a numeric column; what is empty becomes NaN."""
    pa, column = arrow(), plain(column)
    if pa.types.is_boolean(column.type):
        column = column.cast("uint8")
    elif pa.types.is_decimal(column.type):
        column = column.cast("float64")
    if isinstance(column, pa.ChunkedArray):
        return np.asarray(column.to_numpy())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def entries(column: ArrowColumn) -> Array:
    """Return a column of anything: numbers as such, NaN where empty; all else as Python objects."""
    if is_number(column.type) and not (
        column.null_count and arrow().types.is_boolean(plain(column).type)
    ):
        return numbers(column)
    found = np.empty(len(column), dtype=object)
    found[:] = column.to_pylist()
    return found


def plain(column: ArrowColumn) -> ArrowColumn:
    """Return a column without what only stores it: a dictionary, or an extension type."""
    pa = arrow()
    if isinstance(column.type, pa.BaseExtensionType):
        if isinstance(column, pa.ChunkedArray):
            kind = column.type.storage_type
            column = pa.chunked_array([chunk.storage for chunk in column.chunks], kind)
        else:
            column = column.storage
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    return column


def _storage(chunk: ArrowColumn) -> ArrowColumn:
    return chunk.storage if isinstance(chunk.type, arrow().BaseExtensionType) else chunk


def is_number(kind: ArrowType) -> bool:
    """Return whether a type is one of numbers."""
    types, kind = arrow().types, _value_type(kind)
    is_kind = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in is_kind)


def is_list(kind: ArrowType) -> bool:
    """Return whether a type is one of lists."""
    types, kind = arrow().types, _value_type(kind)
    return any(
        test(kind) for test in (types.is_list, types.is_large_list, types.is_fixed_size_list)
    )


def is_vector(kind: ArrowType) -> bool:
    """Return whether a type is one of lists of numbers."""
    return is_list(kind) and is_number(_value_type(kind).value_type)


def is_text(kind: ArrowType) -> bool:
    """Return whether a type is one of texts."""
    types, kind = arrow().types, _value_type(kind)
    is_view = getattr(types, "is_string_view", lambda _: False)  # not in all versions
    return any(test(kind) for test in (types.is_string, types.is_large_string, is_view))


def _value_type(kind: ArrowType) -> ArrowType:
    """Return the type of the values where `kind` says how they are stored."""
    pa = arrow()
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def listed(names: Sequence[str]) -> str:
    """Return the names for a message: the first few, and how many more."""
    rest = len(names) - _MAX_LISTED
    shown = ", ".join(names[:_MAX_LISTED])
    return f"{shown} and {rest} more" if rest > 0 else shown


def first_line(error: BaseException) -> str:
    """Return what a library says, for a message: its first line, without the full stop."""
    return str(error).strip().partition("\n")[0].rstrip(".")
