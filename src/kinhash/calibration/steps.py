"""`Steps`: pairs by distance and rank distance, in steps, and how many are in each."""

import dataclasses
from collections.abc import Iterator
from typing import Self

import numpy as np
import scipy.optimize

from kinhash.arrays import Array, Integers
from kinhash.calibration.similar import Related
from kinhash.codes import Codes
from kinhash.errors import InvalidInputError

CHUNK_BYTES = 16 * 2**20  # of tables of pairs
# What fewer of the similar pairs reach is no precision that codes have: of a few pairs, the best
# share is luck.
FIRST_STEP = 0.01
# Steps of the order end where this much more of the similar pairs is in, or the dissimilar ones
# have grown by that much; and with each distance, while there are few.
NEXT_SIMILAR, NEXT_DISSIMILAR = 0.0025, 1.03
MAX_OWN_STEPS = 512
HALF = 0.5  # added to counts, so that none of them makes us certain


def cells_of(left: Codes, right: Codes) -> Iterator[tuple[int, Integers]]:
    """Yield a row number, and from there on the place in the nested order of each pair."""
    step = max(1, CHUNK_BYTES // (8 * max(1, len(right))))
    for start in range(0, len(left), step):
        part = left[start : start + step]
        cells = _differing(part.words, right.words)
        if left.n_rank_bits:
            cells *= left.n_rank_bits + 1
            cells += _differing(part.rank_words, right.rank_words)
        yield start, cells


def _differing(left: Array, right: Array) -> Integers:
    """Return the number of differing bits of each pair of rows, word by word."""
    total = np.zeros((len(left), len(right)), np.int64)
    for a, b in zip(left.T, right.T, strict=True):
        total += np.bitwise_count(a[:, None] ^ b)
    return total


@dataclasses.dataclass(frozen=True, eq=False)
class Steps:
    """Where the steps end, in places of the nested order, and how many pairs are as near."""

    ends: Integers
    similar: Integers
    dissimilar: Integers

    @property
    def similar_share(self) -> float:
        """The share of similar ones among all pairs."""
        return float(self.similar[-1] / (self.similar[-1] + self.dissimilar[-1]))

    @classmethod
    def of(cls, codes: Codes, related: Related) -> Self:
        """Return the steps of some codes.

        Raises:
            InvalidInputError: No pair is similar, or none dissimilar.
        """
        n_distances = codes.n_bucket_bits * (2 if codes.signed else 1) + 1
        n_cells = n_distances * (codes.n_rank_bits + 1)
        counts = np.zeros((2, n_cells), np.int64)
        for start, cells in cells_of(codes, codes):
            for row, mask in enumerate(related.relate(start, len(cells))):
                counts[row] += np.bincount(cells[mask], minlength=n_cells)
        counts //= 2  # each pair was counted in both orders
        for row, name in enumerate(("similar", "dissimilar")):
            if not counts[row].any():
                raise InvalidInputError(
                    f"`similar` must make at least one pair {name}, got none. Add rows."
                )
        similar, dissimilar = np.cumsum(counts, axis=1)
        ends = _step_ends(counts, codes.n_rank_bits + 1, n_distances)
        return cls(ends, similar[ends], dissimilar[ends])


def _step_ends(counts: Integers, n_ranks: int, n_distances: int) -> Integers:
    """Return where steps end, ascending, the last one at the last place."""
    used = np.flatnonzero(counts.any(axis=0))
    similar, dissimilar = (np.cumsum(part)[used].tolist() for part in counts)
    own = n_distances <= MAX_OWN_STEPS
    # The last used place of a distance stands for the end of that distance.
    last = np.append(used[1:] // n_ranks != used[:-1] // n_ranks, True)
    ends: list[int] = []
    at = 0, 0
    for place, s, d, is_last in zip(used.tolist(), similar, dissimilar, last.tolist(), strict=True):
        if not ends and s < FIRST_STEP * similar[-1]:
            continue
        grown = s - at[0] >= NEXT_SIMILAR * similar[-1] or d > NEXT_DISSIMILAR * at[1]
        if grown or (own and is_last):
            ends.append((place // n_ranks + 1) * n_ranks - 1 if is_last else place)
            at = s, d
    final = n_distances * n_ranks - 1
    if not ends or ends[-1] != final:
        # What lies beyond the last pair belongs to its step.
        if ends and at == (similar[-1], dissimilar[-1]):
            ends.pop()
        ends.append(final)
    return np.array(ends, np.int64)


def errors(codes: Codes, related: Related, steps: Steps) -> tuple[Array, Array, Array]:
    """Return the error of each step's prefix, and the ratio of each step, with its error.

    A ratio is the pooled one of neighbouring steps until none is larger than the one before.
    """
    totals = [np.diff(part, prepend=0) for part in (steps.similar, steps.dissimilar)]
    n_here = totals[0] + totals[1]
    pooled = scipy.optimize.isotonic_regression(
        totals[0] / np.maximum(n_here, 1), weights=np.maximum(n_here, 1e-9), increasing=False
    )
    starts = pooled.blocks[:-1]
    sizes = np.diff(pooled.blocks)
    blocks = [np.add.reduceat(part, starts) for part in totals]
    step_of = np.searchsorted(steps.ends, np.arange(steps.ends[-1] + 1)).astype(np.int32)
    n_steps = len(steps.ends)
    squares, block_squares = np.zeros(n_steps), np.zeros(len(starts))
    for start, cells in cells_of(codes, codes):
        keys = step_of[cells] + n_steps * np.arange(len(cells))[:, None]
        tables = [
            np.bincount(keys[mask], minlength=n_steps * len(cells)).reshape(-1, n_steps)
            for mask in related.relate(start, len(cells))
        ]
        within = [table.cumsum(axis=1) for table in tables]
        squares += _influence(within, (steps.similar, steps.dissimilar), within, steps)
        alone = [np.add.reduceat(table, starts, axis=1) for table in tables]
        block_squares += _influence(alone, blocks, within, steps)
    # Pairs that depend on one another never say more than as many that do not.
    error = np.sqrt(np.maximum(squares, _independent(steps.similar, steps.dissimilar)))
    block_error = np.sqrt(np.maximum(block_squares, _independent(*blocks)))
    shares = [(part + HALF) / (part.sum() + HALF) for part in blocks]
    ratio = np.minimum.accumulate(shares[0] / shares[1])
    return error, np.repeat(ratio, sizes), np.repeat(block_error, sizes)


def _influence(
    tables: list[Array],
    counts: tuple[Array, Array] | list[Array],
    within: list[Array],
    steps: Steps,
) -> Array:
    """Return the sum over rows of their squared influence on the log ratio of two shares.

    The influence of a row on the log of a count of pairs, each counted once, is the share of them
    that it is an end of; a share is a count over all pairs.
    """
    influence = np.zeros(tables[0].shape)
    for sign, table, count, whole, total in zip(
        (1, -1), tables, counts, within, (steps.similar[-1], steps.dissimilar[-1]), strict=True
    ):
        influence += sign * (table / np.maximum(count, 1) - whole[:, -1:] / total)
    squares: Array = np.square(influence).sum(axis=0)
    return squares


def _independent(similar: Array, dissimilar: Array) -> Array:
    found: Array = 1 / (similar + HALF) + 1 / (dissimilar + HALF)
    return found
