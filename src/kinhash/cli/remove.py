"""`kinhash remove`: take items out of an index."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from kinhash.cli import options
from kinhash.errors import InvalidInputError


def remove(
    items: options.Items,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="The ids of the items to remove.")
    ] = None,
    *,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="A text file with an id in each line; - reads stdin.",
            show_default=False,
        ),
    ] = None,
    _debug: options.Debug = False,
) -> None:
    """Remove items from the index ITEMS, all or none.

    The file is replaced when the work is done; until then it stays as it is. Write -- before an id
    that starts with a minus sign. Prints nothing on stdout: kinhash info shows the index.
    """
    from kinhash.cli import changing
    from kinhash.cli.messages import counted, note

    options.check_one_of({"ID": ids or None, "--from": source})
    wanted = list(ids or ()) if source is None else _lines(source)
    with changing.index_in(items) as index:
        gone = changing.as_stored(wanted, index)
        try:
            index.remove(gone)
        except InvalidInputError as error:
            raise InvalidInputError(str(error).replace("`ids`", "The ids")) from error
    note(f"Wrote {items}: {len(gone):,} removed, {counted(len(index), 'item')} now.")


def _lines(source: str) -> list[str]:
    """Return the lines of a text file or of stdin that are not empty."""
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        told = getattr(error, "strerror", None)
        reason = told.lower() if told else "it is no text in UTF-8"
        raise InvalidInputError(f"Cannot read {source}: {reason}.") from error
    return [line for line in text.splitlines() if line]
