"""Columns of some items, by their ids: what is shown beside them."""

import os
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

from kinhash import tables
from kinhash.datasets.user_files.columns import USUAL_IDS, Role, choose
from kinhash.datasets.user_files.reader import open_source
from kinhash.datasets.user_files.sources import Piece, Source
from kinhash.datasets.user_files.untyped import text_ids
from kinhash.errors import InvalidInputError
from kinhash.tables import matching

Row = dict[str, Any]  # by column


def columns_of(
    path: str | os.PathLike[str],
    names: str | Sequence[str],
    items: Iterable[int | str],
    *,
    ids: str | None = None,
    delimiter: str | None = None,
) -> tuple[list[str], dict[int | str, Row]]:
    """Return which columns of a table are shown, and their values for each of some items.

    The table is read in pieces, and only rows of these items are kept. Cells of .csv and .tsv
    files are texts, as they are written.

    Args:
        path: A .parquet, .arrow, .feather, .csv, .tsv or .jsonl file, or a folder of such parts.
        names: The columns: names or patterns, as `kinhash.tables.matching` takes them.
        items: Ids; those that are not in the table are left out.
        ids: The column of the ids; by default `id` or `ids`, and without one row i is item i.
        delimiter: What separates the cells of text files, if not what the ending says.

    Raises:
        InvalidInputError: The table cannot be read, a column is not there, or an item is in two
            rows.
        MissingExtraError: pyarrow is not installed.
    """
    source = open_source(Path(path), delimiter)
    known = list(source.schema.names)
    own = choose("ids", ids, USUAL_IDS, known, source.name)
    shown = matching(known, names, option="show", source=source.name)
    roles: dict[str, Role] = dict.fromkeys(shown, "labels")
    if own is not None:
        roles[own] = "ids"
    # Ids in text files are compared as they are written: "007" is not 7.
    wanted: dict[Hashable, int | str] = {
        str(item) if source.is_untyped and own is not None else item: item for item in items
    }
    found: dict[int | str, Row] = {}
    row = 0
    for piece in source.pieces(roles, None):
        for place, key in enumerate(_keys(source, piece, own, row)):
            item = wanted.get(key)
            if item is None:
                continue
            if item in found:
                raise InvalidInputError(
                    f"`{own}` in {piece.source} must be different in each row, but row "
                    f"{piece.first_row + place} has {item!r} again."
                )
            found[item] = {name: _cell(piece, name, place) for name in shown}
        row += piece.table.num_rows
    return shown, found


def _keys(source: Source, piece: Piece, own: str | None, row: int) -> Iterable[Hashable]:
    if own is None:
        return range(row, row + piece.table.num_rows)
    column, name = piece.table.column(own), f"`{own}` in {piece.source}"
    if source.is_untyped:
        return map(str, text_ids(column, name, first_row=piece.first_row).tolist())
    ids: list[Hashable] = tables.ids(column, name, first_row=piece.first_row).tolist()
    return ids


def _cell(piece: Piece, name: str, place: int) -> Any:  # noqa: ANN401 - whatever the table holds
    return piece.table.column(name)[place].as_py()
