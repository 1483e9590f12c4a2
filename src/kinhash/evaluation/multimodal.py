"""The protocols with several modalities: learn from pairs, search each with each."""

import dataclasses
import hashlib
import itertools
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.preprocessing import normalize

from kinhash.arrays import Array, Matrix
from kinhash.codes import Codes, Order
from kinhash.datasets import Dataset
from kinhash.datasets.dataset import Modality
from kinhash.errors import ConstantColumnWarning, InvalidInputError
from kinhash.evaluation.fitting import own_rows
from kinhash.evaluation.protocol import named_labels
from kinhash.methods import MultimodalMethod
from kinhash.methods.standardisation import standardisation
from kinhash.metrics import evaluate_codes, evaluate_vectors
from kinhash.vocabulary import Words, are_texts

Rows = npt.NDArray[np.int64]

RADII = (0, 2)


@dataclasses.dataclass(frozen=True, eq=False)
class Search:
    """Which rows of a data set are searched, and with which.

    Attributes:
        query: Rows to search with.
        database: Rows to search in.
        own: For each query, where in `database` it stands itself, in whichever modality: that item
            does not count. None if no query is part of the database.
    """

    query: Rows
    database: Rows
    own: Rows | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Parts:
    """What is learned from, and what is searched then; queries are never learned from.

    Attributes:
        train: Rows to learn from, in all modalities.
        searches: By what the database is.
    """

    train: Rows
    searches: dict[str, Search]


@dataclasses.dataclass(frozen=True, eq=False)
class MultimodalEvaluation:
    """What a method reached, with the codes of all items.

    Attributes:
        metrics: By `measure_key`; the measures of `kinhash.metrics.evaluate_codes`.
        fit_seconds: How long `fit` took.
        warnings: What it warned of, but for constant columns.
        codes: The codes of all rows of the data set, by modality.
    """

    metrics: dict[str, float]
    fit_seconds: float
    warnings: list[str]
    codes: dict[str, Codes]


def measure_key(search: str, query: str, database: str, measure: str) -> str:
    """Return the name of a measure of one search from one modality to another.

    Example:
        >>> measure_key("test items", "image", "text", "map@10")
        'test items/image-text/map@10'
    """
    return f"{search}/{query}-{database}/{measure}"


def directions(modalities: Sequence[str]) -> list[tuple[str, str]]:
    """Return each modality with itself, then each with each other: query and database.

    Example:
        >>> directions(["image", "text"])
        [('image', 'image'), ('text', 'text'), ('image', 'text'), ('text', 'image')]
    """
    return [*((name, name) for name in modalities), *itertools.permutations(modalities, 2)]


def evaluate_multimodal(
    method: MultimodalMethod, data: Dataset, labels: Array, parts: Parts, *, at: Sequence[int]
) -> MultimodalEvaluation:
    """Fit `method` on `parts.train` and measure each search from each modality to each.

    A vocabulary is made of the training texts alone. A query without a known word has the empty
    code and counts as any other.

    Args:
        method: Any method with several modalities; it is fitted in place.
        data: A data set with modalities.
        labels: `(n,)` classes or an `(n, n_labels)` 0/1 matrix: what is similar.
        parts: Row numbers of `data`.
        at: Ranking lengths at which average precision and precision are measured.

    Raises:
        InvalidInputError: The rows do not fit the data set or each other, or the method refuses
            the data.
    """
    modalities = checked_modalities(data, labels, parts)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ConstantColumnWarning)
        method.fit(
            {name: taken(values, parts.train) for name, values in modalities.items()},
            labels[parts.train],
        )
    seconds = time.perf_counter() - start
    for warning in caught:  # said where it happens, too
        warnings.warn(warning.message, stacklevel=2)
    codes = {name: method.encode(values, modality=name) for name, values in modalities.items()}
    metrics: dict[str, float] = {}
    for title, search in parts.searches.items():
        for query, database in directions(list(modalities)):
            found = evaluate_codes(
                codes[query][search.query],
                labels[search.query],
                codes[database][search.database],
                labels[search.database],
                radii=RADII,
                at=at,
                own=search.own,
            )
            metrics |= {measure_key(title, query, database, m): v for m, v in found.items()}
    return MultimodalEvaluation(metrics, seconds, [str(w.message) for w in caught], codes)


def search_all(queries: Dataset, database: Dataset) -> Search:
    """Return that all rows of one data set search all of another."""
    return Search(np.arange(len(queries)), np.arange(len(database)))


def split_search(data: Dataset, seed: int = 0) -> Search:
    """Return who searches whom within one data set.

    Of a data set with a split of its own, the test part is searched with itself, and no item finds
    itself; of another, `Dataset.split` with this seed says which rows are queries.

    Raises:
        InvalidInputError: There are no labels to split by.
    """
    test = own_rows(data, "test")
    if test is not None:
        return Search(test, test, np.arange(len(test)))
    part = data.split(seed)
    return Search(part.query, part.database)


