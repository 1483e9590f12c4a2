"""From what the user has (labels, tags, pairs, or vectors alone) to a source of training pairs."""

import logging
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.neighbors import NearestNeighbors

from kinhash.arrays import Array, Labels, Matrix
from kinhash.encoders import CHUNK_ROWS, check_finite
from kinhash.errors import InvalidInputError
from kinhash.labels import check_complete, label_array, missing_rows
from kinhash.pairs import LabelSource, MetricSource, Pairs, PairSource, Source, TagSource

logger = logging.getLogger(__name__)

# Nearest neighbours are found among this many random rows at most: it takes their number squared.
MAX_NEIGHBOUR_ROWS = 20_000


def pair_source(
    X: Matrix,
    y: Labels | None,
    pairs: Pairs | None,
    *,
    n_neighbors: int,
    threshold: float | None,
    seed: int,
) -> Source:
    """Return the source of training pairs.

    Args:
        X: The training vectors.
        y: Class labels `(n,)`, or a 0/1 matrix `(n, n_tags)`, or None.
        pairs: Explicit pairs of rows, or None.
        n_neighbors: With neither: each row is similar to this many nearest rows ...
        threshold: ... or, if given, to all rows within this Euclidean distance.
        seed: Chooses the rows among which neighbours are sought, when there are too many.

    Raises:
        InvalidInputError: Both or unusable kinds of supervision.
    """
    if y is not None and pairs is not None:
        raise InvalidInputError("Give either `y` or `pairs`, got both.")
    if pairs is not None:
        if not isinstance(pairs, Pairs):
            raise InvalidInputError(f"`pairs` must be kinhash.Pairs, got {type(pairs).__name__}.")
        pairs.check_rows(X.shape[0])
        if not pairs.similar.any():
            raise InvalidInputError("`pairs` list no similar pair. Add some.")
        return PairSource.from_pairs(pairs, X.shape[0])
    if y is not None:
        return from_labels(y, X.shape[0])
    return _from_vectors(X, n_neighbors, threshold, seed)


def label_source(method: str, y: Labels | None, n_rows: int) -> LabelSource | TagSource:
    """Return the source for class labels or tags, for a method that cannot do without them.

    Raises:
        InvalidInputError: `y` is None or cannot be used.
    """
    if y is None:
        raise InvalidInputError(
            f"{method} requires y to be passed, but the target y is None. Pass class labels, or "
            "use a method that learns from vectors alone, such as AGH or LSH."
        )
    return from_labels(y, n_rows, else_="")


def from_labels(
    y: Labels,
    n_rows: int,
    *,
    else_: str = ", or leave `y` out to learn from the vectors alone",
    needed: Array | None = None,
) -> LabelSource | TagSource:
    """Return the source for class labels, or for tags in a 0/1 matrix.

    Args:
        y: One label or row of tags for each training row.
        n_rows: How many there must be.
        else_: What the user may do instead, in an error.
        needed: `(n,)` booleans: rows whose label may not be missing; None means all.

    Raises:
        InvalidInputError: `y` cannot be used.
    """
    labels: Any = label_array("`y`", y)
    n_labels = labels.shape[0] if labels.ndim else 0
    if n_labels != n_rows:
        raise InvalidInputError(f"`y` has {n_labels} labels but `X` has {n_rows} rows.")
    missing = missing_rows(labels)
    if needed is not None:
        missing &= needed
    check_complete("`y`", missing, drop="Drop those rows from `X` and `y`")
    if labels.ndim == 2 and labels.shape[1] > 1:
        return _from_tags(labels)
    if scipy.sparse.issparse(labels) or labels.ndim > 2:
        raise InvalidInputError(
            f"`y` must be (n,) labels or an (n, n_tags) 0/1 matrix, got shape {labels.shape}."
        )
    return _from_classes(labels.reshape(-1), else_)


def _from_classes(labels: Array, else_: str) -> LabelSource:
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        row = int(np.argmax(np.isinf(labels)))
        raise InvalidInputError(
            f"`y` contains infinity in row {row}. Drop that row from `X` and `y`."
        )
    source = LabelSource.from_labels(labels)
    sizes = np.bincount(source.labels)
    if len(sizes) == 1:
        raise InvalidInputError(
            f"`y` has a single class, {labels.tolist()[0]!r}; learning codes needs at least two. "
            f"Add rows of other classes{else_}."
        )
    if sizes.max() == 1:
        raise InvalidInputError(
            f"`y` has {len(sizes)} classes of one row each, so no two rows are similar. "
            f"Add rows per class{else_}."
        )
    return source


def _from_tags(tags: Matrix) -> TagSource:
    numbers = tags.dtype.kind in "biuf"
    if not numbers or not np.isin(scipy.sparse.csr_array(tags).data, (0, 1)).all():
        raise InvalidInputError("`y` with several columns must hold only 0 and 1, one per tag.")
    source = TagSource.from_tags(tags)
    if np.diff(source.by_tag.indptr).max(initial=0) < 2:
        raise InvalidInputError("`y` gives no two rows a tag in common, so none are similar.")
    return source


def membership(source: LabelSource | TagSource) -> Array:
    """Return a 0/1 matrix of rows by classes or tags, uint8."""
    if isinstance(source, TagSource):
        tags: Array = source.tags.toarray().astype(np.uint8)
        return tags
    return np.eye(int(source.labels.max()) + 1, dtype=np.uint8)[source.labels]


def nearest(
    X: Matrix,
    n_neighbors: int,
    seed: int,
) -> tuple[Array, Array, Array]:
    """Return rows, a near row for each, and their distance: `n_neighbors` times every row.

    Of many rows, only a random part is looked at.
    """
    rows = np.arange(X.shape[0])
    if len(rows) > MAX_NEIGHBOUR_ROWS:
        rng = np.random.default_rng(seed)
        rows = np.sort(rng.choice(len(rows), MAX_NEIGHBOUR_ROWS, replace=False))
        logger.info("Neighbours are sought among %d of %d rows.", len(rows), X.shape[0])
    k = min(n_neighbors, len(rows) - 1)
    chosen = X[rows].astype(np.float32)
    distances, neighbours = NearestNeighbors(n_neighbors=k).fit(chosen).kneighbors()
    return np.repeat(rows, k), rows[neighbours.ravel()], distances.ravel()


def _from_vectors(X: Matrix, n_neighbors: int, threshold: float | None, seed: int) -> Source:
    for start in range(0, X.shape[0], CHUNK_ROWS):
        check_finite(X[start : start + CHUNK_ROWS], first_row=start)
    left, right, distances = nearest(X, n_neighbors, seed)
    if threshold is None:
        return PairSource.from_pairs(Pairs(left, right), X.shape[0])
    close = distances <= threshold
    if not close.any():
        raise InvalidInputError(
            f"No two rows lie within `threshold` {threshold:g}; the nearest two are "
            f"{distances.min():.3g} apart. Raise it."
        )
    n_rows = len(np.unique(left))
    if close.all() and len(left) == n_rows * (n_rows - 1):
        raise InvalidInputError(
            f"All rows lie within `threshold` {threshold:g} of one another; the farthest two are "
            f"{distances.max():.3g} apart. Lower it."
        )
    listed = PairSource.from_pairs(Pairs(left[close], right[close]), X.shape[0])
    return MetricSource(X, threshold, listed)
