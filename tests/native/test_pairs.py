"""Pairs of near codes, and what the core refuses."""

import numpy as np
import pytest

from kinhash import _native


def naive(codes, queries, first, word_radius, radius):
    for q, query in enumerate(queries):
        for row, code in enumerate(codes):
            if first >= 0 and row >= first + q:
                continue
            apart = [int(a ^ b).bit_count() for a, b in zip(code, query, strict=True)]
            if apart[0] <= word_radius and sum(apart) <= radius:
                yield q, row


@pytest.mark.parametrize("instruction_set", _native.instruction_sets())
@pytest.mark.parametrize("n_words", [1, 2, 4])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_pairs_are_those_of_a_naive_loop(n_words, n_threads, instruction_set):
    rng = np.random.default_rng(n_words)
    codes = rng.integers(0, 2**9, (300, n_words), np.uint64)
    queries = rng.integers(0, 2**9, (40, n_words), np.uint64)
    before = _native.instruction_set()
    _native.use_instruction_set(instruction_set)
    try:
        for word_radius, radius in ((0, 2), (3, 5), (2, 64), (64, 6), (64 * n_words, 64 * n_words)):
            limits = (word_radius, radius)
            found = _native.near_pairs(codes, queries, -1, *limits, n_threads)
            assert [*zip(*found, strict=True)] == list(naive(codes, queries, -1, *limits))
            among = codes[250:]  # each with those before it
            found = _native.near_pairs(codes, among, 250, *limits, n_threads)
            assert [*zip(*found, strict=True)] == list(naive(codes, among, 250, *limits))
    finally:
        _native.use_instruction_set(before)


def test_more_codes_than_stay_in_the_cache_are_compared():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2**62, (9000, 2), np.uint64)
    codes[8500] = codes[100]
    codes[5000] = codes[4999] ^ np.array([3, 1], np.uint64)
    pairs = []
    for start in range(0, 9000, 1000):
        found = _native.near_pairs(codes, codes[start : start + 1000], start, 4, 8, 2)
        pairs += [(start + int(q), int(row)) for q, row in zip(*found, strict=True)]
    assert pairs == [(5000, 4999), (8500, 100)]


def test_arrays_that_do_not_fit_are_refused():
    one, two = np.zeros((3, 1), np.uint64), np.zeros((3, 2), np.uint64)
    for codes, queries, first, message in (
        (one, two, -1, "codes and queries differ in words"),
        (one, one, 1, "the queries are not among the codes"),
        (one[:, :0], one[:, :0], -1, "codes and queries differ in words"),
    ):
        with pytest.raises(ValueError, match=message):
            _native.near_pairs(codes, queries, first, 1, 1, 1)
