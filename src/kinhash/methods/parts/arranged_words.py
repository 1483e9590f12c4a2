"""Words of classes that are alike made alike, so that what stands beyond radius 2 is in order."""

import itertools
import math

import numpy as np

from kinhash.arrays import Array
from kinhash.methods.parts.confusable_words import N_CANDIDATES, NEAR

N_SWEEPS = 6


def affinity(likely: Array) -> Array:
    """Return how likely two rows share a class, by their likeliest classes.

    Args:
        likely: `(n, n_classes)` probabilities of rows that were left out.
    """
    n_classes = likely.shape[1]
    cells = np.eye(n_classes)[likely.argmax(axis=1)]
    sizes = cells.sum(axis=0)[:, None]
    means = np.where(sizes > 0, cells.T @ likely / np.maximum(sizes, 1), np.eye(n_classes))
    alike: Array = means @ means.T
    return alike


def arranged(words: Array, found: Array, alike: Array, rng: np.random.Generator) -> Array:
    """Return words of which those of like classes share more active bits.

    One word after the other is replaced by the best of many: never by one that is equal to another
    or with which more pairs lie amiss (see `class_words`), and of those the one whose shared bits
    go best with `alike`. Words with different numbers of active bits stay as they are.

    Args:
        words: `(n_classes, n_bits)` of 0 and 1.
        found: `(n_classes, n_classes)` booleans: which classes find each other.
        alike: `(n_classes, n_classes)`: the larger, the nearer the words should be.
        rng: Draws candidates and the order.
    """
    n_classes, n_bits = words.shape
    n_active = int(words[0].sum())
    if n_classes < 2 or (words.sum(axis=1) != n_active).any():
        return words
    words = words.copy()
    candidates = _candidates(n_bits, n_active, rng)
    wanted = alike - alike[~np.eye(n_classes, dtype=bool)].mean()
    for _ in range(N_SWEEPS):
        changed = False
        for number in rng.permutation(n_classes):
            others = np.arange(n_classes) != number
            tried = np.concatenate([words[number][None], candidates]).astype(np.float32)
            shared = tried @ words[others].T.astype(np.float32)
            apart = 2 * (n_active - shared)
            amiss = np.where(found[number, others], apart != NEAR, apart <= NEAR).sum(axis=1)
            equal = (apart == 0).any(axis=1)
            # Stable: of equals the present word, which comes first.
            best = np.lexsort((-(shared @ wanted[number, others]), amiss, equal))[0]
            if best:
                words[number] = candidates[best - 1]
                changed = True
        if not changed:
            break
    return words


def _candidates(n_bits: int, n_active: int, rng: np.random.Generator) -> Array:
    """Return words of as many active bits: all of them, or random ones where they are many."""
    if math.comb(n_bits, n_active) <= N_CANDIDATES:
        bits = np.array(list(itertools.combinations(range(n_bits), n_active)))
    else:
        bits = rng.random((N_CANDIDATES, n_bits)).argsort(axis=1)[:, :n_active]
    drawn = np.zeros((len(bits), n_bits), np.uint8)
    np.put_along_axis(drawn, bits, 1, axis=1)
    return drawn
