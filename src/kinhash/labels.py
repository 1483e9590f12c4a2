"""Labels as the user gives them: no two different ones merged, and missing ones refused."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from kinhash import tables, tensors
from kinhash.arrays import Array
from kinhash.errors import InvalidInputError

_MAX_LISTED = 5


def label_array(what: str, labels: Any) -> Any:  # noqa: ANN401 - any array-like or sparse
    """Return labels as an array, or a sparse matrix as it is.

    NumPy turns a list of 1 and "1", or of NaN and "a", into strings; here it becomes an array of
    objects, so that different labels stay different and missing ones can be told.

    Args:
        what: What the labels are called in an error.
        labels: A list, a NumPy array, a pandas or Polars column or frame, or a sparse matrix.

    Raises:
        InvalidInputError: Rows of different lengths.
    """
    if scipy.sparse.issparse(labels):
        return labels
    labels = _unwrapped(labels)
    if isinstance(labels, np.ma.MaskedArray):  # NumPy would bring back what is masked
        objects = labels.data.astype(object)
        objects[np.ma.getmaskarray(labels)] = None
        return objects
    try:
        array = np.asarray(labels)
    except ValueError as error:
        raise InvalidInputError(
            f"{what} must hold one label per row, or rows of tags that have one length: {error}."
        ) from error
    if array.dtype.kind == "T":
        return array.astype(object)
    if array.dtype.kind in "US" and not hasattr(labels, "dtype"):
        objects = np.array(labels, dtype=object)
        only = str if array.dtype.kind == "U" else bytes
        if not all(isinstance(label, only) for label in objects.flat):
            return objects
    return array


def _unwrapped(labels: Any) -> Any:  # noqa: ANN401 - whatever the user has
    """Return labels as an array where they are a tensor, or a table that NumPy does not read."""
    array = tensors.as_array(labels)
    if array is not None:
        return array
    family = type(labels).__module__.partition(".")[0]
    if family in {"builtins", "numpy", "pandas", "polars"}:
        return labels
    table = tables.as_table(labels)
    if table is None:
        return labels
    if table.num_columns == 1 and not tables.is_list(table.schema.types[0]):
        return tables.entries(table.column(0))
    return tables.vectors(table, source="`y`")


def missing_rows(labels: Any) -> Array:  # noqa: ANN401 - an array or sparse
    """Return a boolean per row: whether a label is missing there (None, NaN, NaT, pandas.NA)."""
    if scipy.sparse.issparse(labels):
        matrix: Any = labels
        entries = matrix.tocoo()
        rows: Array = np.zeros(entries.shape[0], bool)
        rows[entries.row[_missing(entries.data)]] = True
        return rows
    rows = _missing(labels)
    return rows if rows.ndim < 2 else np.asarray(rows.reshape(len(rows), -1).any(axis=1))


def check_complete(what: str, missing: Array, *, drop: str) -> None:
    """Raise InvalidInputError if a row has no label.

    Args:
        what: What the labels are called.
        missing: `(n,)` booleans: in which rows they are missing.
        drop: How to leave those rows out, such as "Drop those rows from `X` and `y`".
    """
    if missing.any():
        rows = np.flatnonzero(missing)
        some = ", ".join(map(str, rows[:_MAX_LISTED])) + ", ..." * (len(rows) > _MAX_LISTED)
        raise InvalidInputError(
            f"{what} must have a label in each row, but {len(rows)} of {len(missing)} are missing: "
            f"in row{'s' * (len(rows) > 1)} {some} (counted from 0). {drop}, or mark them with a "
            "label of their own."
        )


def class_numbers(labels: Array) -> Array:
    """Return the class of each label, numbered from 0 in sorted order.

    Labels are the same where Python says that they are equal, so 1 and "1" are not.

    Raises:
        InvalidInputError: A label is a list or another object that cannot be compared that way.
    """
    if labels.dtype.kind != "O":
        return np.unique(labels, return_inverse=True)[1].reshape(-1)
    values = labels.tolist()
    try:
        different = dict.fromkeys(values)
    except TypeError as error:
        raise InvalidInputError(
            f"A label must be a number, a string or another hashable object: {error}."
        ) from error
    # Of objects of several types, only their texts have an order.
    ordered = sorted(different, key=lambda label: (str(label), type(label).__name__))
    number = {label: i for i, label in enumerate(ordered)}
    return np.array([number[label] for label in values], np.int64)


def joined(parts: Sequence[Array]) -> Array:
    """Return label arrays one after the other; numbers and strings become objects, not strings."""
    if len({_family(part) for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


def _family(labels: Array) -> str:
    return "number" if labels.dtype.kind in "biufc" else labels.dtype.kind


def _missing(labels: Array) -> Array:
    if labels.dtype.kind in "fc":
        found: Array = np.isnan(labels)
    elif labels.dtype.kind in "mM":
        found = np.isnat(labels)
    elif labels.dtype.kind == "O":
        flat = (_is_missing(label) for label in labels.flat)
        found = np.fromiter(flat, bool, labels.size).reshape(labels.shape)
    else:
        found = np.zeros(labels.shape, bool)
    return found


def _is_missing(label: object) -> bool:
    if label is None:
        return True
    try:
        return bool(label != label)  # noqa: PLR0124 - what NaN and NaT are known by
    except (TypeError, ValueError):  # pandas.NA is neither equal nor unequal; an array is several
        return type(label).__name__ == "NAType"
