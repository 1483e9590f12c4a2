import doctest
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import kinhash
from kinhash import Codes, MultimodalSparseHash
from kinhash.datasets import Dataset
from kinhash.errors import InvalidInputError
from kinhash.evaluation.neighbours import evaluate_method_by_neighbours
from kinhash.evaluation.protocol import evaluate_method, evaluate_raw
from kinhash.methods import ITQ, KSH, LSH, ClassCode, Nested
from kinhash.studies import side_by_side


class Signs:
    """A method of a user's own."""

    def __init__(self, n_bits=4):
        self.n_bits = n_bits

    def fit(self, X):
        self.fitted = len(X)

    def encode(self, X):
        return Codes.from_dense(X[:, : self.n_bits] > 0)


@pytest.fixture
def items(rng):
    labels = np.arange(90) % 3
    X = rng.normal(size=(3, 6))[labels] * 2 + rng.normal(size=(90, 6))
    return X.astype(np.float32), labels


def test_each_row_is_what_the_protocol_measures(items):
    X, y = items
    found = kinhash.compare(
        ["lsh", ITQ, KSH(8, n_anchors=20), "l2", "cosine"], X, y, n_bits=5, seed=2, n_query=4
    )
    data = Dataset("X", X, labels=y)
    part = data.split(2, n_query=4)
    methods = LSH(5, seed=2), ITQ(5, seed=2), KSH(8, n_anchors=20)
    expected = [evaluate_method(one, data, part, at=(10,)).metrics for one in methods]
    expected += [evaluate_raw(data, part, at=(10,), metric=one)[0] for one in ("l2", "cosine")]
    assert [(row["method"], row["n_bits"]) for row in found] == [
        ("LSH", 5),
        ("ITQ", 5),
        ("KSH, n_anchors 20", 8),
        ("L2", None),
        ("cosine", None),
    ]
    for row, metrics in zip(found, expected, strict=True):
        measured = {key: row[key] for key in row if key in metrics}
        assert measured == {key: metrics[key] for key in measured}
        assert {"map", "mp@10"} <= measured.keys()
    assert [*found[0]][:6] == ["method", "n_bits", "map", "mp@10", "f1@r0", "f1@r2"]
    assert {"unique_codes", "mean_active", "fit_seconds"} <= found[0].keys()


def test_without_labels_the_true_neighbours_count(items):
    X, _ = items
    found = kinhash.compare(["itq", "l2"], X, n_bits=4, at=[15], radii=[1], metric="l2")
    data = Dataset("X", X)
    expected = evaluate_method_by_neighbours(
        ITQ(4), data, data.split(0), radii=[1], at=[15], metric="l2"
    ).metrics
    for key in ("recall@15", "recall@r1", "mean_matches@r1", "unique_codes"):
        assert found[0][key] == expected[key]
    assert found[1]["recall@15"] == 1


def test_methods_of_the_users_own_may_be_classes_instances_and_import_paths(items, monkeypatch):
    X, y = items
    monkeypatch.setitem(sys.modules, "own_of_side_by_side", sys.modules[__name__])
    instance = Signs(3)
    found = kinhash.compare(["own_of_side_by_side:Signs", Signs, instance], X, y, n_bits=5)
    assert [(row["method"], row["n_bits"]) for row in found] == [
        ("Signs", 5),
        ("Signs", 5),
        ("Signs", 3),
    ]
    assert found[0]["map"] == found[1]["map"] != found[2]["map"]
    assert not hasattr(instance, "fitted")  # a copy was fitted


def test_instances_are_named_by_what_they_set_and_stay_unfitted(items):
    X, y = items
    nested = Nested(ClassCode(levels=2), ITQ(), n_bits=10, n_rank_bits=4)
    found = kinhash.compare([nested, LSH(7, seed=5)], X, y)
    assert [row["method"] for row in found] == [
        "Nested (ClassCode; ITQ), n_rank_bits 4",
        "LSH",
    ]
    assert [row["n_bits"] for row in found] == [10, 7]
    assert not hasattr(nested, "bucket_")


