import threading
from unittest import mock

import numpy as np
import pytest

from kinhash import _native
from kinhash.codes import Codes
from kinhash.index.memory import structures
from kinhash.index.segments import Segment, State

# Two items under 001, one each under 000 and 111.
WORDS = np.array([[0b100], [0b000], [0b100], [0b111]], np.uint64)
IDS = np.array([7, -3, 2, 2**40])


@pytest.fixture
def segment():
    return Segment.build(WORDS, IDS, structures("balanced"))


def test_items_of_one_code_stand_together_in_the_order_of_their_ids(segment):
    assert segment.arrays["codes"].tolist() == [0b100, 0b000, 0b111]
    assert segment.arrays["offsets"].tolist() == [0, 2, 3, 4]
    assert segment.ids.tolist() == [2, 7, -3, 2**40]
    assert (segment.n_items, segment.n_alive, segment.bounds) == (4, 4, (-3, 2**40))


def test_ids_without_a_name_are_row_numbers():
    segment = Segment.build(WORDS, None, structures("lean"))
    assert segment.ids.tolist() == [0, 2, 1, 3]
    assert segment.ids.dtype == np.uint32


@pytest.mark.parametrize("unknown", [0, -4, 2**40 + 1, 2**63 - 1, -(2**63)])
def test_positions_are_where_the_ids_stand_and_minus_one_where_there_is_none(segment, unknown):
    assert segment.positions(np.array([2**40, unknown, 2, -3, 7])).tolist() == [3, -1, 0, 2, 1]
    assert segment.positions(np.array([], np.int64)).tolist() == []


def test_no_id_is_found_in_an_empty_segment():
    empty = Segment.build(WORDS[:0], IDS[:0], structures("fast"))
    assert empty.positions(np.array([0, -1, 5])).tolist() == [-1, -1, -1]
    assert [part.tolist() for part in empty.contents()] == [[], [], []]


def test_what_is_removed_no_longer_counts_and_the_segment_before_is_as_it_was(segment):
    left = segment.without(np.array([0, 2]))
    assert (left.n_items, left.n_alive) == (4, 2)
    assert left.positions(IDS).tolist() == [1, -1, -1, 3]
    assert [part.tolist() for part in left.contents()[:2]] == [[[0b100], [0b111]], [7, 2**40]]
    assert left.alive_ids.tolist() == [7, 2**40]
    assert left.without(np.array([1])).contents()[1].tolist() == [2**40]
    assert (segment.n_alive, segment.positions(IDS).tolist()) == (4, [1, 2, 0, 3])


def test_words_of_items_are_the_codes_they_were_stored_with(segment):
    items = segment.positions(IDS)
    assert segment.words_of(items).tolist() == WORDS.tolist()


def test_a_state_searches_what_counts_in_all_of_its_segments(segment):
    more = Segment.build(WORDS[:1], np.array([5]), structures("lean"))
    state = State((segment.without(np.array([0])), more))
    assert state.n_items == 4
    query = Codes(WORDS[:1], 3).words
    answer = state.searcher.radius(query, 1, sort=True, n_threads=1)
    offsets, ids, distances, _ = _native.answer_arrays(answer)
    assert (offsets.tolist(), ids.tolist(), distances.tolist()) == ([0, 3], [5, 7, -3], [0, 0, 1])


def test_what_one_thread_computes_does_not_hold_up_others(segment):
    """A lock would stay locked in a process that is forked meanwhile."""
    other = Segment.build(WORDS, IDS, structures("lean"))
    started, ended = threading.Event(), threading.Event()
    argsort = np.argsort

    def slow_argsort(*arguments, **options):
        if threading.current_thread() is slow:
            started.set()
            ended.wait(60)
        return argsort(*arguments, **options)

    with mock.patch.object(np, "argsort", slow_argsort):
        slow = threading.Thread(target=lambda: segment.order)
        quick = threading.Thread(target=lambda: (other.order, segment.order))
        slow.start()
        started.wait(60)
        quick.start()
        quick.join(5)
        was_done = not quick.is_alive()
        ended.set()
        slow.join()
        quick.join()
    assert was_done
    assert other.order.tolist() == segment.order.tolist() == [2, 0, 1, 3]
    assert segment.order is segment.order
