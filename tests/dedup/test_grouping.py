import numpy as np

from kinhash.dedup.grouping import members_of_groups


def test_identical_rows_count_as_neighbours_and_join_their_groups():
    # Rows 1 and 4 are 0 again; 3 is linked with 0, and 2 with 3.
    first = np.array([0, 0, 2, 3, 0, 5])
    rows, others = np.array([3, 3]), np.array([0, 2])
    ranks = np.arange(6)
    # 3 has four neighbours, 0, 1, 4 and 2; 0 has three.
    members, stands_for = members_of_groups(rows, others, first, ranks, "star")
    assert members.tolist() == [0, 1, 2, 3, 4]
    assert stands_for.tolist() == [3] * 5
    # Without the link to 2, all have three, and 0 comes first.
    members, stands_for = members_of_groups(rows[:1], others[:1], first, ranks, "star")
    assert members.tolist() == [0, 1, 3, 4]
    assert stands_for.tolist() == [0] * 4


def test_the_lowest_rank_wins_ties():
    first, ranks = np.arange(4), np.array([3, 2, 1, 0])
    members, stands_for = members_of_groups(
        np.array([1, 3]), np.array([0, 2]), first, ranks, "connected"
    )
    assert members.tolist() == [0, 1, 2, 3]
    assert stands_for.tolist() == [1, 1, 3, 3]


def test_rows_without_links_are_in_no_group():
    none = np.zeros(0, np.int64)
    members, stands_for = members_of_groups(none, none, np.arange(3), np.arange(3), "star")
    assert members.size == stands_for.size == 0
