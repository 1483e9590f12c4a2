"""`tune`: the settings that meet a wish, found by cross-validation inside the training rows."""

import dataclasses
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kinhash import record_file
from kinhash.arguments import check_integer, check_number
from kinhash.arrays import Array
from kinhash.encoders import check_finite
from kinhash.encoders.vectors import as_float32
from kinhash.errors import InvalidInputError
from kinhash.labels import check_complete, class_numbers, label_array, missing_rows
from kinhash.methods import HashMethod
from kinhash.progress import Report, silent
from kinhash.record_file import Record
from kinhash.tuning.goal import Goal
from kinhash.tuning.growth import Growth, grown
from kinhash.tuning.space import Settings, ladder, told
from kinhash.tuning.trials import (
    Rows,
    check_rows,
    fitted,
    is_trial,
    point_measures,
    trial,
    trial_key,
)

SHARES = (0.25, 0.5, 1.0)  # of the rows, where there is not the time to try everything on all
_LEAST_OF_SHARE = 120  # rows: fewer tell too little to drop anything


@dataclasses.dataclass(frozen=True, eq=False)
class Point:
    """Settings and a radius, with what they reach on rows that were left out.

    Attributes:
        settings: The method and its parameters.
        radius: The radius to search with.
        measures: `precision`, `recall`, `f1`, `empty`, `answers`, `bytes`, and `map` with labels.
        record: The trial, with measures at other radii.
        n_items: Size of the collection, for which `answers` are.
    """

    settings: Settings
    radius: int
    measures: dict[str, float]
    record: Record
    n_items: int

    def measure(self, name: str, radius: int | None = None) -> float:
        """Return a measure at the radius, or at another one; nan if it is not known."""
        of_radius = self.measures
        if radius not in (None, self.radius):
            of_radius = point_measures(self.record, radius or 0, self.n_items)
        return float(of_radius.get(name, np.nan))

    def __str__(self) -> str:
        return f"{told(self.settings)}, radius {self.radius}"


@dataclasses.dataclass(frozen=True, eq=False)
class Tuned:
    """What was found.

    Attributes:
        goal: What was wished for.
        model: The chosen method, fitted on all rows.
        chosen: Its settings, its radius and what it reached on rows left out.
        points: All settings at all radii that were measured on as many rows as the chosen ones.
        front: Those of which no other has more precision, recall and shorter codes.
        growth: How answers change as the collection grows; None if there are too few rows to tell.
        refused: A sentence for each of the settings that cannot be fitted to the data.
        n_left: How many settings were not tried on all rows for lack of time.
    """

    goal: Goal
    model: HashMethod
    chosen: Point
    points: list[Point]
    front: list[Point]
    growth: Growth | None
    refused: list[str]
    n_left: int

    @property
    def radius(self) -> int:
        """The radius to search with."""
        return self.chosen.radius


def tune(
    X: npt.ArrayLike,
    y: npt.ArrayLike | None = None,
    *,
    want: str | Goal,
    maximise: str | None = None,
    methods: Sequence[str] | None = None,
    minutes: float | None = None,
    n_items: int | None = None,
    seed: int = 0,
    trials: str | os.PathLike[str] | None = None,
    report: Report | None = None,
) -> Tuned:
    """Return the settings that meet a wish and have the most of what is left, and the model.

    Every setting of a fixed ladder is measured by cross-validation: fitted on two thirds of the
    rows, it searches the others with one another, three times. Nothing else is looked at, so keep
    the rows that you want to test the result on to yourself.

    With `minutes`, and not enough of them, settings are first tried on a quarter of the rows; the
    better half is tried on half of them, and the better half of that on all. Equal arguments give
    equal results where there is time for all.

    Args:
        X: `(n, d)` vectors.
        y: Class labels or a 0/1 matrix of tags, as `fit` takes them; None: what is similar is the
            10 nearest vectors, by cosine.
        want: Wishes, such as "precision@r0>=0.5, answers<=50, bytes<=12", or a `Goal`.
        maximise: Of `Goal.parsed`.
        methods: Names in `kinhash.methods.METHODS`; a few that suit the data by default.
        minutes: When to stop trying; the model is fitted after that. None tries everything.
        n_items: Size of the collection that will be searched; as many as rows by default.
        seed: Of folds and methods.
        trials: A file of trials, as JSON lines: what is in it is not tried again, so that a run
            that was stopped goes on. None keeps nothing.
        report: Told of progress.

    Raises:
        InvalidInputError: Nothing meets the wishes (the message says what comes nearest), or an
            argument is out of range.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> found = tune(X[:600], y[:600], want="precision>=0.7, bytes<=2", methods=["itq"])
        >>> found.model.n_bits <= 16, found.chosen.measures["precision"] >= 0.7
        (True, True)
    """
    goal = want if isinstance(want, Goal) else Goal.parsed(want, maximise)
    if minutes is not None:
        check_number("minutes", minutes, 0, open_low=True)
    if n_items is not None:
        check_integer("n_items", n_items, 1)
    check_integer("seed", seed, 0)
    rows = Rows(_vectors(X), None if y is None else _labels(y), seed)
    check_rows(rows)
    if rows.labels is None and goal.needs("map"):
        raise InvalidInputError("map needs labels, and there are none. Wish for recall instead.")
    plan = ladder(methods, has_labels=y is not None, most_bytes=goal.most_bytes)
    search = _Search(
        rows, goal, n_items or len(rows), None if trials is None else Path(trials), report or silent
    )
    search.run(plan, minutes)
    points = search.points()
    chosen = min(points, key=lambda point: goal.rank(point.measure))
    if goal.shortfall(chosen.measure) > 0:
        kept = "" if trials is None else f" The trials are in {trials}."
        raise InvalidInputError(
            f"Nothing that was tried reaches {' and '.join(map(str, goal.wishes))}. The nearest "
            f"that can be met is {goal.met_by(chosen.measure)}, by {chosen}.{kept}"
        )
    model = fitted(chosen.settings, rows, slice(None))
    growth = grown(rows, chosen.settings, chosen.radius, search.n_items)
    return Tuned(
        goal, model, chosen, points, front(points), growth, search.refused, search.n_left(plan)
    )


