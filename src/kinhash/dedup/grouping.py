"""Groups of rows, from the pairs of rows that are near."""

import numpy as np

from kinhash.arrays import Array, Integers
from kinhash.dedup.table import FoundPairs, Table
from kinhash.linkage import Groups, Linkage, representatives, warn_if_large


def groups_within(
    table: Table, found: FoundPairs, linkage: Linkage, n_threads: int
) -> tuple[Groups, Array]:
    """Return the groups of a table, and which rows to keep.

    Args:
        table: What the pairs are of.
        found: The pairs.
        linkage: How they make groups.
        n_threads: Threads to use.
    """
    ids, ranks = table.content.ids, table.content.ranks
    members, stands_for = members_of_groups(found.rows, found.others, table.first, ranks, linkage)
    warn_if_large(np.bincount(stands_for), len(ranks))
    groups = Groups.of(
        ranks[members],
        ranks[stands_for],
        table.distances(members, table, stands_for),
        table.similarities(members, table, stands_for, n_threads),
    )
    kept = np.ones(len(ranks), bool)
    kept[members[members != stands_for]] = False
    return (groups if ids is None or ids is ranks else groups.named(ids)), kept


def groups_across(
    table: Table, others: Table, found: FoundPairs, n_threads: int
) -> tuple[Groups, Array]:
    """Return what a table has of another one, and which rows it has alone.

    Each row that the other table has is in the group of its nearest there.

    Args:
        table: The table.
        others: The other one.
        found: Pairs of both.
        n_threads: Threads to use.
    """
    different, nearest = found.nearest(others.content.ranks)
    of_row = np.full(len(table.first), -1)
    of_row[different] = nearest
    of_row = of_row[table.first]
    rows = np.flatnonzero(of_row >= 0)
    nearest = of_row[rows]
    _, group = np.unique(others.content.ranks[nearest], return_inverse=True)
    order = np.lexsort((table.content.ranks[rows], group))
    rows, nearest = rows[order], nearest[order]
    groups = Groups(
        table.content.named(rows),
        group[order].astype(np.int64),
        others.content.named(nearest),
        np.zeros(len(rows), bool),
        table.distances(rows, others, nearest),
        table.similarities(rows, others, nearest, n_threads),
    )
    return groups, of_row < 0


def members_of_groups(
    rows: Integers, others: Integers, first: Integers, ranks: Integers, linkage: Linkage
) -> tuple[Integers, Integers]:
    """Return the rows that are in groups, ascending, and the representative of each.

    Args:
        rows: One side of the pairs, all of them rows that stand for themselves.
        others: The other side.
        first: For each row an identical one, which stands for itself.
        ranks: `(n,)`: what comes first where rows have equally many neighbours.
        linkage: How pairs make groups.
    """
    n = len(first)
    different = np.flatnonzero(first == np.arange(n))
    if len(different) < n:
        place = np.empty(n, np.int64)
        place[different] = np.arange(len(different))
        rows, others = place[rows], place[others]
    chosen = representatives(
        rows,
        others,
        len(different),
        linkage=linkage,
        weights=np.bincount(first, minlength=n)[different] if len(different) < n else None,
        ranks=ranks[different],
    )
    of_row = np.empty(n, np.int64)
    of_row[different] = different[chosen]
    of_row = of_row[first]
    sizes = np.bincount(of_row, minlength=n)
    members = np.flatnonzero(sizes[of_row] > 1)
    return members, of_row[members]
