"""Candidates: pairs of rows whose codes are near, and how near they have to be."""

import dataclasses
from collections.abc import Iterator

import numpy as np

from kinhash import _native
from kinhash.arrays import Array, Integers, Words

STRIP = 4096  # rows whose candidates are held at a time
RANDOM_PAIRS = 2**16
# ns: to compare the first words of two codes, then the others, then the vectors.
SCAN, COMPARE, CONFIRM = 0.05, 3.0, 100.0


@dataclasses.dataclass(frozen=True)
class Limits:
    """How near two codes are to be candidates.

    Args:
        word: Largest distance of their first 64 bits: comparing these costs the least.
        total: Largest distance of all bits.
    """

    word: int
    total: int

    def hold(self, distances: Array) -> Array:
        """Return which of some pairs are candidates, from `word_distances`."""
        held: Array = (distances[:, 0] <= self.word) & (distances[:, 1] <= self.total)
        return held


def word_distances(left: Words, right: Words) -> Integers:
    """Return the distances of the first words and of all words of codes, row by row: `(n, 2)`."""
    apart = np.bitwise_count(left ^ right)
    return np.stack([apart[:, 0], apart.sum(axis=1, dtype=np.int64)], axis=1).astype(np.int64)


def cheapest(near: list[Integers], random: Integers, recall: float) -> Limits:
    """Return the limits that take the least time and keep a share of the pairs that are near.

    Args:
        near: Sets of `word_distances` of near pairs; the share is kept of each.
        random: The same of pairs of random rows, which say what limits cost.
        recall: The share.
    """
    largest = np.max([pairs.max(axis=0) for pairs in near], axis=0)
    best, least = Limits(*map(int, largest)), np.inf
    for word in range(best.word + 1):
        totals = [_total_of(pairs, word, recall) for pairs in near]
        if -1 in totals:
            continue
        limits = Limits(word, max(totals))
        share_compared = (random[:, 0] <= word).mean()
        cost = SCAN + COMPARE * share_compared + CONFIRM * limits.hold(random).mean()
        if cost < least:
            best, least = limits, cost
    return best


def _total_of(pairs: Integers, word: int, recall: float) -> int:
    """Return the least total limit that keeps the share of the pairs, or -1."""
    kept = np.sort(pairs[pairs[:, 0] <= word, 1])
    needed = int(np.ceil(recall * len(pairs)))
    if needed > len(kept):
        return -1
    return int(kept[needed - 1]) if needed else 0


def random_pairs(words: Words, others: Words, rng: np.random.Generator) -> Integers:
    """Return `word_distances` of pairs of random rows."""
    left = rng.integers(0, len(words), RANDOM_PAIRS)
    right = rng.integers(0, len(others), RANDOM_PAIRS)
    return word_distances(words[left], others[right])


def near_rows(
    words: Words, queries: Words | None, limits: Limits, n_threads: int
) -> Iterator[tuple[int, Integers, Integers]]:
    """Yield the candidates of one strip of rows after another.

    Args:
        words: `(n, n_words)` codes.
        queries: Other codes, which are looked for among these; None for the pairs of these.
        limits: How near they must be.
        n_threads: Threads to use.

    Yields:
        The end of the strip, the rows of one side, ascending, and those of the other, ascending for
        each. Of a pair of these codes, the first row is the larger one.
    """
    asked = words if queries is None else queries
    for start in range(0, len(asked), STRIP):
        strip = asked[start : start + STRIP]
        first = start if queries is None else -1
        rows, near = _native.near_pairs(words, strip, first, limits.word, limits.total, n_threads)
        rows += start
        yield start + len(strip), rows, near
