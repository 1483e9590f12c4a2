"""The exceptions and warnings that kinhash raises, and how their messages suggest a name."""

import difflib
import sys
import warnings
from collections.abc import Iterable


class KinhashError(Exception):
    """Base of every error that kinhash raises on purpose."""


class InvalidInputError(KinhashError, ValueError):
    """An argument, a file's content or a shape that cannot be used as given."""


class NotFittedError(KinhashError):
    """A method was asked for codes before `fit`."""


class FormatError(KinhashError):
    """A file that is truncated, damaged, foreign, or newer than this release."""


class SearchTimeout(KinhashError, TimeoutError):  # noqa: N818 - the name that users know from TimeoutError
    """A search took longer than its `timeout`; the index is as it was."""

    def __init__(self, seconds: float) -> None:
        """Say how long the search was allowed to take."""
        super().__init__(
            f"The search took longer than `timeout`={seconds:g} seconds. "
            "Raise it, or give fewer queries in a call."
        )
        self.seconds = seconds

    def __reduce__(self) -> tuple[type["SearchTimeout"], tuple[float]]:
        return type(self), (self.seconds,)


class MissingExtraError(KinhashError, ImportError):
    """An optional dependency is not installed; the message has the pip line."""

    def __init__(self, need: str, extra: str) -> None:
        """Say that `need` (a capability and a package) comes with the extra `extra`."""
        super().__init__(f"{need}. Install it with: pip install 'kinhash[{extra}]'")


class CollapseWarning(UserWarning):
    """Training gives, or is about to give, the same or the empty code to nearly every item."""


class ConstantColumnWarning(UserWarning):
    """Some columns of the training vectors are constant and are ignored."""


class DriftWarning(UserWarning):
    """A collection has other distances than those that a calibration was made from."""


class LargeGroupWarning(UserWarning):
    """A group of duplicates holds so many items that they hardly are all alike."""


class UntestedVersionWarning(UserWarning):
    """A database or another engine has a version that the tests have not run with."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InvalidInputError:
    """Return the error for a name that is not in `known`, with the nearest known one."""
    names = sorted(known)
    near = difflib.get_close_matches(name.lower(), names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return InvalidInputError(f"Unknown {kind} {name!r}.{hint} Known: {', '.join(names)}.")


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line that called into kinhash, however deep inside the problem was found."""
    frame, level = sys._getframe(1), 1  # noqa: SLF001 - what `warnings` itself looks at
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("kinhash"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level + 1)
