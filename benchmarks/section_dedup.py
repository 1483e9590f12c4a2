"""The section of README.md on near-duplicates."""

from pathlib import Path

import index_record
from render_numbers import show

RECORD = Path(__file__).parent / "results" / "dedup.jsonl"

INTRO = """
## Near-duplicates

    python benchmarks/bench_dedup.py      # measures: results/dedup.jsonl

*Vectors*: clustered unit vectors of 384 dimensions, a tenth of them copies at cosines of 0.85 to 1;
the limit is 0.9. The pairs to find are those of a tenth of the rows, by FAISS's exact range search
(IndexFlatIP), or of a million vectors the planted ones, and all those of 500 random rows. FAISS
answers in parts, ours in between, on as many threads; its time is ten times that of a tenth of the
queries. *Bytes*: what the process needs at most besides the vectors, per item.

*Texts*: a fifth are edited copies; others share passages, or half of their words, with texts that
they are no copies of. semhash compares the vectors that ours compares. Limits that are chosen are
the best on other texts; the others are defaults. Times are from texts to pairs, in turns.

*Photographs*: altered copies of photographs of Corel-5k, whose limit is the best on the other half
of the photographs; F1 is the mean of both halves.

"""
GOALS = {  # must and aim
    "recall": (0.95, 0.99),
    "ratio": (10, 50),
    "bytes_per_item": (200, 80),
    "photos": (0.80, 0.84),
}


def table(lines):
    """Return Markdown tables of near-duplicates."""
    found = {line["of"]: line for line in lines}
    rows = []
    for name in ("vectors", "million"):
        one = found[name]
        items = f"{one['n_items']:,} vectors"
        told = f"{100 * one['told']['low']:.1f} to {100 * one['told']['high']:.1f} %"
        pairs = f"of {one['n_pairs']:,} pairs; it says {told}"
        rows.append((items, "recall", f"{one['recall']:.4f}", "recall", one["recall"], pairs))
        if "sampled_recall" in one:
            share = one["sampled_recall"]
            pairs = f"of all {one['sampled_pairs']:,} pairs of 500 random rows"
            rows.append((items, "recall", f"{share:.4f}", "recall", share, pairs))
        rows.append((items, "precision", f"{one['precision']:.4f}", None, 1, "by confirmation"))
        rows.append((items, "seconds", show(one["seconds"]), None, 0, ""))
        if "ratio" in one:
            peer = f"FAISS would take {show(one['faiss_seconds'])} s"
            rows.append((items, "times as fast", show(one["ratio"]), "ratio", one["ratio"], peer))
        per_item = one["bytes_per_item"]
        rows.append((items, "bytes per item", show(per_item), "bytes_per_item", per_item, ""))
    for name, way in found["photos"]["ways"].items():
        goal = "photos" if name.startswith("cosine") else None
        limits = " and ".join(f"{limit:g}" for limit in way["limits"])
        text = f"{100 * way['f1']:.1f}"
        rows.append(("photographs", f"F1, {name}", text, goal, way["f1"], f"limits {limits}"))
    parts = ["| data | measure | ours | must | aim | | |", "|---|---|---:|---:|---:|---|---|"]
    for items, what, text, goal, value, note in rows:
        must, aim = GOALS.get(goal, (None, None))
        mark = ""
        if must is not None:
            mark = "✓" if (value <= must if goal == "bytes_per_item" else value >= must) else "✗"
        goals = f"{'' if must is None else f'{must:g}'} | {'' if aim is None else f'{aim:g}'}"
        parts.append(f"| {items} | {what} | **{text}** | {goals} | {mark} | {note} |")
    texts = found["texts"]
    parts += [
        "",
        f"| {texts['n_items']:,} texts | limit | precision | recall | F1 | seconds |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, one in texts["tools"].items():
        rates = " | ".join(f"{100 * one[key]:.1f}" for key in ("precision", "recall"))
        parts.append(
            f"| {name} | {one['limit']:g} | {rates} | **{100 * one['f1']:.1f}** "
            f"| {show(one['seconds'])} |"
        )
    machine = found["vectors"]["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    made = f"{machine['date']}, {machine['n_cores']} cores, {machine['instruction_set']}"
    parts += ["", f"{made}; Python {machine['python']}, {versions}. Other programs ran beside it."]
    return "\n".join(parts) + "\n"


def section():
    """Return the section, from the record."""
    return INTRO + table(index_record.read(RECORD))
