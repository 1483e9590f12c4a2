import doctest
import math

import numpy as np
import pytest
import scipy.sparse

from kinhash.errors import InvalidInputError
from kinhash.metrics import METRICS, evaluate_vectors, true_neighbours, vectors


def naive_average_precision(relevant, at=None):
    n_hits, total = 0, 0.0
    for position, is_relevant in enumerate(relevant[:at], start=1):
        if is_relevant:
            n_hits += 1
            total += n_hits / position
    return total / min(sum(relevant), at or len(relevant))


def naive_distance(query, item, metric):
    if metric == "l2":
        return math.dist(query, item)
    lengths = math.hypot(*query) * math.hypot(*item)
    return (
        1 - math.fsum(a * b for a, b in zip(query, item, strict=True)) / lengths if lengths else 1.0
    )


def naive_neighbours(queries, database, k, metric, own=None):
    rows = []
    for at, query in enumerate(queries):
        ranked = sorted(
            (naive_distance(query, item, metric), j)
            for j, item in enumerate(database)
            if own is None or own[at] != j
        )
        rows.append([j for _, j in ranked[:k]])
    return rows


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("tagged", [False, True])
def test_vectors_are_ranked_by_distance(tagged, metric):
    rng = np.random.default_rng(3)
    queries, database = rng.normal(size=(9, 4)), rng.normal(size=(50, 4))
    if tagged:
        query_labels, labels = rng.random((9, 3)) < 0.5, rng.random((50, 3)) < 0.3
        related = (query_labels[:, None] & labels[None]).any(axis=2)
    else:
        query_labels, labels = rng.integers(0, 3, 9), rng.integers(0, 3, 50)
        related = query_labels[:, None] == labels
    expected, first = [], []
    for query, row in zip(queries, related, strict=True):
        ranked = row[
            np.argsort([naive_distance(query, item, metric) for item in database])
        ].tolist()
        first.append(sum(ranked[:5]) / 5)
        if any(ranked):
            expected.append(naive_average_precision(ranked))
    result = evaluate_vectors(queries, query_labels, database, labels, at=[5], metric=metric)
    if metric == "l2":
        assert result == evaluate_vectors(queries, query_labels, database, labels, at=[5])
    assert result["map"] == pytest.approx(np.mean(expected), rel=1e-6)
    assert result["mp@5"] == pytest.approx(np.mean(first))
    assert list(result) == ["map", "map@5", "mp@5"]


@pytest.mark.parametrize("sparse", [False, True])
def test_vectors_leave_a_querys_own_item_out(sparse):
    rng = np.random.default_rng(6)
    vectors, labels = rng.normal(size=(30, 4)), rng.integers(0, 3, 30)
    vectors[rng.random(vectors.shape) < 0.5] = 0
    chosen = np.array([4, 29, 0])
    given = scipy.sparse.csr_array(vectors) if sparse else vectors
    result = evaluate_vectors(given[chosen], labels[chosen], given, labels, own=chosen, at=[3])
    alone = [
        evaluate_vectors(
            vectors[[row]],
            labels[[row]],
            np.delete(vectors, row, axis=0),
            np.delete(labels, row),
            at=[3],
        )
        for row in chosen
    ]
    for name, value in result.items():
        assert value == pytest.approx(np.mean([one[name] for one in alone])), name


@pytest.mark.parametrize("metric", METRICS)
def test_sparse_vectors_are_ranked_as_dense_ones(metric):
    rng = np.random.default_rng(8)
    dense = rng.normal(size=(40, 9)) * (rng.random((40, 9)) < 0.3)
    labels = rng.random((40, 3)) < 0.5
    parts = dense[:10], labels[:10], dense[10:], labels[10:]
    expected = evaluate_vectors(*parts, at=[5], metric=metric)
    sparse = [
        scipy.sparse.csr_matrix(part) if at % 2 == 0 else part for at, part in enumerate(parts)
    ]
    assert evaluate_vectors(*sparse, at=[5], metric=metric) == pytest.approx(expected)


def test_vectors_of_other_widths_are_refused():
    with pytest.raises(InvalidInputError, match=r"shapes \(2, 3\) and \(2, 4\)"):
        evaluate_vectors(np.zeros((2, 3)), [0, 1], np.zeros((2, 4)), [0, 1])


