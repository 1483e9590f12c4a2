import copy
import doctest
import pickle
import re

import numpy as np
import pytest

import kinhash.matches
from kinhash.errors import InvalidInputError
from kinhash.matches import Matches


@pytest.fixture
def matches():
    """Three queries with 2, 0 and 3 matches."""
    return Matches(
        np.array([0, 2, 2, 5]), np.array([7, 3, 1, 2, 9]), np.array([0, 1, 0, 0, 4], np.int32)
    )


def as_lists(matches):
    return [(ids.tolist(), distances.tolist()) for ids, distances in matches]


def test_rows_are_the_slices_between_offsets(matches):
    assert len(matches) == 3
    assert matches.counts.tolist() == [2, 0, 3]
    assert as_lists(matches) == [([7, 3], [0, 1]), ([], []), ([1, 2, 9], [0, 0, 4])]


def test_rows_count_from_the_end_too(matches):
    assert matches[-1][0].tolist() == [1, 2, 9]
    assert matches[-3][0].tolist() == [7, 3]
    assert matches[np.int64(2)][1].tolist() == [0, 0, 4]


@pytest.mark.parametrize("query", [3, -4, np.int64(3)])
def test_a_query_out_of_range_is_an_index_error_with_both_numbers(matches, query):
    with pytest.raises(IndexError, match=rf"query {query} of 3"):
        matches[query]


def test_no_queries_and_no_matches_are_fine():
    none = Matches(np.array([0]), [], [])
    assert (len(none), as_lists(none), none.counts.tolist()) == (0, [], [])
    with pytest.raises(IndexError, match="query 0 of 0"):
        none[0]
    assert as_lists(Matches(np.zeros(3, int), [], [])) == [([], []), ([], [])]


def test_arrays_have_the_documented_types():
    matches = Matches([0, 1], [5], [2])
    assert matches.offsets.dtype == np.int64
    assert matches.ids.dtype == np.int64
    assert matches.distances.dtype == np.int32


def test_arrays_are_read_only_and_the_callers_stay_writeable():
    offsets, ids, distances = np.array([0, 1]), np.array([5]), np.array([2], np.int32)
    matches = Matches(offsets, ids, distances)
    for array in (matches.offsets, matches.ids, matches.distances, *matches[0]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    for array in (offsets, ids, distances):
        array[0] = array[0]


def test_ids_may_be_strings():
    ids = np.array(["b", "a"], object)
    for given in (ids, ["b", "a"], np.array(["b", "a"])):
        matches = Matches([0, 2], given, [0, 1])
        assert matches.ids.dtype == object
        assert as_lists(matches) == [(["b", "a"], [0, 1])]
        with pytest.raises(ValueError, match="read-only"):
            matches.ids[0] = "c"
    ids[0] = "c"
    with pytest.raises(InvalidInputError, match="got None in row 1"):
        Matches([0, 2], ["a", None], [0, 1])


def test_rank_distances_are_there_if_they_were_computed(matches):
    assert matches.rank_distances is None
    ranks = np.array([3, 0, 7, 8, 1])
    ranked = Matches(matches.offsets, matches.ids, matches.distances, ranks)
    assert ranked.rank_distances.dtype == np.int32
    assert ranked.rank_distances.tolist() == ranks.tolist()
    assert as_lists(ranked) == as_lists(matches)  # a row stays a pair
    with pytest.raises(ValueError, match="read-only"):
        ranked.rank_distances[0] = 1
    ranks[0] = 4
    for other in (
        pickle.loads(pickle.dumps(ranked)),  # noqa: S301 - our own bytes
        copy.copy(ranked),
        copy.deepcopy(ranked),
    ):
        assert other.rank_distances.tolist() == ranked.rank_distances.tolist()


@pytest.mark.parametrize("ranks", [[1], [1, 2, 3], [[1, 2]], 1], ids=str)
def test_rank_distances_are_one_for_each_match(ranks):
    shape = re.escape(str(np.shape(ranks)))
    with pytest.raises(InvalidInputError, match=f"one for each of 2 matches, got shape {shape}"):
        Matches([0, 2], [5, 6], [0, 0], ranks)


def test_arrays_of_the_right_type_are_not_copied():
    ids = np.arange(5)
    assert np.shares_memory(Matches([0, 5], ids, np.zeros(5, np.int32)).ids, ids)


@pytest.mark.parametrize("offsets", [[], [1, 2], [0, 2, 1], [[0, 1]], 0], ids=str)
def test_offsets_must_start_at_zero_and_never_decrease(offsets):
    with pytest.raises(InvalidInputError, match="start at 0 and never decrease"):
        Matches(np.array(offsets, np.int64), np.zeros(2, int), np.zeros(2, int))


@pytest.mark.parametrize(
    ("ids", "distances", "message"),
    [
        ([1], [0, 0], r"end at 2 but `ids` have shape \(1,\) and `distances` \(2,\)"),
        ([1, 2], [0, 0, 0], r"end at 2 but `ids` have shape \(2,\) and `distances` \(3,\)"),
        ([[1, 2]], [0, 0], r"`ids` have shape \(1, 2\)"),
        (1, [0, 0], r"`ids` have shape \(\)"),
    ],
)
def test_ids_and_distances_must_fit_the_offsets(ids, distances, message):
    with pytest.raises(InvalidInputError, match=message):
        Matches([0, 2], ids, distances)


def test_pickles_and_copies_come_back_equal(matches):
    for other in (
        pickle.loads(pickle.dumps(matches)),  # noqa: S301 - our own bytes
        copy.copy(matches),
        copy.deepcopy(matches),
    ):
        assert as_lists(other) == as_lists(matches)


def test_repr_shows_queries_and_matches(matches):
    assert repr(matches) == "Matches(n_queries=3, n_matches=5)"


def test_matches_are_a_table_with_a_row_for_each():
    matches = Matches([0, 2, 2, 3], [7, 3, 7], [0, 1, 2])
    table = matches.to_arrow()
    assert table.to_pydict() == {"query": [0, 0, 2], "id": [7, 3, 7], "distance": [0, 1, 2]}
    named = Matches([0, 1], np.array(["sku"], object), [1], [5])
    assert named.to_arrow().to_pylist() == [
        {"query": 0, "id": "sku", "distance": 1, "rank_distance": 5}
    ]
    assert named.to_pandas().columns.tolist() == ["query", "id", "distance", "rank_distance"]
    assert Matches([0, 0], np.zeros(0, np.int64), []).to_arrow().num_rows == 0


def test_docstring_examples_run():
    result = doctest.testmod(kinhash.matches)
    assert result.attempted > 0
    assert result.failed == 0
