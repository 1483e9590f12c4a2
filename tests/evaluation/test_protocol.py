import doctest
import math

import numpy as np
import pytest

import kinhash.evaluation.protocol
from kinhash.codes import Codes
from kinhash.datasets import Dataset, Split
from kinhash.errors import InvalidInputError, NotFittedError
from kinhash.evaluation.protocol import (
    evaluate_apart,
    evaluate_fitted,
    evaluate_method,
    evaluate_raw,
    named_labels,
    precision_against_radius,
    recall_against_radius,
    split_hash,
    unseen_class_splits,
)
from kinhash.methods import ITQ, LSH, SSH
from kinhash.metrics import evaluate_codes, evaluate_vectors


@pytest.fixture
def data():
    """Sixty items in three clouds that overlap."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 20)
    vectors = rng.normal(size=(60, 5)) + 2 * np.eye(3, 5)[labels]
    return Dataset("clouds", vectors.astype(np.float32), labels=labels.astype(np.int64))


@pytest.fixture
def part():
    rows = np.arange(60)
    return Split(train=rows[rows % 3 == 0], query=rows[rows % 3 == 1], database=rows[rows % 3 != 1])


def naive_rates(data, part, codes, radius):
    """Mean precision and recall by comparing every pair of rows."""
    precisions, recalls = [], []
    for query in part.query:
        found = [row for row in part.database if np.sum(codes[row] != codes[query]) <= radius]
        hits = sum(data.labels[row] == data.labels[query] for row in found)
        precisions.append(hits / len(found) if found else 0.0)
        recalls.append(hits / np.sum(data.labels[part.database] == data.labels[query]))
    return np.mean(precisions), np.mean(recalls)


def test_a_method_learns_on_train_and_is_measured_on_query_and_database(data, part):
    found = evaluate_method(LSH(n_bits=8), data, part, radii=[1], at=[3])

    model = LSH(n_bits=8).fit(data.vectors[part.train])
    codes = model.encode(data.vectors).to_dense()
    assert np.array_equal(found.query_codes.to_dense(), codes[part.query])
    assert np.array_equal(found.database_codes.to_dense(), codes[part.database])
    assert np.array_equal(found.query_labels, data.labels[part.query])
    assert np.array_equal(found.database_labels, data.labels[part.database])
    expected = naive_rates(data, part, codes, radius=1)
    assert found.metrics["precision@r1"] == pytest.approx(expected[0])
    assert found.metrics["recall@r1"] == pytest.approx(expected[1])
    assert {"map", "map@3", "mp@3"} <= set(found.metrics)
    assert found.fit_seconds > 0


def test_the_labels_of_train_reach_the_method(data, part):
    class Watchful(LSH):
        def fit(self, X, y=None):
            self.seen_ = X, y
            return super().fit(X, y)

    method = Watchful(n_bits=8)
    evaluate_method(method, data, part)
    assert np.array_equal(method.seen_[0], data.vectors[part.train])
    assert np.array_equal(method.seen_[1], data.labels[part.train])


def test_a_fitted_method_is_measured_as_it_is(data, part):
    model = LSH(n_bits=8).fit(data.vectors)
    found = evaluate_fitted(model, data, part)
    assert found.query_codes == model.encode(data.vectors[part.query])
    assert math.isnan(found.fit_seconds)
    with pytest.raises(NotFittedError, match="LSH is not fitted yet"):
        evaluate_fitted(LSH(n_bits=8), data, part)


def test_curves_hold_the_rates_at_every_radius(data, part):
    found = evaluate_method(LSH(n_bits=8), data, part)
    codes = LSH(n_bits=8).fit(data.vectors[part.train]).encode(data.vectors).to_dense()
    expected = np.array([naive_rates(data, part, codes, radius) for radius in range(9)])
    assert precision_against_radius(found, 8) == pytest.approx(expected[:, 0])
    assert recall_against_radius(found, 8) == pytest.approx(expected[:, 1])
    assert recall_against_radius(found, 8)[-1] == 1
    assert recall_against_radius(found, 0).shape == (1,)


def test_items_may_have_several_labels(data, part):
    tags = np.zeros((60, 4), np.uint8)
    tags[np.arange(60), data.labels] = 1
    tags[:, 3] = 1  # everything has this one in common
    tagged = Dataset("tagged", data.vectors, labels=tags)
    found = evaluate_method(LSH(n_bits=8), tagged, part)
    assert found.metrics["map"] == pytest.approx(1)


@pytest.mark.parametrize(("name", "row"), [("train", 3), ("database", 4)])
def test_a_query_that_is_also_searched_or_learned_from_is_refused(data, part, name, row):
    rows = {"train": part.train, "query": part.query, "database": part.database}
    rows[name] = np.append(rows[name], row)
    rows["query"] = np.append(part.query, 3) if name == "train" else part.query
    rows["database"] = rows["database"][rows["database"] != 3]
    n_queries = len(rows["query"])
    message = rf"^1 of {n_queries} queries are also in `part.{name}`, such as row {row}"
    for evaluate in (evaluate_method, evaluate_fitted):
        with pytest.raises(InvalidInputError, match=message):
            evaluate(LSH(n_bits=8).fit(data.vectors), data, Split(**rows))


def test_a_refused_split_leaves_the_method_unfitted(data, part):
    method = LSH(n_bits=8)
    with pytest.raises(InvalidInputError):
        evaluate_method(method, data, Split(part.train, part.train, part.database))
    assert not hasattr(method, "encoder_")


def test_a_split_of_another_data_set_is_refused(data, part):
    beyond = Split(part.train, np.array([1, 60]), part.database)
    with pytest.raises(
        InvalidInputError, match=r"holds rows 1 to 60, but data set 'clouds' has 60"
    ):
        evaluate_method(LSH(n_bits=8), data, beyond)
    negative = Split(part.train, np.array([-1, 1]), part.database)
    with pytest.raises(InvalidInputError, match="holds rows -1 to 1"):
        evaluate_method(LSH(n_bits=8), data, negative)


def test_an_empty_part_is_refused(data, part):
    with pytest.raises(InvalidInputError, match=r"`part.query` must hold at least one row, got no"):
        evaluate_method(LSH(n_bits=8), data, Split(part.train, part.query[:0], part.database))


def test_a_data_set_without_labels_is_refused(data, part):
    with pytest.raises(InvalidInputError, match="'plain' has no labels"):
        evaluate_method(LSH(n_bits=8), Dataset("plain", data.vectors), part)


def test_a_data_set_without_vectors_is_refused(data, part):
    texts = Dataset("news", texts=("a",) * len(data), labels=data.labels)
    method = LSH(n_bits=8).fit(data.vectors)
    for measure in (
        lambda: evaluate_method(LSH(n_bits=8), texts, part),
        lambda: evaluate_fitted(method, texts, part),
        lambda: evaluate_raw(texts, part),
    ):
        with pytest.raises(InvalidInputError, match="needs vectors, but data set 'news' has only"):
            measure()


def test_examples_run():
    assert doctest.testmod(kinhash.evaluation.protocol).failed == 0


def test_unsupervised_methods_learn_from_the_database(data, part, monkeypatch):
    fitted = []

    def noting(kind):
        fit = kind.fit

        def noted(self, X, y=None, **options):
            fitted.append((kind.__name__, len(X), y is None))
            return fit(self, X, y, **options)

        monkeypatch.setattr(kind, "fit", noted)

    noting(ITQ)
    noting(SSH)
    evaluate_method(ITQ(n_bits=4), data, part)
    evaluate_method(SSH(n_bits=4), data, part)
    assert fitted == [("ITQ", 40, True), ("SSH", 20, False)]


def test_the_hash_of_a_split_tells_its_parts_apart(part):
    same = Split(part.train.copy(), part.query.copy(), part.database.copy())
    assert split_hash(same) == split_hash(part)
    others = [
        Split(part.train[1:], part.query, part.database),
        Split(part.train, part.query[:-1], part.database),
        Split(part.train, part.query, part.train),
        Split(part.query, part.train, part.database),
        # The same rows in a row, dealt otherwise.
        Split(np.append(part.train, part.query[0]), part.query[1:], part.database),
    ]
    assert len({split_hash(other) for other in [part, *others]}) == 6


def test_the_record_of_an_evaluation_names_its_split(data, part):
    assert evaluate_method(LSH(n_bits=4), data, part).split_hash == split_hash(part)


def test_vectors_are_measured_on_the_same_split(data, part):
    metrics, digest = evaluate_raw(data, part, at=[5])
    assert digest == split_hash(part)
    assert 0.5 < metrics["map"] <= 1
    leaking = Split(part.train, part.query, np.arange(60))
    with pytest.raises(InvalidInputError, match=r"also in `part.database`"):
        evaluate_raw(data, leaking)


def test_vectors_are_ranked_by_either_metric(data, part):
    sides = data.vectors[part.query], data.labels[part.query]
    sides += data.vectors[part.database], data.labels[part.database]
    for metric in ("l2", "cosine"):
        found, _ = evaluate_raw(data, part, at=[5], metric=metric)
        assert found == evaluate_vectors(*sides, at=[5], metric=metric)


def test_unseen_classes_are_searched_and_never_trained_on():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(10), 12).astype(np.int64)
    data = Dataset("ten", rng.normal(size=(120, 3)).astype(np.float32), labels=labels)
    folds = unseen_class_splits(data, 0, n_train=5, n_query=3)
    assert len(folds) == 4
    seen_as_query = set()
    for part in folds:
        unseen = set(labels[part.query])
        seen_as_query |= unseen
        assert len(unseen) == 3
        assert set(labels[part.database]) == unseen
        assert set(labels[part.train]) == set(range(10)) - unseen
        assert len(part.train) == 7 * 5
        assert len(part.query) == 3 * 2  # a sixth of twelve
        assert len(part.database) == 3 * 10
        assert not set(part.query) & set(part.database)
    assert seen_as_query == set(range(10))
    again = unseen_class_splits(data, 0, n_train=5, n_query=3)
    assert [split_hash(a) for a in folds] == [split_hash(b) for b in again]
    assert split_hash(folds[0]) != split_hash(unseen_class_splits(data, 1, n_train=5)[0])


@pytest.mark.parametrize("n_unseen", [0, 2, 3])
def test_two_classes_must_be_left_to_train_on(data, n_unseen):
    with pytest.raises(InvalidInputError, match=f"`n_unseen`.*1 to 1 of the 3.*got {n_unseen}"):
        unseen_class_splits(data, n_unseen=n_unseen)


def test_unseen_classes_need_classes(data):
    tags = Dataset("tags", data.vectors, labels=np.ones((60, 2), np.uint8))
    for other in (tags, Dataset("none", data.vectors)):
        with pytest.raises(InvalidInputError, match=f"one class per item.*{other.name!r}"):
            unseen_class_splits(other)


def test_all_of_one_data_set_is_searched_with_all_of_another(data, part):
    method = LSH(n_bits=8).fit(data.vectors)
    sides = [
        Dataset(name, data.vectors[rows], labels=data.labels[rows])
        for name, rows in (("asked", part.query), ("searched", part.database))
    ]
    expected = evaluate_fitted(method, data, part, radii=[1], at=[3]).metrics
    assert evaluate_apart(method, *sides, radii=[1], at=[3]) == expected
    bare = Dataset("bare", data.vectors)
    with pytest.raises(InvalidInputError, match="'bare' has no labels"):
        evaluate_apart(method, bare, sides[1])


def test_labels_of_two_data_sets_are_compared_by_name(data):
    """In each file by itself, the classes are numbered from 0."""
    named = Dataset("named", data.vectors, labels=data.labels, names=("ape", "bee", "cat"))
    assert named_labels(named)[[0, 20, 40]].tolist() == ["ape", "bee", "cat"]
    assert named_labels(data) is data.labels
    tags = Dataset("tags", data.vectors, labels=np.eye(3, dtype=np.uint8)[data.labels])
    assert named_labels(tags) is tags.labels


class NestedLSH(LSH):
    """Its first four bits are the bucket, the others are rank bits."""

    def encode(self, X, **options):
        dense = super().encode(X, **options).to_dense()
        return Codes.from_dense(dense[:, :4], rank=dense[:, 4:])


def test_rankings_by_codes_with_rank_bits_take_the_order(data, part):
    orders = ("nested", "total")
    found = [evaluate_method(NestedLSH(16), data, part, order=order).metrics for order in orders]
    assert found[0] == evaluate_method(NestedLSH(16), data, part).metrics
    assert found[0]["map"] != found[1]["map"]
    assert found[0]["ramap"] == found[1]["ramap"]
    model = NestedLSH(16).fit(data.vectors)
    codes = [model.encode(data.vectors[rows]) for rows in (part.query, part.database)]
    labels = [data.labels[rows] for rows in (part.query, part.database)]
    sides = [
        Dataset("side", data.vectors[rows], labels=data.labels[rows])
        for rows in (part.query, part.database)
    ]
    for order in orders:
        expected = evaluate_codes(codes[0], labels[0], codes[1], labels[1], order=order)
        assert evaluate_fitted(model, data, part, order=order).metrics == expected
        assert evaluate_apart(model, *sides, order=order) == expected
