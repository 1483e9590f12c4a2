"""What is wished for: bounds such as "precision@r0>=0.5", and what is maximised beside them."""

import dataclasses
import math
import re
from collections.abc import Callable
from typing import Self

from kinhash.errors import InvalidInputError, unknown_name

RATES = ("precision", "recall", "f1", "empty", "map")  # fractions, or percent with a sign
OF_RADIUS = ("precision", "recall", "f1", "empty", "answers")
NAMES = (*OF_RADIUS, "map", "bytes")
MAXIMISED = ("precision", "recall", "f1", "map")

_WISH = re.compile(
    r"\s*(?P<name>[a-z_0-9]+?)(?:@r(?P<radius>\d{1,4}))?\s*(?P<sign>[<>]=)\s*"
    r"(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<percent>%?)\s*",
    re.IGNORECASE,
)
_MEASURE = re.compile(r"\s*(?P<name>[a-z_0-9]+?)(?:@r(?P<radius>\d{1,4}))?\s*", re.IGNORECASE)
_EXAMPLE = "precision@r0>=0.5"

Measured = Callable[[str, int | None], float]
"""Gives a measure by its name, at a radius, or at the radius that is looked at for None."""


@dataclasses.dataclass(frozen=True)
class Wish:
    """A bound on one measure.

    Attributes:
        name: One of `NAMES`.
        radius: Where it holds; None for the radius that is chosen.
        sign: ">=" if `bound` is the least that is accepted, "<=" if it is the most.
        bound: A fraction where the measure is a rate.

    Example:
        >>> Wish.parsed("answers <= 50")
        Wish(name='answers', radius=None, sign='<=', bound=50.0)
        >>> str(Wish.parsed("precision@r2>=90%"))
        'precision@r2>=0.9'
    """

    name: str
    radius: int | None
    sign: str
    bound: float

    @property
    def at_least(self) -> bool:
        """Whether more is better."""
        return self.sign == ">="

    @classmethod
    def parsed(cls, text: str) -> Self:
        """Return the wish that a text such as "precision@r0>=0.5" states.

        Raises:
            InvalidInputError: It is none, of an unknown measure, or out of range.
        """
        found = _WISH.fullmatch(text)
        if found is None:
            raise InvalidInputError(
                f"A wish must be a measure, >= or <=, and a number, such as {_EXAMPLE}, got "
                f"{text.strip()!r}."
            )
        name, radius = _checked(found["name"], found["radius"], NAMES)
        bound = float(found["number"]) / (100 if found["percent"] else 1)
        if found["percent"] and name not in RATES:
            raise InvalidInputError(f"{name} is no rate, so {text.strip()!r} must have no %.")
        if name in RATES and bound > 1:
            raise InvalidInputError(
                f"{name} is a fraction, 0 to 1, or a percentage, got {found['number']}. Write "
                f"{name}{found['sign']}{found['number']}% if percent is meant."
            )
        return cls(name, radius, found["sign"], bound)

    def __str__(self) -> str:
        return f"{_written(self.name, self.radius)}{self.sign}{self.bound:.4g}"

    def shortfall(self, value: float) -> float:
        """Return how much of the bound is missing, relative to it; 0 if the wish is met."""
        if math.isnan(value):
            return math.inf
        missing = self.bound - value if self.at_least else value - self.bound
        return max(0.0, missing) / max(abs(self.bound), 1e-9)

    def met_by(self, value: float) -> Self:
        """Return the nearest wish that this value meets, in the digits that are shown."""
        if self.shortfall(value) == 0:
            return self
        digits = 3 if self.name in RATES else 1 if value < 100 else 0
        rounded = math.floor if self.at_least else math.ceil
        return dataclasses.replace(self, bound=rounded(value * 10**digits) / 10**digits)


