"""Ids and labels of text files, in which a number and the text of a number look the same."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinhash import tables
from kinhash.arrays import Array


def text_ids(column: Any, source: str, *, first_row: int = 0) -> Array:  # noqa: ANN401 - untyped
    """Return ids as int64 if each is written as that number is, or else as strings.

    So "7" is a number, and "007" is not.

    Raises:
        InvalidInputError: One is empty.
    """
    pa = tables.arrow()
    import pyarrow.compute as pc  # noqa: PLC0415 - an extra

    column = _without(column, pc.equal(column, ""))
    found = tables.ids(column, source, first_row=first_row)
    try:
        numbers = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return found
    if not pc.all(pc.equal(numbers.cast(pa.string()), column)).as_py():
        return found
    return np.asarray(tables.numbers(numbers), np.int64)


def _without(column: Any, is_empty: Any) -> Any:  # noqa: ANN401 - untyped
    """Return a column of texts with null in place of some."""
    pa = tables.arrow()
    import pyarrow.compute as pc  # noqa: PLC0415 - an extra

    # Not if_else, which reads slices of texts from a wrong place in some releases.
    return pc.replace_with_mask(column, is_empty, pa.scalar(None, pa.string()))


def joined_ids(parts: Sequence[Array]) -> Array:
    """Return ids one after the other: int64 if all are, or else an object array of strings.

    Example:
        >>> joined_ids([np.array([7, 8]), np.array(["a"], object)])
        array(['7', '8', 'a'], dtype=object)
    """
    if len({part.dtype for part in parts}) > 1:
        parts = [part.astype(str).astype(object) for part in parts]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def narrowed(column: Any) -> Any:  # noqa: ANN401 - untyped
    """Return a column of texts as integers, numbers or true and false, if all of it can be."""
    pa = tables.arrow()
    import pyarrow.compute as pc  # noqa: PLC0415 - an extra
    import pyarrow.csv  # noqa: PLC0415 - an extra

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    empty = pa.array(pyarrow.csv.ConvertOptions().null_values)
    filled = _without(column, pc.is_in(column, value_set=empty))
    for kind in (pa.int64(), pa.float64(), pa.bool_()):
        try:
            return filled.cast(kind)
        except pa.ArrowInvalid:
            continue
    return column
