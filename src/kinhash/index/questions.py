"""The arguments of searches, checked."""

import numpy as np

from kinhash.arguments import check_choice
from kinhash.codes import ORDERS, Codes, Order
from kinhash.errors import InvalidInputError
from kinhash.matches import Matches

_LONGEST = 1e9  # seconds that a search may be given; the core's clock counts nanoseconds


def checked_count(name: str, value: int | None, low: int) -> int:
    """Return a whole number of at least `low`, which may be one of NumPy's."""
    if type(value) is int and value >= low:
        return value
    if (
        isinstance(value, (bool, np.bool_))
        or not isinstance(value, (int, np.integer))
        or value < low
    ):
        raise InvalidInputError(f"`{name}` must be an integer of at least {low}, got {value!r}.")
    return int(value)


def checked_timeout(timeout: float | None) -> float | None:
    """Return seconds that the core can count, or None."""
    if timeout is None:
        return None
    number = isinstance(timeout, (int, float, np.number)) and not isinstance(
        timeout, (bool, np.bool_)
    )
    if not number or not timeout > 0:
        raise InvalidInputError(f"`timeout` must be a positive number of seconds, got {timeout!r}.")
    return min(float(timeout), _LONGEST)


def check_order(order: Order, *, sort: bool) -> None:
    """Raise InvalidInputError unless there is such an order, and rows are sorted at all."""
    check_choice("order", order, ORDERS)
    if not sort:
        raise InvalidInputError(f"`order` {order!r} needs sorted rows. Pass sort=True.")


def check_are_codes(codes: Codes, name: str) -> None:
    """Raise InvalidInputError unless codes are Codes."""
    if not isinstance(codes, Codes):
        raise InvalidInputError(
            f"{name} must be kinhash.Codes, got {type(codes).__name__}. "
            "Encode vectors with a model, or use Codes.from_dense."
        )


def release(out: Matches) -> None:
    """Give the memory of an earlier answer up for the next one."""
    if not isinstance(out, Matches):
        raise InvalidInputError(f"`out` must be kinhash.Matches, got {type(out).__name__}.")
    out._release()  # noqa: SLF001 - its owner gives it up
