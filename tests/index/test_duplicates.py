from unittest import mock

import numpy as np
import pytest

from kinhash.index import duplicates
from kinhash.index.memory import structures
from kinhash.index.segments import Segment

# 000 twice, 001, 111 twice and 110; ids do not ascend with the codes
WORDS = np.array([[0b111], [0b000], [0b001], [0b000], [0b110], [0b111]], np.uint64)


@pytest.mark.parametrize("shift", [0, 2**40])
@pytest.mark.parametrize(
    ("radius", "expected"),
    [(0, [[1, 9], [3, 8]]), (1, [[1, 2, 9], [3, 5, 8]]), (2, [[1, 2, 3, 5, 8, 9]])],
)
def test_groups_are_connected_components_in_the_order_of_their_ids(shift, radius, expected):
    ids = np.array([3, 9, 5, 1, 2, 8])
    ids[[2, 4]] = ids[[4, 2]]  # 001 is 2, 110 is 5
    segment = Segment.build(WORDS, ids + shift, structures("balanced"))
    found = duplicates.groups(segment, radius, structures("balanced"))
    assert [(group - shift).tolist() for group in found] == expected
    assert all(group.dtype == np.int64 for group in found)


def test_an_empty_segment_has_no_groups():
    segment = Segment.build(WORDS[:0], np.zeros(0, np.int64), structures("lean"))
    for radius in (0, 2):
        assert duplicates.groups(segment, radius, structures("lean")) == []


def test_groups_do_not_depend_on_how_many_codes_are_looked_up_at_a_time():
    words = np.random.default_rng(0).integers(0, 2**12, (300, 1)).astype(np.uint64)
    segment = Segment.build(words, np.arange(300), structures("fast"))
    whole = [group.tolist() for group in duplicates.groups(segment, 1, structures("fast"))]
    assert len(whole) > 5
    with mock.patch.object(duplicates, "QUERIES", 7):
        found = duplicates.groups(segment, 1, structures("fast"))
    assert [group.tolist() for group in found] == whole
