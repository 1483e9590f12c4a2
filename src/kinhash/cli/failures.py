"""How a command line ends: one sentence on stderr, an exit code, and nothing left behind."""

import contextlib
import os
import shlex
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from kinhash.cli import messages, results
from kinhash.errors import FormatError, KinhashError

FAILED, WRONG_USAGE = 1, 2


def guarded(argv: Sequence[str] | None) -> int:
    """Run a command line; no exception leaves, and none shows a traceback without `--debug`."""
    words = list(sys.argv[1:] if argv is None else argv)
    if sys.stderr is None:  # closed by the caller: print() would turn to stdout instead
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - for good
    if hasattr(sys.stdout, "reconfigure"):  # a file's name need not be valid Unicode
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        from kinhash.cli import app  # inside: Ctrl-C may come while it is imported

        with messages.as_lines(words):
            return app.run(list(words))  # a copy: click takes words away
    except BrokenPipeError:
        results.discard(sys.stdout)
        results.discard(sys.stderr)
        return FAILED
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last stop before the user
        message, code = _told(error, words)
        if "--debug" in words:
            traceback.print_exception(error)
        with contextlib.suppress(OSError):
            messages.note(f"error: {message}")
        return code


def _told(error: BaseException, words: Sequence[str]) -> tuple[str, int]:
    """Return what the user reads, and the exit code."""
    if isinstance(error, KeyboardInterrupt):
        told = "; ".join(getattr(error, "__notes__", []))
        if not told:
            return str(error) or "interrupted; nothing was written.", FAILED
        again = shlex.join(["kinhash", *words])
        return f"interrupted; {told} Go on with: {again}", FAILED
    import typer

    from kinhash.cli.names import in_options

    # click's UsageError: newer releases of Typer bundle click, older ones depend on it.
    if isinstance(error, typer.BadParameter.__bases__[0]):
        return _usage(error, words), WRONG_USAGE
    if isinstance(error, FormatError):  # names in it are those of the file
        return str(error), FAILED
    if isinstance(error, KinhashError):
        return in_options(str(error), words), FAILED
    detail = f"{type(error).__name__}: {error}".rstrip(": ")
    return f"unexpected failure: {detail}; run again with --debug for the traceback", FAILED


def _usage(error: Any, words: Sequence[str]) -> str:  # noqa: ANN401 - see _told
    """Return click's own words, closed by where to look."""
    message = str(error.format_message()).replace("Value error, ", "", 1)
    near = getattr(error, "possibilities", None)
    if near:
        message = f"{message.partition(' (')[0]}. Did you mean {' or '.join(sorted(near))}?"
    elif message[-1:] not in ".?!":
        message += "."
    # An error that a command raises itself has no context; then the first word is the command.
    command = [word for word in words if not word.startswith("-")][:1]
    path = error.ctx.command_path if error.ctx else " ".join(["kinhash", *command])
    return f"{message} See {path} --help."
