"""`propose`: what each of some limits would do to a table, and which of them to look at first."""

import dataclasses
import functools
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from kinhash.arguments import checked_threads
from kinhash.arrays import Integers
from kinhash.dedup import limits as grids
from kinhash.dedup.code_table import CodeTable
from kinhash.dedup.coding import Coder
from kinhash.dedup.content import Content
from kinhash.dedup.grouping import members_of_groups
from kinhash.dedup.job import check_options, tables_of
from kinhash.dedup.recall import Recall
from kinhash.dedup.sizes import sizes_of
from kinhash.dedup.table import FoundPairs, Table, Wanted
from kinhash.linkage import Linkage
from kinhash.progress import Report, silent

N_SAMPLES = 2  # pairs that are shown on each side of a limit ...
NEAR = 10  # ... out of so many that are the nearest to it


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a limit would do.

    Args:
        limit: Least similarity, or largest distance.
        n_groups: How many groups there would be; against another table, items of that which the new
            one has, too.
        n_dropped: How many rows would be dropped.
        sizes: How many groups of each of `kinhash.dedup.sizes.SIZES`.
        largest: Members of the largest group.
    """

    limit: float
    n_groups: int
    n_dropped: int
    sizes: tuple[int, ...]
    largest: int


@dataclasses.dataclass(frozen=True, eq=False)
class Sample:
    """A pair of rows near a limit.

    Args:
        limit: The limit.
        linked: Whether it links them.
        row: Row of the table.
        other: Row of the same table, or of the other one.
        id: The id of the row.
        other_id: That of the other.
        nearness: How similar they are, or their distance.
    """

    limit: float
    linked: bool
    row: int
    other: int
    id: Any
    other_id: Any
    nearness: float


@dataclasses.dataclass(frozen=True, eq=False)
class Proposal:
    """What limits would do, strictest first, and the one to look at first.

    Args:
        kind: What is limited.
        outcomes: One for each limit.
        proposed: The limit that is proposed; None if no limit finds anything, or copies.
        reason: Why, and what it rests on.
        samples: Pairs near the proposed limit, else near the first that finds anything, and near
            the next stricter and looser ones.
        recall: How large a share of the pairs within the loosest limit was found.
        n_items: How many rows the table has.
    """

    kind: Literal["similarity", "radius"]
    outcomes: tuple[Outcome, ...]
    proposed: float | None
    reason: str
    samples: tuple[Sample, ...]
    recall: Recall
    n_items: int


def propose(
    data: Any,  # noqa: ANN401 - whatever the user has
    *,
    ids: npt.ArrayLike | str | None = None,
    linkage: Linkage = "star",
    against: Any = None,  # noqa: ANN401 - as the data
    against_ids: npt.ArrayLike | str | None = None,
    model: Coder | None = None,
    by_radius: bool | None = None,
    recall: float = 0.95,
    seed: int = 0,
    n_threads: int | None = None,
    progress: Report = silent,
) -> Proposal:
    """Return what limits would do to a table, and propose one.

    The pairs within the loosest limit are listed once: it is the loosest of a grid within which
    rows have few neighbours on average, as a sample tells. The proposed limit is where the number
    of rows to drop grows the least from limit to limit: copies of one item end there, and rows that
    are merely similar have not begun. If there is no such place, the reason says so.

    Args:
        data: As of `kinhash.dedup.deduplicate`, and so are the other arguments.
        ids: Of the rows.
        linkage: What makes a group.
        against: Another table of the same kind.
        against_ids: The ids of its rows.
        model: What makes the codes of vectors.
        by_radius: Whether distances of codes are limited, rather than similarities; by default
            those of codes and pictures.
        recall: The share of the pairs within the loosest limit to find.
        seed: Draws samples.
        n_threads: Threads to use.
        progress: Told how many rows are done.

    Raises:
        InvalidInputError: As of `deduplicate`.

    Example:
        >>> from kinhash.dedup import deduplicate
        >>> X = np.random.default_rng(0).normal(size=(300, 20))
        >>> X[200:] = X[:100] + 0.05 * X[100:200]
        >>> proposal = propose(X)
        >>> deduplicate(X, similarity=proposal.proposed).n_dropped
        100
    """
    check_options(linkage, recall, seed)
    n_threads = checked_threads("n_threads", n_threads)
    read = functools.partial(Content.of, n_threads=n_threads, progress=progress)
    contents = [read(data, ids, "data")]
    if against is not None:
        contents.append(read(against, against_ids, "against"))
    if by_radius is None:
        by_radius = contents[0].kind in {"codes", "pictures"}
    wanted = Wanted(0.0, recall, seed, n_threads)
    tables = tables_of(contents, model, wanted, by_radius=by_radius)
    table, others = tables[0], tables[-1]
    grid = grids.grid_of(table, others, seed)
    found = table.pairs(others, dataclasses.replace(wanted, limit=grid[-1]), progress)
    # Of codes, nearness is minus the distance.
    sign = -1 if isinstance(table, CodeTable) else 1
    bounds = [(limit, grids.slightly_less(sign * limit)) for limit in grid]
    outcomes = tuple(
        _outcome(limit, table, others, _within(found, least), linkage) for limit, least in bounds
    )
    kind: Literal["similarity", "radius"] = "radius" if by_radius else "similarity"
    place, reason = grids.elbow(grid, [one.n_dropped for one in outcomes], kind)
    # Where no limit is proposed, pairs show why not: those near the first that finds any.
    finding = (i for i, one in enumerate(outcomes) if one.n_dropped)
    shown = next(finding, None) if place is None else place
    around = slice(0) if shown is None else slice(max(0, shown - 1), shown + 2)
    return Proposal(
        kind,
        outcomes,
        None if place is None else grid[place],
        reason,
        _samples(table, others, found, bounds[around], np.random.default_rng(seed)),
        found.recall,
        contents[0].n_given or len(table.first),
    )


def _within(found: FoundPairs, least: float) -> FoundPairs:
    """Return the pairs that are at least so near."""
    kept = found.nearness >= least
    return FoundPairs(found.rows[kept], found.others[kept], found.nearness[kept], found.recall)


def _outcome(
    limit: float, table: Table, others: Table, found: FoundPairs, linkage: Linkage
) -> Outcome:
    if others is table:
        _, stands_for = members_of_groups(
            found.rows, found.others, table.first, table.content.ranks, linkage
        )
        counts = np.bincount(stands_for)
        counts = counts[counts > 0]
        return _counted(limit, counts, int(counts.sum()) - len(counts))
    rows, nearest = found.nearest(others.content.ranks)
    n_alike = np.bincount(table.first, minlength=len(table.first))[rows]
    counts = np.bincount(nearest, n_alike).astype(np.int64)
    counts = counts[counts > 0]
    return _counted(limit, counts + 1, int(counts.sum()))


def _counted(limit: float, counts: Integers, n_dropped: int) -> Outcome:
    largest = int(counts.max(initial=0))
    return Outcome(limit, len(counts), n_dropped, tuple(sizes_of(counts)), largest)


def _samples(
    table: Table,
    others: Table,
    found: FoundPairs,
    candidates: list[tuple[float, float]],
    rng: np.random.Generator,
) -> tuple[Sample, ...]:
    """Return pairs on both sides of some limits, each pair once.

    Args:
        table: The rows.
        others: What they were compared with.
        found: All pairs.
        candidates: The limits, and the least nearness that each accepts.
        rng: Draws the pairs among those that are the nearest to a limit.
    """
    samples, shown = [], np.zeros(len(found.rows), bool)
    order = np.argsort(found.nearness, kind="stable")
    for limit, least in candidates:
        left = order[~shown[order]]
        place = int(np.searchsorted(found.nearness[left], least))
        for linked, near in ((True, left[place:][:NEAR]), (False, left[:place][::-1][:NEAR])):
            drawn = rng.choice(near, min(N_SAMPLES, len(near)), replace=False)
            shown[drawn] = True
            for pair in drawn[np.argsort(-found.nearness[drawn])].tolist():
                row, other = found.rows[pair : pair + 1], found.others[pair : pair + 1]
                samples.append(
                    Sample(
                        limit,
                        linked,
                        int(table.content.as_given(row)[0]),
                        int(others.content.as_given(other)[0]),
                        table.content.named(row).tolist()[0],
                        others.content.named(other).tolist()[0],
                        abs(float(found.nearness[pair])),
                    )
                )
    return tuple(samples)
