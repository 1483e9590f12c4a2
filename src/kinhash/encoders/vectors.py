"""The vectors that go in: converted, checked, brought to unit length."""

import numpy as np
import scipy.sparse

from kinhash.arrays import Array, Csr
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
    squared: Array = np.einsum("ij,ij->i", X, X)[:, None] + np.einsum("ij,ij->i", Y, Y)
    squared -= 2 * (X @ Y.T)
    np.maximum(squared, 0, out=squared)
    return squared


def check_finite(X: Array, *, first_row: int = 0) -> None:
    """Raise InvalidInputError naming the first row of `X` that has a NaN or an infinity."""
    bad = ~np.isfinite(X).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        what = "NaN" if np.isnan(X[row]).any() else "infinity"
        raise InvalidInputError(
            f"Input X contains {what} in row {first_row + row}. "
            "Drop that row, or fill its missing values."
        )


def check_finite_entries(X: Csr) -> None:
    """Raise InvalidInputError naming the first row of a sparse `X` that has a NaN or infinity."""
    finite = np.isfinite(X.data)
    if not finite.all():
        row = int(np.searchsorted(X.indptr, int(finite.argmin()), side="right")) - 1
        check_finite(X[[row]].toarray(), first_row=row)
