import itertools

import numpy as np
import pytest

from kinhash.methods.parts.class_words import dense_words, sparse_words


def least(words):
    return min(int((a != b).sum()) for a, b in itertools.combinations(words, 2))


@pytest.mark.parametrize(("n_words", "n_bits", "n_active"), [(10, 64, 6), (94, 64, 8), (6, 4, 2)])
def test_sparse_words_have_equally_many_active_bits_and_differ(rng, n_words, n_bits, n_active):
    words = sparse_words(n_words, n_bits, n_active, rng)
    assert words.shape == (n_words, n_bits)
    assert words.sum(axis=1).tolist() == [n_active] * n_words
    assert len(np.unique(words, axis=0)) == n_words


def test_words_lie_farther_apart_than_random_ones(rng):
    bits = rng.random((10, 64)).argsort(axis=1)[:, :16]
    drawn = np.zeros((10, 64), np.uint8)
    np.put_along_axis(drawn, bits, 1, axis=1)
    assert least(sparse_words(10, 64, 16, rng)) > least(drawn)
    assert least(dense_words(10, 64, rng)) > least(rng.integers(0, 2, (10, 64)))


def test_all_short_dense_words_are_candidates(rng):
    """The corners of a square; then they repeat, for there are no others."""
    assert least(dense_words(4, 2, rng)) == 1
    assert len(np.unique(dense_words(7, 2, rng), axis=0)) == 4
