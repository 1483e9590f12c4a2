"""The evaluation protocol: learn on one part of a data set, search the rest with unseen queries."""

import dataclasses
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kinhash.codes import Codes
from kinhash.datasets import Dataset, Split
from kinhash.errors import InvalidInputError
from kinhash.methods import HashMethod
from kinhash.metrics import evaluate_codes

Array = npt.NDArray[Any]


@dataclasses.dataclass(frozen=True, eq=False)
class Evaluation:
    """What a method reached on a split, with the codes it was measured on.

    Attributes:
        metrics: The measures of `kinhash.metrics.evaluate_codes`; rates are fractions.
        fit_seconds: How long `fit` took; nan for a method that came fitted.
        query_codes: One code per row of the split's `query`, in that order.
        query_labels: Their labels.
        database_codes: One code per row of the split's `database`, in that order.
        database_labels: Their labels.
    """

    metrics: dict[str, float]
    fit_seconds: float
    query_codes: Codes
    query_labels: Array
    database_codes: Codes
    database_labels: Array


def evaluate_method(
    method: HashMethod,
    data: Dataset,
    part: Split,
    *,
    radii: Sequence[int] = (0, 2),
    at: Sequence[int] = (10, 5000),
) -> Evaluation:
    """Fit `method` on `part.train` and measure searching `part.database` with `part.query`.

    Args:
        method: Any hashing method; it is fitted in place.
        data: A data set with labels.
        part: Row numbers of `data`.
        radii: Inclusive distances at which precision and recall are measured.
        at: Ranking lengths at which average precision and precision are measured.

    Raises:
        InvalidInputError: A query is also in `train` or `database`, a part is empty or goes beyond
            the data set, or the data set has no labels.

    Example:
        >>> from kinhash.datasets import load
        >>> from kinhash.methods import LSH
        >>> data = load("digits")
        >>> found = evaluate_method(LSH(n_bits=32), data, data.split(seed=0), at=[10])
        >>> len(found.query_codes), found.metrics["mean_active"] > 8
        (296, True)
    """
    labels = _checked_labels(data, part)
    start = time.perf_counter()
    method.fit(data.vectors[part.train], labels[part.train])
    seconds = time.perf_counter() - start
    found = evaluate_fitted(method, data, part, radii=radii, at=at)
    return dataclasses.replace(found, fit_seconds=seconds)


def evaluate_fitted(
    method: HashMethod,
    data: Dataset,
    part: Split,
    *,
    radii: Sequence[int] = (0, 2),
    at: Sequence[int] = (10, 5000),
) -> Evaluation:
    """Measure a method that is already fitted; otherwise as `evaluate_method`.

    Only the caller knows what the method was fitted on: queries it has seen flatter it.

    Raises:
        NotFittedError: `method` has not been fitted.
        InvalidInputError: As `evaluate_method`; or the vectors have another width.
    """
    labels = _checked_labels(data, part)
    query_labels, database_labels = labels[part.query], labels[part.database]
    query_codes = method.encode(data.vectors[part.query])
    database_codes = method.encode(data.vectors[part.database])
    metrics = evaluate_codes(
        query_codes, query_labels, database_codes, database_labels, radii=radii, at=at
    )
    return Evaluation(metrics, math.nan, query_codes, query_labels, database_codes, database_labels)


def recall_against_radius(evaluation: Evaluation, max_radius: int) -> Array:
    """Return the mean recall within each radius from 0 to `max_radius`: `(max_radius + 1,)`."""
    return _against_radius(evaluation, "recall", max_radius)


def precision_against_radius(evaluation: Evaluation, max_radius: int) -> Array:
    """Return the mean precision within each radius from 0 to `max_radius`: `(max_radius + 1,)`.

    A query that retrieves nothing counts with precision 0.
    """
    return _against_radius(evaluation, "precision", max_radius)


def _against_radius(evaluation: Evaluation, measure: str, max_radius: int) -> Array:
    metrics = evaluate_codes(
        evaluation.query_codes,
        evaluation.query_labels,
        evaluation.database_codes,
        evaluation.database_labels,
        radii=range(max_radius + 1),
        at=(),
    )
    return np.array([metrics[f"{measure}@r{radius}"] for radius in range(max_radius + 1)])


def _checked_labels(data: Dataset, part: Split) -> Array:
    """Return the labels of `data`, or say why `part` cannot be evaluated."""
    if data.labels is None:
        raise InvalidInputError(
            f"Data set {data.name!r} has no labels, so nothing says which answers are right. "
            "Use one that has."
        )
    for name in ("train", "query", "database"):
        rows = getattr(part, name)
        if not len(rows):
            raise InvalidInputError(f"`part.{name}` must hold at least one row, got none.")
        if rows.min() < 0 or rows.max() >= len(data):
            raise InvalidInputError(
                f"`part.{name}` holds rows {rows.min()} to {rows.max()}, but data set "
                f"{data.name!r} has {len(data)} rows. Split the same data set."
            )
    for name in ("train", "database"):
        shared = np.intersect1d(part.query, getattr(part, name))
        if len(shared):
            raise InvalidInputError(
                f"{len(shared)} of {len(part.query)} queries are also in `part.{name}`, such as "
                f"row {shared[0]}: an item that finds itself measures nothing. Remove them."
            )
    return data.labels
