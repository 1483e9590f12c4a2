"""Long searches and builds can be stopped: at a deadline, or by Ctrl-C."""

import functools
import os
import pickle
import signal
import threading

import numpy as np
import pytest

from kinhash import HammingIndex, _native
from kinhash.codes import Codes
from kinhash.errors import InvalidInputError, KinhashError, SearchTimeout

EVERY = 2**20  # comparisons after which a thread polls, as native/runtime/stop.hpp says
LARGEST_BLOCK = 2**14  # codes that are compared without a look at the count


def dense(n, n_bits=64, seed=0):
    """Draw codes far from each other: at a large radius, each is compared with each."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 2**63, (n, n_bits // 64)).astype(np.uint64)
    return Codes(words, n_bits)


def ranked(bucket, seed=0, n_rank_bits=32):
    """Return codes with these buckets and random rank bits."""
    rng = np.random.default_rng(seed)
    rank = rng.integers(0, 2**n_rank_bits, (len(bucket), 1), dtype=np.uint64)
    return Codes(
        bucket.words, bucket.n_bits + n_rank_bits, rank_words=rank, n_rank_bits=n_rank_bits
    )


def ranked_searches(index, queries, *, k, radius, n_threads):
    """Return by name the calls that compare rank bits."""
    calls = {}
    for order in ("nested", "total"):
        calls[f"top_k, {order}"] = functools.partial(
            index.search_top_k, queries, k, order=order, n_threads=n_threads
        )
        calls[f"radius, {order}"] = functools.partial(
            index.search_radius, queries, radius, sort=True, order=order, n_threads=n_threads
        )
    return calls


RANKED = ["top_k, nested", "top_k, total", "radius, nested", "radius, total"]


def interrupt_after(polls):
    """Send SIGINT once the core has polled so often from now on; return the thread to join."""
    first = _native.polls()

    def run():
        while _native.polls() < first + polls:
            pass
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_bits", [64, 320])
def test_comparisons_between_two_polls_are_bounded(n_bits, n_threads):
    codes = dense(30_000, n_bits)
    searcher = HammingIndex(codes, memory="lean")._state.searcher
    queries = codes[:600].words
    counts = np.zeros((len(queries), 21), np.int64)
    before = _native.polls()
    work = searcher.count(queries, counts, n_threads)
    polls = _native.polls() - before
    assert work["compared"] == 600 * 30_000
    # Up to EVERY and a block, and what is left when a thread ends.
    assert polls >= work["compared"] // (EVERY + LARGEST_BLOCK)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("task", ["radius", "sorted", "top_k"])
def test_items_written_between_two_polls_are_bounded(task, n_threads):
    n_items, n_queries = 2**19, 40
    codes = Codes(np.zeros((n_items, 1), np.uint64), 64)  # all under one code: nothing to compare
    index = HammingIndex(codes, memory="lean")
    before = _native.polls()
    if task == "top_k":
        found = index.search_top_k(codes[:n_queries], n_items, n_threads=n_threads)
    else:
        found = index.search_radius(
            codes[:n_queries], 0, sort=task == "sorted", n_threads=n_threads
        )
    assert len(found.ids) == n_queries * n_items
    # A query is written in one go, and what is left when a thread ends is not polled for.
    assert _native.polls() - before >= n_queries * n_items // (EVERY + n_items) - n_threads


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("k", [5, 2**19])
@pytest.mark.parametrize("task", RANKED)
def test_rank_bits_compared_between_two_polls_are_bounded(task, k, n_threads):
    n_items, n_queries = 2**19, 40
    codes = ranked(
        Codes(np.zeros((n_items, 1), np.uint64), 64)
    )  # one bucket: only rank bits differ
    index = HammingIndex(codes, memory="lean")
    call = ranked_searches(index, codes[:n_queries], k=k, radius=0, n_threads=n_threads)[task]
    before = _native.polls()
    found = call()
    assert len(found.ids) == n_queries * (k if task.startswith("top_k") else n_items)
    # A query is ranked in one go, and what is left when a thread ends is not polled for.
    assert _native.polls() - before >= n_queries * n_items // (EVERY + n_items) - n_threads


def polls_of_build(words, *, levels=0, n_chunks=0, groups=False, n_listed=0):
    # One thread: a thread that waits for others polls, too, as often as it happens to wake up.
    before = _native.polls()
    _native.build_segment(
        words, None, levels, n_chunks, groups, n_listed, n_listed, budget=1e9, n_threads=1
    )
    return _native.polls() - before


def test_a_build_polls_in_every_step():
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 64, (2**19, 4), dtype=np.uint64)
    words = np.bitwise_or.reduce(np.uint64(1) << bits, axis=1)[:, None]
    words = np.concatenate([words] * 4)
    # Two passes over the items, the last of which may end before it polls.
    plain = polls_of_build(words)
    assert plain >= 2 * (len(words) // EVERY - 1)
    # Some 10 keys of each code are counted, then dealt.
    keys = polls_of_build(words, levels=2)
    assert keys - plain >= 20 * 2**19 // EVERY // 2
    assert polls_of_build(words, n_chunks=3) - plain >= 1
    assert polls_of_build(words, groups=True) - plain >= 10
    # One poll for 256 codes whose neighbours are listed.
    assert polls_of_build(words, levels=2, n_listed=2**19) - keys >= 2**19 // 256 // 2


@pytest.mark.parametrize("n_threads", [1, 4])
@pytest.mark.parametrize("task", ["radius", "top_k", "count"])
def test_a_search_is_interrupted(task, n_threads):
    codes = dense(60_000)
    index = HammingIndex(codes, memory="lean")
    queries = Codes.concatenate([codes] * 4)
    call = {
        "radius": lambda: index.search_radius(queries, 20, n_threads=n_threads),
        "top_k": lambda: index.search_top_k(queries, 5, n_threads=n_threads),
        "count": lambda: index.count_radius(queries, 20, n_threads=n_threads),
    }[task]
    before = _native.polls()
    interrupter = interrupt_after(3)
    with pytest.raises(KeyboardInterrupt):
        call()
    interrupter.join()
    # 240,000 queries with 60,000 codes each would have taken thousands of polls.
    assert _native.polls() - before < 240_000 * 60_000 // (EVERY + LARGEST_BLOCK) // 4
    assert index.search_radius(codes[:1], 0).ids.tolist() == [0]


@pytest.mark.parametrize("n_threads", [1, 4])
@pytest.mark.parametrize("task", RANKED)
def test_a_ranked_search_is_interrupted(task, n_threads):
    codes = ranked(dense(60_000))
    index = HammingIndex(codes, memory="lean")
    queries = Codes.concatenate([codes] * 4)
    call = ranked_searches(index, queries, k=5, radius=20, n_threads=n_threads)[task]
    before = _native.polls()
    interrupter = interrupt_after(3)
    with pytest.raises(KeyboardInterrupt):
        call()
    interrupter.join()
    # As without rank bits: thousands of polls to the end.
    assert _native.polls() - before < 240_000 * 60_000 // (EVERY + LARGEST_BLOCK) // 4
    assert index.search_top_k(codes[:1], 1).ids.tolist() == [0]


@pytest.mark.parametrize("n_threads", [1, 4])
@pytest.mark.parametrize("order", ["nested", "total"])
def test_ranking_within_one_bucket_is_interrupted(order, n_threads):
    n_items, n_queries = 2**18, 40_000
    codes = ranked(Codes(np.zeros((n_items, 1), np.uint64), 64))
    index = HammingIndex(codes, memory="lean")
    before = _native.polls()
    interrupter = interrupt_after(3)
    with pytest.raises(KeyboardInterrupt):
        index.search_top_k(codes[:n_queries], 5, order=order, n_threads=n_threads)
    interrupter.join()
    assert _native.polls() - before < n_queries * n_items // (EVERY + n_items) // 4
    assert len(index.search_top_k(codes[:1], 1).ids) == 1


def test_a_build_is_interrupted_and_changes_nothing():
    index = HammingIndex(dense(100, seed=1))
    rng = np.random.default_rng(2)
    bits = rng.integers(0, 64, (3_000_000, 5), dtype=np.uint64)
    words = np.bitwise_or.reduce(np.uint64(1) << bits, axis=1)[:, None]
    ids = np.arange(100, 100 + len(words))
    interrupter = interrupt_after(4)
    with pytest.raises(KeyboardInterrupt):
        index.add(Codes(words, 64), ids)
    interrupter.join()
    assert len(index) == 100
    assert index.ids.tolist() == list(range(100))
    index.add(Codes(words[:5], 64), ids[:5])
    assert len(index) == 105


def test_a_handler_that_returns_does_not_stop_a_search():
    codes = dense(20_000)
    index = HammingIndex(codes, memory="lean")
    expected = index.count_radius(codes[:4000], 18)
    handled = []
    old = signal.signal(signal.SIGINT, lambda *_: handled.append(1))
    try:
        interrupter = interrupt_after(3)
        found = index.count_radius(codes[:4000], 18)
        interrupter.join()
    finally:
        signal.signal(signal.SIGINT, old)
    assert handled == [1]
    np.testing.assert_array_equal(found, expected)


# Timeouts


@pytest.mark.parametrize("n_threads", [1, 4])
@pytest.mark.parametrize("n_queries", [1, 300])
def test_a_search_that_takes_too_long_raises_and_changes_nothing(n_queries, n_threads):
    codes = dense(5000)
    index = HammingIndex(codes)
    queries = codes[:n_queries]
    expected = index.search_radius(queries, 20, sort=True)
    for search in (index.search_radius, index.search_top_k, index.count_radius):
        with pytest.raises(SearchTimeout, match=r"longer than `timeout`=1e-09 seconds\. Raise it"):
            search(queries, 20, n_threads=n_threads, timeout=1e-9)
    found = index.search_radius(queries, 20, sort=True)
    np.testing.assert_array_equal(found.ids, expected.ids)


@pytest.mark.parametrize("n_threads", [1, 4])
@pytest.mark.parametrize("n_queries", [1, 300])
@pytest.mark.parametrize("task", RANKED)
def test_a_ranked_search_that_takes_too_long_raises_and_changes_nothing(task, n_queries, n_threads):
    codes = ranked(dense(5000))
    index = HammingIndex(codes)
    call = ranked_searches(index, codes[:n_queries], k=20, radius=20, n_threads=n_threads)[task]
    expected = call()
    with pytest.raises(SearchTimeout, match=r"longer than `timeout`=1e-09 seconds\. Raise it"):
        call(timeout=1e-9)
    found = call(timeout=60)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.rank_distances, expected.rank_distances)


def test_a_search_in_time_is_the_same_as_without_a_timeout():
    codes = dense(2000)
    index = HammingIndex(codes)
    for timeout in (60, 1e300, np.float32(100), np.int64(5)):
        found = index.search_top_k(codes, 3, timeout=timeout)
        np.testing.assert_array_equal(found.ids, index.search_top_k(codes, 3).ids)
        assert len(index.search_radius(codes, 0, timeout=timeout)) == 2000
        assert index.count_radius(codes, 0, timeout=timeout).sum() == 2000


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "1", True])
def test_a_timeout_must_be_a_positive_number(timeout):
    index = HammingIndex(dense(10))
    for search in (index.search_radius, index.search_top_k, index.count_radius):
        with pytest.raises(InvalidInputError, match="`timeout` must be a positive number of sec"):
            search(dense(1), 1, timeout=timeout)


def test_the_error_is_a_timeout_and_ours_and_can_be_pickled():
    error = SearchTimeout(2.5)
    assert isinstance(error, TimeoutError)
    assert isinstance(error, KinhashError)
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (str(copy), copy.seconds) == (str(error), 2.5)
