"""What does each plan of the index gain? Times the index with all plans and with one left out.

    python benchmarks/bench_plans.py      # measures: results/plans.jsonl
    python benchmarks/render.py           # writes the table

A plan is left out by not building its structure; `lookup`, which only radius 0 uses, by asking for
`deletions` instead. All variants of a cell take turns, 64 queries in a call, one thread, and the
fastest visit of each counts. The speed that is kept is the time with all plans divided by the time
without one: a plan whose cells all keep 0.8 can go.
"""

import argparse
import dataclasses
import json
from pathlib import Path

import index_sets
import numpy as np
from index_measure import AT_ONCE, RADII, TOP, Turns, batches, progress

from kinhash import HammingIndex
from kinhash.matches import Matches

RESULTS = Path(__file__).parent / "results"
SETS = ("real", "real-fine", "clustered1m", "uniform1m", "dense1m")
VISITS, RUNS = 8, 2
# What is not built when a plan is left out.
LEFT_OUT = {
    "deletions": {"levels": 0},
    "chunks": {"n_chunks": 0},
    "groups": {"groups": False},
    "neighbours": {"far": 0.0, "listed": 0.0},
}
ALL = "all"


def built(codes, changes):
    """Return an index of the codes with other structures than the default."""
    index = HammingIndex(codes[:0])
    index._wanted = dataclasses.replace(index._wanted, **changes)  # noqa: SLF001 - not public
    index.add(codes, np.arange(len(codes)))
    return index


def search(index, parts, task, value):
    """Return a call that answers all queries, each answer in the memory of the one before."""
    find = index.search_radius if task == "range" else index.search_top_k
    last = [None]

    def call():
        for part in parts:
            last[0] = find(part, value, n_threads=1, out=last[0])

    return call


def search_without_lookup(index, parts):
    """Return a call that answers radius 0 by deletion keys."""
    searcher = index._state.searcher  # noqa: SLF001 - not public
    last = [None]

    def call():
        for part in parts:
            last[0] = None
            last[0] = Matches._of(  # noqa: SLF001 - as search_radius does
                searcher.radius(part.words, 0, sort=False, n_threads=1, structure="deletions")
            )

    return call


def measured(name):
    """Return a line for each cell of one code set: microseconds per query by what is left out."""
    progress(f"{name}: making the codes")
    codes = index_sets.make(name)
    variants = {ALL: {}} | LEFT_OUT
    indexes = {variant: built(codes.items, changes) for variant, changes in variants.items()}
    parts = batches(codes.queries, AT_ONCE)
    tasks = [*(("range", radius) for radius in RADII), *(("top_k", k) for k in TOP)]
    turns = {}
    for task, value in tasks:
        calls = {variant: search(index, parts, task, value) for variant, index in indexes.items()}
        if (task, value) == ("range", 0):
            calls["lookup"] = search_without_lookup(indexes[ALL], parts)
        turns[task, value] = tuple(calls), Turns(list(calls.values()))
    for visit in range(VISITS):
        progress(f"{name}: visit {visit + 1} of {VISITS}")
        for _, turn in turns.values():
            turn.take(RUNS)
    scale = 1e6 / len(codes.queries)
    return [
        {
            "set": name,
            "task": task,
            "value": value,
            "us": {
                variant: float(f"{seconds * scale:.4g}")
                for variant, seconds in zip(calls, turn.seconds, strict=True)
            },
        }
        for (task, value), (calls, turn) in turns.items()
    ]


def _place(line):
    name = line["set"]
    known = SETS.index(name) if name in SETS else len(SETS)
    return known, name, line["task"], line["value"]


def main():
    """Measure and write the record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="code sets, separated by commas")
    parser.add_argument("--out", type=Path, default=RESULTS / "plans.jsonl")
    options = parser.parse_args()
    lines = []
    if options.only and options.out.exists():
        lines = [json.loads(line) for line in options.out.read_text(encoding="utf-8").splitlines()]
    for name in options.only.split(",") if options.only else SETS:
        found = measured(name)
        lines = [*(line for line in lines if line["set"] != name), *found]
        lines.sort(key=_place)
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        options.out.write_text(text, encoding="utf-8")
        for cell in found:
            kept = {plan: round(cell["us"][ALL] / us, 2) for plan, us in cell["us"].items() if us}
            progress(f"{name} {cell['task']} {cell['value']}: {cell['us'][ALL]} us, kept {kept}")


if __name__ == "__main__":
    main()
