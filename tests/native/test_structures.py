"""What the core calls by name: plans and arrays."""

import array

import numpy as np
import pytest

from kinhash import _native
from kinhash.codes import Codes
from kinhash.index.hamming import HammingIndex


def test_an_unknown_structure_is_refused_with_the_known_ones():
    codes = Codes.from_dense([[0, 1], [1, 1]])
    searcher = HammingIndex(codes)._state.searcher
    message = (
        r"Unknown structure 'hash'\. "
        r"Known: lookup, deletions, chunks, groups, scan, neighbours\."
    )
    with pytest.raises(ValueError, match=message):
        searcher.radius(codes.words, 1, sort=False, n_threads=1, structure="hash")
    with pytest.raises(ValueError, match=message):
        searcher.count(codes.words, np.zeros((2, 2), np.int64), n_threads=1, structure="hash")


def test_the_core_builds_just_the_arrays_and_numbers_that_it_declares():
    arrays, numbers = _native.build_segment(
        np.zeros((3, 1), np.uint64), None, 2, 4, groups=True, n_far=1, n_listed=1, budget=48.0
    )
    declared = _native.segment_arrays()
    assert {name: array.dtype.str for name, array in arrays.items()} == declared
    assert list(arrays) == list(declared)
    assert {name: type(number) for name, number in numbers.items()} == _native.segment_numbers()


def test_a_segment_without_one_of_its_arrays_is_refused():
    arrays, numbers = _native.build_segment(
        np.zeros((3, 1), np.uint64), None, 0, 0, groups=False, n_far=0, n_listed=0, budget=0.0
    )
    for name in arrays:
        with pytest.raises(ValueError, match="an array is missing"):
            _native.Segment({key: arrays[key] for key in arrays if key != name}, numbers)
    for name in numbers:
        with pytest.raises(ValueError, match="a number is missing"):
            _native.Segment(arrays, {key: numbers[key] for key in numbers if key != name})


def test_a_segment_holds_the_buffers_of_its_arrays():
    """Whatever lends its memory: an array that is freed or resized would be read after its end."""
    arrays, numbers = _native.build_segment(
        np.zeros((3, 1), np.uint64), None, 0, 0, groups=False, n_far=0, n_listed=0, budget=0.0
    )
    lent = array.array("Q", arrays["codes"].tolist())
    mask = bytearray([0b101])
    segment = _native.Segment({**arrays, "codes": lent}, numbers).with_alive(mask)
    for buffer in (lent, mask):
        with pytest.raises(BufferError):
            buffer.extend(buffer)
    assert segment.n_alive() == 2
    del segment
    lent.extend(lent)
    mask.extend(mask)
