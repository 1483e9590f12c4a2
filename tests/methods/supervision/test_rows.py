import numpy as np
import pytest
import scipy.sparse

from kinhash import Pairs
from kinhash.errors import InvalidInputError
from kinhash.methods.supervision import rows
from kinhash.methods.supervision.rows import from_labels, label_source, nearest, pair_source
from kinhash.pairs import LabelSource, MetricSource, PairSource, TagSource

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
