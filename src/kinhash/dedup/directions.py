"""Directions of vectors: rows at length 1, whatever their size."""

import numpy as np

from kinhash.arrays import Array, Floats
from kinhash.encoders import as_float32, check_finite, unit_length


def directions(vectors: Array, *, first_row: int = 0) -> Floats:
    """Return rows of numbers at length 1, float32; rows of zeros stay zero.

    Args:
        vectors: `(n, n_features)`.
        first_row: The number of the first of them, for messages.

    Raises:
        InvalidInputError: A row has NaN or infinity.
    """
    rows = as_float32(vectors)
    sizes = np.maximum(rows.max(axis=1, initial=0), -rows.min(axis=1, initial=0))
    if not np.isfinite(sizes).all():
        check_finite(vectors, first_row=first_row)
    if sizes.size and (sizes.max() > 1e15 or (sizes[sizes > 0] < 1e-15).any()):
        # Squares would leave the range of float32.
        rows = np.divide(rows, sizes[:, None], out=np.zeros_like(rows), where=sizes[:, None] > 0)
    return unit_length(rows)
