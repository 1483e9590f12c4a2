import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinhash import _native
from kinhash.errors import LargeGroupWarning
from kinhash.linkage import Groups, representatives, warn_if_large

# 0 - 1 - 2 - 3, and 4 alone
CHAIN = np.array([0, 1, 2]), np.array([1, 2, 3])


def neighbours(left, right, n):
    near = [set() for _ in range(n)]
    for i, j in zip(left, right, strict=True):
        near[i].add(j)
        near[j].add(i)
    return near


def naive_star(near, counts, ranks):
    chosen = {}
    for item in sorted(range(len(near)), key=lambda i: (-counts[i], ranks[i])):
        if item not in chosen:
            chosen |= {item: item} | {j: item for j in near[item] if j not in chosen}
    return [chosen[i] for i in range(len(near))]


def naive_components(near, counts, ranks):
    chosen = {}
    for item in range(len(near)):
        group, border = set(), {item}
        while border:
            group |= border
            border = {j for i in border for j in near[i]} - group
        chosen[item] = min(group, key=lambda i: (-counts[i], ranks[i]))
    return [chosen[i] for i in range(len(near))]


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 14))
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] != p[1])
    links = draw(st.sets(pairs.map(lambda p: tuple(sorted(p))), max_size=25))
    flipped = draw(st.booleans())
    left, right = np.array(sorted(links), np.int64).reshape(-1, 2).T[:: -1 if flipped else 1].copy()
    weights = np.array(draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)))
    return n, left, right, weights, np.array(draw(st.permutations(range(n))))


@settings(deadline=None)
@given(graphs())
def test_groups_equal_naive_loops(graph):
    n, left, right, weights, ranks = graph
    near = neighbours(left, right, n)
    for linkage, naive in (("star", naive_star), ("connected", naive_components)):
        found = representatives(left, right, n, linkage=linkage)
        assert found.tolist() == naive(near, [len(some) for some in near], range(n))
        found = representatives(left, right, n, linkage=linkage, weights=weights, ranks=ranks)
        counts = [weights[i] - 1 + sum(weights[j] for j in near[i]) for i in range(n)]
        assert found.tolist() == naive(near, counts, ranks)


def test_a_star_takes_direct_neighbours_only():
    # 1 and 2 have two neighbours each, so 1 is first; then 3 has nobody left.
    assert representatives(*CHAIN, 5).tolist() == [1, 1, 1, 3, 4]
    assert representatives(*CHAIN, 5, ranks=np.array([0, 4, 1, 2, 3])).tolist() == [0, 2, 2, 2, 4]


def test_neighbours_are_counted_once():
    # 0 has 4 neighbours, 5 and 6 have 3 each. After 0 has taken 1 to 4, 5 has one left and 6 two,
    # and 5 still goes first.
    left = np.array([0, 0, 0, 0, 5, 5, 5, 6, 6])
    right = np.array([1, 2, 3, 4, 3, 4, 7, 7, 8])
    left, right = np.append(left, 6), np.append(right, 2)
    assert representatives(left, right, 9).tolist() == [0, 0, 0, 0, 0, 5, 6, 5, 6]


def test_connected_groups_have_one_representative():
    assert representatives(*CHAIN, 5, linkage="connected").tolist() == [1, 1, 1, 1, 4]


def test_identical_items_count_as_neighbours():
    # Three items behind 3 are two neighbours of each other, and three of 2; so 2 has four, 3 has
    # three, and 2 goes first.
    weights = np.array([1, 1, 1, 3, 1])
    assert representatives(*CHAIN, 5, weights=weights).tolist() == [0, 2, 2, 2, 4]


def test_links_to_items_that_are_not_there_are_refused():
    one, two = np.array([0]), np.array([2])
    for left, right, order, message in (
        (one, two, [0, 1], "there is no such item"),
        (-1 - one, one, [0, 1], "there is no such item"),
        (one, one, [0, 0], "an item is missing in the order"),
        (one, one, [0, 2], "there is no such item"),
        (one, np.array([0, 1]), [0, 1], "left and right differ in length"),
        (one, one, [0], "order and representatives differ in length"),
    ):
        with pytest.raises(ValueError, match=message):
            _native.star(left, right, np.array(order), np.empty(2, np.int64))


def test_no_links_are_no_groups():
    none = np.zeros(0, np.int64)
    for linkage in ("star", "connected"):
        assert representatives(none, none, 3, linkage=linkage).tolist() == [0, 1, 2]
        assert representatives(none, none, 0, linkage=linkage).tolist() == []


@pytest.mark.parametrize("linkage", ["star", "connected"])
def test_millions_of_links_take_seconds(linkage):
    rng = np.random.default_rng(0)
    n = 1_000_000
    left = rng.integers(0, n - 20, 3 * n)
    chosen = representatives(left, left + rng.integers(1, 20, 3 * n), n, linkage=linkage)
    assert (chosen[chosen] == chosen).all()


# Groups


@pytest.fixture
def groups():
    """{9, 4} and {6, 5, 1} around 6."""
    members, chosen = np.array([5, 9, 6, 4, 1]), np.array([6, 4, 6, 4, 6])
    return Groups.of(members, chosen, np.array([3, 1, 0, 0, 2], np.int32))


def test_groups_go_by_lowest_id_and_start_with_their_representative(groups):
    assert groups.id.tolist() == [6, 1, 5, 4, 9]
    assert groups.group.tolist() == [0, 0, 0, 1, 1]
    assert groups.representative.tolist() == [6, 6, 6, 4, 4]
    assert groups.keep.tolist() == [True, False, False, True, False]
    assert groups.distance.tolist() == [0, 2, 3, 0, 1]
    assert groups.similarity is None


def test_groups_are_a_sequence_of_ids(groups):
    assert len(groups) == 2
    assert groups.n_items == 5
    assert repr(groups) == "Groups(n_groups=2, n_items=5)"
    assert [ids.tolist() for ids in groups] == [[6, 1, 5], [4, 9]]
    assert groups[-1].tolist() == [4, 9]
    with pytest.raises(IndexError, match="group 2 of 2"):
        groups[2]


def test_no_groups_are_empty():
    none = Groups.of(np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert len(none) == none.n_items == 0
    assert list(none) == []
    assert none.to_arrow().num_rows == 0


def test_places_become_names(groups):
    named = groups.named(np.array(list("abcdefghij"), object))
    assert [ids.tolist() for ids in named] == [["g", "b", "f"], ["e", "j"]]
    assert named.representative.tolist() == ["g", "g", "g", "e", "e"]
    assert named.to_arrow().column("id").to_pylist() == ["g", "b", "f", "e", "j"]


def test_columns_that_are_not_known_are_left_out(groups):
    assert groups.to_arrow().column_names == ["id", "group", "representative", "keep", "distance"]
    frame = Groups.of(np.array([1, 2]), np.array([1, 1]), None, np.ones(2, np.float32)).to_pandas()
    assert frame.to_dict("list") == {
        "id": [1, 2],
        "group": [0, 0],
        "representative": [1, 1],
        "keep": [True, False],
        "similarity": [1.0, 1.0],
    }


def test_a_group_of_many_items_is_warned_about():
    message = re.escape("One group holds 12 of 1,100 items (1.1%). Near items are linked too")
    with pytest.warns(LargeGroupWarning, match=message):
        warn_if_large(np.array([3, 12]), 1100)
    for sizes, n in (([11], 1100), ([10], 10), ([], 5)):
        warn_if_large(np.array(sizes, np.int64), n)
