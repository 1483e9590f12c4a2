"""`cross_calibration`: how sure codes are, from rows that a method has learned from."""

import logging
from typing import Any, Protocol, Self

import numpy as np
from sklearn.base import clone

from kinhash.arguments import check_integer
from kinhash.arrays import Array, Integers, Labels, Matrix
from kinhash.calibration import Calibration
from kinhash.calibration.similar import MAX_ROWS
from kinhash.codes import Codes
from kinhash.encoders import Encoder
from kinhash.errors import InvalidInputError
from kinhash.labels import check_complete, class_numbers, label_array, missing_rows
from kinhash.pairs import Pairs

logger = logging.getLogger(__name__)


class _Method(Protocol):
    encoder_: Encoder

    def fit(self, X: Any, y: Any = ...) -> Self: ...  # noqa: ANN401
    def encode(self, X: Any) -> Codes: ...  # noqa: ANN401


def cross_calibration(
    method: _Method, X: Matrix, y: Labels, *, n_folds: int, seed: int
) -> Calibration:
    """Return what pairs of rows say of which neither was learned from.

    The method is fitted anew to all parts of the rows but one, which it then encodes. Codes of
    different fits cannot be compared, so pairs are those within a part.

    Args:
        method: A fitted method, which stays as it is.
        X: `(n, n_features)`, rows that it may have learned from.
        y: Labels or tags of the rows.
        n_folds: How many parts.
        seed: Draws the parts, and the rows that are encoded where there are many.

    Raises:
        InvalidInputError: There are too few rows, or labels do not fit.
    """
    check_integer("n_folds", n_folds, 2)
    n_rows = X.shape[0]
    labels: Any = label_array("`y`", y)
    if labels.ndim not in {1, 2} or labels.shape[0] != n_rows:
        raise InvalidInputError(
            f"`y` must be one label, or one row of tags, for each of {n_rows} rows, got shape "
            f"{labels.shape}."
        )
    check_complete("`y`", missing_rows(labels), drop="Drop those rows from `X` and from `y`")
    if n_rows < 2 * n_folds:
        raise InvalidInputError(
            f"`X` must have two rows or more for each of {n_folds} folds, got {n_rows} rows."
        )
    rng = np.random.default_rng(seed)
    fold_of = _folds(labels, n_folds, rng)
    parts, codes = [], []
    for fold in range(n_folds):
        logger.info("Calibrating: fold %d of %d.", fold + 1, n_folds)
        others, own = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        own = np.sort(rng.permutation(own)[: max(2, MAX_ROWS // n_folds)])
        again = clone(method).fit(X[others], labels[others])
        parts.append(own)
        codes.append(again.encode(X[own]))
    return Calibration.from_codes(
        Codes.concatenate(codes),
        _pairs_within(parts, labels),
        seed=seed,
        made_by=method.encoder_.fingerprint,
    )


def _folds(labels: Any, n_folds: int, rng: np.random.Generator) -> Integers:  # noqa: ANN401
    """Return a fold for each row; classes are as frequent in all of them."""
    order = rng.permutation(labels.shape[0])
    if labels.ndim == 1:
        order = order[np.argsort(class_numbers(labels)[order], kind="stable")]
    fold_of = np.empty(len(order), np.int64)
    fold_of[order] = np.arange(len(order)) % n_folds
    return fold_of


def _pairs_within(parts: list[Array], labels: Any) -> Pairs:  # noqa: ANN401
    """Return all pairs of rows within a part, by their places in all parts."""
    i, j, similar, start = [], [], [], 0
    for rows in parts:
        left, right = np.triu_indices(len(rows), 1)
        own = labels[rows]
        if own.ndim == 1:
            same = own[left] == own[right]
        else:
            tags = own.toarray() if hasattr(own, "toarray") else np.asarray(own)
            tags = tags.astype(np.float32)
            same = (tags @ tags.T > 0)[left, right]
        i.append(left + start)
        j.append(right + start)
        similar.append(same)
        start += len(rows)
    return Pairs(*map(np.concatenate, (i, j, similar)))
