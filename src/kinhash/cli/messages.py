"""What goes to stderr besides progress: notes, and warnings of the library as single lines."""

import contextlib
import logging
import sys
import warnings
from collections.abc import Iterator, Sequence


def note(*texts: str) -> None:
    """Print a line on stderr for each text."""
    for text in texts:
        sys.stderr.write(" ".join(text.splitlines()) + "\n")
    sys.stderr.flush()


@contextlib.contextmanager
def kept(told: str) -> Iterator[None]:
    """Say `told` if the block is interrupted: what is left of its work."""
    try:
        yield
    except KeyboardInterrupt as error:
        error.add_note(told)
        raise


def counted(n: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun.

    Example:
        >>> counted(1, "query", "queries"), counted(1797, "row")
        ('1 query', '1,797 rows')
    """
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"


@contextlib.contextmanager
def as_lines(words: Sequence[str] = ()) -> Iterator[None]:
    """Show warnings and logged warnings as `warning: ...` lines while the block runs.

    Args:
        words: The command line, whose options the lines name.
    """

    def show(message: Warning | str, *_where: object, **_more: object) -> None:
        from kinhash.cli.names import in_options

        note(f"warning: {in_options(str(message), words)}")

    handler = _LineHandler(logging.WARNING)
    logger = logging.getLogger("kinhash")
    logger.addHandler(handler)
    propagated, logger.propagate = logger.propagate, False
    try:
        with warnings.catch_warnings():
            if not sys.warnoptions:  # what the user asked Python for comes first
                warnings.resetwarnings()
                for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
                    warnings.simplefilter("ignore", category)
            warnings.showwarning = show
            yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagated


class _LineHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        note(f"warning: {record.getMessage()}")
