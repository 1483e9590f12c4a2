"""`kinhash add`: put more items into an index."""

from pathlib import Path
from typing import Annotated

import typer

from kinhash.cli import options


def add(
    items: options.Items,
    codes: Annotated[
        Path,
        typer.Argument(
            metavar="CODES",
            help="A file that encode wrote, with ids, or another tool's codes, as for index.",
        ),
    ],
    *,
    update: Annotated[
        bool, typer.Option("--update", help="Replace the codes of items that are there already.")
    ] = False,
    column: options.Column = None,
    ids: options.Ids = None,
    _debug: options.Debug = False,
) -> None:
    """Add the items of CODES to the index ITEMS, all or none.

    The file is replaced when the work is done; until then it stays as it is. Prints nothing on
    stdout: kinhash info shows the index.
    """
    from kinhash.cli import changing
    from kinhash.cli.messages import counted, note

    with changing.index_in(items) as index:
        stored = changing.fitting_codes(codes, index, column=column, ids=ids)
        n_new, n_replaced = changing.add(index, codes, stored, update=update)
    replaced = f", {n_replaced:,} replaced" if update else ""
    note(f"Wrote {items}: {n_new:,} added{replaced}, {counted(len(index), 'item')} now.")
