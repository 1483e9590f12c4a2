"""The protocols: learn on one part of a data set, search another with unseen queries."""

import dataclasses
import hashlib
import math
import time
from collections.abc import Sequence

import numpy as np

from kinhash.arrays import Array
from kinhash.codes import Codes, Order
from kinhash.datasets import Dataset, Split
from kinhash.datasets.dataset import vectors_of
from kinhash.errors import InvalidInputError
from kinhash.evaluation.fitting import Hasher, learns_from_labels
from kinhash.metrics import Metric, evaluate_codes, evaluate_vectors


@dataclasses.dataclass(frozen=True, eq=False)
class Evaluation:
    """What a method reached on a split, with the codes it was measured on.

    Attributes:
        metrics: The measures of `kinhash.metrics.evaluate_codes`; rates are fractions.
        fit_seconds: How long `fit` took; nan for a method that came fitted.
        split_hash: Which rows were trained on, searched with and searched: see `split_hash`.
        query_codes: One code per row of the split's `query`, in that order.
        query_labels: Their labels.
        database_codes: One code per row of the split's `database`, in that order.
        database_labels: Their labels.
    """

    metrics: dict[str, float]
    fit_seconds: float
    split_hash: str
    query_codes: Codes
    query_labels: Array
    database_codes: Codes
    database_labels: Array


def evaluate_method(
    method: Hasher,
    data: Dataset,
    part: Split,
    *,
    radii: Sequence[int] = (0, 2),
    at: Sequence[int] = (10, 5000),
    order: Order = "nested",
    unlabelled: bool = False,
) -> Evaluation:
    """Fit `method` on `part.train` and measure searching `part.database` with `part.query`.

    An unsupervised method is fitted on the vectors of `part.database`, of which the training items
    are part: it needs no labels, so all that is there may serve, as in the paper.

    Args:
        method: Any hashing method, also one of your own with `fit` and `encode`; it is fitted in
            place.
        data: A data set with labels.
        part: Row numbers of `data`.
        radii: Inclusive distances at which precision and recall are measured.
        at: Ranking lengths at which average precision and precision are measured.
        order: Of rankings by codes with rank bits, as `kinhash.metrics.evaluate_codes` takes it.
        unlabelled: Give a method that learns from labels the other vectors of `part.database`,
            too, as the `unlabelled` of its `fit`.

    Raises:
        InvalidInputError: A query is also in `train` or `database`, a part is empty or goes beyond
            the data set, or the data set has no labels or no vectors.

    Example:
        >>> from kinhash.datasets import load
        >>> from kinhash.methods import LSH
        >>> data = load("digits")
        >>> found = evaluate_method(LSH(n_bits=32), data, data.split(seed=0), at=[10])
        >>> len(found.query_codes), found.metrics["mean_active"] > 8
        (296, True)
    """
    labels, vectors = _checked_labels(data, part), vectors_of(data)
    start = time.perf_counter()
    if unlabelled:
        others = np.setdiff1d(part.database, part.train)
        method.fit(vectors[part.train], labels[part.train], unlabelled=vectors[others])
    elif learns_from_labels(method):
        method.fit(vectors[part.train], labels[part.train])
    else:
        method.fit(vectors[part.database])
    seconds = time.perf_counter() - start
    found = evaluate_fitted(method, data, part, radii=radii, at=at, order=order)
    return dataclasses.replace(found, fit_seconds=seconds)


def evaluate_fitted(
    method: Hasher,
    data: Dataset,
    part: Split,
    *,
    radii: Sequence[int] = (0, 2),
    at: Sequence[int] = (10, 5000),
    order: Order = "nested",
) -> Evaluation:
    """Measure a method that is already fitted; otherwise as `evaluate_method`.

    Only the caller knows what the method was fitted on: queries it has seen flatter it.

    Raises:
        NotFittedError: `method` has not been fitted.
        InvalidInputError: As `evaluate_method`; or the vectors have another width.
    """
    labels, vectors = _checked_labels(data, part), vectors_of(data)
    query_labels, database_labels = labels[part.query], labels[part.database]
    query_codes = method.encode(vectors[part.query])
    database_codes = method.encode(vectors[part.database])
    metrics = evaluate_codes(
        query_codes, query_labels, database_codes, database_labels, radii=radii, at=at, order=order
    )
    return Evaluation(
        metrics,
        math.nan,
        split_hash(part),
        query_codes,
        query_labels,
        database_codes,
        database_labels,
    )


