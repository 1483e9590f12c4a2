"""`Pairs` of similar and dissimilar items, and the batches that training draws them in.

A source never holds an n x n matrix. It deals the rows of a batch, and says for that batch alone
which pairs are similar and which are known at all.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse

from kinhash.errors import InvalidInputError

Array = npt.NDArray[Any]

# Below this many similar rows for each row of a random batch, every row brings a partner along.
FEW_SIMILAR = 3.0


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


class Relation(NamedTuple):
    """Which pairs of a batch are similar, and which of them count."""

    similar: Array  # (b, b) bool
    known: Array  # (b, b) bool, False on the diagonal


class Source(Protocol):
    """Where training pairs come from."""

    @property
    def n_units(self) -> int:
        """How many units (rows or listed pairs) one epoch deals out."""
        ...

    def split(self, rng: np.random.Generator, share: float) -> tuple[Self, Self]:
        """Return the source of a random 1 - `share` of the units, and that of the rest."""
        ...

    def batches(self, rng: np.random.Generator, batch_size: int) -> Iterator[Array]:
        """Deal every unit once, as arrays of at most `batch_size` different row numbers.

        A last batch of a single unit is left out: it makes no pair.
        """
        ...

    def n_batches(self, batch_size: int) -> int:
        """How many batches that makes."""
        ...

    def relate(self, rows: Array) -> Relation:
        """Return the relation among the given rows."""
        ...


def _split_units(units: Array, rng: np.random.Generator, share: float) -> tuple[Array, Array]:
    shuffled = rng.permutation(units)
    held = round(len(units) * share)
    return np.sort(shuffled[held:]), np.sort(shuffled[:held])


def _all_but_diagonal(n: int) -> Array:
    return ~np.eye(n, dtype=bool)


@dataclasses.dataclass(frozen=True, eq=False)
class LabelSource:
    """Rows are similar when their class is the same. Rows in `units` are dealt."""

    labels: Array  # (n,) class numbers from 0
    units: Array

    @classmethod
    def from_labels(cls, labels: Array) -> Self:
        """Return the source for class labels of any type."""
        return cls(np.unique(labels, return_inverse=True)[1], np.arange(len(labels)))

    @property
    def n_units(self) -> int:
        """How many rows one epoch deals out."""
        return len(self.units)

    def split(self, rng: np.random.Generator, share: float) -> tuple[Self, Self]:
        """Return the source of a random 1 - `share` of the rows, and that of the rest."""
        kept, held = _split_units(self.units, rng, share)
        return dataclasses.replace(self, units=kept), dataclasses.replace(self, units=held)

    def batches(self, rng: np.random.Generator, batch_size: int) -> Iterator[Array]:
        """Deal every row once; with many classes, in runs of one class."""
        order = rng.permutation(self.units)
        shares = np.bincount(self.labels[order]) / len(order)
        if batch_size * float(np.sum(shares**2)) < FEW_SIMILAR:
            order = _in_runs(rng, order, self.labels[order], max(2, round(batch_size**0.5)))
        yield from _deal(order, batch_size, None)

    def n_batches(self, batch_size: int) -> int:
        """How many batches one epoch has."""
        return _n_batches(len(self.units), batch_size)

    def relate(self, rows: Array) -> Relation:
        """Return the relation among the given rows."""
        labels = self.labels[rows]
        return Relation(labels[:, None] == labels, _all_but_diagonal(len(rows)))


@dataclasses.dataclass(frozen=True, eq=False)
class TagSource:
    """Rows are similar when they share a tag. Rows in `units` are dealt."""

    tags: scipy.sparse.csr_array  # (n, n_tags) of 0 and 1
    by_tag: scipy.sparse.csc_array  # the same, by column
    units: Array

    @classmethod
    def from_tags(cls, tags: Any) -> Self:  # noqa: ANN401 - dense or any sparse matrix
        """Return the source for a 0/1 matrix of rows by tags."""
        rows = scipy.sparse.csr_array(tags, dtype=np.float32)
        rows.eliminate_zeros()
        return cls(rows, rows.tocsc(), np.arange(rows.shape[0]))

    @property
    def n_units(self) -> int:
        """How many rows one epoch deals out."""
        return len(self.units)

    def split(self, rng: np.random.Generator, share: float) -> tuple[Self, Self]:
        """Return the source of a random 1 - `share` of the rows, and that of the rest."""
        kept, held = _split_units(self.units, rng, share)
        return dataclasses.replace(self, units=kept), dataclasses.replace(self, units=held)

    def batches(self, rng: np.random.Generator, batch_size: int) -> Iterator[Array]:
        """Deal every row once; where few share tags, beside a partner of one of its tags."""
        in_units = np.zeros(self.tags.shape[0], bool)
        in_units[self.units] = True

        def partners(rows: Array) -> Array:
            found = rows.copy()
            tag = _random_member(rng, self.tags.indptr, self.tags.indices, rows)
            tagged = tag >= 0
            found[tagged] = _random_member(
                rng, self.by_tag.indptr, self.by_tag.indices, tag[tagged]
            )
            # A partner must be one of this source's rows: training never sees the held-out part.
            return np.where(in_units[found], found, rows)

        few = partners if self._few_similar(batch_size) else None
        yield from _deal(rng.permutation(self.units), batch_size, few)

    def n_batches(self, batch_size: int) -> int:
        """How many batches one epoch has."""
        few = self._few_similar(batch_size)
        return _n_batches(len(self.units), _half(batch_size) if few else batch_size)

    def _few_similar(self, batch_size: int) -> bool:
        shares = np.diff(self.by_tag.indptr) / max(1, self.tags.shape[0])
        return batch_size * float(np.sum(shares**2)) < FEW_SIMILAR

    def relate(self, rows: Array) -> Relation:
        """Return the relation among the given rows."""
        tags = self.tags[rows]
        return Relation((tags @ tags.T).toarray() > 0, _all_but_diagonal(len(rows)))


@dataclasses.dataclass(frozen=True, eq=False)
class PairSource:
    """Rows are similar or not as `pairs` list them. Pairs in `units` are dealt.

    With no dissimilar pair listed, every unlisted pair counts as dissimilar.
    """

    pairs: Pairs
    n_rows: int
    units: Array
    listed: scipy.sparse.csr_array  # (n, n) of this source's pairs: +1 similar, -1 dissimilar
    hidden: scipy.sparse.csr_array  # (n, n) of the pairs split off: they never count here

    @classmethod
    def from_pairs(cls, pairs: Pairs, n_rows: int) -> Self:
        """Return the source for explicit pairs of rows of `X`."""
        return cls._of(pairs, n_rows, np.arange(len(pairs)), np.arange(0))

    @classmethod
    def _of(cls, pairs: Pairs, n_rows: int, units: Array, others: Array) -> Self:
        def matrix(chosen: Array) -> scipy.sparse.csr_array:
            i, j = pairs.i[chosen], pairs.j[chosen]
            sign = np.where(pairs.similar[chosen], 1, -1).astype(np.int8)
            ends = np.concatenate([i, j]), np.concatenate([j, i])
            found = scipy.sparse.coo_array((np.tile(sign, 2), ends), shape=(n_rows, n_rows)).tocsr()
            found.data = np.sign(found.data)  # a pair may be listed twice
            return found

        return cls(pairs, n_rows, units, matrix(units), matrix(others))

    @property
    def n_units(self) -> int:
        """How many listed pairs one epoch deals out."""
        return len(self.units)

    def split(self, rng: np.random.Generator, share: float) -> tuple[Self, Self]:
        """Return the source of a random 1 - `share` of the pairs, and that of the rest."""
        kept, held = _split_units(self.units, rng, share)
        return (
            self._of(self.pairs, self.n_rows, kept, held),
            self._of(self.pairs, self.n_rows, held, kept),
        )

    def batches(self, rng: np.random.Generator, batch_size: int) -> Iterator[Array]:
        """Deal every listed pair once."""
        order = rng.permutation(self.units)
        for start in range(0, len(order), _half(batch_size)):
            chosen = order[start : start + _half(batch_size)]
            yield np.unique(np.concatenate([self.pairs.i[chosen], self.pairs.j[chosen]]))

    def n_batches(self, batch_size: int) -> int:
        """How many batches one epoch has."""
        return -(-len(self.units) // _half(batch_size))

    def relate(self, rows: Array) -> Relation:
        """Return the relation among the given rows (in ascending order)."""
        sign = _inside(self.listed, rows)
        if not self.pairs.similar.all():
            return Relation(sign > 0, sign != 0)
        return Relation(sign > 0, _all_but_diagonal(len(rows)) & (_inside(self.hidden, rows) == 0))


@dataclasses.dataclass(frozen=True, eq=False)
class MetricSource:
    """Rows are similar when their Euclidean distance is at most `threshold`."""

    vectors: Any  # an array or csr
    threshold: float
    neighbours: PairSource  # near rows, so that batches hold similar pairs at all

    @property
    def n_units(self) -> int:
        """How many near pairs one epoch deals out."""
        return self.neighbours.n_units

    def split(self, rng: np.random.Generator, share: float) -> tuple[Self, Self]:
        """Return the source of a random 1 - `share` of the pairs, and that of the rest."""
        kept, held = self.neighbours.split(rng, share)
        return (
            dataclasses.replace(self, neighbours=kept),
            dataclasses.replace(self, neighbours=held),
        )

    def batches(self, rng: np.random.Generator, batch_size: int) -> Iterator[Array]:
        """Deal every near pair once."""
        return self.neighbours.batches(rng, batch_size)

    def n_batches(self, batch_size: int) -> int:
        """How many batches one epoch has."""
        return self.neighbours.n_batches(batch_size)

    def relate(self, rows: Array) -> Relation:
        """Return the relation among the given rows."""
        chosen = self.vectors[rows]
        dense = chosen if isinstance(chosen, np.ndarray) else chosen.toarray()  # a batch is small
        X = dense.astype(np.float64)
        squares = np.einsum("ij,ij->i", X, X)
        squared = squares[:, None] + squares - 2 * (X @ X.T)
        return Relation(squared <= self.threshold**2, _all_but_diagonal(len(rows)))


@dataclasses.dataclass(frozen=True, eq=False)
class Views:
    """Rows of several modalities in one numbering: those of the first, then of the second, ...

    An item has a view in each modality. Batches are ascending, so that each modality's views are
    together.
    """

    source: Source  # of view numbers
    starts: Array  # (n_modalities + 1,) where each modality's views begin
    across_only: bool = False  # count only pairs of views of different modalities
    # Where rows are paired, items are dealt, each with all of its views that are there.
    items: Source | None = None
    present: Array | None = None  # (n_views,) booleans, for those

    @property
    def n_units(self) -> int:
        """How many items, views or listed pairs one epoch deals out."""
        return (self.items or self.source).n_units

    def split(self, rng: np.random.Generator, share: float) -> tuple[Self, Self]:
        """Return the source of a random 1 - `share` of the units, and that of the rest."""
        field = "source" if self.items is None else "items"
        kept, held = getattr(self, field).split(rng, share)
        return dataclasses.replace(self, **{field: kept}), dataclasses.replace(
            self, **{field: held}
        )

    def batches(self, rng: np.random.Generator, batch_size: int) -> Iterator[Array]:
        """Deal every unit once, in ascending batches of views."""
        if self.items is None or self.present is None:
            yield from (np.sort(views) for views in self.source.batches(rng, batch_size))
            return
        for items in self.items.batches(rng, self._n_items(batch_size)):
            views = (self.starts[:-1, None] + np.sort(items)).ravel()
            yield views[self.present[views]]

    def n_batches(self, batch_size: int) -> int:
        """How many batches one epoch has."""
        if self.items is None:
            return self.source.n_batches(batch_size)
        return self.items.n_batches(self._n_items(batch_size))

    def _n_items(self, batch_size: int) -> int:
        return max(2, batch_size // (len(self.starts) - 1))

    def relate(self, rows: Array) -> Relation:
        """Return the relation among the given views."""
        similar, known = self.source.relate(rows)
        if self.across_only:
            modality = np.searchsorted(self.starts, rows, side="right")
            known = known & (modality[:, None] != modality)
        return Relation(similar, known)


def _half(batch_size: int) -> int:
    return max(1, batch_size // 2)


def _deal(
    order: Array, batch_size: int, partners: Callable[[Array], Array] | None
) -> Iterator[Array]:
    """Cut `order` into batches; with `partners`, half of each batch is partners of the other."""
    step = batch_size if partners is None else _half(batch_size)
    for start in range(0, max(1, len(order) - 1), step):
        rows = order[start : start + step]
        yield rows if partners is None else np.unique(np.concatenate([rows, partners(rows)]))


def _n_batches(n_units: int, step: int) -> int:
    return len(range(0, max(1, n_units - 1), step))


def _inside(listed: scipy.sparse.csr_array, rows: Array) -> Array:
    """Return the entries of a square sparse matrix among some rows (ascending), as dense int8."""
    part = listed[rows]
    at = np.searchsorted(rows, part.indices)
    at[at == len(rows)] = 0
    inside = rows[at] == part.indices
    row_of = np.repeat(np.arange(len(rows)), np.diff(part.indptr))
    dense = np.zeros((len(rows), len(rows)), np.int8)
    dense[row_of[inside], at[inside]] = part.data[inside]
    return dense


def _in_runs(rng: np.random.Generator, order: Array, labels: Array, length: int) -> Array:
    """Return `order` rearranged so that rows of a class come in runs of `length`."""
    by_class = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    within = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    run = labels[by_class] * (sizes.max() // length + 1) + within // length
    shuffled = rng.permutation(run.max() + 1)
    return order[by_class][np.argsort(shuffled[run], kind="stable")]


def _random_member(rng: np.random.Generator, starts: Array, members: Array, rows: Array) -> Array:
    """Return one random entry of `members[starts[r]:starts[r + 1]]` for each row, -1 if none."""
    low, high = starts[rows], starts[rows + 1]
    some = high > low
    found = np.full(len(rows), -1, np.int64)
    found[some] = members[rng.integers(low[some], high[some])]
    return found
