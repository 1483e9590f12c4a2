"""A proposal as tables, and as one page with pairs side by side."""

import os
from collections.abc import Callable

from kinhash.dedup.proposal import Outcome, Proposal, Sample
from kinhash.dedup.sizes import SIZES
from kinhash.show.html import Fact, Item, Pair, Section, write_report
from kinhash.show.tables import Row

Shown = Callable[[int], Item]  # an item by its row


def rows_of(proposal: Proposal) -> list[Row]:
    """Return a row for each limit: what it would do."""
    return [_row(proposal, one) for one in proposal.outcomes]


def _row(proposal: Proposal, outcome: Outcome) -> Row:
    return {
        proposal.kind: outcome.limit,
        "groups": outcome.n_groups,
        "to_drop": outcome.n_dropped,
        "largest": outcome.largest,
        **{f"of {size}": n for size, n in zip(SIZES, outcome.sizes, strict=True)},
        "proposed": "*" if outcome.limit == proposal.proposed else "",
    }


def basis(proposal: Proposal) -> str:
    """Return on what a proposal rests, in a sentence."""
    loosest = proposal.outcomes[-1].limit
    return (
        f"This rests on all {proposal.n_items:,} rows, and on their pairs within {proposal.kind} "
        f"{loosest:g}: {proposal.recall}. Nobody has said which pairs are duplicates, so look at "
        "the sample pairs before you choose."
    )


def write(
    path: str | os.PathLike[str],
    proposal: Proposal,
    name: str,
    *,
    shown: Shown,
    other_shown: Shown | None = None,
) -> None:
    """Write a proposal as one page that needs nothing beside itself.

    Args:
        path: The file.
        proposal: What to show.
        name: What the data are called.
        shown: Gives a row's text or picture.
        other_shown: The same of the other table, if there is one.

    Raises:
        InvalidInputError: The file cannot be written, or a picture cannot be read.
    """
    chosen = next((o for o in proposal.outcomes if o.limit == proposal.proposed), None)
    facts = []
    if chosen is not None:
        facts = [
            Fact(proposal.kind, f"{chosen.limit:g}", "is proposed; no groups were written"),
            Fact("groups", f"{chosen.n_groups:,}", f"the largest of {chosen.largest:,}"),
            Fact("to drop", f"{chosen.n_dropped:,}", f"of {proposal.n_items:,} rows"),
        ]
    sections = [Section("What each limit would do", [basis(proposal)], rows=rows_of(proposal))]
    for limit in dict.fromkeys(sample.limit for sample in proposal.samples):
        pairs = [
            _pair(sample, proposal.kind, shown, other_shown or shown)
            for sample in proposal.samples
            if sample.limit == limit
        ]
        mark = ", the proposed limit" if limit == proposal.proposed else ""
        title = f"Pairs near {proposal.kind} {limit:g}{mark}"
        sections.append(Section(title, pairs=pairs))
    write_report(
        path,
        title=f"Duplicates in {name}",
        lead=proposal.reason,
        facts=facts,
        sections=sections,
        footer="Of the pairs that are the nearest to a limit, on both sides of it, some are drawn "
        "at random.",
    )


def _pair(sample: Sample, kind: str, shown: Shown, other_shown: Shown) -> Pair:
    what = "distance" if kind == "radius" else kind
    told = "linked" if sample.linked else "not linked"
    return Pair(
        f"{what} {sample.nearness:.4g}: {told}", shown(sample.row), other_shown(sample.other)
    )
