"""The section of README.md on plans."""

from pathlib import Path

import index_record
from render_numbers import show

RECORD = Path(__file__).parent / "results" / "plans.jsonl"

INTRO = """
## What each plan gains

    python benchmarks/bench_plans.py      # measures: results/plans.jsonl

Times as fast with a plan as without it, when all others stay: one thread, 64 queries in a call, the
fastest of several visits in turns. A plan may go if leaving it out keeps at least 0.8 of the speed
of every cell, that is if no cell gains more than 1.25 by it. `scan` answers what no other plan can
and always stays. `lookup` is used for radius 0 only; without it, `deletions` answers. Lists of
`neighbours` are made with deletion keys, so without `deletions` there are none either.

"""


def table(cells):
    """Return a Markdown table of what each plan gains, and the largest gain of each."""
    plans = list(dict.fromkeys(plan for cell in cells for plan in cell["us"]))
    plans.remove("all")
    lines = [
        f"| codes | cell | µs | {' | '.join(plans)} |",
        "|---|---|---:|" + "---:|" * len(plans),
    ]
    largest = dict.fromkeys(plans, (0.0, ""))
    for cell in cells:
        name, us = cell["set"], cell["us"]
        letter = "r" if cell["task"] == "range" else "k"
        what = f"{letter} = {cell['value']:,}"
        gains = {plan: us[plan] / us["all"] for plan in plans if plan in us}
        for plan, gain in gains.items():
            largest[plan] = max(largest[plan], (gain, f"{name}, {what}"))
        texts = [f"{gains[plan]:.2f}" if plan in gains else "" for plan in plans]
        lines.append(f"| {name} | {what} | {show(us['all'])} | {' | '.join(texts)} |")
    lines += ["", "| plan | largest gain | where | |", "|---|---:|---|---|"]
    for plan, (gain, where) in largest.items():
        verdict = "stays" if gain > 1 / 0.8 else "may go"
        lines.append(f"| {plan} | {gain:.2f} | {where} | {verdict} |")
    return "\n".join(lines) + "\n"


def section():
    """Return the section, from the record."""
    return INTRO + table(index_record.read(RECORD))
