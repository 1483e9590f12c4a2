"""Ranking by the vectors themselves: the baselines "L2" and "cosine", and the true neighbours."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse

from kinhash.arguments import check_choice, check_integer
from kinhash.arrays import Array, Integers, Matrix, Vectors
from kinhash.errors import InvalidInputError
from kinhash.metrics.checks import checked_integers, checked_labels, checked_own, mean_of_known
from kinhash.metrics.retrieval import average_precision_of_ranking, relevant_items

Metric = Literal["l2", "cosine"]
METRICS: tuple[Metric, ...] = ("l2", "cosine")

QUERIES_AT_ONCE = 256
CHUNK_BYTES = 32 * 2**20  # of rows of the database in float64


def evaluate_vectors(
    query_vectors: Vectors,
    query_labels: npt.ArrayLike,
    db_vectors: Vectors,
    db_labels: npt.ArrayLike,
    *,
    at: Sequence[int] = (10, 5000),
    own: npt.ArrayLike | None = None,
    metric: Metric = "l2",
) -> dict[str, float]:
    """Return `map`, `map@{k}` and `mp@{k}` of ranking by the vectors themselves: the baselines.

    Takes and gives what `evaluate_codes` does; rankings are strict, and every item is ranked.

    Args:
        query_vectors: `(n_queries, d)`, an array or a sparse matrix, which never becomes dense.
        query_labels: As in `evaluate_codes`.
        db_vectors: `(n, d)`, likewise.
        db_labels: As in `evaluate_codes`.
        at: Ranking lengths, each at least 1.
        own: As in `evaluate_codes`.
        metric: "l2", Euclidean distance; or "cosine", the angle, where a vector of zeros is at a
            right angle to all.

    Raises:
        InvalidInputError: As `evaluate_codes`; or vectors that are not of one width, or an unknown
            `metric`.

    Example:
        >>> evaluate_vectors([[3, 0]], ["a"], [[1, 0], [3, 1]], ["b", "a"], at=[1])["mp@1"]
        1.0
        >>> vectors = [[3, 0]], ["a"], [[1, 0], [3, 1]], ["b", "a"]
        >>> evaluate_vectors(*vectors, at=[1], metric="cosine")["mp@1"]
        0.0
    """
    at = checked_integers("at", at, least=1)
    check_choice("metric", metric, METRICS)
    queries, database = _checked_vectors(query_vectors, db_vectors, np.float32)
    n = database.shape[0]
    query_labels, db_labels = checked_labels(query_labels, queries.shape[0], db_labels, n)
    left_out = checked_own(own, queries.shape[0], n)
    database, lengths = _prepared(database, metric)
    # Once: each product of sparse matrices would turn it around again.
    columns = database.T.tocsr() if _is_sparse(database) else database.T
    names = ["map", *(f"{kind}@{k}" for k in at for kind in ("map", "mp"))]
    found: dict[str, list[Array]] = {name: [] for name in names}
    for same, relevant in relevant_items(query_labels, db_labels):
        for rows in np.array_split(np.flatnonzero(same), max(1, int(same.sum()) // 64)):
            order = np.argsort(_scores(queries[rows], columns, lengths), axis=1, kind="stable")
            if left_out is not None:
                order = order[order != left_out[rows, None]].reshape(len(rows), n - 1)
            ranked = relevant[order]
            found["map"].append(average_precision_of_ranking(ranked))
            for k in at:
                found[f"map@{k}"].append(average_precision_of_ranking(ranked, at=k))
                found[f"mp@{k}"].append(ranked[:, :k].mean(axis=1))
    return {name: mean_of_known(np.concatenate(parts)) for name, parts in found.items()}


def true_neighbours(
    query_vectors: Vectors,
    db_vectors: Vectors,
    k: int = 10,
    *,
    metric: Metric = "cosine",
    own: npt.ArrayLike | None = None,
) -> Integers:
    """Return the rows of the `k` nearest vectors of each query, nearest first.

    Every vector is compared, in float64 and in blocks, so that memory stays small; at equal
    distance the lower row comes first.

    Args:
        query_vectors: `(n_queries, d)`, an array or a sparse matrix, which never becomes dense.
        db_vectors: `(n, d)`, likewise.
        k: How many, at most as many as there are.
        metric: "cosine", where a vector of zeros is at a right angle to all; or "l2".
        own: `(n_queries,)` rows of the database: the item that each query is, which is left out.

    Returns:
        int64, `(n_queries, k)`.

    Raises:
        InvalidInputError: Vectors that are not of one width or not finite, no vectors, or `k`,
            `metric` or `own` out of range.

    Example:
        >>> true_neighbours([[3, 0]], [[0, 1], [1, 0], [3, 1]], 2).tolist()
        [[1, 2]]
        >>> true_neighbours([[3, 0]], [[0, 1], [1, 0], [3, 1]], 2, metric="l2").tolist()
        [[2, 1]]
    """
    check_choice("metric", metric, METRICS)
    queries, database = _checked_vectors(query_vectors, db_vectors, None)
    n_queries, n = queries.shape[0], database.shape[0]
    for name, rows in (("query_vectors", queries), ("db_vectors", database)):
        _check_usable(name, rows)
    left_out = checked_own(own, n_queries, n)
    check_integer("k", k, 1, n - (left_out is not None))
    step = max(k, 1, CHUNK_BYTES // (8 * max(queries.shape[1], QUERIES_AT_ONCE)))
    nearest = np.zeros((n_queries, k), np.int64)
    scores = np.full((n_queries, k), np.inf)
    for start in range(0, n, step):
        block, lengths = _prepared(database[start : start + step].astype(np.float64), metric)
        columns = block.T.tocsr() if _is_sparse(block) else block.T
        numbers = np.arange(start, start + block.shape[0])
        for first in range(0, n_queries, QUERIES_AT_ONCE):
            some = slice(first, first + QUERIES_AT_ONCE)
            here = _scores(queries[some].astype(np.float64), columns, lengths)
            if left_out is not None:
                here[left_out[some, None] == numbers] = np.inf
            both = np.hstack([scores[some], here])
            chosen = _smallest(both, k)
            rows = np.hstack([nearest[some], np.broadcast_to(numbers, here.shape)])
            nearest[some] = np.take_along_axis(rows, chosen, axis=1)
            scores[some] = np.take_along_axis(both, chosen, axis=1)
    return nearest


def _smallest(values: Array, k: int) -> Integers:
    """Return the columns of the k smallest values of each row, in order; equal ones from left."""
    limit = np.partition(values, k - 1, axis=1)[:, k - 1 : k]
    rows, columns = np.nonzero(values <= limit)
    order = np.lexsort((columns, values[rows, columns], rows))
    starts = np.searchsorted(rows, np.arange(len(values)))
    return np.asarray(columns[order][starts[:, None] + np.arange(k)], np.int64)


def _prepared(database: Matrix, metric: Metric) -> tuple[Matrix, Array | float]:
    """Return what queries are multiplied with, and what `_scores` adds to the products."""
    if _is_sparse(database):
        squares = np.asarray(database.multiply(database).sum(axis=1)).ravel()
    else:
        squares = np.square(database).sum(axis=1)
    if metric == "l2":
        return database, squares
    lengths = np.sqrt(squares)
    factors = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    if _is_sparse(database):
        return scipy.sparse.diags_array(factors).tocsr() @ database, 0.0
    return database * factors[:, None], 0.0


def _scores(queries: Matrix, columns: Matrix, lengths: Array | float) -> Array:
    """Return numbers that order the items of each query, the smallest first: `(n_queries, n)`."""
    products = queries @ columns
    products = products.toarray() if _is_sparse(products) else products
    return np.asarray(lengths - 2 * products)


def _checked_vectors(
    query_vectors: Vectors, db_vectors: Vectors, kind: type[np.floating[Any]] | None
) -> tuple[Matrix, Matrix]:
    """Return both sides, of that type if one is given, or say that they are not of one width."""
    queries, database = _rows(query_vectors, kind), _rows(db_vectors, kind)
    if queries.ndim != 2 or database.ndim != 2 or queries.shape[1] != database.shape[1]:
        raise InvalidInputError(
            "`query_vectors` and `db_vectors` must be two-dimensional and of one width, got "
            f"shapes {queries.shape} and {database.shape}."
        )
    return queries, database


def _check_usable(name: str, rows: Matrix) -> None:
    if not rows.shape[0]:
        raise InvalidInputError(f"`{name}` must hold at least one vector, got none.")
    values = rows.data if _is_sparse(rows) else rows
    if values.dtype.kind not in "fiub":
        raise InvalidInputError(f"`{name}` must hold numbers, got {values.dtype}.")
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        raise InvalidInputError(f"`{name}` must be finite, but hold NaN or infinity.")


def _rows(vectors: Matrix, kind: type[np.floating[Any]] | None) -> Matrix:
    if _is_sparse(vectors):
        rows = scipy.sparse.csr_array(vectors)
        return rows if kind is None else rows.astype(kind)
    return np.asarray(vectors, kind)


def _is_sparse(vectors: object) -> bool:
    return bool(scipy.sparse.issparse(vectors))
