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
    ("radius", "linkage", "expected"),
    [
        (0, "star", [[1, 9], [3, 8]]),
        (0, "connected", [[1, 9], [3, 8]]),
        # Each item of 000 and 111 has two neighbours, as have 001 and 110: ties go to 1, then to 3.
        (1, "star", [[1, 2, 9], [3, 5, 8]]),
        (1, "connected", [[1, 2, 9], [3, 5, 8]]),
        # 001 and 110 have four each, all items of 000 and 111: 001 takes them, and 110 has nobody.
        (2, "star", [[1, 2, 3, 8, 9]]),
        (2, "connected", [[1, 2, 3, 5, 8, 9]]),
    ],
)
def test_groups_go_by_their_lowest_id(shift, radius, linkage, expected):
    ids = np.array([3, 9, 2, 1, 5, 8])  # 001 is 2, 110 is 5
    segment = Segment.build(WORDS, ids + shift, structures("balanced"))
    found = duplicates.groups(segment, radius, structures("balanced"), linkage)
    assert [sorted((group - shift).tolist()) for group in found] == expected
    assert found.id.dtype == found.representative.dtype == np.int64


def test_distances_are_those_from_the_representative():
    segment = Segment.build(WORDS, np.array([3, 9, 2, 1, 5, 8]), structures("balanced"))
    found = duplicates.groups(segment, 1, structures("balanced"))
    assert found.id.tolist() == [1, 2, 9, 3, 5, 8]
    assert found.representative.tolist() == [1, 1, 1, 3, 3, 3]
    assert found.distance.tolist() == [0, 1, 0, 0, 1, 0]
    # 110 is linked with 001 by way of the others.
    found = duplicates.groups(segment, 2, structures("balanced"), "connected")
    assert found.id.tolist() == [2, 1, 3, 5, 8, 9]
    assert found.distance.tolist() == [0, 1, 2, 3, 2, 1]


def test_an_empty_segment_has_no_groups():
    segment = Segment.build(WORDS[:0], np.zeros(0, np.int64), structures("lean"))
    for radius in (0, 2):
        assert len(duplicates.groups(segment, radius, structures("lean"))) == 0


def test_groups_do_not_depend_on_how_many_codes_are_looked_up_at_a_time():
    words = np.random.default_rng(0).integers(0, 2**12, (300, 1)).astype(np.uint64)
    segment = Segment.build(words, np.arange(300), structures("fast"))
    whole = [group.tolist() for group in duplicates.groups(segment, 1, structures("fast"))]
    assert len(whole) > 5
    with mock.patch.object(duplicates, "QUERIES", 7):
        found = duplicates.groups(segment, 1, structures("fast"))
    assert [group.tolist() for group in found] == whole
