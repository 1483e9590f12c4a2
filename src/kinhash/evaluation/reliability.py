"""`reliability`: what a calibration promises beside what is got on rows it has not seen."""

import numpy as np
import numpy.typing as npt

from kinhash.arrays import Array
from kinhash.calibration import Calibration
from kinhash.codes import Codes
from kinhash.metrics.retrieval import pair_tables

N_POINTS = 20


def reliability(
    calibration: Calibration,
    query_codes: Codes,
    query_labels: npt.ArrayLike,
    db_codes: Codes,
    db_labels: npt.ArrayLike,
    *,
    own: npt.ArrayLike | None = None,
) -> list[dict[str, float]]:
    """Return the promised and the true precision of searches that go ever farther.

    The promise is that of a search which is told nothing: the share of similar pairs is estimated
    from distances between items. None of the rows should be one that the model learned from.

    Args:
        calibration: Of the model that made the codes.
        query_codes: What is searched for.
        query_labels: As `kinhash.metrics.evaluate_codes` takes them.
        db_codes: What is searched, two codes or more.
        db_labels: Their labels.
        own: The item that each query is, which it does not find; by default none.

    Returns:
        Up to 20 rows, the nearest first: `promised`, `low` and `high` (its 95 % interval), `got`,
        and `n_answers` of all queries together.

    Example:
        >>> codes = Codes.from_dense([[0, 1, 1], [0, 1, 1], [0, 0, 1], [1, 0, 0], [1, 0, 0]])
        >>> labels = ["a", "a", "a", "b", "b"]
        >>> found = Calibration.from_codes(codes, labels)
        >>> rows = reliability(found, codes, labels, codes, labels, own=range(5))
        >>> [(round(row["got"], 2), row["n_answers"]) for row in rows]
        [(1.0, 4), (1.0, 8), (0.67, 12), (0.4, 20)]
    """
    ends = calibration.ends
    counts = np.zeros((2, len(ends)), np.int64)
    tables = pair_tables(query_codes, query_labels, db_codes, db_labels, own=own)
    for table in tables:
        occurs = table.n_all > 0  # others have keys that are no distances
        places = table.distances[occurs] * (calibration.n_rank_bits + 1)
        places += table.rank_distances[occurs]
        steps = np.searchsorted(ends, places)
        for row, numbers in enumerate((table.n_all, table.n_relevant)):
            counts[row] += np.bincount(steps, numbers[occurs], len(ends)).astype(np.int64)
    n_all, n_right = counts.cumsum(axis=1)
    share = calibration.observe(db_codes).similar_share
    promised, low, high = calibration.within(share)
    return [
        {
            "promised": float(promised[step]),
            "low": float(low[step]),
            "high": float(high[step]),
            "got": float(n_right[step] / n_all[step]),
            "n_answers": int(n_all[step]),
        }
        for step in _spread(promised, n_all)
    ]


def _spread(promised: Array, n_all: Array) -> list[int]:
    """Return some steps with answers, whose promises are evenly spread."""
    known = np.flatnonzero(n_all)
    if len(known) <= N_POINTS:
        return known.tolist()
    wanted = np.linspace(promised[known].max(), promised[known].min(), N_POINTS)
    return sorted({int(known[np.abs(promised[known] - one).argmin()]) for one in wanted})
