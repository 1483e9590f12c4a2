"""Columns brought to mean 0 and spread 1, and what is said of those that are constant."""

import numpy as np

from kinhash.arrays import Array, Csr, Matrix
from kinhash.encoders import CHUNK_ROWS, check_finite, is_sparse
from kinhash.errors import ConstantColumnWarning, InvalidInputError, warn


def standardisation(X: Matrix) -> tuple[Array, Array, Array]:
    """Return float32 mean, 1 / spread (0 if constant), and a mask of the constant columns.

    The mean of sparse columns is left at 0, so that they stay sparse; and their scale makes an
    entry weigh more the rarer it is, by the logarithm. Constant are those without an entry.

    Raises:
        InvalidInputError: A row has a NaN, an infinity, or a number too large for float32.
    """
    if is_sparse(X):
        scale = _rarity(X)
        return np.zeros_like(scale), scale, scale == 0
    total = np.zeros(X.shape[1])
    for start in range(0, len(X), CHUNK_ROWS):
        chunk = X[start : start + CHUNK_ROWS]
        check_finite(chunk, first_row=start)
        total += chunk.sum(axis=0, dtype=np.float64)
    mean = total / len(X)
    squares = np.zeros(X.shape[1])
    for start in range(0, len(X), CHUNK_ROWS):
        squares += np.square(X[start : start + CHUNK_ROWS] - mean).sum(axis=0)
    spread = np.sqrt(squares / len(X))
    # A column that only differs by rounding is constant: dividing by noise would blow it up.
    constant = spread <= 1e-6 * np.abs(mean) + np.finfo(np.float32).tiny
    scale = np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, spread))
    return mean.astype(np.float32), scale.astype(np.float32), constant


def _rarity(X: Csr) -> Array:
    n, n_features = X.shape
    n_with = np.bincount(X.indices, minlength=n_features)
    sizes = np.bincount(X.indices, np.abs(X.data), minlength=n_features)
    # Of whatever unit: entries are about 1 before they are weighed.
    typical = np.divide(n_with, sizes, out=np.zeros(n_features), where=sizes > 0)
    rarity: Array = typical * (np.log((1 + n) / (1 + n_with)) + 1)
    return rarity.astype(np.float32)


def check_varies(constant: Array) -> None:
    """Take the mask of constant columns, and refuse or warn; called from what `fit` calls.

    Raises:
        InvalidInputError: No column varies.
    """
    if constant.all():
        raise InvalidInputError("All columns of `X` are constant: there is nothing to learn.")
    if constant.any():
        columns = np.flatnonzero(constant)
        some = ", ".join(map(str, columns[:5])) + (", ..." if len(columns) > 5 else "")
        warn(
            f"{len(columns)} of {len(constant)} columns of `X` are constant and are ignored: "
            f"{some}.",
            ConstantColumnWarning,
        )
