"""What goes to stdout: results, and what is said when they cannot be printed."""

import contextlib
import json
import math
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from kinhash.cli.options import Format
from kinhash.errors import InvalidInputError


@contextlib.contextmanager
def stdout() -> Iterator[TextIO]:
    """Give stdout, and flush it.

    Raises:
        InvalidInputError: It is closed, or its disk is full.
        BrokenPipeError: Its reader has left.
    """
    if sys.stdout is None:
        raise _unprintable("standard output is closed")
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard(sys.stdout)
        raise _unprintable((error.strerror or str(error)).lower()) from error


def _unprintable(reason: str) -> InvalidInputError:
    return InvalidInputError(f"Cannot print the results: {reason}.")


def discard(stream: TextIO) -> None:
    """Let what is still buffered go nowhere: it cannot be written, and Python would complain."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def emit(text: str) -> None:
    """Print `text` and a line end on stdout."""
    with stdout() as stream:
        stream.write(f"{text}\n")


def shown(rows: Sequence[dict[str, Any]], output: Format) -> str:
    """Return rows in that format; a table is no wider than the terminal."""
    from kinhash.show.tables import render

    return render(rows, output.value, width=_terminal_width())


def _terminal_width() -> int | None:
    """Return the columns of the terminal; None for a file or a pipe, whose lines stay whole.

    $COLUMNS wins over both.
    """
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    width = shutil.get_terminal_size((0, 0)).columns
    return (width or None) if is_terminal or os.environ.get("COLUMNS") else None


def as_json(value: object, *, indent: int | None = 2) -> str:
    """Return JSON; what is not a number in JSON, nan or infinite, becomes null."""
    return json.dumps(_finite(value), indent=indent)


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
