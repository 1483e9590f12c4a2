"""`Observation`: what the distances of a collection say about its share of similar pairs."""

from typing import NamedTuple

import numpy as np
import scipy.optimize

from kinhash.arrays import Array, Integers
from kinhash.errors import DriftWarning, warn

DRIFT = 0.05  # of all pairs that may lie elsewhere than expected before anybody is told


class Observation(NamedTuple):
    """What the distances of a collection say about it.

    Attributes:
        similar_share: The share of similar pairs that explains them best.
        drift: How much of all pairs lies elsewhere than it does with this share: the largest
            difference of shares within a distance, 0 to 1.
        distance: Where that difference is.
        rank_distance: Where it is, within the distance.
        expected: The share of pairs that should lie as near as that.
        seen: The share that does.
        n_pairs: How many pairs were looked at.
    """

    similar_share: float
    drift: float
    distance: int
    rank_distance: int
    expected: float
    seen: float
    n_pairs: int

    def warn_of_drift(self, what: str) -> None:
        """Warn if the distances have drifted from those that the calibration was made from.

        Args:
            what: Whose distances they are.

        Warns:
            DriftWarning: They have: says what was expected and what was seen.
        """
        # Of n items, about 1 / sqrt(n) is chance.
        if self.drift <= max(DRIFT, self.n_pairs**-0.25):
            return
        within = f"distance {self.distance}"
        if self.rank_distance:
            within += f" and rank distance {self.rank_distance}"
        warn(
            f"{what} has other distances than the calibration was made from: {self.seen:.1%} of "
            f"its pairs lie within {within}, where {self.expected:.1%} were expected. Precisions "
            "may be wrong; calibrate again with rows like these: model.calibrate(X, y).",
            DriftWarning,
        )


class Mixture(NamedTuple):
    """The share that explains counts best, and how they then should be spread."""

    similar_share: float
    expected: Array  # cumulative
    seen: Array


def mixture(counts: Integers, similar: Array, dissimilar: Array) -> Mixture:
    """Return the share of similar pairs with which pairs most likely fall into steps as counted.

    Args:
        counts: `(n_steps,)` pairs of which nobody knows whether they are similar.
        similar: The probability of each step for a similar pair.
        dissimilar: The same for a dissimilar one.
    """
    n_pairs = int(counts.sum())
    seen = counts > 0
    weights, difference = counts[seen], (similar - dissimilar)[seen]

    def slope(share: float) -> float:
        """Return the slope of the log-likelihood, which falls as the share rises."""
        mixed = np.maximum(dissimilar[seen] + share * difference, np.finfo(float).tiny)
        return float((weights * difference / mixed).sum())

    least, most = 0.5 / n_pairs, 1 - 0.5 / n_pairs
    if slope(least) <= 0:
        share = least
    elif slope(most) >= 0:
        share = most
    else:
        share = float(scipy.optimize.brentq(slope, least, most))
    expected = np.cumsum(share * similar + (1 - share) * dissimilar)
    return Mixture(share, expected, np.cumsum(counts) / n_pairs)
