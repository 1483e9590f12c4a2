"""What users hold vectors, labels or texts in, tables and tensors, as arrays."""

import sys
from typing import Any

import numpy as np

from kinhash import tables, tensors

_ARRAYS = (np.ndarray, list, tuple, dict, str)


def as_vectors(X: Any) -> tuple[Any, Any]:  # noqa: ANN401 - whatever the user has
    """Return vectors as an array where they are a table or a tensor; or as they are.

    Returns:
        The array, or `X`; and what has the names of its columns, if anything does.

    Raises:
        InvalidInputError: A table holds no vectors: see `kinhash.tables.vectors`.
        MissingExtraError: It is a table, and pyarrow is not installed.
    """
    table = _table(X)
    if table is None:
        array = tensors.as_array(X)
        return (X, None) if array is None else (array, None)
    vectors = tables.vectors(table, source=f"the {type(X).__name__}")
    has_names = vectors.shape[1] == len(table.column_names) and not any(
        tables.is_list(kind) for kind in table.schema.types
    )
    return vectors, table if has_names else None


def as_modality(values: Any) -> Any:  # noqa: ANN401 - whatever the user has
    """Return the same of a modality; a column of texts as a list of them."""
    table = _table(values)
    if table is not None and table.num_columns == 1 and tables.is_text(table.schema.types[0]):
        return tables.texts(table.column(0), "the texts")
    return as_vectors(values)[0]


def _table(data: Any) -> Any:  # noqa: ANN401 - untyped
    """Return a table; None if it is none, or if NumPy does as well: a frame of numbers alone.

    Such a frame keeps its types, and needs no pyarrow.
    """
    if isinstance(data, _ARRAYS) or _is_plain(data):
        return None
    return tables.as_table(data)


def _is_plain(data: Any) -> bool:  # noqa: ANN401 - whatever the user has
    pandas: Any = sys.modules.get("pandas")
    polars: Any = sys.modules.get("polars")
    frame = getattr(pandas, "DataFrame", None)
    if frame is not None and isinstance(data, frame):
        # Objects may be numbers, such as Python's own, or lists of them.
        return all(
            getattr(kind, "kind", "O") in "biufc"
            or (str(kind) == "object" and not _has_lists(data.iloc[:, place]))
            for place, kind in enumerate(data.dtypes)
        )
    frame = getattr(polars, "DataFrame", None)
    if frame is not None and isinstance(data, frame):
        return all(kind.is_numeric() or kind == polars.Boolean for kind in data.dtypes)
    return False


def _has_lists(column: Any) -> bool:  # noqa: ANN401 - untyped
    return len(column) > 0 and isinstance(column.iloc[0], list | tuple | np.ndarray)
