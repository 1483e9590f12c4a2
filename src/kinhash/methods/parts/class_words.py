"""Words for classes: codes that lie far apart, dense ones or ones of a few active bits."""

import itertools
import math

import numpy as np

from kinhash.arrays import Array

N_CANDIDATES = 4096  # random codes that words are chosen from, when classes are few


def sparse_words(n_words: int, n_bits: int, n_active: int, rng: np.random.Generator) -> Array:
    """Return words of `n_active` active bits that lie far apart, uint8 `(n_words, n_bits)`.

    They are different where there are that many.
    """
    n = max(N_CANDIDATES, 4 * n_words)
    if math.comb(n_bits, n_active) <= n:
        bits = np.array(list(itertools.combinations(range(n_bits), n_active)))
    else:
        bits = rng.random((n, n_bits)).argsort(axis=1)[:, :n_active]
    codes = np.zeros((len(bits), n_bits), np.uint8)
    np.put_along_axis(codes, bits, 1, axis=1)
    return _far_apart(rng.permutation(np.unique(codes, axis=0)), n_words)


def dense_words(n_words: int, n_bits: int, rng: np.random.Generator) -> Array:
    """Return words with about half of their bits active that lie far apart; otherwise the same."""
    n = max(N_CANDIDATES, 4 * n_words)
    if 2**n_bits <= n:
        every = np.arange(2**n_bits)[:, None] >> np.arange(n_bits) & 1
        return _far_apart(rng.permutation(every).astype(np.uint8), n_words)
    codes = rng.integers(0, 2, (n, n_bits), np.uint8)
    return _far_apart(rng.permutation(np.unique(codes, axis=0)), n_words)


def _far_apart(codes: Array, n: int) -> Array:
    """Return the first code, then n - 1 times the one farthest from those so far."""
    chosen = [0]
    nearest = (codes != codes[0]).sum(axis=1)
    while len(chosen) < n:
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, (codes != codes[chosen[-1]]).sum(axis=1))
    return codes[chosen]