def test_labels_may_be_of_any_kind(items):
    X, y = items
    names = np.array(["ape", "bee", "cat"])[y]
    tags = np.eye(3, dtype=int)[y]
    tables = [
        kinhash.compare(["lsh"], given, labels, n_bits=8)
        for given, labels in (
            (X, y),
            (X.tolist(), names.tolist()),
            (pd.DataFrame(X), pd.Series(names)),
        )
    ]
    assert len({table[0]["map"] for table in tables}) == 1
    tagged = [
        kinhash.compare(["lsh"], X, labels, n_bits=8)[0]["map"]
        for labels in (tags, scipy.sparse.csr_array(tags))
    ]
    assert tagged[0] == tagged[1]


def test_the_order_of_rank_bits_is_passed_on(items):
    X, y = items
    nested = Nested(LSH(), ITQ(), n_bits=7, n_rank_bits=4)
    maps = [kinhash.compare([nested], X, y, order=order)[0]["map"] for order in ("nested", "total")]
    assert maps[0] != maps[1]


def test_it_prints_as_a_table_and_makes_a_frame(items, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    found = kinhash.compare(["lsh", "l2"], *items, n_bits=8)
    lines = str(found).splitlines()
    assert lines[0].split()[:4] == ["method", "bits", "mAP", "precision"]
    assert lines[2].split()[:2] == ["LSH", "8"]
    assert repr(found) == str(found)
    assert pd.DataFrame(found)["map"].tolist() == [row["map"] for row in found]


def test_a_method_that_refuses_the_data_is_left_out_unless_all_do(items):
    X, _ = items
    with pytest.warns(UserWarning, match="KSH is left out: KSH requires y"):
        found = kinhash.compare(["ksh", "lsh"], X, n_bits=4)
    assert [row["method"] for row in found] == ["LSH"]
    with pytest.raises(InvalidInputError, match="KSH is left out: KSH requires y"):
        kinhash.compare(["ksh"], X, n_bits=4)


class NoEncode:
    def fit(self, X): ...


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lsh", [[1.0]]), r"`methods` must be a list, such as \[\"lsh\"\], got 'lsh'"),
        (([], [[1.0]]), "`methods` must name at least one method"),
        ((["lhs"], [[1.0]]), "Unknown method 'lhs'.*lsh"),
        ((["nowhere:Signs"], [[1.0]]), "Module 'nowhere' of method .* cannot be imported"),
        (([NoEncode], [[1.0]]), r"'NoEncode' must have the methods fit.*, but has no encode"),
        (([NoEncode()], [[1.0]]), "but has no encode"),
        (([3], [[1.0]]), "'int' must have the methods fit.*, but has no fit and no encode"),
        (([MultimodalSparseHash], [[1.0]]), "MultimodalSparseHash takes several modalities"),
        (([MultimodalSparseHash()], [[1.0]]), "MultimodalSparseHash takes several modalities"),
        ((["lsh"], scipy.sparse.eye_array(9).tocsr()), "`X` must be dense, got a sparse matrix"),
        ((["lsh"], [1.0, 2.0]), r"`X` must hold numbers of shape \(n, d\)"),
        ((["lsh"], [[1.0], [np.nan]]), "`X` must be finite, but row 1 has NaN"),
        ((["lsh"], np.ones((9, 2)), [1, 2]), "`X` has 9 rows but `y` has 2"),
        ((["lsh"], np.ones((2, 2)), [1, None]), "`y` must have a label in each row"),
        ((["lsh"], np.ones((2, 2)), [[1, 2], [0, 1]]), "a matrix of 0 and 1 with a column per tag"),
        ((["lsh"], np.ones((4, 2))), "A split needs at least 6 items"),
    ],
)
def test_what_cannot_be_compared_is_said(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        kinhash.compare(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bits": 0}, "`n_bits` must be an integer of at least 1, got 0"),
        ({"seed": -1}, "`seed` must be an integer of at least 0, got -1"),
        ({"order": "sum"}, "Unknown order 'sum'"),
        ({"metric": "dot"}, "Unknown metric 'dot'"),
        ({"radii": [-1]}, "`radii` must be a sequence of integers of at least 0"),
        ({"at": [0]}, "`at` must be a sequence of integers of at least 1"),
        ({"n_query": 0}, "`n_query` must be an integer of at least 1, got 0"),
    ],
)
def test_options_out_of_range_are_refused(items, options, message):
    with pytest.raises(InvalidInputError, match=message):
        kinhash.compare(["lsh"], *items, **({"n_bits": 4} | options))


def test_examples_run():
    assert doctest.testmod(side_by_side).failed == 0