def evaluate_directions(
    method: MultimodalMethod,
    queries: Dataset,
    database: Dataset,
    search: Search,
    *,
    radii: Sequence[int] = RADII,
    at: Sequence[int] = (10, 5000),
    order: Order = "nested",
) -> dict[tuple[str, str], dict[str, float]]:
    """Return the measures of each modality searched with each, for a method that is fitted.

    Only the caller knows what it was fitted on: queries it has seen flatter it.

    Args:
        method: A fitted method.
        queries: Holds the rows `search.query`, with the method's modalities.
        database: Holds the rows `search.database`; may be the same.
        search: Who searches whom.
        radii: Inclusive distances at which precision and recall are measured.
        at: Ranking lengths at which average precision and precision are measured.
        order: Of rankings by codes with rank bits, as `kinhash.metrics.evaluate_codes` takes it.

    Returns:
        By query and database modality, as `directions` orders them, the measures of
        `kinhash.metrics.evaluate_codes`.

    Raises:
        InvalidInputError: A data set has no labels, or lacks a modality.
    """
    sides = ((queries, search.query), (database, search.database))
    labels = [named_labels(data)[rows] for data, rows in sides]
    codes = [
        {
            name: method.encode(taken((data.modalities or {})[name], rows), modality=name)
            for name in method.modalities
        }
        for data, rows in sides
    ]
    return {
        (asked, found): evaluate_codes(
            codes[0][asked],
            labels[0],
            codes[1][found],
            labels[1],
            own=search.own,
            radii=radii,
            at=at,
            order=order,
        )
        for asked, found in directions(method.modalities)
    }


def evaluate_multimodal_l2(
    data: Dataset, labels: Array, parts: Parts, *, at: Sequence[int]
) -> dict[str, float]:
    """Return the same measures of ranking by distance, which there is within a modality only.

    Dense vectors are standardised by the training rows. Bags of words (of the vocabulary of the
    training texts) and other sparse vectors are brought to unit length and stay sparse.

    Raises:
        InvalidInputError: As `evaluate_multimodal`.
    """
    metrics: dict[str, float] = {}
    for name, values in checked_modalities(data, labels, parts).items():
        vectors = _comparable(values, parts.train)
        for title, search in parts.searches.items():
            found = evaluate_vectors(
                vectors[search.query],
                labels[search.query],
                vectors[search.database],
                labels[search.database],
                at=at,
                own=search.own,
            )
            metrics |= {measure_key(title, name, name, m): v for m, v in found.items()}
    return metrics


def _comparable(values: Modality, train: Rows) -> Matrix:
    """Return all rows as their distance is measured."""
    if are_texts(values):
        values = Words.of(taken(values, train)).bags(values)
    if scipy.sparse.issparse(values):
        return normalize(values)
    mean, scale, _ = standardisation(values[train])
    return (values - mean) * scale


def taken(values: Modality, rows: Rows) -> Modality:
    """Return some rows of a modality, which may be texts."""
    return [values[row] for row in rows] if isinstance(values, list | tuple) else values[rows]


def parts_hash(parts: Parts) -> str:
    """Return 16 hexadecimal digits that differ if any part does."""
    digest = hashlib.sha256()
    for rows in (parts.train, *(r for s in parts.searches.values() for r in (s.query, s.database))):
        digest.update(len(rows).to_bytes(8, "little"))
        digest.update(np.ascontiguousarray(rows, "<i8").tobytes())
    return digest.hexdigest()[:16]


def checked_modalities(data: Dataset, labels: Array, parts: Parts) -> Mapping[str, Any]:
    """Return the modalities of `data`, or say why `parts` cannot be evaluated on it."""
    if data.modalities is None:
        raise InvalidInputError(f"Data set {data.name!r} has one modality only. Use another.")
    if len(labels) != len(data):
        raise InvalidInputError(
            f"`labels` have {len(labels)} rows, but data set {data.name!r} has {len(data)}."
        )
    for title, search in parts.searches.items():
        shared = np.intersect1d(search.query, parts.train)
        if len(shared):
            raise InvalidInputError(
                f"{len(shared)} of {len(search.query)} queries are also trained on, such as row "
                f"{shared[0]}. Remove them."
            )
        shared = np.intersect1d(search.query, search.database)
        if search.own is None and len(shared):
            raise InvalidInputError(
                f"{len(shared)} of {len(search.query)} queries are also in the database "
                f"({title!r}), such as row {shared[0]}. Remove them, or say with `own` which "
                "they are."
            )
        if search.own is not None and not np.array_equal(search.database[search.own], search.query):
            raise InvalidInputError(f"`own` of {title!r} must lead from each query to itself.")
    return data.modalities
