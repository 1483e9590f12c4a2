"""Tables as text, .csv and .tsv, read in pieces; needs pyarrow."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kinhash import tables
from kinhash.datasets.user_files.batches import BATCH_ROWS
from kinhash.datasets.user_files.columns import Role
from kinhash.datasets.user_files.sources import (
    ArrowSchema,
    ArrowType,
    Piece,
    Source,
    readable,
)
from kinhash.errors import InvalidInputError

# Read at a time; the kinds of columns come from the first block. Arrow reads many blocks ahead.
BLOCK_BYTES = 2**21
_USUAL = {".csv": ",", ".tsv": "\t"}  # what separates cells, by ending
_OTHERS = (";", "\t", "|", ",")  # what may separate them instead


@dataclasses.dataclass(frozen=True, eq=False)
class DelimitedSource:
    """A text file with one row per line and its columns' names in the first."""

    path: Path
    schema: ArrowSchema
    delimiter: str
    n_rows = None
    is_untyped = True

    @property
    def name(self) -> str:
        """What messages call it."""
        return str(self.path)

    def pieces(self, roles: Mapping[str, Role], n_rows: int | None) -> Iterator[Piece]:
        """Yield all rows in order: features as float64, the rest as texts.

        Raises:
            InvalidInputError: The file cannot be read, or a cell of a feature is no number.
        """
        pa = tables.arrow()
        try:
            with readable(self.path):
                kinds = {name: self._read_as(name, role) for name, role in roles.items()}
                yield from self._read(roles, n_rows or BATCH_ROWS, kinds)
        except InvalidInputError as error:
            if isinstance(error.__cause__, pa.ArrowInvalid):
                with readable(self.path):
                    self._find_cell(roles)
            raise

    def _read_as(self, name: str, role: Role) -> ArrowType:
        """Return the type to read a column as.

        A first block of integers says nothing about the rest of a column, and an id such as "007"
        is not the number 7.
        """
        pa = tables.arrow()
        kind = self.schema.field(self.schema.names.index(name)).type
        if role != "features" or not (tables.is_number(kind) or pa.types.is_null(kind)):
            return pa.string()
        return kind if pa.types.is_boolean(kind) else pa.float64()

    def _read(
        self, roles: Mapping[str, Role], n_rows: int, kinds: Mapping[str, ArrowType]
    ) -> Iterator[Piece]:
        names, row = self.schema.names, 0
        # Columns that have one name cannot be chosen by it.
        chosen = list(roles) if len(set(names)) == len(names) else None
        for batch in _opened(self.path, self.delimiter, kinds, chosen):
            for start in range(0, batch.num_rows, n_rows):
                yield Piece(batch.slice(start, n_rows), self.name, row + start)
            row += batch.num_rows

    def _find_cell(self, roles: Mapping[str, Role]) -> None:
        """Raise InvalidInputError with the first cell that does not fit, if there is one."""
        pa = tables.arrow()
        for piece in self._read(roles, BATCH_ROWS, dict.fromkeys(roles, pa.binary())):
            cells = piece.table
            wrong: list[tuple[int, str, str]] = []
            for name, column in zip(cells.schema.names, cells.columns, strict=True):
                if name in roles:
                    test, expected = _TESTS[not tables.is_text(self._read_as(name, roles[name]))]
                    values = enumerate(column.to_pylist())
                    row = next((i for i, cell in values if cell is not None and test(cell)), None)
                    if row is not None:
                        wrong.append((row, name, expected.format(_shown(column[row].as_py()))))
            if wrong:
                row, name, told = min(wrong)
                raise InvalidInputError(
                    f"`{name}` in {self.path} must hold {told} in row {piece.first_row + row}."
                )


def _is_word(cell: bytes) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.strip().decode(errors="replace") not in _null_spellings()
    return False


def _null_spellings() -> list[str]:
    import pyarrow.csv  # noqa: PLC0415 - an extra

    return list(pyarrow.csv.ConvertOptions().null_values)


def _shown(cell: bytes) -> str:
    return repr(cell[:40]) if _is_foreign(cell) else repr(cell.decode()[:40])


def _is_foreign(cell: bytes) -> bool:
    try:
        cell.decode()
    except UnicodeDecodeError:
        return True
    return False


# By whether the column is read as numbers: what does not fit, and how it is told.
_TESTS: dict[bool, tuple[Callable[[bytes], bool], str]] = {
    True: (_is_word, "numbers, got the text {}"),
    False: (_is_foreign, "text in UTF-8, got {}"),
}


def delimited_source(path: Path, delimiter: str | None = None) -> Source:
    """Return the table of a .csv or .tsv file, which may end in .gz.

    Args:
        path: The file.
        delimiter: What separates cells, one character; by default what the ending says.

    Raises:
        InvalidInputError: It cannot be read, or its first line has no names.
    """
    usual = _USUAL[next(end for end in path.suffixes[::-1] if end.lower() in _USUAL).lower()]
    separator = delimiter or usual
    with readable(path):
        reader = _opened(path, separator, {}, None)
        schema, names = reader.schema, reader.schema.names
        has_rows = next(reader, None) is not None
        reader.close()
    _check_header(path, names, delimiter)
    if not has_rows:
        raise InvalidInputError(f"{path} must have at least one row, but has none.")
    return DelimitedSource(path, schema, separator)


def _opened(
    path: Path, delimiter: str, kinds: Mapping[str, ArrowType], chosen: list[str] | None
) -> Any:  # noqa: ANN401 - untyped
    """Return a reader of record batches."""
    pa = tables.arrow()
    import pyarrow.csv  # noqa: PLC0415 - an extra

    compression = "gzip" if path.suffix.lower() == ".gz" else None
    return pyarrow.csv.open_csv(
        pa.input_stream(str(path), compression=compression),
        read_options=pyarrow.csv.ReadOptions(block_size=BLOCK_BYTES),
        parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter),
        convert_options=pyarrow.csv.ConvertOptions(column_types=kinds, include_columns=chosen),
    )


def _check_header(path: Path, names: list[str], delimiter: str | None) -> None:
    """Tell a file without a header, whose first item would be lost, from columns named 0, 1, 2."""
    if len(names) == 1 and delimiter is None:
        other = next((sign for sign in _OTHERS if sign in names[0]), None)
        if other is not None:
            raise InvalidInputError(
                f"{path} has a single column, {names[0][:60]!r}. If its cells are separated by "
                f"{other!r}, pass it as `delimiter`."
            )
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return
    if numbers not in (list(range(len(names))), list(range(1, len(names) + 1))):
        raise InvalidInputError(
            f"{path} must start with a line of column names, but starts with {names[0]}. "
            "Add a line of names."
        )
