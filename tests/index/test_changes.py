import re

import numpy as np
import pytest

from kinhash.codes import Codes
from kinhash.errors import InvalidInputError
from kinhash.index.hamming import HammingIndex


def packed(dense):
    return Codes.from_dense(np.asarray(dense))


def as_lists(matches):
    return [(ids.tolist(), distances.tolist()) for ids, distances in matches]


def random_codes(n):
    rng = np.random.default_rng(0)
    dense = np.zeros((n, 32), np.int8)
    np.put_along_axis(dense, rng.integers(0, 32, (n, 5)), 1, axis=1)
    return packed(dense)


def everything(index):
    """Return all that an index holds, in a form to compare."""
    buckets = sorted((code.words.tobytes(), ids.tolist()) for code, ids in index.iter_buckets())
    origin = packed(np.zeros((1, index.n_bits)))
    return as_lists(index.search_radius(origin, 10**6, sort=True)), buckets, index.ids.tolist()


STAIRS = packed([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])


def test_changes_are_seen_by_the_next_search(stairs):
    query = packed([[1, 1, 1]])
    stairs.add(packed([[1, 1, 1]]), [5])
    assert as_lists(stairs.search_radius(query, 0, sort=True)) == [([5, 40], [0, 0])]
    stairs.remove([40])
    assert as_lists(stairs.search_radius(query, 1, sort=True)) == [([5, 30], [0, 1])]
    stairs.update(packed([[1, 1, 1], [0, 0, 0]]), [10, 5])
    assert as_lists(stairs.search_radius(query, 1, sort=True)) == [([10, 30], [0, 1])]
    assert (len(stairs), stairs.ids.tolist()) == (4, [5, 10, 20, 30])


def test_an_id_may_come_back_after_its_removal(stairs):
    stairs.remove([10])
    stairs.add(packed([[1, 1, 1]]), [10])
    assert stairs.search_radius(packed([[1, 1, 1]]), 0, sort=True).ids.tolist() == [10, 40]
    assert stairs.search_radius(packed([[0, 0, 0]]), 0).ids.tolist() == []


def test_changes_of_nothing_change_nothing(stairs):
    before = everything(stairs)
    stairs.add(STAIRS[:0], [])
    stairs.remove([])
    stairs.update(STAIRS[:0], np.zeros(0, np.int64))
    assert everything(stairs) == before


def test_small_additions_are_merged_into_few_segments():
    codes = random_codes(600)
    index = HammingIndex(codes[:0])
    for i in range(600):
        index.add(codes[i], [i])
        assert len(index._state.segments) <= 11  # each at least half the one before
    assert everything(index) == everything(HammingIndex(codes))


def test_a_large_part_is_built_anew_once_a_quarter_has_gone():
    codes = random_codes(1000)
    index = HammingIndex(codes)
    size = index.n_bytes
    index.remove(np.arange(200))
    assert index._state.segments[0].alive is not None
    index.remove(np.arange(200, 600))
    assert [segment.alive is None for segment in index._state.segments] == [True]
    assert index.n_bytes < size
    assert everything(index) == everything(HammingIndex(codes[600:], np.arange(600, 1000)))


def test_the_callers_arrays_are_neither_kept_nor_changed():
    ids = np.array([3, 1, 2, 9])
    index = HammingIndex(STAIRS, ids)
    before = everything(index)
    assert ids.tolist() == [3, 1, 2, 9]
    ids[:] = 0
    more = np.array([7])
    index.add(STAIRS[:1], more)
    more[:] = 3
    index.remove([7])
    assert everything(index) == before


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1, 2, 1, 3], r"`ids` hold 1 twice, in rows 0 and 2\. Give each item an id of its own\."),
        ([1, 2, 3], r"`ids` must be one for each of 4 codes, got 3\."),
        ([1, 2, 3, 4, 5], r"`ids` must be one for each of 4 codes, got 5\."),
        ([], r"`ids` must be one for each of 4 codes, got 0\."),
        ([[1, 2, 3, 4]], r"must be integers or strings, one per item, got int64 of shape \(1, 4\)"),
        (7, r"got int64 of shape \(\)"),
        ([1.0, 2.0, 3.0, 4.0], r"must be integers or strings, got 1\.0 of type float in row 0"),
        (np.arange(4.0), r"got float64 of shape \(4,\)"),
        ([True, False, True, False], r"got bool of shape \(4,\)"),
        ([1, 2, 3, 2**70], rf"must fit into int64, got {2**70} in row 3"),
        ([1, 2, None, 3], "must have an id in each row, got None in row 2"),
        ([1, 2, "3", 4], "must be all integers or all strings, got 1 in row 0 and '3' in row 2"),
        ([1, 2, float("nan"), 4], "must have an id in each row, got nan in row 2"),
        (np.array([1, 2, 3, 2**63], np.uint64), r"must fit into int64, got 9223372036854775808"),
    ],
)
def test_ids_that_do_not_fit_are_refused_with_both(stairs, ids, message):
    before = everything(stairs)
    with pytest.raises(InvalidInputError, match=message):
        HammingIndex(STAIRS, ids)
    with pytest.raises(InvalidInputError, match=message):
        stairs.add(STAIRS, ids)
    with pytest.raises(InvalidInputError, match=message):
        stairs.update(STAIRS, ids)
    assert everything(stairs) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda index: index.add(STAIRS[:3], [1, 2, 30]),
        lambda index: index.add(STAIRS[:1], [10]),
    ],
)
def test_adding_a_stored_id_is_refused(stairs, change):
    before = everything(stairs)
    with pytest.raises(InvalidInputError, match=r"`ids` hold [13]0, which is in the index already"):
        change(stairs)
    assert everything(stairs) == before


@pytest.mark.parametrize("unknown", [11, -1, 2**40, -(2**63), 2**63 - 1])
def test_an_unknown_id_can_be_neither_removed_nor_updated(stairs, unknown):
    before = everything(stairs)
    message = f"`ids` hold {unknown}, which is not in the index. Nothing was changed."
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        stairs.remove([10, 20, 30, unknown])
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        stairs.update(STAIRS[:2], [10, unknown])
    assert everything(stairs) == before


def test_an_id_can_be_removed_once_only(stairs):
    with pytest.raises(InvalidInputError, match="`ids` hold 10 twice"):
        stairs.remove([10, 20, 10])
    assert len(stairs) == 4
    stairs.remove([10])
    with pytest.raises(InvalidInputError, match="`ids` hold 10, which is not in the index"):
        stairs.remove([10])
    with pytest.raises(InvalidInputError, match=r"got 10\.0 of type float in row 0"):
        stairs.remove([10.0])
    assert len(stairs) == 3
