"""`kinhash merge`: several indexes as one."""

from pathlib import Path
from typing import Annotated

import typer

from kinhash.cli import options
from kinhash.errors import InvalidInputError


def merge(
    parts: Annotated[
        list[Path], typer.Argument(metavar="ITEMS...", help="Two or more files that index wrote.")
    ],
    *,
    out: options.Out,
    force: options.Force = False,
    _debug: options.Debug = False,
) -> None:
    """Write the items of several indexes as one.

    It has the memory setting of the first one. Prints nothing on stdout: kinhash info shows the
    index.
    """
    from kinhash.cli import inputs, outputs
    from kinhash.cli.messages import counted, note
    from kinhash.progress import progress_bar

    if len(parts) < 2:
        raise typer.BadParameter("expected two or more files, got one", param_hint="'ITEMS...'")
    outputs.check_output(out, force=force, inputs=tuple(parts))
    indexes = [inputs.load_index(path) for path in parts]
    merged = indexes[0]
    with progress_bar("Merging") as report:
        for number, (path, other) in enumerate(zip(parts, indexes, strict=True)):
            if number:
                try:
                    merged.merge(other)
                except InvalidInputError as error:
                    raise InvalidInputError(_told(str(error), path)) from error
            report(number + 1, len(parts))
        merged.save(out)
    note(f"Wrote {out}: {counted(len(merged), 'item')} of {len(parts)} indexes.")


def _told(message: str, path: Path) -> str:
    """Return a message of the library in terms of files."""
    message = message.replace("`other`", "it").replace("this index", "those before it")
    message = message.replace("which is in the index already", "which an index before it has, too")
    message = message.replace("`ids`", "the ids").partition(" Use update")[0]
    return f"{path}: {message}"