def evaluate_apart(
    method: Hasher,
    queries: Dataset,
    database: Dataset,
    *,
    radii: Sequence[int] = (0, 2),
    at: Sequence[int] = (10, 5000),
    order: Order = "nested",
) -> dict[str, float]:
    """Return the measures of searching all of one data set with all rows of another.

    Only the caller knows that no row is in both: one that finds itself flatters the method.

    Raises:
        NotFittedError: `method` has not been fitted.
        InvalidInputError: A data set has no labels, or vectors of another width.
    """
    return evaluate_codes(
        method.encode(vectors_of(queries)),
        named_labels(queries),
        method.encode(vectors_of(database)),
        named_labels(database),
        radii=radii,
        at=at,
        order=order,
    )


def named_labels(data: Dataset) -> Array:
    """Return labels that mean the same in every data set: classes by name, where they have names.

    The classes of each file are numbered from 0.

    Raises:
        InvalidInputError: There are no labels.
    """
    if data.labels is None:
        raise _unlabelled(data)
    if data.names is None or data.labels.ndim == 2:
        return data.labels
    return np.array(data.names)[data.labels]


def evaluate_raw(
    data: Dataset, part: Split, *, at: Sequence[int] = (10, 5000), metric: Metric = "l2"
) -> tuple[dict[str, float], str]:
    """Return the measures of ranking by the vectors themselves, and the split's hash.

    Raises:
        InvalidInputError: As `evaluate_method`.
    """
    labels, vectors = _checked_labels(data, part), vectors_of(data)
    metrics = evaluate_vectors(
        vectors[part.query],
        labels[part.query],
        vectors[part.database],
        labels[part.database],
        at=at,
        metric=metric,
    )
    return metrics, split_hash(part)


def split_hash(part: Split) -> str:
    """Return 16 hexadecimal digits that differ if any part of the split does."""
    digest = hashlib.sha256()
    for rows in (part.train, part.query, part.database):
        digest.update(len(rows).to_bytes(8, "little"))
        digest.update(np.ascontiguousarray(rows, "<i8").tobytes())
    return digest.hexdigest()[:16]


def unseen_class_splits(
    data: Dataset, seed: int = 0, *, n_unseen: int = 3, n_train: int = 200, n_query: int = 100
) -> list[Split]:
    """Return splits that train on some classes and search among the others.

    Codes of classes that were never learned say whether a method learned similarity or labels. The
    classes are shuffled and dealt into folds of `n_unseen`; every class is unseen in at least one
    fold. Here the training items are no part of the database.

    Args:
        data: A data set with class labels.
        seed: Equal seeds give equal splits.
        n_unseen: Classes per fold that are searched; the others are trained on.
        n_train: Training items per seen class.
        n_query: Queries per unseen class, at most a sixth of it.

    Raises:
        InvalidInputError: There are no class labels, or not at least two classes beside the unseen.
    """
    labels = _class_labels(data)
    classes = np.random.default_rng(seed).permutation(np.unique(labels))
    if not 1 <= n_unseen <= len(classes) - 2:
        raise InvalidInputError(
            f"`n_unseen` must leave two classes to train on: 1 to {len(classes) - 2} of the "
            f"{len(classes)} classes of {data.name!r}, got {n_unseen}."
        )
    splits = []
    for fold in range(-(-len(classes) // n_unseen)):
        rng = np.random.default_rng((seed, fold))
        unseen = np.roll(classes, -fold * n_unseen)[:n_unseen]
        train, query, database = [], [], []
        for label in classes:
            rows = rng.permutation(np.flatnonzero(labels == label))
            if label not in unseen:
                train.append(rows[:n_train])
                continue
            n_queries = min(n_query, len(rows) // 6)
            query.append(rows[:n_queries])
            database.append(rows[n_queries:])
        splits.append(Split(*(np.sort(np.concatenate(part)) for part in (train, query, database))))
    return splits


def _class_labels(data: Dataset) -> Array:
    if data.labels is None or data.labels.ndim != 1:
        raise InvalidInputError(
            f"Unseen classes need one class per item, which data set {data.name!r} does not have."
        )
    return data.labels


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
        raise _unlabelled(data)
    check_part(data, part)
    return data.labels


def check_part(data: Dataset, part: Split) -> None:
    """Raise InvalidInputError unless `part` has rows of `data`, and its queries stand apart."""
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


def _unlabelled(data: Dataset) -> InvalidInputError:
    return InvalidInputError(
        f"Data set {data.name!r} has no labels, so nothing says which answers are right. "
        "Use one that has."
    )
