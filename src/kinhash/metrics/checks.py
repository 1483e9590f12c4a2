"""What measures ask of their arguments: labels that fit each other, rows that exist, radii."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse

from kinhash.arrays import Array
from kinhash.errors import InvalidInputError
from kinhash.labels import check_complete, class_numbers, joined, label_array, missing_rows


def mean_of_known(values: Array) -> float:
    """Return the mean without nan; nan where nothing else is left."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def checked_integers(name: str, values: Sequence[int], *, least: int) -> tuple[int, ...]:
    """Return a sequence of integers of at least `least` as Python's own."""
    if np.ndim(values) != 1 or not all(
        isinstance(v, (int, np.integer)) and not isinstance(v, bool) and v >= least for v in values
    ):
        raise InvalidInputError(
            f"`{name}` must be a sequence of integers of at least {least}, got {values!r}."
        )
    return tuple(int(v) for v in values)


def checked_own(own: npt.ArrayLike | None, n_queries: int, n_items: int) -> Array | None:
    """Return the row of each query's own item, or say why it cannot be one."""
    if own is None:
        return None
    rows = np.asarray(own)
    if rows.shape != (n_queries,) or rows.dtype.kind not in "iu":
        raise InvalidInputError(
            f"`own` must hold a row number for each of the {n_queries} queries, "
            f"got {rows.dtype} of shape {rows.shape}."
        )
    if n_items < 2:
        raise InvalidInputError("`own` leaves nothing to search: the database has one item.")
    if rows.min() < 0 or rows.max() >= n_items:
        raise InvalidInputError(
            f"`own` must hold rows of the database, 0 to {n_items - 1}, "
            f"got {rows.min()} to {rows.max()}."
        )
    return rows.astype(np.int64)


class Side(NamedTuple):
    """What an error calls the labels and the codes of one side, and the items themselves."""

    labels: str
    codes: str
    items: str


QUERIES = Side("query_labels", "query_codes", "the queries")
DATABASE = Side("db_labels", "db_codes", "the database")


def checked_labels(
    of_queries: npt.ArrayLike,
    n_queries: int,
    of_items: npt.ArrayLike,
    n_items: int,
    sides: tuple[Side, Side] = (QUERIES, DATABASE),
) -> tuple[Array, Array]:
    """Return both labels, label matrices as bool, or say why they cannot be compared."""
    left, right = sides
    query_labels = label_array(f"`{left.labels}`", of_queries)
    db_labels = label_array(f"`{right.labels}`", of_items)
    for side, labels, n_codes in ((left, query_labels, n_queries), (right, db_labels, n_items)):
        if n_codes == 0:
            raise InvalidInputError(f"`{side.codes}` must hold at least one code, got none.")
        if scipy.sparse.issparse(labels):
            raise InvalidInputError(
                f"`{side.labels}` must be dense, got a sparse matrix. Pass its toarray()."
            )
        if labels.ndim not in (1, 2):
            raise InvalidInputError(
                f"`{side.labels}` must have shape (n,) or (n, n_labels), got shape {labels.shape}."
            )
        if len(labels) != n_codes:
            raise InvalidInputError(
                f"`{side.labels}` have {len(labels)} rows but `{side.codes}` have {n_codes} codes. "
                "Pass one label, or one row of labels, per code."
            )
        drop = f"Drop those rows from `{side.labels}` and from {side.items}"
        check_complete(f"`{side.labels}`", missing_rows(labels), drop=drop)
    if query_labels.ndim != db_labels.ndim or query_labels.shape[1:] != db_labels.shape[1:]:
        raise InvalidInputError(
            f"`{left.labels}` have shape {query_labels.shape} but `{right.labels}` have shape "
            f"{db_labels.shape}. Pass class labels for both, or the same label columns for both."
        )
    if query_labels.ndim == 2:
        return _as_bool(left.labels, query_labels), _as_bool(right.labels, db_labels)
    families = _family(query_labels), _family(db_labels)
    if families[0] != families[1] and "objects" not in families:
        raise InvalidInputError(
            f"`{left.labels}` are {families[0]} but `{right.labels}` are {families[1]}. "
            "Use the same kind for both."
        )
    if "objects" in families:
        numbers = class_numbers(joined([query_labels, db_labels]))
        return numbers[:n_queries], numbers[n_queries:]
    return query_labels, db_labels


def _as_bool(name: str, labels: Array) -> Array:
    wrong = (labels != 0) & (labels != 1)
    if np.any(wrong):
        raise InvalidInputError(
            f"`{name}` of shape {labels.shape} must hold only 0 and 1, got {labels[wrong][0]!s}. "
            "Pass class labels as a 1-dimensional array."
        )
    return labels.astype(np.bool_)


def _family(labels: Array) -> str:
    return {"U": "strings", "S": "bytes", "O": "objects"}.get(labels.dtype.kind, "numbers")
