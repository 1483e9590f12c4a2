"""`Related`: some rows, and which pairs of them are similar."""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from kinhash.arrays import Array, Integers
from kinhash.errors import InvalidInputError
from kinhash.labels import check_complete, class_numbers, label_array, missing_rows
from kinhash.pairs.pairs import Pairs

MAX_ROWS = 3_000  # whose pairs are counted, at most


@dataclasses.dataclass(frozen=True, eq=False)
class Related:
    """Some rows, and which of them are similar."""

    rows: Integers
    classes: Array | None = None  # (n,) numbers
    tags: Array | None = None  # (n, n_tags) float32 of 0 and 1
    similar: Any = None  # csr (n, n) of bool
    dissimilar: Any = None  # the same; None: all that are not similar
    similar_share: float | None = None  # of all rows, where these are no random part

    def relate(self, start: int, n: int) -> tuple[Array, Array]:
        """Return which of the `n` rows from `start` are similar to which, and dissimilar."""
        some = slice(start, start + n)
        if self.classes is not None:
            similar = self.classes[some, None] == self.classes
        elif self.tags is not None:
            similar = self.tags[some] @ self.tags.T > 0
        else:
            similar = self.similar[some].toarray()
        others = ~similar if self.dissimilar is None else self.dissimilar[some].toarray()
        own = np.arange(n), np.arange(start, start + n)
        similar[own] = others[own] = False
        return similar, others


def related(similar: npt.ArrayLike | Pairs, n: int, rng: np.random.Generator) -> Related:
    """Return some of `n` rows, and which are similar by labels, tags or pairs.

    Args:
        similar: `(n,)` labels, `(n, n_tags)` of 0 and 1, or `Pairs` of rows.
        n: How many rows there are.
        rng: Draws some where there are many; of pairs, first of all rows that are in any.

    Raises:
        InvalidInputError: Labels are missing or do not fit, or a pair names no row.
    """
    if isinstance(similar, Pairs):
        return _of_pairs(similar, n, rng)
    labels: Any = label_array("`similar`", similar)
    if labels.ndim not in (1, 2) or labels.shape[0] != n:
        raise InvalidInputError(
            f"`similar` must be one label, or one row of tags, for each of {n} codes, got shape "
            f"{labels.shape}."
        )
    drop = "Drop those rows from `similar` and from `codes`"
    check_complete("`similar`", missing_rows(labels), drop=drop)
    rows = np.sort(rng.permutation(n)[:MAX_ROWS])
    if labels.ndim == 1 or labels.shape[1] == 1:
        flat = labels.toarray() if hasattr(labels, "toarray") else labels
        return Related(rows, classes=class_numbers(flat.reshape(-1))[rows])
    tags = scipy.sparse.csr_array(labels)[rows].toarray()
    if not np.isin(tags, (0, 1)).all():
        raise InvalidInputError("`similar` with several columns must hold only 0 and 1.")
    return Related(rows, tags=tags.astype(np.float32))


def _of_pairs(pairs: Pairs, n: int, rng: np.random.Generator) -> Related:
    pairs.check_rows(n)
    ends = np.unique(np.stack([pairs.i, pairs.j])[:, pairs.similar])
    if pairs.similar.all():
        others = rng.permutation(np.setdiff1d(np.arange(n), ends))
        rows = np.concatenate([rng.permutation(ends), others])[:MAX_ROWS]
    else:
        rows = rng.permutation(np.unique([pairs.i, pairs.j]))[:MAX_ROWS]
    rows = np.sort(rows)
    place = np.full(n, -1)
    place[rows] = np.arange(len(rows))

    def matrix(chosen: Array) -> Any:  # noqa: ANN401 - csr
        i, j = place[pairs.i[chosen]], place[pairs.j[chosen]]
        i, j = (side[(i >= 0) & (j >= 0)] for side in (i, j))
        both = np.concatenate([i, j]), np.concatenate([j, i])
        made = scipy.sparse.coo_array((np.ones(2 * len(i), bool), both), (len(rows), len(rows)))
        return made.tocsr()

    similar = matrix(pairs.similar)
    if not pairs.similar.all():
        return Related(rows, similar=similar, dissimilar=matrix(~pairs.similar))
    low, high = np.minimum(pairs.i, pairs.j), np.maximum(pairs.i, pairs.j)
    n_similar = len(np.unique(np.stack([low, high]), axis=1).T)
    return Related(rows, similar=similar, similar_share=n_similar / (n * (n - 1) / 2))
