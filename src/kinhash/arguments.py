"""Checks of arguments, with one sentence shape for all of them; and how many threads to use."""

import functools
import math
import numbers
import os

from kinhash.errors import InvalidInputError, unknown_name

MAX_THREADS = 2**16  # more than any machine has, and small enough for any integer type


def check_integer(name: str, value: object, low: int, high: int | None = None) -> None:
    """Raise InvalidInputError unless `value` is an integer in [low, high]."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise InvalidInputError(f"`{name}` must be an integer, got {value!r}.")
    if int(value) < low or (high is not None and int(value) > high):
        expected = f"of at least {low}" if high is None else f"in [{low}, {high}]"
        raise InvalidInputError(f"`{name}` must be an integer {expected}, got {value}.")


@functools.cache  # asked for by every search, and the system takes a microsecond to answer
def default_threads() -> int:
    """Return how many threads to use where nobody says: all cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def checked_threads(name: str, value: int | None) -> int:
    """Return how many threads to use: `value`, or all cores if it is None.

    Raises:
        InvalidInputError: `value` is no integer of at least 1.
    """
    if value is None:
        return default_threads()
    if (
        type(value) is int and 1 <= value <= MAX_THREADS
    ):  # the slower checks cost as much as a search
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        raise InvalidInputError(f"`{name}` must be an integer of at least 1, got {value!r}.")
    return min(int(value), MAX_THREADS)


def check_number(
    name: str, value: object, low: float, high: float = math.inf, *, open_low: bool = False
) -> None:
    """Raise InvalidInputError unless `value` is a finite number in [low, high], or (low, high]."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if number and math.isfinite(value) and low <= value <= high and not (open_low and value == low):  # type: ignore[arg-type, operator]
        return
    least = f"greater than {low:g}" if open_low else f"of at least {low:g}"
    most = "" if high == math.inf else f" and at most {high:g}"
    raise InvalidInputError(f"`{name}` must be a number {least}{most}, got {value!r}.")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise InvalidInputError unless `value` is one of `choices`."""
    if value not in choices:
        raise unknown_name(name, str(value), choices)


def check_directions(n_bits: int, n_rows: int, n_varying: int) -> None:
    """Raise InvalidInputError unless the rows spread in at least `n_bits` orthogonal directions."""
    if n_bits > n_varying:
        raise InvalidInputError(
            f"`n_bits` must be at most {n_varying}, the columns of `X` that are not constant, got "
            f"{n_bits}: each bit has an orthogonal direction to itself. Lower `n_bits`."
        )
    if n_bits >= n_rows:
        raise InvalidInputError(
            f"`X` must have more rows than the {n_bits} bits, got {n_rows}: each bit has an "
            "orthogonal direction to itself. Add rows, or lower `n_bits`."
        )
