"""Deletion keys: the specification of finding near codes by equality.

A key of a code is the code without some of its active bits. Two codes x and q have their common
part x & q as a key each, x after removing the active bits that q lacks and q after removing those
that x lacks, and their distance is the number of both removals together. So x and q are within
`radius` exactly if they share the key x & q with at most `radius` removals in all, and an equality
join of keys finds every near pair. A signed code is a code of twice as many stored bits here.
"""

from typing import NamedTuple

import numpy as np

from kinhash.arrays import Array
from kinhash.codes import Codes


class DeletionKeys(NamedTuple):
    """All keys of a batch of codes, by the number of bits removed, then by row."""

    keys: Codes
    rows: Array  # int64, (n_keys,): which code a key belongs to
    n_removed: Array  # int64, (n_keys,)


def deletion_keys(codes: Codes, most: int) -> DeletionKeys:
    """Return each code without each set of up to `most` of its active bits.

    A code with a active stored bits has a! / (j! (a - j)!) keys with j bits removed.

    Args:
        codes: `n` codes.
        most: How many bits are removed at most; 0 gives the codes themselves.

    Example:
        >>> found = deletion_keys(Codes.from_dense([[1, 0, 1], [0, 0, 1]]), most=1)
        >>> found.keys.to_dense().tolist()
        [[1, 0, 1], [0, 0, 1], [0, 0, 1], [1, 0, 0], [0, 0, 0]]
        >>> found.rows.tolist(), found.n_removed.tolist()
        ([0, 1, 0, 0, 1], [0, 0, 1, 1, 1])
    """
    words, rows = codes.words, np.arange(len(codes))
    last = np.full(len(codes), -1)  # the highest bit removed: each set is formed in one order only
    levels = [(words, rows)]
    for _ in range(most):
        bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little")
        of, bit = np.nonzero(bits & (np.arange(bits.shape[1]) > last[:, None]))
        words, rows, last = words[of], rows[of], bit
        words[np.arange(len(of)), bit // 64] ^= np.uint64(1) << (bit % 64).astype(np.uint64)
        levels.append((words, rows))
    return DeletionKeys(
        Codes(np.concatenate([words for words, _ in levels]), codes.n_bits, signed=codes.signed),
        np.concatenate([rows for _, rows in levels]),
        np.repeat(np.arange(most + 1), [len(rows) for _, rows in levels]),
    )


def near_pairs(left: Codes, right: Codes, radius: int) -> tuple[Array, Array, Array]:
    """Return every pair of codes within `radius`, found by equal deletion keys.

    Args:
        left: Codes.
        right: Codes with the same `n_bits` and `signed`.
        radius: Largest accepted distance.

    Returns:
        Rows of `left`, rows of `right` and distances: int64, each pair once, in ascending order.

    Raises:
        InvalidInputError: The two differ in `n_bits` or `signed`.

    Example:
        >>> left, right = Codes.from_dense([[1, 0, 1]]), Codes.from_dense([[0, 1, 1], [1, 1, 1]])
        >>> [part.tolist() for part in near_pairs(left, right, radius=1)]
        [[0], [1], [1]]
    """
    left.check_comparable(right, "`left`", "`right`")
    of_left, of_right = deletion_keys(left, radius), deletion_keys(right, radius)
    words = np.concatenate([of_left.keys.words, of_right.keys.words])
    number = np.unique(words, axis=0, return_inverse=True)[1].reshape(-1)
    left_number, right_number = np.split(number, [len(of_left.rows)])
    order = np.argsort(right_number, kind="stable")
    begin, end = (
        np.searchsorted(right_number, left_number, side, sorter=order) for side in ("left", "right")
    )
    # Pair each key of the left with all equal keys of the right: i with order[begin[i]:end[i]].
    i = np.repeat(np.arange(len(begin)), end - begin)
    j = order[np.arange(len(i)) - np.repeat(np.cumsum(end - begin) - end, end - begin)]
    distances = of_left.n_removed[i] + of_right.n_removed[j]
    x, q = of_left.rows[i], of_right.rows[j]
    is_common = (of_left.keys.words[i] == (left.words[x] & right.words[q])).all(axis=1)
    kept = np.flatnonzero(is_common & (distances <= radius))
    kept = kept[np.lexsort((q[kept], x[kept]))]
    return x[kept], q[kept], distances[kept]