@dataclasses.dataclass(frozen=True)
class Goal:
    """Wishes, and what is maximised among all that meets them.

    Attributes:
        wishes: Bounds that must all be met.
        maximised: A measure of `MAXIMISED`.
        radius: Where it is maximised; None for the radius that is chosen.

    Example:
        >>> goal = Goal.parsed("precision@r0>=0.5, bytes<=12")
        >>> goal.maximised, goal.radius
        ('recall', None)
        >>> str(goal)
        'precision@r0>=0.5 and bytes<=12, with the most recall'
    """

    wishes: tuple[Wish, ...]
    maximised: str
    radius: int | None

    @classmethod
    def parsed(cls, want: str, maximise: str | None = None) -> Self:
        """Return the goal that texts state.

        Args:
            want: Wishes with commas between them.
            maximise: A measure, such as "recall" or "f1@r2"; by default recall where precision is
                wished for, precision where recall is, and F1 otherwise.

        Raises:
            InvalidInputError: A text states none, or two wishes are of the same measure and kind.
        """
        wishes = tuple(Wish.parsed(part) for part in want.split(","))
        kinds = [(wish.name, wish.radius, wish.sign) for wish in wishes]
        for kind in kinds:
            if kinds.count(kind) > 1:
                raise InvalidInputError(
                    f"{_written(kind[0], kind[1])} is wished for twice. Leave one of both out."
                )
        if maximise is not None:
            found = _MEASURE.fullmatch(maximise)
            if found is None:
                raise InvalidInputError(
                    f"What is maximised must be a measure, such as recall or f1@r2, got "
                    f"{maximise!r}."
                )
            return cls(wishes, *_checked(found["name"], found["radius"], MAXIMISED))
        least = {wish.name for wish in wishes if wish.at_least}
        left = "recall" if "precision" in least else "precision" if "recall" in least else "f1"
        return cls(wishes, "f1" if {"precision", "recall"} <= least else left, None)

    def __str__(self) -> str:
        wished = " and ".join(str(wish) for wish in self.wishes)
        return f"{wished}, with the most {_written(self.maximised, self.radius)}"

    @property
    def radii(self) -> tuple[int, ...]:
        """The radii that are named."""
        named = {*(wish.radius for wish in self.wishes), self.radius}
        return tuple(sorted(radius for radius in named if radius is not None))

    @property
    def names_all_radii(self) -> bool:
        """Whether no measure is left for whose sake a radius would be chosen freely."""
        measures = [(wish.name, wish.radius) for wish in self.wishes]
        bound = [radius for name, radius in measures if name in OF_RADIUS]
        return bool(bound) and None not in bound

    @property
    def most_bytes(self) -> float:
        """How long codes may be."""
        bounds = [wish.bound for wish in self.wishes if wish.name == "bytes" and not wish.at_least]
        return min(bounds, default=math.inf)

    def needs(self, name: str) -> bool:
        """Return whether a measure is wished for or maximised."""
        return name == self.maximised or any(wish.name == name for wish in self.wishes)

    def shortfall(self, measured: Measured) -> float:
        """Return how much of all wishes is missing; 0 if they are met."""
        return sum(wish.shortfall(measured(wish.name, wish.radius)) for wish in self.wishes)

    def rank(self, measured: Measured) -> tuple[float, float]:
        """Return what sorts the better first: what meets the wishes, then what has the most."""
        most = measured(self.maximised, self.radius)
        return self.shortfall(measured), math.inf if math.isnan(most) else -most

    def met_by(self, measured: Measured) -> str:
        """Return in words the nearest wishes that these measures meet."""
        met = (wish.met_by(measured(wish.name, wish.radius)) for wish in self.wishes)
        return ", ".join(str(wish) for wish in met)


def _checked(name: str, radius: str | None, known: tuple[str, ...]) -> tuple[str, int | None]:
    name = name.lower()
    if name not in known:
        raise unknown_name("measure", name, known)
    if radius is not None and name not in OF_RADIUS:
        raise InvalidInputError(f"{name} has no radius: leave @r{radius} out.")
    return name, None if radius is None else int(radius)


def _written(name: str, radius: int | None) -> str:
    return name if radius is None else f"{name}@r{radius}"
