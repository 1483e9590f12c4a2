"""Which versions of other programs the tests have run with."""

from kinhash.errors import InvalidInputError, UntestedVersionWarning, warn


def check_version(engine: str, found: str, *, tested: tuple[str, str], oldest: str) -> None:
    """Warn of a version that the tests have not run with.

    Args:
        engine: What users call it.
        found: Its version, such as "15.18 (Debian)".
        tested: The oldest and the newest version tested, as exact as matters: "15" is any 15.
        oldest: The oldest version that has what is used.

    Raises:
        InvalidInputError: It is older than that.
    """
    own = _numbers(found)
    if own < _numbers(oldest):
        raise InvalidInputError(
            f"{engine} {found} is too old: {oldest} or newer is needed. Upgrade it."
        )
    low, high = map(_numbers, tested)
    if not low <= own[: len(low)] or own[: len(high)] > high:
        told = tested[0] if tested[0] == tested[1] else f"{tested[0]} to {tested[1]}"
        warn(
            f"{engine} {found} has not been tested with this release of kinhash; {engine} {told} "
            "has.",
            UntestedVersionWarning,
        )


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with."""
    numbers = []
    for part in version.split(" ", maxsplit=1)[0].split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
        if digits != part:  # such as "0rc1"
            break
    return tuple(numbers)
