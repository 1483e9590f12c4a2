import numpy as np

from kinhash.dedup import Duplicates, Pairs
from kinhash.dedup.recall import EXACT
from kinhash.linkage import Groups


def test_a_result_counts_its_items_groups_and_what_to_drop():
    groups = Groups.of(np.array([4, 2, 3]), np.array([2, 2, 2]))
    kept = np.array([True, True, True, False, False])
    pairs = Pairs(np.array([4, 3]), np.array([2, 2]), None)
    found = Duplicates(groups, kept, pairs, EXACT, radius=3)
    assert repr(found) == "Duplicates(5 items, 1 groups, 2 to drop, radius=3)"
    assert found.n_items == 5
    assert len(found.pairs) == 2
    found = Duplicates(groups, kept, pairs, EXACT, similarity=0.925)
    assert repr(found).endswith("2 to drop, similarity=0.925)")
