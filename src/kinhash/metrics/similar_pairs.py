"""How well a radius tells similar pairs from others: precision, recall and F1 over pairs."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from kinhash.arrays import Array, Integers
from kinhash.codes import Codes
from kinhash.errors import InvalidInputError
from kinhash.metrics.checks import Side, checked_integers, checked_labels
from kinhash.metrics.retrieval import (
    counts_by_distance,
    different_rows,
    f1_of,
    farthest_distance,
    n_differing_bits,
    relevant_items,
)
from kinhash.pairs.pairs import Pairs

LEFT = Side("similar", "codes", "`codes`")
RIGHT = Side("other_labels", "others", "`others`")
CHUNK_BYTES = 16 * 2**20  # of tables of distances


def evaluate_pairs(
    codes: Codes,
    similar: npt.ArrayLike | Pairs,
    others: Codes | None = None,
    other_labels: npt.ArrayLike | None = None,
    *,
    radii: Sequence[int] = (0, 2),
) -> dict[str, float]:
    """Return how well "within the radius" tells similar pairs of items from the others.

    The pairs are all pairs of two items of a set, or of one item of each of two sets, as for
    duplicates in a table or between two. For each r in `radii`:

    - `pair_precision@r{r}`: the share of similar ones among the pairs within the radius, 0 if there
      are none; `pair_recall@r{r}`: the share of the similar pairs that are within the radius;
      `pair_f1@r{r}`: 2PR / (P + R).
    - `pairs@r{r}`: how many pairs are within the radius.

    Distances are the buckets'. Large groups have many pairs and weigh accordingly.

    Args:
        codes: `n` codes.
        similar: Which pairs are similar: `(n,)` labels, such as the source of each item, or a
            `(n, n_labels)` matrix of 0 and 1 (similar: a label in common); or `Pairs` of rows.
            Without any dissimilar one among these, all pairs that are not listed are dissimilar;
            with one, only listed pairs count.
        others: The second set, if there are two: `Pairs.across` then names a row of `codes` and one
            of `others`.
        other_labels: Their labels, of the same kind as `similar`; None with `Pairs`.
        radii: Inclusive distances, each at least 0.

    Raises:
        InvalidInputError: Codes or labels that do not fit each other, no similar pair at all, a
            pair that is both similar and dissimilar, or a row or radius out of range.

    Example:
        >>> codes = Codes.from_dense([[0, 1, 1], [0, 1, 1], [0, 0, 1], [1, 0, 0]])
        >>> found = evaluate_pairs(codes, ["a", "a", "a", "b"], radii=[0])
        >>> found["pair_precision@r0"], round(found["pair_recall@r0"], 2), found["pairs@r0"]
        (1.0, 0.33, 1.0)
    """
    radii = checked_integers("radii", radii, least=0)
    n_all, n_similar = pair_counts(codes, similar, others, other_labels)
    result = {}
    for radius in radii:
        n_near, n_hits = (int(part[: radius + 1].sum()) for part in (n_all, n_similar))
        precision, recall = n_hits / max(1, n_near), n_hits / int(n_similar.sum())
        result[f"pair_precision@r{radius}"] = precision
        result[f"pair_recall@r{radius}"] = recall
        result[f"pair_f1@r{radius}"] = f1_of(precision, recall)
        result[f"pairs@r{radius}"] = float(n_near)
    return result


def pair_counts(
    codes: Codes,
    similar: npt.ArrayLike | Pairs,
    others: Codes | None = None,
    other_labels: npt.ArrayLike | None = None,
) -> tuple[Integers, Integers]:
    """Return how many pairs, and how many similar ones, lie at each distance.

    Takes and refuses what `evaluate_pairs` does. Equal codes are counted together, so the work
    grows with the number of pairs of different ones; memory grows with the codes alone.

    Returns:
        `n_all` and `n_similar`: int64, `(farthest + 1,)`, where entry d counts distance d.
    """
    if not len(codes) or (others is not None and not len(others)):
        raise InvalidInputError("`codes` and `others` must hold at least one code, got none.")
    if others is not None:
        codes.check_comparable(others, "`codes`", "`others`")
    n_distances = farthest_distance(codes) + 1
    if isinstance(similar, Pairs):
        n_all, n_similar = _of_listed(codes, similar, others, other_labels, n_distances)
    else:
        n_all, n_similar = _of_labelled(codes, similar, others, other_labels, n_distances)
    if not n_similar.any():
        raise InvalidInputError(
            "`similar` must make at least one pair similar, but all are dissimilar."
        )
    return n_all, n_similar


def _of_labelled(
    codes: Codes,
    labels: npt.ArrayLike,
    others: Codes | None,
    other_labels: npt.ArrayLike | None,
    n_distances: int,
) -> tuple[Integers, Integers]:
    if (others is None) != (other_labels is None):
        raise InvalidInputError("`others` and `other_labels` must be given together, got one.")
    left = codes.words
    right = left if others is None else others.words
    left_labels, right_labels = checked_labels(
        labels,
        len(left),
        labels if other_labels is None else other_labels,
        len(right),
        (LEFT, LEFT if others is None else RIGHT),
    )
    n_all = _ordered_counts(left, right, n_distances)
    n_similar = np.zeros(n_distances, np.int64)
    for rows, columns in _groups(left_labels, right_labels):
        n_similar += _ordered_counts(left[rows], right[columns], n_distances)
    if others is None:  # each pair was counted in both orders, and each item with itself
        n_all[0] -= len(left)
        n_similar[0] -= len(left) if left_labels.ndim == 1 else int(left_labels.any(axis=1).sum())
        n_all, n_similar = n_all // 2, n_similar // 2
    return n_all, n_similar


def _groups(left: Array, right: Array) -> Iterator[tuple[Array, Array]]:
    """Yield rows of both sides, so that each ordered pair with a label in common comes once."""
    if left.ndim == 2:
        for queries, relevant in relevant_items(left, right):
            yield np.flatnonzero(queries), np.flatnonzero(relevant)
        return
    # Sorted once: a mask for each of many small groups would take n^2 steps.
    by_label = [np.argsort(labels, kind="stable") for labels in (left, right)]
    in_order = [labels[rows] for labels, rows in zip((left, right), by_label, strict=True)]
    for label in np.intersect1d(left, right):
        rows, columns = (
            at[np.searchsorted(ordered, label) : np.searchsorted(ordered, label, side="right")]
            for at, ordered in zip(by_label, in_order, strict=True)
        )
        yield rows, columns


def _of_listed(
    codes: Codes,
    pairs: Pairs,
    others: Codes | None,
    other_labels: npt.ArrayLike | None,
    n_distances: int,
) -> tuple[Integers, Integers]:
    if other_labels is not None:
        raise InvalidInputError("`other_labels` are labels, but `similar` are pairs. Drop one.")
    right = codes if others is None else others
    for name, rows, n in (("i", pairs.i, len(codes)), ("j", pairs.j, len(right))):
        if int(rows.max()) >= n:
            raise InvalidInputError(
                f"`{name}` of the pairs must be rows of {n} codes, 0 to {n - 1}, got {rows.max()}."
            )
    i, j = pairs.i, pairs.j
    if others is None:
        if np.any(i == j):
            at = int(np.argmax(i == j))
            raise InvalidInputError(f"Pair {at} joins row {i[at]} with itself. Drop it.")
        i, j = np.minimum(i, j), np.maximum(i, j)
    listed = np.unique(np.stack([i, j, pairs.similar], axis=1), axis=0)  # each pair counts once
    is_same = np.all(listed[1:, :2] == listed[:-1, :2], axis=1)
    if is_same.any():
        i_twice, j_twice, _ = listed[int(np.argmax(is_same))]
        raise InvalidInputError(
            f"The pair of rows {i_twice} and {j_twice} is listed as similar and as dissimilar. "
            "Drop one."
        )
    distances = np.empty(len(listed), np.int64)
    step = max(1, CHUNK_BYTES // (8 * codes.words.shape[1]))
    for start in range(0, len(listed), step):
        part = listed[start : start + step]
        distances[start : start + step] = n_differing_bits(
            codes.words[part[:, 0]], right.words[part[:, 1]]
        )
    is_similar = listed[:, 2] == 1
    n_similar = np.bincount(distances[is_similar], minlength=n_distances)
    if not is_similar.all():
        return np.bincount(distances, minlength=n_distances), n_similar
    n_all = _ordered_counts(codes.words, right.words, n_distances)
    if others is None:
        n_all[0] -= len(codes)
        n_all //= 2
    return n_all, n_similar


def _ordered_counts(left: Array, right: Array, n_distances: int) -> Integers:
    """Return how many pairs of a row of `left` and a row of `right` lie at each distance."""
    (rows, n_rows), (columns, n_columns) = _counted(left), _counted(right)
    step = max(1, CHUNK_BYTES // (8 * (64 * left.shape[1] + 1)))
    total = np.zeros(n_distances, np.int64)
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        total += n_rows[part] @ counts_by_distance(rows[part], columns, n_columns, n_distances)
    return total


def _counted(words: Array) -> tuple[Array, Integers]:
    """Return the different rows, and how many there are of each."""
    rows, row_of = different_rows(words)
    return rows, np.bincount(row_of)
