"""Supervision of one modality: what labels and vectors are refused, and which count as equal."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from kinhash.errors import InvalidInputError
from kinhash.methods.supervision.rows import from_labels, label_source, nearest, pair_source


def test_labels_of_different_types_are_different_classes():
    source = from_labels([1, "1", 1, "1", 2.5], 5)
    assert source.labels.tolist() == [0, 1, 0, 1, 2]


def test_equal_labels_are_one_class_whatever_holds_them():
    expected = [1, 0, 1, 0]
    for labels in (
        ["b", "a", "b", "a"],
        np.array(["b", "a", "b", "a"]),
        np.array(["b", "a", "b", "a"], dtype=object),
        pd.Series(["b", "a", "b", "a"], dtype="category"),
        pl.Series(["b", "a", "b", "a"]),
        np.array([["b"], ["a"], ["b"], ["a"]]),
    ):
        assert from_labels(labels, 4).labels.tolist() == expected


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, None, 1, 0, np.nan],
        ["a", "b", float("nan"), "b", "a", None],
        np.array([0, 1, np.nan, 1, 0, np.nan]),
        pd.Series(["a", "b", None, "b", "a", None], dtype="category"),
        pl.Series([0, 1, None, 1, 0, None]),
        [[0, 1], [1, 0], [1, np.nan], [1, 1], [1, 1], [np.nan, np.nan]],
        scipy.sparse.csr_array([[0, 1], [1, 0], [1, np.nan], [1, 1], [1, 1], [np.nan, 0]]),
    ],
    ids=["list", "strings", "floats", "categories", "Polars", "tags", "sparse tags"],
)
def test_missing_labels_are_refused_with_their_rows(labels):
    message = (
        r"^`y` must have a label in each row, but 2 of 6 are missing: in rows 2, 5 \(counted from "
        r"0\)\. Drop those rows from `X` and `y`, or mark them with a label of their own\.$"
    )
    with pytest.raises(InvalidInputError, match=message):
        label_source("KSH", labels, 6)


def test_a_label_may_be_missing_where_it_is_not_needed():
    needed = np.array([True, True, False, True])
    assert from_labels(["a", "b", None, "a"], 4, needed=needed).labels[[0, 1, 3]].tolist() == [
        1,
        2,
        1,
    ]
    with pytest.raises(InvalidInputError, match="1 of 4 are missing: in row 1 "):
        from_labels(["a", None, None, "a"], 4, needed=needed)


def test_infinity_is_no_label():
    with pytest.raises(InvalidInputError, match=r"`y` contains infinity in row 1\. Drop that row"):
        from_labels([0.0, np.inf, 0.0], 3)


def test_a_single_class_is_shown_as_it_was_given():
    with pytest.raises(InvalidInputError, match="a single class, 'a'; learning"):
        from_labels(pd.Series(["a", "a"], dtype=object), 2)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.inf, r"^Input X contains infinity in row 9000, column 2\. Drop that row, or replace"),
        (-np.inf, "contains infinity in row 9000, column 2"),
        (np.nan, "contains NaN in row 9000, column 2"),
        (1e39, r"contains 1e\+39, too large for float32, in row 9000, column 2"),
    ],
)
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("threshold", [None, 0.5])
def test_vectors_alone_must_be_finite(rng, value, message, form, threshold):
    X = rng.normal(size=(10_000, 3))
    X[9000, 2] = value
    with pytest.raises(InvalidInputError, match=message):
        pair_source(form(X), None, None, n_neighbors=2, threshold=threshold, seed=0)


def test_nearest_rows_are_those_of_a_naive_search(rng):
    X = rng.normal(size=(30, 3)).astype(np.float32)
    rows, near, distances = nearest(X, 4, seed=0)
    for row in range(30):
        all_distances = np.linalg.norm(X - X[row], axis=1)
        all_distances[row] = np.inf
        expected = np.argsort(all_distances)[:4]
        assert near[rows == row].tolist() == expected.tolist()
        np.testing.assert_allclose(distances[rows == row], all_distances[expected], rtol=1e-5)
