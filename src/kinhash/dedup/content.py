"""`Content`: the rows of a table as the caller has them, checked, and their ids."""

import dataclasses
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Literal, Self, TypeGuard

import numpy as np
import numpy.typing as npt

from kinhash import tables, tensors
from kinhash.arrays import Array, Integers
from kinhash.codes import Codes
from kinhash.datasets.user_files.columns import Wanted
from kinhash.datasets.user_files.reader import table_items
from kinhash.datasets.user_files.sources import TableSource
from kinhash.errors import InvalidInputError
from kinhash.features.perceptual_hash import perceptual_hashes
from kinhash.features.text_ngrams import text_ngrams
from kinhash.ids import Texts, as_new_ids
from kinhash.progress import Report, silent
from kinhash.vocabulary import are_texts

Kind = Literal["vectors", "codes", "texts", "pictures"]


@dataclasses.dataclass(frozen=True, eq=False)
class Content:
    """Rows and their ids.

    Args:
        rows: Vectors, or codes; of texts and pictures what they are compared by.
        ids: `(n,)` int64, or objects where they are strings; None for row numbers.
        kind: What the rows are made of.
        places: The rows of the caller's table that these are, ascending; None if all.
        n_given: How many rows that table has; None if there are no others.
    """

    rows: Array | Codes
    ids: Array | None
    kind: Kind = "vectors"
    places: Integers | None = None
    n_given: int | None = None

    @classmethod
    def of(
        cls,
        data: object,
        ids: npt.ArrayLike | str | None,
        name: str,
        *,
        n_threads: int | None = None,
        progress: Report = silent,
    ) -> Self:
        """Return what the caller gave.

        Texts without a word are left out: they have nothing in common but that.

        Args:
            data: Vectors, codes, texts, paths of pictures, or a table of vectors or texts.
            ids: Of the rows, or the name of their column in a table; None for the column `id` or
                `ids`, if it has one.
            name: What the caller calls the data.
            n_threads: Threads for pictures.
            progress: Told how many texts or pictures have been read.

        Raises:
            InvalidInputError: They are none of these, there are no rows, or the ids do not fit.
        """
        data, ids = _of_table(data, ids, name)
        rows: Array | Codes
        if isinstance(data, Codes):
            kind, rows = "codes", data
        elif _are_paths(data):
            kind, rows = "pictures", perceptual_hashes(data, n_threads=n_threads, progress=progress)
        elif are_texts(data) and not _are_numbers(data):
            kind, rows = "texts", text_ngrams(data, progress=progress)
        else:
            kind, rows = "vectors", _as_vectors(data, name)
        if len(rows) == 0:
            raise InvalidInputError(f"`{name}` must have at least one row, but has none.")
        checked: Array | None = None
        if ids is not None:
            own = as_new_ids(ids, len(rows), "ids" if name == "data" else f"{name}_ids", "rows")
            checked = own.decoded() if isinstance(own, Texts) else own
        found = cls(rows, checked, kind)  # type: ignore[arg-type]  # each is a kind
        return found._with_words(name) if kind == "texts" else found

    def _with_words(self, name: str) -> Self:
        """Return the texts that have words."""
        has_words = np.asarray(self.vectors.any(axis=1))
        if has_words.all():
            return self
        places = np.flatnonzero(has_words)
        if not len(places):
            raise InvalidInputError(f"None of the {len(has_words):,} texts in `{name}` has a word.")
        ids = places if self.ids is None else self.ids[places]
        return type(self)(self.vectors[places], ids, self.kind, places, len(has_words))

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

    def as_given(self, rows: Integers) -> Integers:
        """Return the numbers that rows have in the caller's table."""
        return rows if self.places is None else self.places[rows]

    def for_all(self, kept: Array) -> Array:
        """Return what is kept of the caller's table: rows that are not among these are."""
        if self.places is None or self.n_given is None:
            return kept
        spread = np.ones(self.n_given, bool)
        spread[self.places] = kept
        return spread


def _of_table(data: Any, ids: Any, name: str) -> tuple[Any, Any]:  # noqa: ANN401 - the caller's
    """Return a table's vectors or texts, and its ids; anything else as it is."""
    is_plain = isinstance(data, Codes | list | tuple | np.ndarray)
    table = None if is_plain else tables.as_table(data)
    if table is None:
        if isinstance(ids, str):
            raise InvalidInputError(
                f"`ids` must be one for each row, got {ids!r}; a name of a column goes with a "
                "table."
            )
        array = tensors.as_array(data)
        return data if array is None else array, ids
    source = f"the {type(data).__name__}"
    if table.num_columns == 1 and tables.is_text(table.schema.types[0]):
        if isinstance(ids, str):
            raise tables.no_column("ids", ids, table.column_names, source=source)
        return tables.texts(table.column(0), f"`{name}`"), ids
    asked = ids if isinstance(ids, str) else None
    items = table_items(source, TableSource(source, table), Wanted(ids=asked))
    found = items.read(with_ids=ids is None or asked is not None)
    return found.vectors, found.ids if ids is None or asked is not None else ids


def _are_paths(data: object) -> TypeGuard[Sequence[PurePath]]:
    return isinstance(data, list | tuple) and bool(data) and isinstance(data[0], PurePath)


def _are_numbers(data: Sequence[object] | Array) -> bool:
    """Whether an array of objects holds no string: numbers, or what is refused as vectors."""
    return isinstance(data, np.ndarray) and not any(isinstance(one, str) for one in data[:1])


def _as_vectors(data: Any, name: str) -> Array:  # noqa: ANN401 - an ArrayLike, or else refused
    try:
        array = np.asarray(data)
    except ValueError:
        raise _of_several_lengths(data, name) from None
    if array.ndim != 2 or array.dtype.kind not in "fiub" or array.shape[1] == 0:
        raise InvalidInputError(
            f"`{name}` must be vectors of numbers, of shape (n, n_features), codes, texts or "
            f"paths, got {array.dtype} of shape {array.shape}."
        )
    if array.dtype in (np.float32, np.float16, np.int8):
        rows_are_whole = array.flags.aligned and array.strides[1] == array.itemsize
        return array if rows_are_whole else np.ascontiguousarray(array)
    with np.errstate(over="ignore"):  # what becomes infinite is refused with its row
        return np.ascontiguousarray(array, np.float32)


def _of_several_lengths(data: Any, name: str) -> InvalidInputError:  # noqa: ANN401 - see above
    lengths = [len(row) if hasattr(row, "__len__") else 0 for row in data]
    odd = next((row for row, length in enumerate(lengths) if length != lengths[0]), None)
    got = "" if odd is None else f", got {lengths[0]} in row 0 and {lengths[odd]} in row {odd}"
    return InvalidInputError(f"`{name}` must be vectors of one length{got}.")
