"""What tables of all kinds have in common: rows that are compared in pairs."""

import dataclasses
from typing import Protocol, Self

import numpy as np

from kinhash.arrays import Array, Floats, Integers
from kinhash.dedup.content import Content
from kinhash.dedup.recall import Recall
from kinhash.progress import Report, silent


@dataclasses.dataclass(frozen=True)
class Wanted:
    """Which pairs to find, and how.

    Args:
        limit: Least similarity of vectors, or largest distance of codes.
        recall: The share of these pairs to find, where codes only find candidates.
        seed: Draws the sample that tells the recall.
        n_threads: Threads to use.
    """

    limit: float
    recall: float
    seed: int
    n_threads: int


@dataclasses.dataclass(frozen=True, eq=False)
class FoundPairs:
    """Pairs of different rows that are near enough.

    Args:
        rows: The rows of one side, ascending; within one table, the larger one of each pair.
        others: Those of the other side, ascending for each.
        nearness: What tells the nearest: the similarity, or minus the distance.
        recall: How large a share of all such pairs these are.
    """

    rows: Integers
    others: Integers
    nearness: Floats
    recall: Recall

    def nearest(self, ranks: Integers) -> tuple[Integers, Integers]:
        """Return each row once, ascending, with the nearest of its others.

        Args:
            ranks: Of the others: of several as near, the lowest is taken.
        """
        order = np.lexsort((ranks[self.others], -self.nearness, self.rows))
        rows, places = np.unique(self.rows[order], return_index=True)
        return rows, self.others[order][places]


class Table(Protocol):
    """Rows of one kind: vectors, codes or texts."""

    @property
    def content(self) -> Content:
        """The rows as they were given, and their ids."""

    @property
    def first(self) -> Integers:
        """For each row an identical one, which stands for itself: only such rows are compared."""

    def pairs(self, others: Self, wanted: Wanted, progress: Report = silent) -> FoundPairs:
        """Return the near pairs of two tables of this kind, or of one table with itself.

        Args:
            others: The other table, or the same object.
            wanted: Which pairs.
            progress: Told how many rows are done.
        """

    def distances(self, rows: Integers, others: Self, other_rows: Integers) -> Array | None:
        """Return the Hamming distances of pairs of rows, int32; None if there are no codes."""

    def similarities(
        self, rows: Integers, others: Self, other_rows: Integers, n_threads: int
    ) -> Floats | None:
        """Return the similarities of pairs of rows; None if there are codes only."""


def code_distances(words: Array, rows: Integers, other_words: Array, others: Integers) -> Array:
    """Return the Hamming distances of pairs of codes: int32."""
    found = np.empty(len(rows), np.int32)
    step = 2**16  # bounds the memory
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        apart = np.bitwise_count(words[rows[some]] ^ other_words[others[some]])
        found[some] = apart.sum(axis=1, dtype=np.int32)
    return found