def _vectors(X: npt.ArrayLike) -> Array:
    try:
        found = np.asarray(X)
        if found.dtype.kind not in "fiub":
            raise InvalidInputError(f"`X` must hold numbers, got {found.dtype}.")
    except ValueError as error:
        raise InvalidInputError(f"`X` must be rows of one length: {error}.") from error
    check_finite(found)
    return as_float32(found)


def _labels(y: npt.ArrayLike) -> Array:
    """Return class numbers, or a matrix of tags."""
    labels: Array = label_array("`y`", y)
    check_complete("`y`", missing_rows(labels), drop="Remove those rows from `X` and `y`")
    return class_numbers(labels) if labels.ndim == 1 else labels


def front(points: Sequence[Point]) -> list[Point]:
    """Return the points that no other one beats, the highest recall first.

    One beats another if it is no worse in precision, recall and bytes, and better in one of them.
    """
    worth = np.array(
        [[p.measure("recall"), p.measure("precision"), -p.measure("bytes")] for p in points]
    )
    kept = []
    for i, own in enumerate(worth):
        beaten = (worth >= own).all(axis=1) & (worth > own).any(axis=1)
        equal = (worth[:i] == own).all(axis=1)
        if not beaten.any() and not equal.any():
            kept.append(points[i])
    return sorted(kept, key=lambda p: (-p.measure("recall"), p.measure("bytes")))


class _Search:
    """The trials of one search, each made once."""

    def __init__(
        self, rows: Rows, goal: Goal, n_items: int, file: Path | None, report: Report
    ) -> None:
        self.rows, self.goal, self.n_items = rows, goal, n_items
        self.refused: list[str] = []
        self._file, self._report = file, report
        self._known = {} if file is None else record_file.read(file)
        self._made: dict[float, list[Record]] = {share: [] for share in SHARES}

    def run(self, plan: list[Settings], minutes: float | None) -> None:
        """Try what there is time for.

        Raises:
            InvalidInputError: All settings are refused.
        """
        if minutes is None:
            self._try(plan, 1.0, lambda: False)
        else:
            self._halve(plan, 60 * minutes)
        if not any(self._made.values()):
            raise InvalidInputError(" ".join(self.refused))

    def _halve(self, plan: list[Settings], budget: float) -> None:
        """Try all on a few rows, and ever fewer on more of them."""
        start = time.monotonic()

        def is_over() -> bool:
            return time.monotonic() - start > budget

        alive = plan
        for share in SHARES[:-1]:
            if share * len(self.rows) < _LEAST_OF_SHARE:
                continue
            self._try(alive, share, is_over)
            tried = self._made[share]
            left = budget - (time.monotonic() - start)
            if sum(self._still_costs(one) for one in tried) <= left:
                alive = [one["settings"] for one in tried]
                break  # there is time for all of them on all rows
            best = sorted(tried, key=lambda one: min(map(self._rank, self._of(one))))
            alive = [one["settings"] for one in best[: -(-len(best) // 2)]]
        self._try(alive, 1.0, is_over)

    def _still_costs(self, record: Record) -> float:
        """Return how many seconds a trial on all rows will take, about."""
        is_known = trial_key(self.rows, 1.0, record["settings"]) in self._known
        return 0.0 if is_known else float(record["seconds"]) / float(record["share"])

    def _try(self, plan: Sequence[Settings], share: float, is_over: Callable[[], bool]) -> None:
        """Make a trial of each until the time is over; the first trial of all is always made."""
        for number, settings in enumerate(plan):
            if is_over() and any(self._made.values()):
                return
            self._report(number, len(plan), f"{told(settings)}, {share:.0%} of the rows")
            key = trial_key(self.rows, share, settings)
            record = self._known.get(key)
            if record is None or not is_trial(record, self.goal.radii):
                try:
                    record = trial(self.rows, share, settings, self.goal.radii)
                except InvalidInputError as error:
                    self.refused.append(f"{told(settings)} is left out: {error}")
                    continue
                if self._file is not None:
                    record_file.add(self._file, record)
            self._made[share].append(record)
        self._report(len(plan), len(plan))

    def points(self) -> list[Point]:
        """Return what was measured on the most rows, at each radius."""
        share = max(share for share, made in self._made.items() if made)
        return [point for record in self._made[share] for point in self._of(record)]

    def _of(self, record: Record) -> list[Point]:
        names = [key for key in record["measures"] if key.startswith("share@r")]
        radii = [int(name.removeprefix("share@r")) for name in names]
        if self.goal.names_all_radii:
            radii = [radius for radius in radii if radius in self.goal.radii] or radii[:1]
        return [
            Point(
                record["settings"],
                radius,
                point_measures(record, radius, self.n_items),
                record,
                self.n_items,
            )
            for radius in radii
        ]

    def _rank(self, point: Point) -> tuple[float, float]:
        return self.goal.rank(point.measure)

    def n_left(self, plan: Sequence[Settings]) -> int:
        """Return how many settings were not tried on all rows."""
        return len(plan) - len(self.refused) - len(self._made[1.0])
