"""`SSH`: similarity-sensitive hashing, boosted projections."""

import numpy as np
import scipy.linalg

from kinhash.arrays import Array
from kinhash.methods.parts.boosting import (
    PairwiseMethod,
    balanced,
    best_threshold,
    moments,
    reweighted,
)


class SSH(PairwiseMethod):
    """Learns one bit after the other, each on the pairs that those before it got wrong.

    Shakhnarovich, *Learning task-specific similarity* (2005), chapter 3: AdaBoost over pairs. A
    bit is a weak classifier of pairs: positive where both items have the same bit. Its projection
    and threshold maximise the correlation r = sum_k w_k s_k c_k with the similarities s_k = +-1,
    c_k = +-1 for equal bits; then w_k is multiplied by exp(-alpha s_k c_k), with
    alpha = log((1 + r) / (1 - r)) / 2, and normalised.

    The thesis searches for projections by gradient ascent. Here, as Bronstein et al. do (*Data
    fusion through cross-modality metric learning using similarity-sensitive hashing*, 2010), the
    projection is the leading eigenvector of sum_k w_k s_k (x_k y_k' + y_k x_k'), which maximises r
    without the signs, and its best threshold is found exactly. Both kinds of pairs start with the
    same total weight. Codes are compared by plain Hamming distance: alpha only re-weights.

    Args:
        n_bits: Length of the codes, 1 to 4,096.
        n_pairs: Pairs of each kind, similar and dissimilar, to draw from the labels.
        n_neighbors: Without labels or pairs, a row is similar to this many nearest rows ...
        threshold: ... or, if given, to every row within this Euclidean distance.
        seed: Draws the pairs.

    Attributes:
        history_: For each bit, its `correlation` r.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> SSH(n_bits=32).fit(X, y).encode(X[:3]).n_bits
        32
    """

    name = "ssh"

    def __init__(
        self,
        n_bits: int = 64,
        *,
        n_pairs: int = 10_000,
        n_neighbors: int = 10,
        threshold: float | None = None,
        seed: int = 0,
    ) -> None:
        self.n_bits = n_bits
        self.n_pairs = n_pairs
        self.n_neighbors = n_neighbors
        self.threshold = threshold
        self.seed = seed

    def _learn(self, U: Array, i: Array, j: Array, similar: Array) -> tuple[Array, Array]:
        weights = balanced(similar)
        W = np.empty((self.n_bits, U.shape[1]))
        thresholds = np.empty(self.n_bits)
        last = U.shape[1] - 1
        for bit in range(self.n_bits):
            C = moments(U, i, j, weights)
            W[bit] = scipy.linalg.eigh(C, subset_by_index=(last, last))[1][:, 0]
            z = U @ W[bit]
            thresholds[bit], r = best_threshold(z[i], z[j], weights)
            above = z > thresholds[bit]
            weights, _, _ = reweighted(weights, above[i] == above[j], r)
            self.history_.append({"step": bit + 1, "correlation": r})
        return W, thresholds
