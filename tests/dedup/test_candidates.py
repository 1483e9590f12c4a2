import numpy as np
import pytest

from kinhash.dedup import candidates
from kinhash.dedup.candidates import Limits, cheapest, near_rows, random_pairs, word_distances


def test_distances_are_those_of_the_first_word_and_of_all():
    left = np.array([[0b111, 0b1], [0, 0]], np.uint64)
    right = np.array([[0b001, 0b0], [0, 2**64 - 1]], np.uint64)
    assert word_distances(left, right).tolist() == [[2, 3], [0, 64]]


def test_limits_hold_what_is_within_both():
    pairs = np.array([[2, 9], [3, 9], [2, 10], [0, 0]])
    assert Limits(2, 9).hold(pairs).tolist() == [True, False, False, True]


def test_the_cheapest_limits_keep_the_share_of_each_set():
    rng = np.random.default_rng(0)
    near = [rng.binomial(64, p, (1000, 4)) for p in (0.14, 0.16)]
    near = [np.stack([one[:, 0], one.sum(axis=1)], axis=1) for one in near]
    far = rng.binomial(64, 0.5, (5000, 4))
    far = np.stack([far[:, 0], far.sum(axis=1)], axis=1)
    for share in (0.5, 0.9, 0.99, 1.0):
        limits = cheapest(near, far, share)
        assert min(limits.hold(one).mean() for one in near) >= share
        one_less = Limits(limits.word, limits.total - 1)
        assert min(one_less.hold(one).mean() for one in near) < share
        assert limits.hold(far).mean() < 0.001


def test_comparing_all_words_is_avoided_where_the_first_word_tells():
    near = [np.array([[5, 20]] * 99 + [[40, 45]])]
    far = np.array([[30, 128]] * 1000)
    # The last pair would cost comparing everything.
    assert cheapest(near, far, 0.99) == Limits(5, 20)
    assert cheapest(near, far, 1.0) == Limits(40, 45)


@pytest.mark.parametrize("strip", [7, 4096])
def test_candidates_are_those_of_a_naive_loop(strip, monkeypatch):
    monkeypatch.setattr(candidates, "STRIP", strip)
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**10, (50, 2), np.uint64)
    queries = rng.integers(0, 2**10, (30, 2), np.uint64)
    limits = Limits(3, 7)

    def is_near(one, other):
        return limits.hold(word_distances(one[None], other[None]))[0]

    for asked, expected in (
        (None, [(i, j) for i in range(50) for j in range(i) if is_near(words[i], words[j])]),
        (queries, [(i, j) for i in range(30) for j in range(50) if is_near(queries[i], words[j])]),
    ):
        found, ends = [], []
        for end, rows, near in near_rows(words, asked, limits, n_threads=2):
            found += zip(rows.tolist(), near.tolist(), strict=True)
            ends.append(end)
        assert found == expected
        assert len(expected) > 5
        assert ends[-1] == (50 if asked is None else 30)


def test_random_pairs_are_of_both_tables():
    zeros, ones = np.zeros((5, 2), np.uint64), np.full((9, 2), 2**64 - 1, np.uint64)
    found = random_pairs(zeros, ones, np.random.default_rng(0))
    assert (found == [64, 128]).all()
