"""`DH`: diff-hash, eigenvectors of a difference of covariances."""

import numpy as np
import scipy.linalg

from kinhash.arguments import check_directions, check_number
from kinhash.arrays import Array
from kinhash.methods.parts.boosting import PairwiseMethod, balanced, best_threshold, moments


class DH(PairwiseMethod):
    """Learns projections along which dissimilar pairs lie far apart and similar ones near.

    Strecha et al., *LDAHash: improved matching with smaller descriptors* (2012), section 3, the
    variant without whitening; equation 2 of the sparse hashing paper. The projections are the
    eigenvectors of alpha S - D with the smallest eigenvalues, S and D the second moments of x - y
    over similar and dissimilar pairs. Each threshold minimises the false positives plus the false
    negatives of its bit, found exactly. The eigenvectors are orthonormal, so there are no more
    bits than columns; and with c classes only c - 1 directions tell them apart, so that longer
    codes mostly add noise.

    Args:
        n_bits: Length of the codes, 1 to 4,096, and at most the columns of `X` that vary.
        alpha: Weight of the similar pairs.
        n_pairs: Pairs of each kind, similar and dissimilar, to draw from the labels.
        n_neighbors: Without labels or pairs, a row is similar to this many nearest rows ...
        threshold: ... or, if given, to every row within this Euclidean distance.
        seed: Draws the pairs.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> DH(n_bits=32).fit(X, y).encode(X[:3]).n_bits
        32
    """

    name = "dh"

    def __init__(
        self,
        n_bits: int = 64,
        *,
        alpha: float = 1.0,
        n_pairs: int = 10_000,
        n_neighbors: int = 10,
        threshold: float | None = None,
        seed: int = 0,
    ) -> None:
        self.n_bits = n_bits
        self.alpha = alpha
        self.n_pairs = n_pairs
        self.n_neighbors = n_neighbors
        self.threshold = threshold
        self.seed = seed

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("alpha", self.alpha, 0)

    def _check_size(self, n_rows: int, n_varying: int) -> None:
        check_directions(self.n_bits, n_rows, n_varying)

    def _learn(self, U: Array, i: Array, j: Array, similar: Array) -> tuple[Array, Array]:
        weights = balanced(similar)
        signed = np.where(similar, self.alpha * weights, weights)
        # E (x - y)(x - y)' in parts: of each row by itself, and of the pairs.
        own = np.bincount(i, signed, len(U)) + np.bincount(j, signed, len(U))
        difference = (U.T * own) @ U - 2 * moments(U, i, j, signed)
        W = scipy.linalg.eigh(difference, subset_by_index=(0, self.n_bits - 1))[1].T
        Z = W @ U.T  # (n_bits, n)
        return W, np.array([best_threshold(z[i], z[j], weights)[0] for z in Z])
