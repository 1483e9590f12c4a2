"""Parquet, Arrow and Feather files, read in pieces; needs pyarrow."""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kinhash import tables
from kinhash.datasets.user_files.batches import BATCH_ROWS
from kinhash.datasets.user_files.columns import Role
from kinhash.datasets.user_files.sources import (
    ArrowSchema,
    Piece,
    Source,
    readable,
)
from kinhash.errors import InvalidInputError

_PAGE_BYTES = 2**20  # of a column chunk that are read at a time
_FILE, _LEGACY = b"ARROW1", b"FEA1"  # how an Arrow file starts, and one of Feather's first version


@dataclasses.dataclass(frozen=True, eq=False)
class ParquetSource:
    """A Parquet file."""

    path: Path
    schema: ArrowSchema
    n_rows: int
    is_untyped = False

    @property
    def name(self) -> str:
        """What messages call it."""
        return str(self.path)

    def pieces(self, roles: Mapping[str, Role], n_rows: int | None) -> Iterator[Piece]:
        """Yield all rows in order; pages are read as they are needed, not whole row groups."""
        with readable(self.path), _parquet(self.path) as file:
            row = 0
            for batch in file.iter_batches(n_rows or BATCH_ROWS, columns=list(roles)):
                batch.validate(full=True)
                yield Piece(batch, self.name, row)
                row += batch.num_rows


def parquet_source(path: Path) -> Source:
    """Return the table of a Parquet file.

    Raises:
        InvalidInputError: It is none, or is incomplete.
    """
    with readable(path), _parquet(path) as file:
        return ParquetSource(path, file.schema_arrow, file.metadata.num_rows)


def _parquet(path: Path) -> Any:  # noqa: ANN401 - untyped
    tables.arrow()  # says which extra is missing
    import pyarrow.parquet  # noqa: PLC0415 - an extra

    # Not `read_table`: that takes a folder called year=2024 for one more column.
    return pyarrow.parquet.ParquetFile(path, buffer_size=_PAGE_BYTES, pre_buffer=False)


@dataclasses.dataclass(frozen=True, eq=False)
class ArrowSource:
    """A file in Arrow's file format, which Feather's second version is, or in the streaming one."""

    path: Path
    schema: ArrowSchema
    is_stream: bool
    n_rows = None  # only reading all batches tells
    is_untyped = False

    @property
    def name(self) -> str:
        """What messages call it."""
        return str(self.path)

    def pieces(self, roles: Mapping[str, Role], n_rows: int | None) -> Iterator[Piece]:
        """Yield all rows in order; a file that is not compressed stays on disk, mapped."""
        row = 0
        with readable(self.path):
            batches = self._batches(roles)
            if n_rows is None:
                found = list(batches)
                if found:
                    yield Piece(tables.arrow().Table.from_batches(found), self.name, 0)
                return
            for batch in batches:
                for start in range(0, batch.num_rows, n_rows):
                    yield Piece(batch.slice(start, n_rows), self.name, row + start)
                row += batch.num_rows

    def _batches(self, roles: Mapping[str, Role]) -> Iterator[Any]:
        """Yield the batches of the file, with these columns."""
        pa = tables.arrow()
        mapped = pa.memory_map(str(self.path))
        if self.is_stream:
            found = iter(pa.ipc.open_stream(mapped))
        else:
            reader = pa.ipc.open_file(mapped)
            found = (reader.get_batch(i) for i in range(reader.num_record_batches))
        columns = [i for i, name in enumerate(self.schema.names) if name in roles]
        for batch in found:
            chosen = batch.select(columns)  # Arrow's own option for this makes copies
            chosen.validate(full=True)
            yield chosen


def arrow_source(path: Path) -> Source:
    """Return the table of a file in Arrow's file or streaming format, or Feather's.

    Raises:
        InvalidInputError: It is none, or is incomplete.
    """
    pa = tables.arrow()
    with readable(path):
        with path.open("rb") as file:
            magic = file.read(len(_FILE))
        if magic.startswith(_LEGACY):
            raise InvalidInputError(
                f"{path} is of Feather's first version. Write it again in the second, or as "
                "Parquet."
            )
        with pa.memory_map(str(path)) as mapped:
            is_stream = magic != _FILE
            opened = pa.ipc.open_stream(mapped) if is_stream else pa.ipc.open_file(mapped)
            return ArrowSource(path, opened.schema, is_stream)
