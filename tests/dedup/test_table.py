import numpy as np

from kinhash.dedup.recall import EXACT
from kinhash.dedup.table import FoundPairs, code_distances


def test_the_nearest_of_equals_has_the_lowest_rank():
    rows, others = np.array([0, 0, 2, 2, 2]), np.array([1, 3, 0, 1, 2])
    found = FoundPairs(rows, others, np.array([0.9, 0.9, 0.8, 0.95, 0.9], np.float32), EXACT)
    assert [a.tolist() for a in found.nearest(np.arange(4))] == [[0, 2], [1, 1]]
    assert [a.tolist() for a in found.nearest(np.array([9, 8, 7, 6]))] == [[0, 2], [3, 1]]


def test_distances_of_many_pairs_are_computed_in_parts():
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**63, (100, 2), np.uint64)
    rows, others = rng.integers(0, 100, (2, 70_000))
    expected = np.bitwise_count(words[rows] ^ words[others]).sum(axis=1)
    np.testing.assert_array_equal(code_distances(words, rows, words, others), expected)
