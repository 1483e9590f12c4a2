"""`VectorTable`: codes find candidates, vectors confirm them, a sample says what is missed."""

import dataclasses
from typing import Self

import numpy as np

from kinhash.arrays import Array, Floats, Integers, Words
from kinhash.dedup import candidates, recall
from kinhash.dedup.coding import Coder, all_words
from kinhash.dedup.confirmation import LARGEST, cosines
from kinhash.dedup.content import Content
from kinhash.dedup.directions import directions
from kinhash.dedup.table import FoundPairs, Wanted, code_distances
from kinhash.encoders import as_float32, unit_length
from kinhash.progress import Report, silent

EXACT_PAIRS = 2**26  # pairs of rows up to which comparing them all by their vectors is fast
ASKED_ROWS = 1024  # rows that are compared with all others at a time
MADE_PAIRS = 1000  # pairs at exactly the limit that are made to choose how near codes must be
SAMPLES = 3  # after which the limits of candidates are left as they are
IDENTITY_ROUNDS = 8
CHUNK_ROWS = 4096


@dataclasses.dataclass(frozen=True, eq=False)
class VectorTable:
    """Vectors and their codes; two are similar if their cosine is at least a limit.

    Args:
        content: The vectors: `(n, n_features)` float32, float16 or int8, finite.
        words: `(n, n_words)`: all bits of their codes.
        coder: What made the codes.
        first: For each row an identical one.
        different: The rows that stand for themselves, ascending.
    """

    content: Content
    words: Words
    coder: Coder
    first: Integers
    different: Integers

    @classmethod
    def of(cls, content: Content, coder: Coder, n_threads: int) -> Self:
        """Return the table of some vectors, whose codes the coder makes."""
        vectors = content.vectors
        words = all_words(coder.encode(vectors, n_threads=n_threads))
        first = _firsts(vectors, words, content.ranks)
        return cls(content, words, coder, first, np.flatnonzero(first == np.arange(len(first))))

    @property
    def vectors(self) -> Array:
        """The vectors of all rows."""
        return self.content.vectors

    @property
    def different_words(self) -> Words:
        """The codes of the rows that differ; not copied if all do."""
        return self.words if len(self.different) == len(self.words) else self.words[self.different]

    def distances(self, rows: Integers, others: Self, other_rows: Integers) -> Array:
        """Return the Hamming distances of pairs of rows."""
        return code_distances(self.words, rows, others.words, other_rows)

    def similarities(
        self, rows: Integers, others: Self, other_rows: Integers, n_threads: int
    ) -> Floats:
        """Return the cosines of pairs of rows, as those of their pairs were computed."""
        one, other = self.first[rows], others.first[other_rows]
        if others is self:
            one, other = np.maximum(one, other), np.minimum(one, other)
        order = np.argsort(one, kind="stable")
        found = np.empty(len(rows), np.float32)
        for start in range(0, len(order), CHUNK_ROWS):
            some = order[start : start + CHUNK_ROWS]
            found[some] = cosines(self.vectors, one[some], others.vectors, other[some], n_threads)
        if others is self:
            found[one == other] = 1
        return found

    def pairs(self, others: Self, wanted: Wanted, progress: Report = silent) -> FoundPairs:
        """Return the pairs of two tables, or of one with itself, whose cosine is large enough."""
        least = min(wanted.limit, LARGEST)
        if len(self.different) * len(others.different) <= EXACT_PAIRS:
            return self._all_pairs(others, least, wanted, progress)
        limits, estimate = self._limits(others, least, wanted)
        queries = self.different_words
        within = self is others
        words = queries if within else others.different_words
        parts = []
        for done, rows, near in candidates.near_rows(
            words, None if within else queries, limits, wanted.n_threads
        ):
            left, right = self.different[rows], others.different[near]
            found = cosines(self.vectors, left, others.vectors, right, wanted.n_threads)
            kept = found >= least
            # Half the memory: there may be many more pairs than rows.
            narrow = left[kept].astype(np.uint32), right[kept].astype(np.uint32)
            parts.append((*narrow, found[kept]))
            progress(done, len(queries))
        left, right, found = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return FoundPairs(left.astype(np.int64), right.astype(np.int64), found, estimate)

    def _all_pairs(
        self, others: Self, least: float, wanted: Wanted, progress: Report
    ) -> FoundPairs:
        parts = []
        for start in range(0, len(self.different), ASKED_ROWS):
            rows = self.different[start : start + ASKED_ROWS]
            parts.append(self._similar_to(others, rows, least, wanted))
            progress(start + len(rows), len(self.different))
        left, right, found = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        if self is others:
            once = right < left
            left, right, found = left[once], right[once], found[once]
        return FoundPairs(left, right, found, recall.EXACT)

    def _limits(
        self, others: Self, least: float, wanted: Wanted
    ) -> tuple[candidates.Limits, recall.Recall]:
        """Return how near codes of candidates must be, and a sample's estimate of the recall.

        The limits are chosen on pairs made to be exactly at the similarity, which are the hardest
        to find. A sample of rows, compared with all rows by their vectors, then tells the recall;
        while that is too low, its pairs help to choose wider limits, and another sample is drawn.
        """
        rng = np.random.default_rng(wanted.seed)
        random = candidates.random_pairs(self.different_words, others.different_words, rng)
        near = [self._made_pairs(least, wanted, rng)]
        n_rows = int(np.ceil(np.sqrt(len(self.different))))
        for _ in range(SAMPLES):
            limits = candidates.cheapest(near, random, wanted.recall)
            rows = np.sort(rng.choice(self.different, n_rows, replace=False))
            left, right, _ = self._similar_to(others, rows, least, wanted)
            apart = candidates.word_distances(self.words[left], others.words[right])
            estimate = recall.Recall.of(limits.hold(apart), left, n_rows)
            if not estimate.share < wanted.recall:
                break
            near.append(apart)
        return limits, estimate

    def _made_pairs(self, least: float, wanted: Wanted, rng: np.random.Generator) -> Integers:
        """Return `word_distances` of rows from points on the way to others, at exactly a cosine."""
        one, two = (
            directions(self.vectors[rng.choice(self.different, MADE_PAIRS)]) for _ in range(2)
        )
        towards = unit_length(two - np.einsum("ij,ij->i", one, two)[:, None] * one)
        made = as_float32(least * one + np.sqrt(1 - least**2) * towards)
        codes = (self.coder.encode(X, n_threads=wanted.n_threads) for X in (one, made))
        return candidates.word_distances(*map(all_words, codes))

    def _similar_to(
        self, others: Self, rows: Integers, least: float, wanted: Wanted
    ) -> tuple[Integers, Integers, Floats]:
        """Return all pairs of some rows with others, found by comparing vectors, and cosines."""
        left, right = recall.nearly_similar(self.vectors, rows, others.vectors, least)
        counts = np.zeros(len(others.first), bool)
        counts[others.different] = True
        kept = counts[right]
        if others is self:
            kept &= left != right
        left, right = left[kept], right[kept]
        found = cosines(self.vectors, left, others.vectors, right, wanted.n_threads)
        similar = found >= least
        return left[similar], right[similar], found[similar]


def _firsts(vectors: Array, words: Words, ranks: Integers) -> Integers:
    """Return for each row an identical one.

    Rows of one code are compared with the first of them, those that differ with the first of these,
    and so on for a few rounds; rows that still differ then stand for themselves.
    """
    first = np.arange(len(vectors))
    left = np.lexsort((ranks, words[:, 0]))
    for _ in range(IDENTITY_ROUNDS):
        is_same = np.r_[False, words[left[1:], 0] == words[left[:-1], 0]]
        if not is_same.any():
            break
        starts = np.maximum.accumulate(np.where(is_same, 0, np.arange(len(left))))
        rows, heads = left[is_same], left[starts[is_same]]
        chunks = [slice(at, at + CHUNK_ROWS) for at in range(0, len(rows), CHUNK_ROWS)]
        equal = np.concatenate(
            [(vectors[rows[c]] == vectors[heads[c]]).all(axis=1) for c in chunks]
        )
        first[rows[equal]] = heads[equal]
        left = rows[~equal]
    return first
