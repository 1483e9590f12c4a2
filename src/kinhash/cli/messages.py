"""What goes to stderr besides progress: notes, and warnings of the library as single lines."""

import contextlib
import logging
import sys
import warnings
from collections.abc import Iterator


def note(*texts: str) -> None:
    """Print a line on stderr for each text."""
    for text in texts:
        sys.stderr.write(" ".join(text.splitlines()) + "\n")
    sys.stderr.flush()


@contextlib.contextmanager
def as_lines() -> Iterator[None]:
    """Show warnings and logged warnings as `warning: ...` lines while the block runs."""
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
            warnings.showwarning = _show
            yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagated


class _LineHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        note(f"warning: {record.getMessage()}")


def _show(message: Warning | str, *_where: object, **_more: object) -> None:
    note(f"warning: {message}")
