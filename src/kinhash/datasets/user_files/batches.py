"""`Items`: rows of whatever the user has, all of them or in batches."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Protocol

from kinhash.arrays import Array, Floats
from kinhash.datasets.dataset import Dataset, Modality
from kinhash.datasets.user_files.columns import Columns

BATCH_ROWS = 8192


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive rows.

    Attributes:
        first_row: The number of the first one.
        ids: int64, or an object array of strings; None if there are none. Of a text file, ids may
            be numbers in one batch and strings in another: `joined_ids` joins them.
        vectors: `(n, d)`, float32; None if none are read.
        texts: One per row; None if none are read.
        modalities: Vectors or texts by name; None if none are asked for.
    """

    first_row: int
    ids: Array | None = None
    vectors: Floats | None = None
    texts: tuple[str, ...] | None = None
    modalities: Mapping[str, Modality] | None = None

    def __len__(self) -> int:
        content = [self.vectors, self.texts, *(self.modalities or {}).values(), self.ids]
        return len(next(one for one in content if one is not None))


class Items(Protocol):
    """Rows that are read when they are asked for: by `batches`, or all by `read`."""

    @property
    def name(self) -> str:
        """What they are called: of a file, its name without the ending."""

    @property
    def columns(self) -> Columns:
        """Which columns are read, as what, and which are not."""

    @property
    def n_rows(self) -> int | None:
        """How many rows there are; None where only reading all of them tells."""

    def batches(self, n_rows: int = BATCH_ROWS, *, with_ids: bool = True) -> Iterator[Batch]:
        """Yield all rows in order, at most `n_rows` at a time; there is at least one.

        Memory is bounded by a batch, whatever the size of the file, but for .npz files.

        Raises:
            InvalidInputError: There are no rows, the file cannot be read, or a value does not fit.
        """

    def read(self, *, with_ids: bool = True) -> Dataset:
        """Return all rows, with the labels.

        Args:
            with_ids: Whether ids are wanted; if not, nothing about them can be wrong.

        Raises:
            InvalidInputError: As for `batches`.
        """
