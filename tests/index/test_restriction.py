import numpy as np
import pytest

from kinhash.codes import Codes
from kinhash.errors import InvalidInputError
from kinhash.index.hamming import HammingIndex


def packed(dense):
    return Codes.from_dense(np.asarray(dense))


def as_lists(matches):
    return [(ids.tolist(), distances.tolist()) for ids, distances in matches]


STAIRS = packed([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])


def test_allowed_ids_and_masks_restrict_every_search(stairs):
    query = packed([[0, 0, 0]])
    for allowed in ([40, 20], np.array([20, 40], np.uint8), [False, True, False, True]):
        assert as_lists(stairs.search_radius(query, 3, allowed=allowed)) == [([20, 40], [1, 3])]
        assert as_lists(stairs.search_top_k(query, 1, allowed=allowed)) == [([20], [1])]
        assert stairs.search_top_k(query, 9, allowed=allowed).counts.tolist() == [2]
        assert stairs.count_radius(query, 3, allowed=allowed).tolist() == [[0, 1, 0, 1]]


def test_allowed_ids_that_are_not_stored_are_ignored(stairs):
    query = packed([[0, 0, 0]])
    for unknown in (11, -1, 2**40, -(2**63)):
        assert stairs.search_radius(query, 3, allowed=[unknown, 10, 10]).ids.tolist() == [10]
        assert stairs.search_top_k(query, 3, allowed=[unknown]).counts.tolist() == [0]


def test_an_allowed_id_beyond_int64_matches_no_negative_one():
    index = HammingIndex(STAIRS, ids=[-1, -2, -3, -4])
    allowed = np.array([2**64 - 1], np.uint64)  # -1, if it were cut to int64
    with pytest.raises(InvalidInputError, match=r"`allowed` must fit into int64, got 184467440737"):
        index.search_radius(STAIRS, 3, allowed=allowed)


def test_nothing_allowed_finds_nothing(stairs):
    for allowed in ([], np.zeros(4, bool)):
        assert stairs.search_radius(STAIRS, 3, allowed=allowed).counts.tolist() == [0] * 4
        assert stairs.search_top_k(STAIRS, 3, allowed=allowed).counts.tolist() == [0] * 4
        assert stairs.count_radius(STAIRS, 1, allowed=allowed).tolist() == [[0, 0]] * 4


def test_a_removed_item_is_not_allowed_back(stairs):
    stairs.remove([20])
    assert stairs.search_radius(STAIRS, 3, allowed=[20]).counts.tolist() == [0] * 4
    mask = [True, False, True]  # over 10, 30, 40
    assert stairs.search_radius(STAIRS[:1], 3, allowed=mask).ids.tolist() == [10, 40]


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        ([True] * 3, r"`allowed` as a mask must have shape \(4,\), .* got \(3,\)"),
        ([[True] * 4], r"must have shape \(4,\), .* got \(1, 4\)"),
        (
            [1.0],
            r"`allowed` must be integers or strings, got 1\.0 of type float in row 0",
        ),
        (10, r"`allowed` must be integers or strings, one per item, got int64 of shape \(\)"),
        ([[10]], r"got int64 of shape \(1, 1\)"),
        (
            ["10"],
            r"`allowed` must be integers, as those of the index are, got strings, such as '10'",
        ),
    ],
)
def test_a_filter_that_does_not_fit_is_refused_with_both(stairs, allowed, message):
    for search in (stairs.search_radius, stairs.search_top_k, stairs.count_radius):
        with pytest.raises(InvalidInputError, match=message):
            search(STAIRS, 1, allowed=allowed)
