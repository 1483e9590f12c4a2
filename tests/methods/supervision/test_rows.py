"""Supervision of one modality: what labels and vectors are refused, and which count as equal."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from kinhash import Pairs
from kinhash.errors import InvalidInputError
from kinhash.methods.supervision import rows
from kinhash.methods.supervision.rows import (
    from_labels,
    label_source,
    membership,
    nearest,
    pair_source,
)
from kinhash.pairs import LabelSource, MetricSource, PairSource, TagSource


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


LINE = np.array([[0.0], [1.0], [3.0], [7.0]])  # each row's nearest is the one before it


def source_of(X=LINE, y=None, pairs=None, n_neighbors=1, threshold=None):
    return pair_source(X, y, pairs, n_neighbors=n_neighbors, threshold=threshold, seed=0)


def similar_pairs(source, n_rows):
    """The pairs of rows that are similar and count, each once."""
    similar, known = source.relate(np.arange(n_rows))
    both = np.asarray(similar).astype(bool) & np.asarray(known).astype(bool)
    return {(int(a), int(b)) for a, b in zip(*np.nonzero(np.triu(both)), strict=True)}


def test_what_is_given_decides_on_the_source():
    assert isinstance(source_of(y=[0, 1, 0, 1]), LabelSource)
    assert isinstance(source_of(y=[[1, 0], [1, 0], [0, 1], [0, 1]]), TagSource)
    assert isinstance(source_of(pairs=Pairs([0], [1])), PairSource)
    assert isinstance(source_of(), PairSource)
    assert isinstance(source_of(threshold=2.0), MetricSource)


@pytest.mark.parametrize(
    "y", [[5, 7, 5, 7], ["b", "a", "b", "a"], [[1.0], [2.0], [1.0], [2.0]], [True, False] * 2]
)
def test_labels_of_any_kind_are_classes(y):
    assert similar_pairs(from_labels(y, 4), 4) == {(0, 2), (1, 3)}


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.coo_array, scipy.sparse.csr_matrix])
def test_a_matrix_with_several_columns_is_tags(form):
    tags = form(np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]))
    assert similar_pairs(from_labels(tags, 4), 4) == {(0, 1), (0, 3)}


def test_listed_pairs_are_those_of_the_user():
    source = source_of(pairs=Pairs([0, 1], [3, 2], [True, False]))
    assert similar_pairs(source, 4) == {(0, 3)}


def test_without_labels_nearest_rows_are_similar():
    assert similar_pairs(source_of(), 4) == {(0, 1), (1, 2), (2, 3)}
    assert similar_pairs(source_of(scipy.sparse.csr_array(LINE)), 4) == {(0, 1), (1, 2), (2, 3)}


def test_a_threshold_makes_all_rows_within_it_similar():
    """Neighbours only fill the batches: rows 0 and 2 are within 3 of one another, too."""
    assert similar_pairs(source_of(threshold=3.0), 4) == {(0, 1), (0, 2), (1, 2)}


def test_nearest_rows_and_their_distances_by_hand():
    left, right, distances = nearest(LINE, 2, seed=0)
    assert left.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert right.tolist() == [1, 2, 0, 2, 1, 0, 2, 1]
    assert distances.tolist() == [1, 3, 1, 2, 2, 3, 4, 6]


def test_no_row_has_more_neighbours_than_there_are_others():
    assert len(nearest(LINE, 10, seed=0)[0]) == 4 * 3


def test_of_many_rows_a_part_is_looked_at(rng, monkeypatch):
    monkeypatch.setattr(rows, "MAX_NEIGHBOUR_ROWS", 5)
    X = rng.normal(size=(50, 2))
    left, right, distances = nearest(X, 2, seed=3)
    assert len(np.unique(left)) == 5
    assert set(right) <= set(left)
    assert np.allclose(distances, np.linalg.norm(X[left] - X[right], axis=1), atol=1e-6)
    assert np.array_equal(nearest(X, 2, seed=3)[0], left)
    assert not np.array_equal(nearest(X, 2, seed=4)[0], left)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1, 0], "`y` has 3 labels but `X` has 4 rows"),
        (7, "`y` has 0 labels but `X` has 4 rows"),
        (["cat"] * 4, "single class, 'cat'; learning codes needs at least two"),
        (range(4), "4 classes of one row each"),
        (np.full((4, 3), 2), "must hold only 0 and 1"),
        (np.full((4, 3), "tag"), "must hold only 0 and 1"),
        (np.eye(4), "no two rows a tag in common"),
        (np.zeros((4, 2, 2)), r"0/1 matrix, got shape \(4, 2, 2\)"),
        (scipy.sparse.csr_array(np.ones((4, 1))), r"0/1 matrix, got shape \(4, 1\)"),
    ],
)
def test_unusable_labels_are_refused(y, message):
    with pytest.raises(InvalidInputError, match=message):
        from_labels(y, 4)


def test_only_who_can_learn_from_vectors_alone_is_told_to_leave_labels_out():
    with pytest.raises(InvalidInputError, match="or leave `y` out to learn from the vectors"):
        from_labels([1] * 4, 4)
    with pytest.raises(InvalidInputError, match=r"Add rows of other classes\.$"):
        label_source("KSH", [1] * 4, 4)
    with pytest.raises(InvalidInputError, match=r"KSH requires y to be passed, .* such as AGH"):
        label_source("KSH", None, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": [0, 0, 1, 1], "pairs": Pairs([0], [1])}, "either `y` or `pairs`, got both"),
        ({"pairs": [(0, 1)]}, r"must be kinhash\.Pairs, got list"),
        ({"pairs": Pairs([0], [9])}, "row 9, but `X` has 4 rows"),
        ({"pairs": Pairs([0], [1], similar=False)}, "no similar pair"),
        ({"threshold": 0.5}, "within `threshold` 0.5; the nearest two are 1 apart. Raise it"),
        ({"threshold": 9, "n_neighbors": 3}, "`threshold` 9 .*; the farthest two are 7 apart"),
    ],
)
def test_unusable_supervision_is_refused_with_both_sides(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        source_of(**arguments)


def test_membership_has_a_one_for_each_class_or_tag_of_a_row():
    assert membership(from_labels(["b", "a", "b"], 3)).tolist() == [[0, 1], [1, 0], [0, 1]]
    tags = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 0]])
    assert membership(from_labels(tags, 3)).tolist() == tags.tolist()
    assert membership(from_labels(scipy.sparse.csr_array(tags), 3)).dtype == np.uint8
