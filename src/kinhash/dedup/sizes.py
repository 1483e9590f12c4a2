"""Histograms of group sizes."""

import numpy as np

from kinhash.arrays import Integers

# Where each bar begins, and what it is called.
_STARTS = (2, 3, 4, 10, 100)
SIZES = ("2", "3", "4 to 9", "10 to 99", "100 or more")


def sizes_of(counts: Integers) -> list[int]:
    """Return how many groups there are of each of `SIZES`.

    Args:
        counts: Members of each group; those of fewer than two are none.

    Example:
        >>> sizes_of(np.array([2, 9, 2, 1000, 1]))
        [2, 0, 1, 0, 1]
    """
    bars = np.searchsorted(_STARTS, counts, side="right")
    found: list[int] = np.bincount(bars, minlength=len(SIZES) + 1)[1:].tolist()
    return found
