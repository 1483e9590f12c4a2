import re

import numpy as np
import pytest

from kinhash.codes import Codes
from kinhash.errors import InvalidInputError


def packed(dense):
    return Codes.from_dense(np.asarray(dense))


def as_lists(matches):
    return [(ids.tolist(), distances.tolist()) for ids, distances in matches]


STAIRS = packed([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])


@pytest.mark.parametrize("radius", [-1, 1.5, 1.0, True, np.bool_(1), "1", None, np.float64(2)])
def test_a_radius_that_is_no_count_is_refused(stairs, radius):
    message = re.escape(f"`radius` must be an integer of at least 0, got {radius!r}.")
    with pytest.raises(InvalidInputError, match=message):
        stairs.count_radius(STAIRS, radius)
    none = "Give either `radius` or `min_precision`, got none"
    with pytest.raises(InvalidInputError, match=none if radius is None else message):
        stairs.search_radius(STAIRS, radius)
    with pytest.raises(InvalidInputError, match=message):
        stairs.duplicates(radius)
    with pytest.raises(InvalidInputError, match=r"Unknown linkage 'stars'\. Did you mean 'star'\?"):
        stairs.duplicates(linkage="stars")


@pytest.mark.parametrize("k", [0, -1, 2.5, 1.0, True, "1", None])
def test_a_k_that_is_no_positive_count_is_refused(stairs, k):
    message = re.escape(f"`k` must be an integer of at least 1, got {k!r}.")
    with pytest.raises(InvalidInputError, match=message):
        stairs.search_top_k(STAIRS, k)


@pytest.mark.parametrize("n_threads", [0, -1, 1.5, True])
def test_threads_that_are_no_positive_count_are_refused(stairs, n_threads):
    message = re.escape(f"`n_threads` must be an integer of at least 1, got {n_threads!r}.")
    for search in (stairs.search_radius, stairs.search_top_k, stairs.count_radius):
        with pytest.raises(InvalidInputError, match=message):
            search(STAIRS, 1, n_threads=n_threads)


@pytest.mark.parametrize("wrong", [{"radius": -1}, {"radius": 1.5}, {"radius": 1, "n_threads": 0}])
def test_what_is_wrong_is_said_before_an_earlier_answer_is_given_up(stairs, wrong):
    earlier = stairs.search_radius(STAIRS, 1)
    before = as_lists(earlier)
    with pytest.raises(InvalidInputError) as refused:
        stairs.search_radius(STAIRS, **wrong, out=earlier)
    assert as_lists(earlier) == before
    assert refused.value.__context__ is None
    with pytest.raises(InvalidInputError) as refused:
        stairs.search_radius(STAIRS, **wrong)
    assert refused.value.__context__ is None


@pytest.mark.parametrize("radius", [np.int8(3), np.uint64(3), 10**30])
@pytest.mark.parametrize("sort", [np.True_, 1])
def test_other_kinds_of_whole_numbers_will_do(stairs, radius, sort):
    found = stairs.search_radius(STAIRS, radius, sort=sort, n_threads=np.int32(1))
    assert as_lists(found) == as_lists(stairs.search_radius(STAIRS, min(int(radius), 4), sort=True))
