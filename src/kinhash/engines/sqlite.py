"""Items and their codes in an SQLite database, found by index probes."""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from kinhash.arrays import Array
from kinhash.engines.layout import Layout
from kinhash.engines.stores import CodeStore, Row, Statements, opened
from kinhash.engines.versions import check_version
from kinhash.errors import InvalidInputError

TESTED, OLDEST = ("3.40", "3"), "3.35"

_WAIT = 30.0  # seconds for another process that writes


def open_store(
    path: str | os.PathLike[str], layout: Layout | None = None, *, n_changed: int | None = None
) -> CodeStore:
    """Return the store in an SQLite database; its tables are created if they are missing.

    Args:
        path: The file, or ":memory:".
        layout: How codes lie; by default as the tables say.
        n_changed: Of new tables: how many bits have no stored keys, as in
            `kinhash.engines.lookups.create`.

    Raises:
        InvalidInputError: The file cannot be opened, or is no database, or has no tables and
            `layout` is None, or they are of another layout.
        FormatError: The tables are of another version.
    """
    check_version("SQLite", sqlite3.sqlite_version, tested=TESTED, oldest=OLDEST)
    return opened(_Sqlite(path), layout, n_changed)


class _Sqlite:
    """A connection, with one transaction at a time."""

    dialect = "sqlite"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        with self._told():
            self._connection = sqlite3.connect(path, timeout=_WAIT, isolation_level=None)

    def run(self, work: Callable[[Statements], Any]) -> Any:  # noqa: ANN401 - of the work
        with self._told():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                done = work(self)
            except BaseException:
                self._connection.rollback()
                raise
            self._connection.commit()
        return done

    def ask(self, text: str, parameters: Row) -> list[Row]:
        with self._told():
            return self.rows(text, parameters)

    def rows(self, text: str, parameters: Row = ()) -> list[Row]:
        return self._connection.execute(text, parameters).fetchall()

    def fill(self, table: str, columns: Sequence[Array]) -> None:
        marks = ", ".join("?" * len(columns))
        rows = np.stack(columns, axis=1).tolist()
        self._connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    def exists(self, table: str) -> bool:
        text = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return bool(self.rows(text, (table,)))

    def close(self) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise InvalidInputError(f"SQLite, {self._path}: {error}.") from error