def test_an_unknown_metric_is_refused():
    problem = np.eye(3), [0, 1, 1], np.eye(3), [0, 1, 1]
    with pytest.raises(InvalidInputError, match=r"Unknown metric 'dot'. Known: cosine, l2"):
        evaluate_vectors(*problem, metric="dot")
    with pytest.raises(InvalidInputError, match=r"Unknown metric 'dot'. Known: cosine, l2"):
        true_neighbours(np.eye(3), np.eye(3), 1, metric="dot")


def test_a_vector_of_zeros_is_at_a_right_angle_to_all():
    database = [[-1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
    assert true_neighbours([[2.0, 0.0]], database, 3).tolist() == [[2, 1, 0]]
    found = evaluate_vectors([[2, 0]], [0], database, [1, 0, 1], at=[1, 2], metric="cosine")
    assert (found["mp@1"], found["mp@2"]) == (0, 0.5)
    assert true_neighbours([[0.0, 0.0]], database, 3).tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("own", [None, np.arange(3, 12)])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("metric", METRICS)
def test_true_neighbours_are_those_of_a_plain_loop(metric, sparse, own, monkeypatch):
    rng = np.random.default_rng(1)
    database = rng.normal(size=(70, 5)) + 3
    database[rng.random(database.shape) < 0.3] = 0
    queries = database[3:12] if own is not None else rng.normal(size=(9, 5))
    expected = naive_neighbours(queries, database, 7, metric, own)
    given = [scipy.sparse.csr_array(part) if sparse else part for part in (queries, database)]
    whole = true_neighbours(*given, 7, metric=metric, own=own)
    assert whole.dtype == np.int64
    assert whole.tolist() == expected
    # A few rows and queries at a time.
    monkeypatch.setattr(vectors, "CHUNK_BYTES", 1)
    monkeypatch.setattr(vectors, "QUERIES_AT_ONCE", 4)
    assert true_neighbours(*given, 7, metric=metric, own=own).tolist() == expected


def test_nearest_vectors_far_from_zero_are_told_apart():
    """In float32, squared lengths of 10^8 would drown distances of 1."""
    offsets = np.array([5.0, 1.0, 4.0, 2.0, 3.0])[:, None]
    database = 1e4 + np.hstack([offsets, offsets]).astype(np.float32)
    assert true_neighbours([[1e4, 1e4]], database, 3, metric="l2").tolist() == [[1, 3, 4]]


def test_equal_vectors_come_by_row():
    database = np.ones((6, 2), np.float32)
    assert true_neighbours([[1, 0]], database, 3, metric="l2").tolist() == [[0, 1, 2]]
    assert true_neighbours([[1, 0]], database, 5, own=[2]).tolist() == [[0, 1, 3, 4, 5]]


@pytest.mark.parametrize(
    ("queries", "database", "options", "message"),
    [
        (np.eye(3), np.eye(3), {"k": 4}, r"`k` must be an integer in \[1, 3\], got 4"),
        (np.eye(3), np.eye(3), {"k": 3, "own": [0, 1, 2]}, r"`k` .* in \[1, 2\], got 3"),
        (np.eye(3), np.eye(2), {}, r"of one width, got shapes \(3, 3\) and \(2, 2\)"),
        (np.eye(3)[:0], np.eye(3), {}, "`query_vectors` must hold at least one vector"),
        (np.eye(3), np.eye(3)[:0], {}, "`db_vectors` must hold at least one vector"),
        ([["a", "b"]], [[1, 2]], {}, "`query_vectors` must hold numbers, got <U1"),
        ([[1, 2]], [[np.nan, 2]], {}, "`db_vectors` must be finite, but hold NaN"),
        ([[1, 2]], [[1, 2], [3, 4]], {"own": [2]}, "`own` must hold rows of the database, 0 to 1"),
    ],
)
def test_what_has_no_neighbours_is_refused(queries, database, options, message):
    with pytest.raises(InvalidInputError, match=message):
        true_neighbours(queries, database, **({"k": 1} | options))


def test_docstring_examples_run():
    assert doctest.testmod(vectors).failed == 0
