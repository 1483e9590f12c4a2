"""The section of README.md on nested codes."""

from pathlib import Path

import index_record
from render_numbers import show

RECORD = Path(__file__).parent / "results" / "nested.jsonl"

INTRO = """
## Nested codes: the bucket finds, the rank orders

    python benchmarks/bench_nested.py     # measures: results/nested.jsonl

Codes of 32 bucket and 32 rank bits, 64 queries in a call for each thread, the fastest of several
visits in turns. *unique*: `search_top_k` against FAISS over the different buckets, with NumPy to
gather and order their items by rank distance (the same answers). *flat*: the same search against
IndexBinaryFlat over all 64 bits, whose order is that of the sum of both distances. *total*:
`order="total"`, which has that order, too. *radius*: time of a search without `sort` over that of
the index of the same buckets without rank bits. *bytes*: of a lean index, less that one's. Goals
are for one thread; *all* is the ratio with all cores on both sides.

"""


def table(lines):
    """Return a Markdown table of nested codes."""
    sets = {line["set"]: line for line in lines if line["of"] == "set"}
    sets = dict(sorted(sets.items(), key=lambda one: one[1]["n_items"]))
    parts = [
        f"- {name}: {one['n_items']:,} items, {one['n_unique']:,} different buckets; "
        f"{one['about']}."
        for name, one in sets.items()
    ]
    parts += [
        "",
        "| codes | cell | ours, µs | peer, µs | ratio | must | aim | | all | peer |",
        "|---|---|---:|---:|---:|---:|---:|---|---:|---|",
    ]
    rows = [line for name in sets for line in lines if (line["of"], line["set"]) == ("ratio", name)]
    every = {(r["set"], r["kind"], r["value"]): r["ratio"] for r in rows if r["n_threads"] > 1}
    for row in rows:
        if row["n_threads"] > 1:
            continue
        kind, value = row["kind"], row["value"]
        cell = kind if value is None else f"{kind}, {'r' if kind == 'radius' else 'k'} = {value}"
        mark = {None: "", True: "✓", False: "✗"}[row["reached"]]
        times = ["", ""] if value is None else [show(row["ours"]), show(row["theirs"])]
        cells = [row["set"], cell, *times, f"**{show(row['ratio'])}**"]
        cells += [show(row["must"]), show(row["aim"]), mark]
        cells += [show(every.get((row["set"], kind, value))), row["peer"] or ""]
        parts.append(f"| {' | '.join(cells)} |")
    return "\n".join(parts) + "\n"


def section():
    """Return the section, from the record."""
    return INTRO + table(index_record.read(RECORD))
