"""Columns of the items' table beside their matches: `kinhash search --show --table`."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import typer

from kinhash.arrays import Array
from kinhash.cli.messages import counted, note
from kinhash.datasets.user_files.beside import Row, columns_of
from kinhash.errors import InvalidInputError
from kinhash.matches import Matches
from kinhash.reranking import Ranked


@dataclasses.dataclass(frozen=True)
class Beside:
    """What is shown of each item.

    Attributes:
        columns: Their names.
        rows: By id, the values by column; items without a row are not in it.
    """

    columns: Sequence[str] = ()
    rows: dict[int | str, Row] = dataclasses.field(default_factory=dict)

    def of(self, item: int | str) -> Row:
        """Return what is shown of an item: nothing known is None."""
        row = self.rows.get(item, {})
        return {name: row.get(name) for name in self.columns}


class Wanted(NamedTuple):
    """Columns to show: names or patterns, the table, its ids and what separates its cells."""

    show: str
    table: str
    ids: str | None
    delimiter: str | None


def wanted(
    show: str | None, table: str | None, ids: str | None, delimiter: str | None
) -> Wanted | None:
    """Return what the options say, of which the first two are both given, or neither.

    Raises:
        typer.BadParameter: One of them is missing.
    """
    if show is not None and table is None:
        raise _wrong("--table", "is missing: it is where the columns of --show are")
    if table is not None and show is None:
        raise _wrong("--show", "is missing: it names the columns of --table to print")
    return None if show is None or table is None else Wanted(show, table, ids, delimiter)


def _wrong(option: str, reason: str) -> typer.BadParameter:
    return typer.BadParameter(reason, param_hint=f"'{option}'")


def read(
    asked: Wanted | None,
    found: Sequence[Matches | Ranked],
    *,
    limit: int | None,
    taken: Sequence[str],
) -> Beside:
    """Return what is shown of the items that were found.

    Args:
        asked: What to show; nothing for None.
        found: The matches.
        limit: How many of them are printed, all for None.
        taken: Columns that matches have already.

    Raises:
        InvalidInputError: The table cannot be read, has no such column, or none of the items.
    """
    if asked is None:
        return Beside()
    table = asked.table
    items: dict[int | str, None] = {}
    n_left = limit
    for matches in found:
        some: Array = matches.ids[:n_left]
        items |= dict.fromkeys(some.tolist())
        n_left = None if n_left is None else n_left - len(some)
    columns, rows = columns_of(table, asked.show, items, ids=asked.ids, delimiter=asked.delimiter)
    twice = next((name for name in columns if name in taken), None)
    if twice is not None:
        raise InvalidInputError(
            f"--show names {twice!r}, which each match has already. Leave it out, or rename it in "
            f"{table}."
        )
    n_missing = len(items) - len(rows)
    if items and not rows:
        raise InvalidInputError(
            f"{table} has none of the items that were found, such as {next(iter(items))!r}. Name "
            "the column of their ids with --ids."
        )
    if n_missing:
        note(f"warning: {table} has no row for {counted(n_missing, 'item')} that were found.")
    return Beside(columns, {item: _plain(row) for item, row in rows.items()})


def _plain(row: Row) -> Row:
    """Return values as JSON has them; what it has no kind for, such as a date, becomes a text."""
    return {name: _plain_value(value) for name, value in row.items()}


def _plain_value(value: Any) -> Any:  # noqa: ANN401 - whatever the table holds
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [_plain_value(one) for one in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
