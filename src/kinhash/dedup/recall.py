"""Recall: the share of the similar pairs that are found, estimated on a sample of rows."""

import dataclasses

import numpy as np
import scipy.special

from kinhash.arrays import Array, Integers
from kinhash.dedup.directions import directions

BLOCK_ROWS = 2048
LEVEL = 0.95
# Products of float32 differ from the cosines that decide by less than this.
ROUNDING = 1e-4


@dataclasses.dataclass(frozen=True)
class Recall:
    """How large a share of the similar pairs was found.

    Args:
        share: The estimate; 1 if all pairs were compared, NaN if the sample had none.
        low: Where the 95 % interval begins ...
        high: ... and ends.
        n_rows: Rows of the sample, each compared with all rows by the vectors.
        n_pairs: Pairs of these that are similar.
    """

    share: float
    low: float
    high: float
    n_rows: int
    n_pairs: int

    @classmethod
    def of(cls, found: Array, rows: Integers, n_rows: int) -> "Recall":
        """Return the estimate.

        Pairs of one row are found or missed together more often than others; the interval is that
        of as many independent pairs as they are worth (Clopper and Pearson, with the design effect
        of Kish).

        Args:
            found: `(n_pairs,)` bool: which of the pairs were found.
            rows: The row of the sample that each belongs to.
            n_rows: Rows of the sample.
        """
        n_pairs = len(found)
        if not n_pairs:
            return cls(float("nan"), 0.0, 1.0, n_rows, 0)
        share = float(found.mean())
        _, counts = np.unique(rows, return_counts=True)
        worth = n_pairs**2 / float(np.square(counts).sum())
        hits, tail = share * worth, (1 - LEVEL) / 2
        low = scipy.special.betaincinv(hits, worth - hits + 1, tail) if hits > 0 else 0.0
        high = scipy.special.betaincinv(hits + 1, worth - hits, 1 - tail) if hits < worth else 1.0
        return cls(share, float(low), float(high), n_rows, n_pairs)

    def __str__(self) -> str:
        if self.is_exact:
            return "recall 100 %: all pairs were compared"
        if not self.n_pairs:
            return f"recall unknown: {self.n_rows:,} random rows have no similar pair"
        interval = f"{100 * self.low:.1f} to {100 * self.high:.1f}"
        return (
            f"recall {100 * self.share:.1f} % ({interval}), from {self.n_pairs:,} pairs of "
            f"{self.n_rows:,} random rows"
        )

    @property
    def is_exact(self) -> bool:
        """Whether all pairs were compared, so that none can be missing."""
        return self.n_rows == 0


EXACT = Recall(1.0, 1.0, 1.0, 0, 0)


def nearly_similar(
    vectors: Array, rows: Integers, others: Array, least: float
) -> tuple[Integers, Integers]:
    """Return all pairs of some rows with others whose cosine is at least `least`, or nearly.

    Args:
        vectors: `(n, n_features)`.
        rows: Rows of these, ascending.
        others: As `vectors`: each is compared with each of the rows.
        least: A cosine; pairs that miss it by no more than `ROUNDING` are among those returned.

    Returns:
        Rows of `vectors`, ascending, and of `others`, ascending for each.
    """
    asked = directions(vectors[rows])
    parts = []
    for start in range(0, len(others), BLOCK_ROWS):
        block = directions(others[start : start + BLOCK_ROWS], first_row=start)
        left, right = np.nonzero(asked @ block.T >= least - ROUNDING)
        parts.append(np.stack([rows[left], start + right]))
    left, right = np.concatenate(parts, axis=1)
    order = np.lexsort((right, left))
    return left[order], right[order]
