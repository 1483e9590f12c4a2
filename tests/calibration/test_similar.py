"""Which rows are similar."""

import numpy as np
import scipy.sparse

from kinhash import Pairs
from kinhash.calibration.similar import related


def relation(similar, n):
    """The whole relation, from two chunks."""
    found = related(similar, n, np.random.default_rng(0))
    parts = [found.relate(0, 2), found.relate(2, n - 2)]
    return [np.concatenate(side) for side in zip(*parts, strict=True)]


def test_no_row_is_related_to_itself():
    for similar in (["a", "b", "a"], np.eye(3, dtype=int)[[0, 1, 0]], Pairs([0], [2])):
        same, other = relation(similar, 3)
        assert same.tolist() == [[False, False, True], [False] * 3, [True, False, False]]
        assert other.tolist() == [[False, True, False], [True, False, True], [False, True, False]]


def test_sparse_tags_are_taken():
    tags = scipy.sparse.csr_array(np.array([[1, 0, 1], [0, 1, 1], [0, 1, 0], [1, 0, 0]]))
    same, _ = relation(tags, 4)
    assert same.astype(int).tolist() == [[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]]


def test_one_column_of_labels_is_classes():
    same, _ = relation(np.array([["x"], ["y"], ["x"]]), 3)
    assert same.astype(int).tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
