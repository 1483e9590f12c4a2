import numpy as np
import pytest

from kinhash import Pairs
from kinhash.errors import InvalidInputError


def test_pairs_are_immutable_and_keep_their_own_copy():
    i = np.array([0, 1])
    pairs = Pairs(i, [2, 3], [True, False])
    i[0] = 9
    assert pairs.i.tolist() == [0, 1]
    with pytest.raises(AttributeError, match="immutable"):
        pairs.i = i
    with pytest.raises(ValueError, match="read-only"):
        pairs.similar[0] = False


def test_one_flag_serves_all_pairs():
    assert Pairs([0, 1], [1, 2]).similar.tolist() == [True, True]
    assert Pairs([0, 1], [1, 2], similar=False).similar.tolist() == [False, False]


@pytest.mark.parametrize(
    ("i", "j", "similar", "message"),
    [
        ([0, 1], [1], True, "got 2, 1 and 2"),
        ([0], [0], True, "joins row 0 with itself"),
        ([-1], [0], True, "row numbers from 0, got -1"),
        ([0.5], [1], True, "row numbers, got float64"),
        ([], [], True, "at least one pair"),
        ([0], [1], [2], "only True and False"),
    ],
)
def test_unusable_pairs_are_refused_with_both_sides(i, j, similar, message):
    with pytest.raises(InvalidInputError, match=message):
        Pairs(i, j, similar)


def test_pairs_beyond_the_rows_are_refused():
    with pytest.raises(InvalidInputError, match="row 7, but `X` has 5 rows"):
        Pairs([0], [7]).check_rows(5)


def test_pairs_across_may_join_rows_of_the_same_number():
    pairs = Pairs.across([0, 1], [0, 5], [True, False])
    assert (len(pairs), repr(pairs)) == (2, "Pairs(n=2, n_similar=1)")
    pairs.check_rows(2, 6)
    with pytest.raises(InvalidInputError, match="row 5, but `X` has 4 rows"):
        pairs.check_rows(2, 4)
