"""`Views`: the rows of several modalities as one source of training pairs."""

import dataclasses
from collections.abc import Iterator
from typing import Self

import numpy as np

from kinhash.arrays import Array
from kinhash.pairs.sources import Relation, Source


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
