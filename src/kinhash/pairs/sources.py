"""Sources of training pairs: they deal rows in batches, and say which pairs of a batch are similar.

A source never holds an n x n matrix: it relates the rows of one batch at a time.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import scipy.sparse

from kinhash.arrays import Array
from kinhash.labels import class_numbers
from kinhash.pairs.pairs import Pairs

# Below this many similar rows for each row of a random batch, every row brings a partner along.
FEW_SIMILAR = 3.0


class Relation(NamedTuple):
    """How similar the rows of a batch are, and which pairs count."""

    similar: Array  # (b, b) bool, or float32 from 0 (dissimilar) to 1 (similar)
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
        """Return the source for class labels of any type, none of which is missing."""
        return cls(class_numbers(labels), np.arange(len(labels)))

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
