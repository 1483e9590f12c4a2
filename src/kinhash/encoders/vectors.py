"""The vectors that go in: converted, checked, brought to unit length."""

import numpy as np
import scipy.sparse

from kinhash import _native
from kinhash.arrays import Array, Matrix
from kinhash.errors import InvalidInputError

CHUNK_ROWS = 8192  # rows looked at a time


def is_sparse(X: object) -> bool:
    """Return whether `X` is a SciPy sparse matrix."""
    return bool(scipy.sparse.issparse(X))


def as_float32(X: Array) -> Array:
    """Return `X` as contiguous float32, the same memory when it already is."""
    with np.errstate(over="ignore"):  # what overflows becomes infinite and is reported with its row
        return np.ascontiguousarray(X, dtype=np.float32)


def unit_length(X: Array) -> Array:
    """Return the rows of `X` at length 1; rows of zeros stay zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
    unit: Array = np.divide(X, lengths, out=np.zeros_like(X), where=lengths > 0)
    return unit


def squared_distances(X: Array, Y: Array) -> Array:
    """Return the squared Euclidean distance of each row of `X` to each of `Y`, never negative."""
    squared: Array = X @ Y.T
    own, other = np.einsum("ij,ij->i", X, X), np.einsum("ij,ij->i", Y, Y)
    if squared.dtype == np.float32:
        _native.squared_distances(own, other, squared)  # one pass; NumPy takes four
        return squared
    squared *= -2
    squared += own[:, None] + other
    return np.maximum(squared, 0, out=squared)


def check_finite(X: Matrix, *, first_row: int = 0) -> None:
    """Raise InvalidInputError unless all numbers are finite as float32, with the first that is not.

    Args:
        X: `(n, n_features)` numbers, an array or csr.
        first_row: The number of its first row, where `X` is a part.
    """
    values = X.data if is_sparse(X) else X
    # A comparison with NaN is False, too.
    fits = np.abs(values) <= np.finfo(np.float32).max
    if fits.all():
        return
    if is_sparse(X):
        entry = int(fits.argmin())
        row = int(np.searchsorted(X.indptr, entry, side="right")) - 1
        column, value = int(X.indices[entry]), values[entry]
    else:
        row, column = map(int, np.unravel_index(int(fits.argmin()), X.shape))
        value = X[row, column]
    what = f"{value:g}, too large for float32,"
    if not np.isfinite(value):
        what = "NaN" if np.isnan(value) else "infinity"
    raise InvalidInputError(
        f"Input X contains {what} in row {first_row + row}, column {column}. "
        "Drop that row, or replace the value."
    )
