"""`Duplicates`: what was found, and how sure it is that it is all there is."""

import dataclasses
from typing import Any

from kinhash.arrays import Array, Floats, Integers
from kinhash.dedup.recall import Recall
from kinhash.linkage import Groups


@dataclasses.dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of rows that are linked, by row number.

    Args:
        rows: int64, `(n_pairs,)`: one side, of the table that was given.
        others: int64: the other side; against another table, rows of that.
        similarity: float32: how similar their vectors are; None if there are none.
    """

    rows: Integers
    others: Integers
    similarity: Floats | None

    def __len__(self) -> int:
        return len(self.rows)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Duplicates:
    """The groups of a table.

    Args:
        groups: A row for each item in a group: `id`, `group`, `representative`, `keep`, `distance`
            and, where there are vectors, `similarity`. Against another table, only items of the new
            one that the other has, each represented by its nearest.
        kept: `(n,)` bool: which rows to keep, those in no group and the representatives.
        pairs: The pairs that make the groups, of rows that are not identical; None where they were
            not listed.
        recall: How large a share of all similar pairs was found.
        similarity: The limit, if it was one of similarity ...
        radius: ... or of distance.
    """

    groups: Groups
    kept: Array
    pairs: Pairs | None
    recall: Recall
    similarity: float | None = None
    radius: int | None = None

    @property
    def n_items(self) -> int:
        """How many rows the table has."""
        return len(self.kept)

    @property
    def n_dropped(self) -> int:
        """How many of them are not to be kept."""
        return int((~self.kept).sum())

    def to_arrow(self) -> Any:  # noqa: ANN401 - untyped
        """Return the columns of `groups` as a `pyarrow.Table`; those that are None are left out."""
        return self.groups.to_arrow()

    def to_pandas(self) -> Any:  # noqa: ANN401 - untyped
        """Return the same as a `pandas.DataFrame`."""
        return self.groups.to_pandas()

    def __repr__(self) -> str:
        limit = f"radius={self.radius}" if self.radius is not None else ""
        limit = f"similarity={self.similarity:g}" if self.similarity is not None else limit
        return (
            f"Duplicates({self.n_items} items, {len(self.groups)} groups, "
            f"{self.n_dropped} to drop, {limit})"
        )
