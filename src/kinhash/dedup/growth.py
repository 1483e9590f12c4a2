"""An index and new items: which of these it has, and an index that grows by the others."""

import numpy as np

from kinhash.arrays import Array, Integers
from kinhash.codes import Codes
from kinhash.dedup.code_table import CodeTable
from kinhash.dedup.content import Content
from kinhash.dedup.grouping import groups_within
from kinhash.dedup.recall import EXACT
from kinhash.dedup.result import Duplicates
from kinhash.dedup.table import Wanted
from kinhash.errors import InvalidInputError
from kinhash.index.hamming import HammingIndex
from kinhash.linkage import Groups, Linkage
from kinhash.progress import Report, silent

STRIP = 4096  # rows that are searched for at a time


def held_by(
    index: HammingIndex, codes: Codes, ids: Array | None, wanted: Wanted, progress: Report = silent
) -> Duplicates:
    """Return which items an index has, each in the group of its nearest there.

    Args:
        index: The index.
        codes: Of the items.
        ids: Of the items; None for row numbers.
        wanted: The radius, and how many threads to use.
        progress: Told how many rows are done.
    """
    rows, nearest, distances = [np.zeros(0, np.int64)], [index.ids[:0]], [np.zeros(0, np.int32)]
    for start in range(0, len(codes), STRIP):
        strip = codes[start : start + STRIP]
        found = index.search_radius(strip, int(wanted.limit), sort=True, n_threads=wanted.n_threads)
        hit = np.flatnonzero(found.counts)
        first = found.offsets[:-1][hit]
        rows.append(start + hit)
        nearest.append(found.ids[first])
        distances.append(found.distances[first].astype(np.int32))
        progress(start + len(strip), len(codes))
    kept = np.ones(len(codes), bool)
    held = np.concatenate(rows)
    kept[held] = False
    own = held if ids is None else ids[held]
    groups = _by_nearest(own, np.concatenate(nearest), np.concatenate(distances))
    return Duplicates(groups, kept, None, EXACT, radius=int(wanted.limit))


def add_new(
    index: HammingIndex,
    codes: Codes,
    ids: Array,
    wanted: Wanted,
    *,
    linkage: Linkage = "star",
    progress: Report = silent,
) -> Duplicates:
    """Add the items that an index does not have, and return which those are, as `kept`.

    Of new items that are near each other, only the representative is added. The groups are those of
    what the index has, then those among the new items.

    Args:
        index: The index: it grows, all at once.
        codes: Of the items.
        ids: Of the items.
        wanted: The radius, and how many threads to use.
        linkage: How near new items make groups.
        progress: Told how many rows are done.

    Raises:
        InvalidInputError: An item that is to be added has the id of one in the index.
    """
    held = held_by(index, codes, ids, wanted, progress)
    new = np.flatnonzero(held.kept)
    if not len(new):
        return held
    table = CodeTable.of(Content(codes[new], ids[new], "codes"), codes[new])
    among, is_first = groups_within(table, table.pairs(table, wanted), linkage, wanted.n_threads)
    added = new[is_first]
    _check_absent(index, ids[added])
    index.add(codes[added], ids[added])
    kept = np.zeros(len(codes), bool)
    kept[added] = True
    return Duplicates(_joined(held.groups, among), kept, None, EXACT, radius=int(wanted.limit))


def _by_nearest(ids: Array, nearest: Array, distances: Array) -> Groups:
    """Return the groups of items that have the same nearest one, in the order of these."""
    numbers, group = np.unique(nearest, return_inverse=True)
    order = np.lexsort((np.arange(len(ids)), group))
    return Groups(
        ids[order],
        group[order].astype(np.int64),
        numbers[group[order]],
        np.zeros(len(ids), bool),
        distances[order],
    )


def _joined(first: Groups, second: Groups) -> Groups:
    """Return groups of two results, of distances alone."""
    return Groups(
        np.concatenate([first.id, second.id]),
        np.concatenate([first.group, second.group + len(first)]),
        np.concatenate([first.representative, second.representative]),
        np.concatenate([first.keep, second.keep]),
        np.concatenate([_distances(first), _distances(second)]),
    )


def _distances(groups: Groups) -> Integers:
    return np.zeros(0, np.int32) if groups.distance is None else groups.distance


def _check_absent(index: HammingIndex, ids: Array) -> None:
    known = index.ids
    if known.dtype != ids.dtype:
        return  # adding says which kind of ids the index has
    taken = ids[np.isin(ids, known)]
    if len(taken):
        raise InvalidInputError(
            f"`ids` hold {taken.tolist()[0]!r}, which another item of the index has. Give new "
            "items ids of their own; nothing was changed."
        )
