"""Rows as linear maps see them: standardised, unit length, along their widest directions."""

import dataclasses

import numpy as np
import scipy.linalg
import scipy.sparse
from sklearn.utils.extmath import randomized_svd

from kinhash.arrays import Array, Matrix
from kinhash.encoders import as_float32, is_sparse, unit_length

MAX_COLUMNS = 2048  # beyond it (words), directions are found by a randomised decomposition


@dataclasses.dataclass(frozen=True, eq=False)
class SeenRows:
    """Some rows of unit length, as coordinates along orthogonal directions.

    Attributes:
        values: `(n, n_directions)` float32: coordinates of the rows, less the centre.
        directions: `(n_features, n_directions)` float32, widest first.
        centre: `(n_features,)` float32: the mean of the rows.
        rows: Their numbers, ascending.
    """

    values: Array
    directions: Array
    centre: Array
    rows: Array

    def linear(self, W: Array, bias: Array) -> tuple[Array, Array]:
        """Return weights and bias for rows of unit length, of those for the first `values`."""
        whole = W @ self.directions[:, : W.shape[1]].T
        return whole.astype(np.float32), (bias - whole @ self.centre).astype(np.float32)


def unit_rows(X: Matrix, rows: Array, mean: Array, scale: Array) -> Matrix:
    """Return the rows as encoders see them, of unit length; float32, sparse where `X` is."""
    if not is_sparse(X):
        return unit_length((as_float32(X[rows]) - mean) * scale)
    chosen = X[rows].astype(np.float32)
    if np.any(mean * scale):
        return unit_length((as_float32(chosen.toarray()) - mean) * scale)
    scaled = scipy.sparse.csr_array(chosen.multiply(scale))
    lengths = np.sqrt(np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel())
    over = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return scipy.sparse.csr_array(scaled.multiply(over[:, None])).astype(np.float32)


def seen_rows(
    X: Matrix, rows: Array, mean: Array, scale: Array, *, n_directions: int, seed: int
) -> SeenRows:
    """Return the rows along at most `n_directions` principal directions, fewer if there are."""
    U = unit_rows(X, rows, mean, scale)
    n, d = U.shape
    n_directions = min(n_directions, n, d)
    centre = np.asarray(U.mean(axis=0)).ravel().astype(np.float32)
    if d > MAX_COLUMNS:
        # Of words the mean is small beside the rows, so it is taken off after the decomposition.
        _, _, right = randomized_svd(U, n_directions, n_iter=4, random_state=seed)
        directions = right.T.astype(np.float32)
    else:
        dense = U.toarray() if is_sparse(U) else U
        covariance = (centred := dense - centre).T @ centred
        wanted = (d - n_directions, d - 1)
        directions = scipy.linalg.eigh(covariance, subset_by_index=wanted)[1][:, ::-1]
    values = np.asarray(U @ directions) - centre @ directions
    return SeenRows(as_float32(values), as_float32(directions), centre, rows)
