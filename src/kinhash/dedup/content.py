"""`Content`: the rows of a table as the caller has them, checked, and their ids."""

import dataclasses
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from kinhash.arrays import Array, Integers
from kinhash.codes import Codes
from kinhash.errors import InvalidInputError
from kinhash.ids import Texts, as_new_ids


@dataclasses.dataclass(frozen=True, eq=False)
class Content:
    """Rows and their ids.

    Args:
        rows: Vectors, or codes.
        ids: `(n,)` int64, or objects where they are strings; None for row numbers.
    """

    rows: Array | Codes
    ids: Array | None

    @classmethod
    def of(cls, data: object, ids: npt.ArrayLike | None, name: str) -> Self:
        """Return what the caller gave.

        Args:
            data: Vectors or codes.
            ids: Of the rows, or None.
            name: What the caller calls the data.

        Raises:
            InvalidInputError: They are neither, there are no rows, or the ids do not fit them.
        """
        rows = data if isinstance(data, Codes) else _as_vectors(data, name)
        if len(rows) == 0:
            raise InvalidInputError(f"`{name}` must have at least one row, but has none.")
        if ids is None:
            return cls(rows, None)
        checked = as_new_ids(ids, len(rows), "ids" if name == "data" else f"{name}_ids", "rows")
        return cls(rows, checked.decoded() if isinstance(checked, Texts) else checked)

    @property
    def vectors(self) -> Array:
        """The rows, which are vectors."""
        if isinstance(self.rows, Codes):
            raise TypeError("codes are no vectors")
        return self.rows

    @property
    def ranks(self) -> Integers:
        """What orders the rows: integers by value, strings by place."""
        numbers = self.ids is not None and self.ids.dtype != object
        return self.ids if numbers else np.arange(len(self.rows))  # type: ignore[return-value]

    def named(self, rows: Integers) -> Array:
        """Return the ids of rows."""
        return rows if self.ids is None else self.ids[rows]


def _as_vectors(data: Any, name: str) -> Array:  # noqa: ANN401 - an ArrayLike, or else refused
    try:
        array = np.asarray(data)
    except ValueError:
        raise InvalidInputError(f"`{name}` must be vectors of one length.") from None
    if array.ndim != 2 or array.dtype.kind not in "fiub" or array.shape[1] == 0:
        raise InvalidInputError(
            f"`{name}` must be vectors of numbers, of shape (n, n_features), or codes, got "
            f"{array.dtype} of shape {array.shape}."
        )
    if array.dtype in (np.float32, np.float16, np.int8):
        rows_are_whole = array.flags.aligned and array.strides[1] == array.itemsize
        return array if rows_are_whole else np.ascontiguousarray(array)
    with np.errstate(over="ignore"):  # what becomes infinite is refused with its row
        return np.ascontiguousarray(array, np.float32)
