"""Tables of one JSON object per line, .jsonl, read in pieces; needs pyarrow."""

import dataclasses
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping
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

BLOCK_BYTES = 2**21  # read at a time; the kinds of fields come from the first block


@dataclasses.dataclass(frozen=True, eq=False)
class JsonLinesSource:
    """A text file with one JSON object per line."""

    path: Path
    schema: ArrowSchema
    n_rows = None
    is_untyped = False

    @property
    def name(self) -> str:
        """What messages call it."""
        return str(self.path)

    def pieces(self, roles: Mapping[str, Role], n_rows: int | None) -> Iterator[Piece]:
        """Yield all rows in order: features as float64, or lists of them.

        Raises:
            InvalidInputError: The file cannot be read, or a line does not fit.
        """
        fields = [(name, self._read_as(name, role)) for name, role in roles.items()]
        schema, row, step = tables.arrow().schema(fields), 0, n_rows or BATCH_ROWS
        with readable(self.path):
            for block in _blocks(self.path):
                batch = _table(block, self.path, row, schema)
                for start in range(0, batch.num_rows, step):
                    yield Piece(batch.slice(start, step), self.name, row + start)
                row += batch.num_rows

    def _read_as(self, name: str, role: Role) -> ArrowType:
        """Return the type of a field: a first block of integers says nothing about the rest."""
        pa = tables.arrow()
        kind = self.schema.field(name).type
        if pa.types.is_nested(kind) and not tables.is_vector(kind):
            return kind
        if role == "features" and not tables.is_text(kind):
            return pa.list_(pa.float64()) if tables.is_vector(kind) else pa.float64()
        # What looks like a date is a text; so is what the first block leaves empty.
        return kind if tables.is_number(kind) else pa.string()


def json_lines_source(path: Path) -> Source:
    """Return the table of a .jsonl file, which may end in .gz.

    Raises:
        InvalidInputError: It cannot be read, or its first lines are no JSON objects.
    """
    with readable(path):
        first = next(_blocks(path), b"")
        if not first.strip():
            raise InvalidInputError(f"{path} must have at least one row, but has none.")
        return JsonLinesSource(path, _table(first, path, 0, None).schema)


def _blocks(path: Path) -> Iterator[bytes]:
    """Yield the file in pieces of whole lines."""
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opened(path, "rb") as file:
            while block := file.read(BLOCK_BYTES):
                yield block + file.readline()
    except zlib.error as error:
        raise OSError(str(error)) from error


def _table(block: bytes, path: Path, first_row: int, schema: ArrowSchema | None) -> Any:  # noqa: ANN401
    """Return the rows of a block; with a schema its fields only, those of its types."""
    pa = tables.arrow()
    import pyarrow.json  # noqa: PLC0415 - an extra

    options = pyarrow.json.ParseOptions(
        explicit_schema=schema,
        unexpected_field_behavior="infer" if schema is None else "ignore",
    )
    reading = pyarrow.json.ReadOptions(block_size=len(block) + 1, use_threads=False)
    try:
        return pyarrow.json.read_json(io.BytesIO(block), reading, options)
    except pa.ArrowInvalid:
        _find_line(block, path, first_row, schema)
        raise


def _find_line(block: bytes, path: Path, first_row: int, schema: ArrowSchema | None) -> None:
    """Raise InvalidInputError with the first line that does not fit, if there is one."""
    lines = [line for line in block.splitlines(keepends=True) if line.strip()]
    for row, line in enumerate(lines, first_row):
        try:
            item = json.loads(line)
        except ValueError as error:
            cut = "" if line.endswith(b"\n") else " It may be cut short: it has no line end."
            raise InvalidInputError(
                f"{path} must hold a JSON object in each line, but row {row} is none: {error}.{cut}"
            ) from error
        if not isinstance(item, dict):
            raise InvalidInputError(
                f"{path} must hold a JSON object in each line, got {line.strip()[:40].decode()!r} "
                f"in row {row}."
            )
        for field in schema or ():
            _check_value(item.get(field.name), field.type, f"`{field.name}` in {path}", row)


def _check_value(value: object, kind: ArrowType, source: str, row: int) -> None:
    """Raise InvalidInputError unless a value is what its field is read as, or null."""
    is_list = tables.is_list(kind)
    expected, types = _expected(kind)
    parts = value if isinstance(value, list) else [value]
    fits = isinstance(value, list | None) if is_list else not isinstance(value, list)
    for part in parts:
        if not fits or type(part) not in (*types, type(None)):
            raise InvalidInputError(
                f"{source} must hold {expected} in all rows, got {json.dumps(part)[:40]} in row "
                f"{row}."
            )


def _expected(kind: ArrowType) -> tuple[str, tuple[type, ...]]:
    """Return what a field must hold, in words and as types of Python."""
    types = tables.arrow().types
    if tables.is_text(kind):
        return "texts", (str,)
    if types.is_boolean(kind):
        return "true or false", (bool,)
    if types.is_integer(kind):
        return "whole numbers", (int,)
    return "lists of numbers" if tables.is_list(kind) else "numbers", (int, float)
