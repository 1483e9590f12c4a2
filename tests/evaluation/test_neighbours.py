import doctest
import math

import numpy as np
import pytest

from kinhash.datasets import Dataset, Split
from kinhash.errors import InvalidInputError, NotFittedError
from kinhash.evaluation import neighbours
from kinhash.evaluation.neighbours import (
    evaluate_apart_by_neighbours,
    evaluate_fitted_by_neighbours,
    evaluate_method_by_neighbours,
    evaluate_vectors_by_neighbours,
)
from kinhash.evaluation.protocol import split_hash
from kinhash.methods import ITQ, KSH, LSH, Nested
from kinhash.metrics import evaluate_neighbours, true_neighbours


@pytest.fixture
def data(rng):
    return Dataset("plain", (rng.normal(size=(90, 6)) + 1).astype(np.float32))


@pytest.fixture
def part(data):
    return data.split(seed=1)


@pytest.mark.parametrize("metric", ["cosine", "l2"])
@pytest.mark.parametrize("order", ["nested", "total"])
def test_codes_are_measured_by_the_true_neighbours(data, part, metric, order):
    method = LSH(16)
    options = {"radii": [1], "at": [3, 20], "order": order}
    found = evaluate_method_by_neighbours(method, data, part, metric=metric, **options)
    queries, database = data.vectors[part.query], data.vectors[part.database]
    other = LSH(16).fit(database)
    expected = evaluate_neighbours(
        other.encode(queries),
        other.encode(database),
        true_neighbours(queries, database, 10, metric=metric),
        **options,
    )
    assert found.metrics == expected
    assert found.split_hash == split_hash(part)
    assert found.database_codes == other.encode(database)
    assert found.fit_seconds >= 0
    again = evaluate_fitted_by_neighbours(method, data, part, metric=metric, **options)
    assert again.metrics == expected
    assert math.isnan(again.fit_seconds)
    sides = Dataset("asked", queries), Dataset("searched", database)
    assert evaluate_apart_by_neighbours(method, *sides, metric=metric, **options) == expected


@pytest.mark.parametrize("metric", ["cosine", "l2"])
@pytest.mark.parametrize("order", ["nested", "total"])
def test_reranked_recall_is_that_of_candidates_sorted_by_their_vectors(data, part, metric, order):
    n, at = 30, [1, 10, 25, 60]
    method = Nested(LSH(), ITQ(), n_bits=10, n_rank_bits=6)
    options = {"at": at, "order": order, "metric": metric}
    found = evaluate_method_by_neighbours(method, data, part, candidates=n, **options)
    queries, database = data.vectors[part.query], data.vectors[part.database]
    codes, asked = method.encode(database), method.encode(queries)
    hits = dict.fromkeys(at, 0)
    for q, query in enumerate(queries):
        apart = (codes.to_dense() != asked.to_dense()[q]).sum(axis=1)
        ranks = (codes.rank_to_dense() != asked.rank_to_dense()[q]).sum(axis=1)
        place = apart + ranks if order == "total" else 100 * apart + ranks
        first = sorted(range(len(database)), key=lambda i: (place[i], i))[:n]
        near = {
            "cosine": -(database @ query) / np.linalg.norm(database, axis=1),
            "l2": np.linalg.norm(database - query, axis=1),
        }[metric]
        true = set(np.argsort(near)[:10])
        for k in at:
            hits[k] += len(true & set(sorted(first, key=lambda i: near[i])[:k]))
    expected = {f"reranked_recall@{k}": hits[k] / (10 * len(queries)) for k in at}
    bare = evaluate_fitted_by_neighbours(method, data, part, **options).metrics
    assert found.metrics == bare | {name: pytest.approx(one) for name, one in expected.items()}
    sides = Dataset("asked", queries), Dataset("searched", database)
    apart = evaluate_apart_by_neighbours(method, *sides, candidates=n, **options)
    assert apart == found.metrics


def test_with_all_items_as_candidates_nothing_is_missed(data, part):
    found = evaluate_method_by_neighbours(LSH(4), data, part, at=[5, 10], candidates=1000).metrics
    assert found["reranked_recall@5"] == pytest.approx(0.5)
    assert found["reranked_recall@10"] == pytest.approx(1)
    assert found["recall@10"] < 0.9
    with pytest.raises(InvalidInputError, match=r"`candidates` must be an integer of at least 1"):
        evaluate_method_by_neighbours(LSH(4), data, part, candidates=0)


def test_methods_learn_from_the_vectors_of_the_training_part_alone(data, monkeypatch):
    fitted, fit = [], ITQ.fit

    def noted(self, X, y=None):
        fitted.append((len(X), y is None))
        return fit(self, X, y)

    monkeypatch.setattr(ITQ, "fit", noted)
    labelled = Dataset("labelled", data.vectors, labels=np.arange(90) % 3)
    evaluate_method_by_neighbours(ITQ(3), labelled, data.split(n_train=20))
    assert fitted == [(20, True)]


@pytest.mark.parametrize("metric", ["cosine", "l2"])
@pytest.mark.parametrize("ranked_by", ["cosine", "l2"])
def test_vectors_are_ranked_as_a_plain_loop_does(data, part, ranked_by, metric):
    queries, database = data.vectors[part.query], data.vectors[part.database]
    wanted = true_neighbours(queries, database, 10, metric=metric)
    ranked = true_neighbours(queries, database, len(database), metric=ranked_by)
    found, digest = evaluate_vectors_by_neighbours(
        data, part, ranked_by=ranked_by, at=[3, 20, 1000], metric=metric
    )
    expected = {
        f"recall@{k}": np.mean(
            [len({*row[:k]} & {*true}) / 10 for row, true in zip(ranked, wanted, strict=True)]
        )
        for k in (3, 20, 1000)
    }
    assert found == pytest.approx(expected)
    assert digest == split_hash(part)
    assert found["recall@1000"] == 1
    assert (found["recall@20"] == 1) == (ranked_by == metric)


def test_fewer_items_than_neighbours_are_all_true(data):
    part = Split(np.arange(5), np.arange(5, 8), np.arange(5))
    found = evaluate_method_by_neighbours(LSH(8), data, part, at=[5])
    assert found.metrics["recall@5"] == 1


def test_what_cannot_be_measured_is_refused(data, part):
    leaking = Split(part.train, part.query, np.arange(90))
    for measure in (
        lambda: evaluate_method_by_neighbours(LSH(8), data, leaking),
        lambda: evaluate_fitted_by_neighbours(LSH(8), data, leaking),
        lambda: evaluate_vectors_by_neighbours(data, leaking, ranked_by="l2"),
    ):
        with pytest.raises(InvalidInputError, match=r"also in `part.database`"):
            measure()
    with pytest.raises(NotFittedError):
        evaluate_fitted_by_neighbours(LSH(8), data, part)
    with pytest.raises(InvalidInputError, match="KSH requires y"):
        evaluate_method_by_neighbours(KSH(8), data, part)
    texts = Dataset("news", texts=("a",) * 90)
    with pytest.raises(InvalidInputError, match="needs vectors, but data set 'news'"):
        evaluate_method_by_neighbours(LSH(8), texts, part)


def test_examples_run():
    assert doctest.testmod(neighbours).failed == 0
