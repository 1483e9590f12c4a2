"""What `kinhash dedup` says where no limit is given: what limits would do, and pairs to look at."""

from pathlib import Path
from typing import Any

from kinhash.cli import options
from kinhash.cli.compared import Compared
from kinhash.cli.messages import note
from kinhash.cli.results import as_json, shown, stdout
from kinhash.dedup import Proposal, Sample
from kinhash.dedup.report import basis, rows_of, write
from kinhash.show.html import Item
from kinhash.show.thumbnails import thumbnail

WIDTH = 76  # letters of a text in the terminal


def show(
    proposal: Proposal, rows: Compared, others: Compared | None, output: options.Format
) -> None:
    """Print what limits would do, and in a table and in JSON the sample pairs, too."""
    with stdout() as stream:
        if output is options.Format.JSON:
            stream.write(f"{as_json(_as_object(proposal, rows, others or rows))}\n")
            return
        stream.write(f"{shown(rows_of(proposal), output)}\n")
        if output is options.Format.TABLE and proposal.samples:
            pairs = [
                _row(sample, proposal.kind, rows, others or rows) for sample in proposal.samples
            ]
            text = _side_by_side(pairs) if "text" in pairs[0] else shown(pairs, output)
            stream.write(f"\nPairs near some of these limits:\n{text}\n")


def tell(proposal: Proposal) -> None:
    """Say on stderr what is proposed, on what that rests, and what to do."""
    note(proposal.reason, basis(proposal))
    if proposal.proposed is not None:
        note(
            "No groups were made: no limit was chosen. Proposed: "
            f"--{proposal.kind} {proposal.proposed:g}"
        )


def report(path: Path, proposal: Proposal, rows: Compared, others: Compared | None) -> None:
    """Write the page."""

    def item(of: Compared, row: int) -> Item:
        text = of.texts[row] if of.texts is not None else ""
        image = None
        if of.pictures is not None:
            image = thumbnail(of.pictures[row])
        elif of.images is not None:
            image = thumbnail(of.images[row])
        return Item(str(row if of.ids is None else of.ids[row]), text, image)

    write(
        path,
        proposal,
        rows.name,
        shown=lambda row: item(rows, row),
        other_shown=lambda row: item(others or rows, row),
    )


def _row(sample: Sample, kind: str, rows: Compared, others: Compared) -> dict[str, Any]:
    row: dict[str, Any] = {
        "limit": sample.limit,
        "linked": sample.linked,
        "distance" if kind == "radius" else kind: round(sample.nearness, 4),
        "id": sample.id,
        "other": sample.other_id,
    }
    if rows.texts is not None and others.texts is not None:
        row |= {
            "text": rows.texts[sample.row],
            "other text": others.texts[sample.other],
        }
    return row


def _side_by_side(pairs: list[dict[str, Any]]) -> str:
    """Return pairs of texts, one below the other, at the place where they begin to differ."""
    lines = []
    for pair in pairs:
        (kind, nearness), *_ = [one for one in pair.items() if one[0] not in {"limit", "linked"}]
        told = "linked" if pair["linked"] else "not linked"
        lines.append(f"{kind} {nearness:g}, {told} at {pair['limit']:g}")
        one, other = (" ".join(pair[name].split()) for name in ("text", "other text"))
        places = enumerate(zip(one, other, strict=False))
        same = next((at for at, (left, right) in places if left != right), 0)
        start = max(0, same - WIDTH // 2) if max(len(one), len(other)) > WIDTH else 0
        names = [str(pair["id"]), str(pair["other"])]
        width = max(map(len, names))
        for name, text in zip(names, (one, other), strict=True):
            lines.append(f"  {name:>{width}}  {_cut(text, start)}")
    return "\n".join(lines)


def _cut(text: str, start: int) -> str:
    start = max(0, min(start, len(text) - WIDTH))
    part = text[start : start + WIDTH]
    before, after = "..." if start else "", "..." if start + WIDTH < len(text) else ""
    return f"{before}{part[len(before) : WIDTH - len(after)]}{after}"


def _as_object(proposal: Proposal, rows: Compared, others: Compared) -> dict[str, Any]:
    limits = [{k: v for k, v in row.items() if k != "proposed"} for row in rows_of(proposal)]
    samples = [_row(sample, proposal.kind, rows, others) for sample in proposal.samples]
    return {
        "proposed": proposal.proposed,
        "reason": proposal.reason,
        "basis": basis(proposal),
        "limits": limits,
        "samples": samples,
    }
