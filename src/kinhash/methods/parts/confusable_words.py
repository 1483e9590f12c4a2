"""Code words of classes: those that are often confused overlap, all others lie apart."""

import itertools
import math

import numpy as np

from kinhash.arrays import Array
from kinhash.errors import InvalidInputError

NEAR = 2  # words this near are found within the usual radius
LEAST_GAIN = 0.001  # of F1 that makes two classes neighbours: less may be chance
N_CANDIDATES = 4096  # random words that each class's is chosen from
N_TRIES = 8
WORD_BITS = (2, 3, 4, 5, 6, 8)  # active bits of a word: few, so that codes stay sparse


def confusion(labels: Array, predicted: Array, n_classes: int) -> Array:
    """Return how many rows of each class are predicted each class, `(n_classes, n_classes)`."""
    counts: Array = np.bincount(labels * n_classes + predicted, minlength=n_classes**2)
    return counts.reshape(n_classes, n_classes)


def expected_f1(counts: Array, found: Array) -> float:
    """Return F1 when a query finds all items whose predicted class is found from its own.

    F1 of the means over queries of precision and recall, if queries and items are confused as
    `counts` says.

    Args:
        counts: `(n_classes, n_classes)`, rows by true and predicted class.
        found: Symmetric booleans: which predicted classes find which.
    """
    share = counts / max(1, counts.sum())
    relevant = counts @ found.astype(float)  # of a class, found by a query predicted another
    n_found = found @ counts.sum(axis=0)
    precision = (share * (relevant / np.maximum(n_found, 1))).sum()
    recall = (share * (relevant / np.maximum(counts.sum(axis=1), 1)[:, None])).sum()
    both = precision + recall
    return float(2 * precision * recall / both) if both else 0.0


def confusable(counts: Array) -> Array:
    """Return which classes a search within the usual radius should find together, as booleans.

    The pair that raises the expected F1 most is added until none raises it. Every class finds
    itself.
    """
    found = np.eye(len(counts), dtype=bool)
    mixed = counts + counts.T
    best = expected_f1(counts, found)
    while True:
        gains = {}
        for a, b in zip(*np.nonzero(np.triu(mixed, 1) * ~found), strict=True):
            found[a, b] = found[b, a] = True
            gains[a, b] = expected_f1(counts, found) - best
            found[a, b] = found[b, a] = False
        pair = max(gains, key=gains.__getitem__, default=None)
        if pair is None or gains[pair] < LEAST_GAIN:
            return found
        found[pair] = found[pair[::-1]] = True
        best += gains[pair]


def class_words(found: Array, n_bits: int, rng: np.random.Generator) -> tuple[Array, int]:
    """Return a word for each class, uint8 `(n_classes, n_bits)`, and how many pairs lie amiss.

    All words have equally many active bits. Classes that find each other have words at distance
    2, all others at more. Where `n_bits` are too few for that, as few as possible are amiss.

    Args:
        found: `(n_classes, n_classes)` booleans: which classes are to find each other.
        n_bits: Length of the words.
        rng: Draws candidates.

    Raises:
        InvalidInputError: There are more classes than words.
    """
    n_classes = len(found)
    best: tuple[int, Array] | None = None
    for n_active in WORD_BITS:
        if n_active > n_bits or math.comb(n_bits, n_active) < n_classes:
            continue
        for _ in range(N_TRIES):
            words = _one_by_one(found, n_bits, n_active, rng)
            amiss = _amiss(words, found)
            if best is None or amiss < best[0]:
                best = (amiss, words)
            if amiss == 0:
                return words, 0
    if best is None:
        words = _any(n_classes, n_bits)
        return words, _amiss(words, found)
    return best[1], best[0]


def _any(n_classes: int, n_bits: int) -> Array:
    """Return different words, where so few bits have no room for equally many active ones."""
    if n_classes > 2**n_bits:
        raise InvalidInputError(
            f"The bucket needs at least {(n_classes - 1).bit_length()} bits to tell {n_classes} "
            f"classes apart, got {n_bits}. Raise `n_bits` or lower `n_rank_bits`."
        )
    numbers = np.arange(n_classes)[:, None] >> np.arange(n_bits) & 1
    words: Array = numbers.astype(np.uint8)
    return words


def _one_by_one(found: Array, n_bits: int, n_active: int, rng: np.random.Generator) -> Array:
    """Return words, each the best of many given those before it."""
    n_classes = len(found)
    # Classes with many neighbours come first, and neighbours one after the other.
    order = np.lexsort((rng.random(n_classes), -found.sum(axis=1)))
    words = np.zeros((n_classes, n_bits), np.uint8)
    placed: list[int] = []
    waiting = list(order)
    while waiting:
        links = [int(found[number, placed].sum()) for number in waiting]
        number = waiting.pop(int(np.argmax(links)))
        near = [words[other] for other in placed if found[number, other]]
        candidates = _candidates(near, n_bits, n_active, rng)
        if placed:
            shared = candidates.astype(np.float32) @ words[placed].astype(np.float32).T
            apart = 2 * (n_active - shared)
            wanted = found[number, placed]
            bad = np.where(wanted, apart != NEAR, apart <= NEAR).sum(axis=1)
            equal = (apart == 0).any(axis=1)
            # Among equally good ones, those that lie far from what they must not find.
            far = np.where(wanted, 0, np.minimum(apart, 2 * n_active)).sum(axis=1)
            best = np.lexsort((-far, bad, equal))[0]
            if equal[best]:  # no word is left near these: any other one
                best = int(np.argmin(equal))
        else:
            best = 0
        words[number] = candidates[best]
        placed.append(number)
    return words


def _candidates(near: list[Array], n_bits: int, n_active: int, rng: np.random.Generator) -> Array:
    """Return words at distance 2 from the given ones, and random ones; all, if those are few."""
    swapped = []
    for word in near:
        on, off = np.flatnonzero(word), np.flatnonzero(word == 0)
        for a, b in itertools.product(on, off):
            other = word.copy()
            other[a], other[b] = 0, 1
            swapped.append(other)
    if math.comb(n_bits, n_active) <= N_CANDIDATES:
        bits = np.array(list(itertools.combinations(range(n_bits), n_active)))
        bits = rng.permutation(bits)
    else:
        bits = rng.random((N_CANDIDATES, n_bits)).argsort(axis=1)[:, :n_active]
    drawn = np.zeros((len(bits), n_bits), np.uint8)
    np.put_along_axis(drawn, bits, 1, axis=1)
    return np.concatenate([rng.permutation(np.array(swapped)), drawn]) if swapped else drawn


def _amiss(words: Array, found: Array) -> int:
    """Return how many pairs are equal, or near without finding each other, or the reverse."""
    wide = words.astype(np.int64)
    shared = wide @ wide.T
    sizes = wide.sum(axis=1)
    apart = sizes[:, None] + sizes - 2 * shared
    wrong = np.where(found, apart > NEAR, apart <= NEAR)
    np.fill_diagonal(wrong, val=False)
    return int(np.triu(wrong).sum())
