"""`Pairs` of similar and dissimilar items, as the user lists them."""

from typing import Self

import numpy as np
import numpy.typing as npt

from kinhash.arrays import Array
from kinhash.errors import InvalidInputError


class Pairs:
    """Explicit pairs of row numbers, each similar or not.

    Args:
        i: Row numbers, `(n,)`.
        j: Row numbers, `(n,)`; `i[k] != j[k]`.
        similar: `(n,)` booleans, or one for all. Without any dissimilar pair, every pair that is
            not listed counts as dissimilar, as with clicks.

    Example:
        >>> pairs = Pairs([0, 0], [1, 2], [True, False])
        >>> len(pairs), pairs.similar.tolist()
        (2, [True, False])
    """

    __slots__ = ("i", "j", "similar")

    i: Array
    j: Array
    similar: Array

    def __init__(
        self,
        i: npt.ArrayLike,
        j: npt.ArrayLike,
        similar: npt.ArrayLike = True,  # noqa: FBT002 - the data
        *,
        _across: bool = False,
    ) -> None:
        left, right = _row_numbers("i", i), _row_numbers("j", j)
        flags = np.asarray(similar)
        if flags.ndim == 0:
            flags = np.full(len(left), bool(flags))
        if not len(left) == len(right) == len(flags) or flags.ndim != 1:
            raise InvalidInputError(
                f"`i`, `j` and `similar` must be as long as one another, got {len(left)}, "
                f"{len(right)} and {len(flags)}."
            )
        if not len(left):
            raise InvalidInputError("`i` and `j` must hold at least one pair, got none.")
        if not np.isin(flags, (0, 1)).all():
            raise InvalidInputError("`similar` must hold only True and False (or 1 and 0).")
        if np.any(left == right) and not _across:
            at = int(np.argmax(left == right))
            raise InvalidInputError(f"Pair {at} joins row {left[at]} with itself. Drop it.")
        object.__setattr__(self, "i", left)
        object.__setattr__(self, "j", right)
        object.__setattr__(self, "similar", flags.astype(bool))
        for array in (self.i, self.j, self.similar):
            array.flags.writeable = False

    @classmethod
    def across(
        cls,
        i: npt.ArrayLike,
        j: npt.ArrayLike,
        similar: npt.ArrayLike = True,  # noqa: FBT002 - the data
    ) -> Self:
        """Return pairs of a row of one modality with a row of another; the numbers may be equal."""
        return cls(i, j, similar, _across=True)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Pairs are immutable; make new ones instead of setting {name!r}.")

    def __len__(self) -> int:
        return len(self.i)

    def __repr__(self) -> str:
        return f"Pairs(n={len(self)}, n_similar={int(self.similar.sum())})"

    def check_rows(self, n_rows: int, n_right: int | None = None) -> None:
        """Raise InvalidInputError if `i` names a row beyond `n_rows`, or `j` beyond `n_right`."""
        for rows, n in ((self.i, n_rows), (self.j, n_rows if n_right is None else n_right)):
            if int(rows.max()) >= n:
                raise InvalidInputError(f"`pairs` name row {rows.max()}, but `X` has {n} rows.")


def _row_numbers(name: str, values: npt.ArrayLike) -> Array:
    rows = np.array(values)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise InvalidInputError(
            f"`{name}` must be a list of row numbers, got {rows.dtype} of shape {rows.shape}."
        )
    if rows.size and rows.min() < 0:
        raise InvalidInputError(f"`{name}` must hold row numbers from 0, got {rows.min()}.")
    return rows.astype(np.int64)
