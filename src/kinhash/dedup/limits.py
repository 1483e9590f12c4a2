"""Which limits to look at, and where copies of one item end."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kinhash.arrays import Floats, Integers
from kinhash.dedup import recall
from kinhash.dedup.code_table import CodeTable
from kinhash.dedup.directions import directions
from kinhash.dedup.table import Table
from kinhash.dedup.vector_table import VectorTable

STEPS = (0.02, 0.01, 0.005, 0.0025)  # of similarities: the largest that gives enough limits
ENOUGH = 8
LOWEST = 0.5
LARGEST_SHARE = 0.3  # of the bits of a code: random codes differ in half
MOST_NEIGHBOURS = 5.0  # of a row, on average, within the loosest limit
MIN_SAMPLE = 256
# A step is in a gap if it adds at most this share of what the largest step before it adds.
GAP = 1 / 4
FLAT = 1.25  # without a gap: how much more than the smallest step one may add


def slightly_less(limit: float) -> float:
    """Return a limit that rounding does not miss."""
    return limit - 1e-6


def grid_of(table: Table, others: Table, seed: int) -> list[float]:
    """Return the limits to look at, strictest first: as far as rows have few neighbours.

    Args:
        table: The rows.
        others: What they are compared with, or the same object.
        seed: Draws the sample that tells.
    """
    rng = np.random.default_rng(seed)
    if isinstance(table, CodeTable) and isinstance(others, CodeTable):
        largest = int(LARGEST_SHARE * table.codes.n_bits)
        # Some perceptual hashes have even distances only.
        radii = range(0, largest + 1, max(2, table.codes.n_bits // 64))
        grid: list[float] = list(radii)
        rows = _sample(table.different, rng)
        counts = [
            int(others.index.count_radius(table.codes[rows], radius).sum()) for radius in radii
        ]
    elif isinstance(table, VectorTable) and isinstance(others, VectorTable):
        grid = _similarities(STEPS[-1])
        rows = _sample(table.different, rng)
        counts = _similar(table, others, rows, grid).tolist()
    else:
        raise TypeError("a table of another kind")
    own = len(rows) if others is table else 0  # each row is its own neighbour
    n_kept = sum(count - own <= MOST_NEIGHBOURS * len(rows) for count in counts)
    grid = grid[: max(2, n_kept)]
    return grid if isinstance(table, CodeTable) else _coarser(grid)


def _similarities(step: float) -> list[float]:
    """Return limits in equal steps below 1."""
    return [round(1 - step * (i + 1), 4) for i in range(round((1 - LOWEST) / step))]


def _coarser(grid: list[float]) -> list[float]:
    """Return limits as far as those of a fine grid, in the largest steps that give enough."""
    grids = ([one for one in _similarities(step) if one >= grid[-1]] for step in STEPS)
    return next((one for one in grids if len(one) >= ENOUGH), grid)


def _sample(rows: Integers, rng: np.random.Generator) -> Integers:
    n = min(len(rows), max(MIN_SAMPLE, int(np.sqrt(len(rows)))))
    return np.sort(rng.choice(rows, n, replace=False))


def _similar(
    table: VectorTable, others: VectorTable, rows: Integers, grid: Sequence[float]
) -> Integers:
    """Return how many pairs of some rows with others there are within each similarity."""
    asked: Floats = directions(table.vectors[rows])
    counts = np.zeros(len(grid), np.int64)
    ascending = np.array(grid)[::-1]
    for start in range(0, len(others.different), recall.BLOCK_ROWS):
        block = others.vectors[others.different[start : start + recall.BLOCK_ROWS]]
        cosines = asked @ directions(block).T
        near = cosines[cosines >= ascending[0]]
        reached = np.searchsorted(ascending, near, side="right")  # how many limits each is within
        counts += np.bincount(reached, minlength=len(grid) + 1)[1:][::-1].cumsum()
    return counts


def elbow(grid: Sequence[float], dropped: Sequence[int], kind: str) -> tuple[int | None, str]:
    """Return the place of the limit to propose, None if no limit finds anything; and why.

    Args:
        grid: The limits, strictest first.
        dropped: How many rows each would drop.
        kind: What is limited, for the sentence.
    """
    if dropped[-1] == 0:
        return None, f"No limit up to {kind} {grid[-1]:g} finds any duplicates."
    steps = np.diff(dropped, prepend=0)  # what each limit drops that a stricter one does not
    low = len(steps) - 1 - int(np.argmin(steps[:0:-1]))
    before = int(steps[:low].max())
    is_gap = steps[low] <= GAP * before
    first, last = _around(low, steps <= (GAP / 4 * before if is_gap else FLAT * steps[low]))
    place = (first - 1 + last) // 2 if is_gap else (first + last) // 2
    if dropped[place] == 0:
        return None, (
            f"No limit as strict as {kind} {grid[last - 1]:g} finds any duplicates, and looser "
            "ones find ever more: there seem to be no copies."
        )
    if is_gap:
        added = int(dropped[last] - dropped[first - 1])
        return place, (
            f"Between {kind} {grid[first - 1]:g} and {grid[last]:g}, looser limits drop only "
            f"{added:,} more rows, after up to {before:,} at a step before: copies seem to end "
            "there."
        )
    return place, (
        "No gap parts copies from rows that are merely similar: looser limits drop ever more rows, "
        f"the fewest more around {kind} {grid[place]:g}. Look at the pairs before you choose."
    )


def _around(low: int, is_small: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Return the first and the last of the small steps around one, the first limit left out."""
    first = last = low
    while first > 1 and is_small[first - 1]:
        first -= 1
    while last + 1 < len(is_small) and is_small[last + 1]:
        last += 1
    return first, last
