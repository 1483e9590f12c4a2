"""`CodeStore`: items and their codes in a database, found by index probes."""

import contextlib
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from kinhash.arrays import Array
from kinhash.codes import Codes
from kinhash.engines import lookups
from kinhash.engines.layout import Layout
from kinhash.errors import FormatError, InvalidInputError
from kinhash.matches import Matches

ADDED = 2**18  # items of one transaction

Row = Sequence[Any]


class Session(Protocol):
    """A connection to a database, and work in one transaction of it."""

    dialect: str

    def run(self, work: Callable[["Statements"], Any]) -> Any:  # noqa: ANN401 - of the work
        """Return what the work returns; if the connection drops, all of it is done again."""

    def ask(self, text: str, parameters: "Row") -> list["Row"]:
        """Return the rows of one statement that only reads, which needs no transaction."""

    def close(self) -> None:
        """Give the connection up."""


class Statements(Protocol):
    """What can be done in a transaction."""

    def rows(self, text: str, parameters: Row = ()) -> list[Row]:
        """Return the rows of a statement, none if it gives none."""

    def fill(self, table: str, columns: Sequence[Array]) -> None:
        """Add rows of int64 to a table."""

    def exists(self, table: str) -> bool:
        """Return whether there is such a table."""


class CodeStore:
    """Items with their codes in four tables; see `kinhash.engines.lookups`.

    `kinhash.engines.postgres.open_store` and `kinhash.engines.sqlite.open_store` make it. It is a
    context manager, and closes its connection at the end.

    Example:
        >>> from kinhash.engines import sqlite
        >>> codes = Codes.from_dense([[0, 1, 1], [0, 0, 1], [0, 1, 1]])
        >>> with sqlite.open_store(":memory:", Layout.of(codes)) as store:
        ...     store.add(codes, ids=[10, 20, 30])
        ...     store.search_radius(codes[:1], radius=1)[0][0].tolist()
        [10, 30, 20]
    """

    def __init__(self, session: Session, layout: Layout | None, n_changed: int | None) -> None:
        self._session = session
        self.layout: Layout = session.run(
            lambda on: _layout(on, session.dialect, layout, n_changed)
        )

    def __len__(self) -> int:
        rows = self._session.run(lambda on: on.rows("SELECT COUNT(*) FROM kinhash_items"))
        return int(rows[0][0])

    def add(self, codes: Codes, ids: npt.ArrayLike | None = None) -> None:
        """Add items; each piece of 262,144 is added whole or not at all.

        Args:
            codes: `n` codes of the store's lengths.
            ids: `(n,)` integers, none of which is stored; 0, 1, 2, ... by default.

        Raises:
            InvalidInputError: Codes or ids do not fit, an id is there already, or the database
                cannot be reached.
        """
        columns = [*self.layout.arrays(codes).values()]
        checked = _checked_ids(ids, len(codes))
        for start in range(0, len(codes), ADDED):
            part = [column[start : start + ADDED] for column in (checked, *columns)]
            self._session.run(_Addition(self.layout, self._session.dialect, part))

    def search_radius(self, queries: Codes, radius: int) -> Matches:
        """Return every item within `radius`, ordered by distance, rank distance and id.

        Exact: equals `HammingIndex.search_radius(sort=True)`. Up to radius 2, the time does not
        grow with the number of items, only with that of the answers.

        Raises:
            InvalidInputError: Queries have other lengths, `radius` is negative, or the database
                cannot be reached.
        """
        text = lookups.query(self.layout, radius=radius, dialect=self._session.dialect)
        words = np.stack(list(self.layout.arrays(queries).values()), axis=1).tolist()
        if len(words) == 1:
            rows = [self._session.ask(text, tuple(words[0]))]
        else:
            rows = self._session.run(lambda on: [on.rows(text, tuple(code)) for code in words])
        offsets = np.cumsum([0, *map(len, rows)])
        found = np.array([row for each in rows for row in each], np.int64)
        columns = found.reshape(-1, 3 if self.layout.n_rank_bits else 2).T
        ranks = columns[2] if self.layout.n_rank_bits else None
        return Matches(offsets, columns[0], columns[1], ranks)

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class _Addition:
    """Adds items in one transaction, once, however often it is tried."""

    def __init__(self, layout: Layout, dialect: str, columns: Sequence[Array]) -> None:
        self._layout, self._dialect, self._columns = layout, dialect, columns
        self._n_tried = 0

    def __call__(self, on: Statements) -> None:
        self._n_tried += 1
        on.fill("kinhash_new", self._columns)
        [[n_there, lowest]] = on.rows(
            "SELECT COUNT(*), MIN(n.id) FROM kinhash_new n JOIN kinhash_items i ON i.id = n.id"
        )
        if n_there == len(self._columns[0]) and self._n_tried > 1:
            on.rows("DELETE FROM kinhash_new")  # it was lost after all had been added
            return
        if n_there:
            raise InvalidInputError(
                f"`ids` hold {n_there} that are stored already, the lowest is {lowest}. Nothing of "
                "this piece was added."
            )
        [[last]] = on.rows("SELECT value FROM kinhash_about WHERE name = 'last_code'")
        for text in lookups.add(self._layout, dialect=self._dialect):
            on.rows(text)
        if not last:
            for text in lookups.create_indexes(self._layout, dialect=self._dialect):
                on.rows(text)


def opened(session: Session, layout: Layout | None, n_changed: int | None) -> CodeStore:
    """Return the store of a session, which is closed if there is none."""
    with contextlib.ExitStack() as stack:
        stack.callback(session.close)
        store = CodeStore(session, layout, n_changed)
        stack.pop_all()
    return store


def _layout(on: Statements, dialect: str, layout: Layout | None, n_changed: int | None) -> Layout:
    """Return the layout of the tables, which are created if they are missing."""
    if not on.exists("kinhash_about"):
        if layout is None:
            raise InvalidInputError(
                "The database has no tables of kinhash. Give `layout` to create them."
            )
        for text in lookups.create(layout, dialect=dialect, n_changed=n_changed):
            on.rows(text)
    about = {name: int(value) for name, value in on.rows("SELECT name, value FROM kinhash_about")}
    version = about.get("version")
    if version != lookups.VERSION:
        raise FormatError(
            f"The tables of kinhash have version {version}; this release reads version "
            f"{lookups.VERSION}. Upgrade kinhash."
        )
    found = Layout(about["n_bits"], signed=bool(about["signed"]), n_rank_bits=about["n_rank_bits"])
    if layout not in (None, found):
        raise InvalidInputError(
            f"The tables hold codes of {found}, but `layout` is {layout}. Use another database or "
            "schema."
        )
    return found


def _checked_ids(ids: npt.ArrayLike | None, n: int) -> Array:
    found = np.arange(n) if ids is None else np.asarray(ids)
    if found.shape != (n,) or (n and found.dtype.kind not in "iu"):
        raise InvalidInputError(
            f"`ids` must be {n} integers, one for each code, got {found.dtype} of shape "
            f"{found.shape}."
        )
    values, counts = np.unique(found, return_counts=True)
    if (counts > 1).any():
        raise InvalidInputError(f"`ids` hold {values[counts > 1][0]} more than once.")
    return found.astype(np.int64)
