import doctest
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinhash.codes import Codes
from kinhash.errors import InvalidInputError
from kinhash.index import keys, reference
from kinhash.index.keys import deletion_keys, near_pairs


@st.composite
def batches(draw):
    """Draw two batches of short or long, sparse and clashing codes."""
    signed = draw(st.booleans())
    n_bits = draw(st.sampled_from([1, 3, 6, 63, 64, 65, 130]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    low = -1 if signed else 0
    pool = rng.integers(low, 2, (5, n_bits)) * (rng.random((5, n_bits)) < 4 / n_bits)
    parts = []
    for _ in range(2):
        dense = pool[rng.integers(0, 5, draw(st.integers(0, 8)))]
        changed = rng.random(dense.shape) < 1 / n_bits
        dense = np.where(changed, rng.integers(low, 2, dense.shape), dense)
        parts.append(Codes.from_dense(dense, signed=signed))
    return parts


def naive_keys(codes, most):
    """Return `(n_removed, row, words)` of every key, by sets of stored bits."""
    found = []
    for row, words in enumerate(codes.words.tolist()):
        active = [(w, b) for w, word in enumerate(words) for b in range(64) if word >> b & 1]
        for n_removed in range(most + 1):
            for removed in itertools.combinations(active, n_removed):
                key = list(words)
                for w, b in removed:
                    key[w] ^= 1 << b
                found.append((n_removed, row, key))
    return sorted(found)


@settings(deadline=None)
@given(batches(), st.integers(0, 3))
def test_keys_are_the_code_without_each_set_of_active_bits(parts, most):
    codes = parts[0]
    found = deletion_keys(codes, most)
    listed = zip(
        found.n_removed.tolist(), found.rows.tolist(), found.keys.words.tolist(), strict=True
    )
    assert sorted(listed) == naive_keys(codes, most)
    order = list(zip(found.n_removed.tolist(), found.rows.tolist(), strict=True))
    assert order == sorted(order)
    assert (found.keys.n_bits, found.keys.signed) == (codes.n_bits, codes.signed)
    for level in range(most + 1):
        expected = sum(math.comb(n, level) for n in codes.n_active.tolist())
        assert (found.n_removed == level).sum() == expected


@settings(deadline=None)
@given(batches(), st.integers(0, 3))
def test_equal_keys_find_just_the_pairs_within_the_radius_and_each_once(parts, radius):
    left, right = parts
    distances = reference.distances(left, right)
    rows = np.nonzero(distances <= radius)
    found = near_pairs(left, right, radius)
    np.testing.assert_array_equal(found[:2], rows)
    np.testing.assert_array_equal(found[2], distances[rows])


def test_an_equal_key_alone_is_not_enough():
    """10 and 01 share the key 00 after one removal each: they are two bits apart, not one."""
    left, right = Codes.from_dense([[1, 0]]), Codes.from_dense([[0, 1]])
    assert near_pairs(left, right, 1)[0].tolist() == []
    assert [part.tolist() for part in near_pairs(left, right, 2)] == [[0], [0], [2]]
    # 11 shares 00 with itself after two removals each, but its common part with itself is 11.
    both = Codes.from_dense([[1, 1]])
    assert [part.tolist() for part in near_pairs(both, both, 4)] == [[0], [0], [0]]


def test_incomparable_codes_are_refused():
    with pytest.raises(InvalidInputError, match=r"`left` have 2 bits but `right` has 3-bit codes"):
        near_pairs(Codes.from_dense([[1, 0]]), Codes.from_dense([[1, 0, 0]]), 1)


def test_docstring_examples_run():
    result = doctest.testmod(keys)
    assert result.attempted > 0
    assert result.failed == 0
