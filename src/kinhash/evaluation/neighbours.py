"""The protocol without labels: learn from vectors alone, and look for the true neighbours."""

import dataclasses
import math
import time
from collections.abc import Sequence

import numpy as np

from kinhash.arguments import check_integer
from kinhash.arrays import Floats, Integers
from kinhash.codes import Codes, Order
from kinhash.datasets import Dataset, Split
from kinhash.datasets.dataset import vectors_of
from kinhash.evaluation.fitting import Hasher
from kinhash.evaluation.protocol import check_part, split_hash
from kinhash.index.hamming import HammingIndex
from kinhash.metrics import Metric, evaluate_neighbours, true_neighbours
from kinhash.reranking import rerank

N_TRUE = 10
"""How many of the nearest vectors of a query are its true neighbours, unless said otherwise."""


@dataclasses.dataclass(frozen=True, eq=False)
class NeighbourEvaluation:
    """What a method reached on a split, without labels.

    Attributes:
        metrics: The measures of `kinhash.metrics.evaluate_neighbours`; rates are fractions.
        fit_seconds: How long `fit` took; nan for a method that came fitted.
        split_hash: Which rows were trained on, searched with and searched.
        database_codes: One code per row of the split's `database`, in that order.
    """

    metrics: dict[str, float]
    fit_seconds: float
    split_hash: str
    database_codes: Codes


def evaluate_method_by_neighbours(
    method: Hasher,
    data: Dataset,
    part: Split,
    *,
    radii: Sequence[int] = (0, 2),
    at: Sequence[int] = (100, 500),
    order: Order = "nested",
    metric: Metric = "cosine",
    candidates: int | None = None,
) -> NeighbourEvaluation:
    """Fit `method` on the vectors of `part.train` alone; look for neighbours in `part.database`.

    The true neighbours of a query are its 10 nearest vectors in the database, found by comparing
    all. Labels, if there are any, play no part.

    Args:
        method: Any method that learns from vectors alone; it is fitted in place.
        data: A data set with vectors.
        part: Row numbers of `data`.
        radii: Inclusive distances at which recall is measured.
        at: Ranking lengths at which recall is measured.
        order: Of rankings by codes with rank bits.
        metric: What near means: "cosine" or "l2".
        candidates: If given, `reranked_recall@{k}` is measured, too: the share of the true
            neighbours among the first k after `kinhash.rerank` has put this many of the first
            items in the order of their vectors.

    Raises:
        InvalidInputError: A query is also in `train` or `database`, a part is empty or goes beyond
            the data set, there are no vectors, or the method needs labels.

    Example:
        >>> from kinhash.datasets import load
        >>> from kinhash.methods import LSH
        >>> data = load("digits")
        >>> found = evaluate_method_by_neighbours(LSH(64), data, data.split(seed=0))
        >>> 0.5 < found.metrics["recall@100"] < found.metrics["recall@500"]
        True
    """
    check_part(data, part)
    vectors = vectors_of(data)
    start = time.perf_counter()
    method.fit(vectors[part.train])
    seconds = time.perf_counter() - start
    found = evaluate_fitted_by_neighbours(
        method,
        data,
        part,
        radii=radii,
        at=at,
        order=order,
        metric=metric,
        candidates=candidates,
    )
    return dataclasses.replace(found, fit_seconds=seconds)


def evaluate_fitted_by_neighbours(
    method: Hasher,
    data: Dataset,
    part: Split,
    *,
    radii: Sequence[int] = (0, 2),
    at: Sequence[int] = (100, 500),
    order: Order = "nested",
    metric: Metric = "cosine",
    candidates: int | None = None,
) -> NeighbourEvaluation:
    """Measure a method that is already fitted; otherwise as `evaluate_method_by_neighbours`.

    Raises:
        NotFittedError: `method` has not been fitted.
        InvalidInputError: As `evaluate_method_by_neighbours`; or the vectors have another width.
    """
    check_part(data, part)
    vectors = vectors_of(data)
    codes = method.encode(vectors[part.database])
    metrics = _measured(
        method,
        vectors[part.query],
        vectors[part.database],
        codes,
        radii=radii,
        at=at,
        order=order,
        metric=metric,
        candidates=candidates,
    )
    return NeighbourEvaluation(metrics, math.nan, split_hash(part), codes)


def evaluate_apart_by_neighbours(
    method: Hasher,
    queries: Dataset,
    database: Dataset,
    *,
    radii: Sequence[int] = (0, 2),
    at: Sequence[int] = (100, 500),
    order: Order = "nested",
    metric: Metric = "cosine",
    candidates: int | None = None,
) -> dict[str, float]:
    """Return the measures of looking for all of one data set among all rows of another.

    Only the caller knows that no row is in both: one that finds itself flatters the method.

    Raises:
        NotFittedError: `method` has not been fitted.
        InvalidInputError: A data set has no vectors, or vectors of another width.
    """
    asked, searched = vectors_of(queries), vectors_of(database)
    return _measured(
        method,
        asked,
        searched,
        method.encode(searched),
        radii=radii,
        at=at,
        order=order,
        metric=metric,
        candidates=candidates,
    )


def evaluate_vectors_by_neighbours(
    data: Dataset,
    part: Split,
    *,
    ranked_by: Metric,
    at: Sequence[int] = (100, 500),
    metric: Metric = "cosine",
) -> tuple[dict[str, float], str]:
    """Return `recall@{k}` of ranking by the vectors' own distance, and the split's hash.

    With `ranked_by` equal to `metric` it is 1 wherever k is at least 10: what nothing exceeds.

    Raises:
        InvalidInputError: As `evaluate_method_by_neighbours`.
    """
    check_part(data, part)
    vectors = vectors_of(data)
    queries, database = vectors[part.query], vectors[part.database]
    wanted = _true(queries, database, metric)
    longest = min(max(at, default=1), len(database))
    ranked = true_neighbours(queries, database, longest, metric=ranked_by)
    place = np.full(wanted.shape, longest)
    for column in range(wanted.shape[1]):
        is_it = ranked == wanted[:, column : column + 1]
        place[:, column] = np.where(is_it.any(axis=1), is_it.argmax(axis=1), longest)
    return {f"recall@{k}": float(np.mean(place < min(k, longest))) for k in at}, split_hash(part)


def _measured(
    method: Hasher,
    queries: Floats,
    database: Floats,
    codes: Codes,
    *,
    radii: Sequence[int],
    at: Sequence[int],
    order: Order,
    metric: Metric,
    candidates: int | None,
) -> dict[str, float]:
    """Return how well the codes of `database` find the true neighbours, reranked and not."""
    if candidates is not None:
        check_integer("candidates", candidates, 1)
    asked, wanted = method.encode(queries), _true(queries, database, metric)
    found = evaluate_neighbours(asked, codes, wanted, radii=radii, at=at, order=order)
    if candidates is None or not at:
        return found
    index = HammingIndex(codes, memory="lean")
    matches = index.search_top_k(asked, min(candidates, len(codes)), order=order)
    best = rerank(matches, queries, database, metric=metric, k=max(at))
    hits = [np.isin(ids, true) for (ids, _), true in zip(best, wanted, strict=True)]
    reranked = {
        f"reranked_recall@{k}": float(sum(is_true[:k].sum() for is_true in hits) / wanted.size)
        for k in at
    }
    return found | reranked


def _true(queries: Floats, database: Floats, metric: Metric) -> Integers:
    return true_neighbours(queries, database, min(N_TRUE, len(database)), metric=metric)
