"""Where the record batches of a user's table come from; needs pyarrow."""

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from kinhash import tables
from kinhash.datasets.user_files.columns import Kind, Role
from kinhash.errors import InvalidInputError

ArrowTable = Any  # a pyarrow Table or RecordBatch: pyarrow has no types
ArrowColumn = Any
ArrowSchema = Any
ArrowType = Any


@dataclasses.dataclass(frozen=True, eq=False)
class Piece:
    """Consecutive rows of one file or table.

    Attributes:
        table: A pyarrow Table or RecordBatch; its columns may be others and in another order than
            those asked for.
        source: What messages call the file.
        first_row: The number of the first row in that file.
    """

    table: ArrowTable
    source: str
    first_row: int


class Source(Protocol):
    """A table, read in pieces."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def schema(self) -> ArrowSchema:
        """The names and types of the columns; of text files as their first block has them."""

    @property
    def n_rows(self) -> int | None:
        """How many rows there are; None where only reading all of it tells."""

    @property
    def is_untyped(self) -> bool:
        """Whether labels and ids come as texts, because the file does not say what they are."""

    def pieces(self, roles: Mapping[str, Role], n_rows: int | None) -> Iterator[Piece]:
        """Yield all rows in order, with the columns in `roles`, at most `n_rows` at a time.

        With None, all rows come in one piece where that takes no memory.

        Raises:
            InvalidInputError: The file cannot be read, or a value does not fit its column's role.
        """


@dataclasses.dataclass(frozen=True, eq=False)
class TableSource:
    """A table in memory, or mapped into it."""

    name: str
    table: ArrowTable
    is_untyped = False

    @property
    def schema(self) -> ArrowSchema:
        """The names and types of the columns."""
        return self.table.schema

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.table.num_rows)

    def pieces(self, _roles: Mapping[str, Role], n_rows: int | None) -> Iterator[Piece]:
        """Yield all rows in order; the whole table where `n_rows` is None."""
        for start in range(0, self.n_rows, n_rows or max(1, self.n_rows)):
            yield Piece(self.table.slice(start, n_rows), self.name, start)


def kind_of(kind: ArrowType) -> Kind:
    """Return what a column of an Arrow type can be read as."""
    pa = tables.arrow()
    if tables.is_vector(kind):
        return "list"
    if tables.is_text(kind):
        return "text"
    if not tables.is_number(kind):
        return "other"
    if pa.types.is_decimal(kind):
        return "decimal"
    return "integer" if pa.types.is_integer(kind) else "number"


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what pyarrow raises on a damaged file into one sentence.

    Raises:
        InvalidInputError: The block fails so, or the file changes during it.
    """
    pa = tables.arrow()
    before = _state(path)
    try:
        yield
    except InvalidInputError:
        raise
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path} cannot be read: {tables.first_line(error)}.") from error
    if _state(path) != before:
        raise InvalidInputError(
            f"{path} changed while it was read. Wait until it is written, and try again."
        )


def _state(path: Path) -> tuple[int, int]:
    try:
        state = os.stat(path)  # noqa: PTH116 - one call
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}.") from error
    return state.st_size, state.st_mtime_ns
