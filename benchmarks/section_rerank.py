"""The section of README.md on reranking."""

import json
from pathlib import Path

from render_numbers import show

RECORD = Path(__file__).parent / "results" / "rerank.json"

INTRO = """
## Reranking: vectors order what codes find

    python benchmarks/bench_rerank.py --json benchmarks/results/rerank.json

The best 10 of {candidates} candidates per query, at random rows of {items:,} x 384 mapped vectors,
new ones each time: `rerank` against NumPy gathering the same rows as float32 and multiplying them.
One thread ({isa}), medians of {runs} alternating runs in processor time. Goals are for float16.

"""
RERANK_MUST, RERANK_AIM = 3, 8


def table(record):
    """Return a Markdown table of reranking."""
    lines = [
        "| vectors | metric | ours, µs | NumPy, µs | ratio | must | aim | |",
        "|---|---|---:|---:|---:|---:|---:|---|",
    ]
    for row in record["records"]:
        ratio = row["numpy"] / row["kinhash"]
        goals = ["", "", ""]
        if row["vectors"] == "float16":
            goals = [str(RERANK_MUST), str(RERANK_AIM), "✓" if ratio >= RERANK_MUST else "✗"]
        cells = [row["vectors"], row["metric"], show(row["kinhash"]), show(row["numpy"])]
        lines.append(f"| {' | '.join([*cells, f'**{show(ratio)}**', *goals])} |")
    return "\n".join(lines) + "\n"


def section():
    """Return the section, from the record."""
    record = json.loads(RECORD.read_text("utf-8"))
    return INTRO.format(**record) + table(record)
