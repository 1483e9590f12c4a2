"""Confirmation: how similar the vectors of candidates are."""

import numpy as np

from kinhash import _native
from kinhash.arrays import Array, Floats, Integers
from kinhash.encoders import as_float32
from kinhash.errors import InvalidInputError

_COSINE = 0  # its number in the core
# The cosine of a vector with a multiple of itself may come out as little as this below 1.
LARGEST = 1 - 1e-6


def cosines(
    vectors: Array, rows: Integers, others: Array, near: Integers, n_threads: int
) -> Floats:
    """Return the cosines of pairs of rows, computed as `kinhash.rerank` does.

    Args:
        vectors: `(n, n_features)` float32, float16 or int8.
        rows: Rows of these, ascending.
        others: As `vectors`.
        near: The row of `others` in each pair.
        n_threads: Threads to use.

    Raises:
        InvalidInputError: A row of `others` is not finite.
    """
    asked, counts = np.unique(rows, return_counts=True)
    offsets = np.r_[0, np.cumsum(counts)]
    chosen, similarities = np.empty(len(near), np.int64), np.empty(len(near), np.float32)
    queries = as_float32(vectors[asked])
    bad = _native.rerank(
        others, queries, offsets, near, near, _COSINE, offsets, chosen, similarities, n_threads
    )
    if bad < len(near):
        raise InvalidInputError(f"Row {near[bad]} holds NaN, infinity or too large numbers.")
    found = np.empty(len(near), np.float32)
    found[chosen] = similarities  # the core gives the most similar of each query first
    return found
