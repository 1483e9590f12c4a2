"""`CodeTable`: rows of which only codes are known, near within a radius, exactly."""

import dataclasses
import functools
from typing import Self

import numpy as np

from kinhash.arrays import Array, Floats, Integers
from kinhash.codes import Codes
from kinhash.dedup.content import Content
from kinhash.dedup.recall import EXACT
from kinhash.dedup.table import FoundPairs, Wanted, code_distances
from kinhash.index.hamming import HammingIndex
from kinhash.progress import Report, silent

STRIP = 4096  # rows that are searched for at a time


@dataclasses.dataclass(frozen=True, eq=False)
class CodeTable:
    """Codes, near if their buckets are within a radius. Rank bits take no part.

    Args:
        content: Whose rows they are.
        codes: The codes.
        first: For each row one with the same bucket.
        different: The rows that stand for themselves, ascending.
    """

    content: Content
    codes: Codes
    first: Integers
    different: Integers

    @classmethod
    def of(cls, content: Content, codes: Codes) -> Self:
        """Return the table of some codes."""
        words = codes.words
        order = np.lexsort((content.ranks, *words.T))
        is_new = np.r_[True, (words[order[1:]] != words[order[:-1]]).any(axis=1)][: len(order)]
        first = np.empty(len(codes), np.int64)
        first[order] = order[is_new][np.cumsum(is_new) - 1]
        different = np.flatnonzero(first == np.arange(len(first)))
        return cls(content, codes.without_rank(), first, different)

    @functools.cached_property
    def index(self) -> HammingIndex:
        """Finds rows that differ, by row number."""
        return HammingIndex(self.codes[self.different], self.different)

    def distances(self, rows: Integers, others: Self, other_rows: Integers) -> Array:
        """Return the Hamming distances of pairs of rows."""
        return code_distances(self.codes.words, rows, others.codes.words, other_rows)

    def similarities(
        self, rows: Integers, others: Self, other_rows: Integers, n_threads: int
    ) -> Floats | None:
        """Return None: nothing but distances is known."""

    def pairs(self, others: Self, wanted: Wanted, progress: Report = silent) -> FoundPairs:
        """Return the pairs of two tables, or of one with itself, within the radius."""
        parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))]
        for start in range(0, len(self.different), STRIP):
            rows = self.different[start : start + STRIP]
            found = others.index.search_radius(
                self.codes[rows], int(wanted.limit), sort=True, n_threads=wanted.n_threads
            )
            left = np.repeat(rows, found.counts)
            kept = found.ids < left if others is self else slice(None)
            nearness = -found.distances.astype(np.float32)
            parts.append((left[kept], found.ids[kept], nearness[kept]))
            progress(start + len(rows), len(self.different))
        left, right, nearness = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.lexsort((right, left))
        return FoundPairs(left[order], right[order], nearness[order], EXACT)
