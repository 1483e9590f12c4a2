"""Groups from links: which items belong together, and which one stands for its group."""

import dataclasses
from collections.abc import Iterator
from typing import Any, Literal, Self, get_args

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph

from kinhash import _native
from kinhash.arrays import Array, Floats, Integers
from kinhash.errors import LargeGroupWarning, warn
from kinhash.tables import arrow

Linkage = Literal["star", "connected"]
LINKAGES = get_args(Linkage)

# A group that is larger than both is warned about: items that have little in common were linked.
LARGE_SHARE, LARGE_COUNT = 0.01, 10


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """Groups of two or more items as columns, a row for each member; an item alone has no row.

    Groups are numbered in the order of their lowest id. The rows of a group follow each other, its
    representative first, then by id; ids that are strings count in the order in which they were
    given. As a sequence, the groups are arrays of ids.

    Args:
        id: `(n,)` int64, or objects where ids are strings.
        group: int64, `(n,)`: the number of the group.
        representative: `(n,)`: the id that stands for the group.
        keep: bool, `(n,)`: whether it is this one. Without the others, no duplicates are left.
        distance: int32, `(n,)`: Hamming distance from the code of the representative. None where
            there are no codes.
        similarity: float32, `(n,)`: to the vector of the representative. None where there are no
            vectors.

    Example:
        >>> groups = Groups.of(np.array([9, 5, 2]), representative=np.array([5, 5, 5]))
        >>> groups.id.tolist(), groups.keep.tolist()
        ([5, 2, 9], [True, False, False])
    """

    id: Array
    group: Integers
    representative: Array
    keep: Array
    distance: Array | None
    similarity: Floats | None = None

    @classmethod
    def of(
        cls,
        ids: Integers,
        representative: Integers,
        distance: Array | None = None,
        similarity: Floats | None = None,
    ) -> Self:
        """Return the groups of members in any order, which must include the representatives.

        Args:
            ids: `(n,)`: of the members.
            representative: The id of each member's representative.
            distance: Of each member from its representative.
            similarity: Of each member to its representative.
        """
        # Groups in the order of their lowest member.
        by_group = np.lexsort((ids, representative))
        is_first = np.r_[True, np.diff(representative[by_group]) != 0][: len(ids)]
        number = np.empty(is_first.sum(), np.int64)
        number[np.argsort(ids[by_group][is_first])] = np.arange(len(number))
        group = np.empty(len(ids), np.int64)
        group[by_group] = number[np.cumsum(is_first) - 1]
        rows = np.lexsort((ids, ids != representative, group))
        return cls(
            ids[rows],
            group[rows],
            representative[rows],
            ids[rows] == representative[rows],
            None if distance is None else distance[rows],
            None if similarity is None else similarity[rows],
        )

    def named(self, ids: Array) -> Self:
        """Return the same groups, whose ids were places in `ids`, with these ids instead."""
        return dataclasses.replace(self, id=ids[self.id], representative=ids[self.representative])

    @property
    def n_items(self) -> int:
        """How many items are in groups."""
        return len(self.id)

    def __len__(self) -> int:
        return int(self.group[-1]) + 1 if len(self.group) else 0

    def __getitem__(self, group: int) -> Array:
        """Return the ids of one group, its representative first."""
        if not -len(self) <= group < len(self):
            raise IndexError(f"group {group} of {len(self)}")
        start, end = np.searchsorted(self.group, [group % len(self), group % len(self) + 1])
        return self.id[start:end]

    def __iter__(self) -> Iterator[Array]:
        return (self[group] for group in range(len(self)))

    def __repr__(self) -> str:
        return f"Groups(n_groups={len(self)}, n_items={self.n_items})"

    def to_arrow(self) -> Any:  # noqa: ANN401 - untyped
        """Return the columns as a `pyarrow.Table`; those that are None are left out."""
        columns = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return arrow().table({k: v for k, v in columns.items() if v is not None})

    def to_pandas(self) -> Any:  # noqa: ANN401 - untyped
        """Return the columns as a `pandas.DataFrame`; those that are None are left out."""
        return self.to_arrow().to_pandas()


def representatives(
    left: Integers,
    right: Integers,
    n_items: int,
    *,
    linkage: Linkage = "star",
    weights: Integers | None = None,
    ranks: Integers | None = None,
) -> Integers:
    """Return which item stands for each: int64, `(n_items,)`; an item alone stands for itself.

    "star": items are visited by most neighbours, counted once, then by lowest rank. Each that has
    no group yet takes all its neighbours that have none, so every member is a neighbour of its
    representative. "connected": the connected components of the links; the member that a star
    would visit first represents each.

    Args:
        left: `(n_links,)` items, each in [0, n_items).
        right: The other ends. A link is listed once, in either direction, and joins two items.
        n_items: Number of items.
        linkage: "star" or "connected".
        weights: How many neighbours each item counts for, as identical items that are listed once
            do; 1 by default. All of those behind an item are neighbours of each other.
        ranks: Different numbers, lowest first, for the order of items with equally many
            neighbours; their places by default.
    """
    n_neighbours = np.zeros(n_items) if weights is None else np.asarray(weights, float) - 1
    for one, other in ((left, right), (right, left)):
        n_neighbours += np.bincount(one, None if weights is None else weights[other], n_items)
    order = np.lexsort((np.arange(n_items) if ranks is None else ranks, -n_neighbours))
    if linkage == "star":
        chosen = np.empty(n_items, np.int64)
        _native.star(left, right, order, chosen)
        return chosen
    graph = scipy.sparse.coo_array((np.ones(len(left), bool), (left, right)), (n_items, n_items))
    n_components, component = scipy.sparse.csgraph.connected_components(graph, directed=False)
    first = np.empty(n_components, np.int64)
    first[component[order[::-1]]] = order[::-1]  # the one that is written last stays
    return first[component]


def warn_if_large(sizes: Array, n_items: int) -> None:
    """Warn if one of the groups holds many of the items: they hardly are all alike.

    Args:
        sizes: Of the groups.
        n_items: Number of all items, grouped or not.
    """
    largest = int(sizes.max(initial=0))
    if largest > max(LARGE_SHARE * n_items, LARGE_COUNT):
        warn(
            f"One group holds {largest:,} of {n_items:,} items ({largest / n_items:.1%}). Near "
            "items are linked too easily if these have little in common: use a stricter limit.",
            LargeGroupWarning,
        )
