"""Makes benchmarks/README.md, and the table of the README, from the records.

    python benchmarks/render.py [--check]

With --check it writes nothing and fails if the page is not current.
"""

import argparse
import sys
from pathlib import Path

import index_record
from index_record import TOP

HERE = Path(__file__).parent
RECORD = HERE / "results" / "index.jsonl"
PLANS = HERE / "results" / "plans.jsonl"
NESTED = HERE / "results" / "nested.jsonl"
DEDUP = HERE / "results" / "dedup.jsonl"
README = HERE / "README.md"
FRONT = HERE.parent / "README.md"
START, END = "<!-- speed:start -->\n", "<!-- speed:end -->"
SHORT_SETS = ("real-fine", "clustered1m", "clustered10m", "uniform1m", "dense1m")

INTRO = """# How fast is it?

| script | question |
|---|---|
| `bench_train.py` | training, against the plain siamese loop |
| `bench_encode.py` | encoding, against the bare matrix products |
| `bench_metrics.py` | the measures of retrieval, against a NumPy distance matrix with argsort |
| `bench_multimodal.py` | several modalities: memory of a fit, sparse against dense rows |
| `bench_index.py` | exact search, against FAISS, usearch and NumPy |
| `bench_dedup.py` | near-duplicates, against FAISS, semhash, datasketch and codes alone |
| `bench_nested.py` | the order of rank bits, against FAISS and NumPy |
| `bench_plans.py` | what each plan of exact search gains |
| `bench_versions.py` | is this core as fast as an earlier one? |

Only ratios of times taken in turns within one run mean anything; compare no microseconds between
machines.

## Exact search

    python benchmarks/bench_index.py      # measures: results/index.jsonl; --quick for a first look
    python benchmarks/plot_index.py       # draws it
    python benchmarks/render.py           # writes this page

`index_sets.py` makes the codes, `index_peers.py` holds the peers, `index_measure.py` times them,
`index_record.py` holds the goals and knows the record. A change of the core is judged by

    python benchmarks/bench_index.py --only real,real-fine,clustered1m,uniform1m,dense1m,wide

"""

METHOD = """
How it is measured:

- Each peer runs in a process of its own, with ours beside it. Its answers are checked to be equal
  to ours before it is timed (beyond a million matches: counts and sums of all rows, some rows in
  full); then its runs and ours alternate, and the fastest of each counts: {runs} runs on
  {visits} visits to each cell, as the record says for each code set.
- Both sides get 64 queries in a call, for each thread. *large*: the ratio to the best peer with all
  queries in one call. Answers of thousands of matches then no longer fit the processor's cache:
  ours is bound by memory, and FAISS gets fresh pages from the system for each answer.
- Ours is `HammingIndex(codes)` with `out=` the previous answer; FAISS allocates its own results.
  Without `out=` ours took up to {fresh:.1f} times as long.
- A slow peer gets fewer queries, spread evenly over the numbers of matches; ours is timed with the
  same ones.
- *range*: the best of FAISS's Flat, Hash (five prefix lengths, `nflip` = radius) and MultiHash
  (two shapes) and of NumPy's `bitwise_count`. *unique*: FAISS over the different codes, and NumPy
  to repeat each code's items. *single*: a Python loop over queries, without `out=`, that takes
  `ids` and `distances` of each answer. *ivf*: the number of probed lists is raised until the
  measured recall rounds to 1.000. *best*: the best of all exact ones, also usearch and Flat with
  heap.
- Wide codes are measured at a radius of a fifth of their bits, against Flat with and without heap
  and usearch; they must reach the goals on one thread and on all cores.
- *must* and *aim* are what the project set itself; *all* is the ratio with {n_cores} threads on
  both sides.
"""


def show(number):
    """Return a number with three digits, or nothing."""
    if number is None:
        return ""
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


def sets_table(sets):
    """Return a Markdown table of the code sets."""
    lines = [
        "| set | items | different codes | active bits | bytes per item: lean, balanced | codes |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for name, record in sets.items():
        per_item = record["bytes_per_item"]
        lines.append(
            f"| {name} | {record['n_items']:,} | {record['n_unique']:,} "
            f"| {record['mean_active']:.1f} | {per_item['lean']:.1f}, {per_item['balanced']:.1f} "
            f"| {record['about']} |"
        )
    return "\n".join(lines) + "\n"


def ratio_tables(record):
    """Return a Markdown table of the ratios of each code set."""
    parts = []
    for name in record["sets"]:
        parts += [
            f"\n### {name}\n",
            "| cell | matches | ours, µs | peer, µs | ratio | must | aim | | large | all | peer |",
            "|---|---:|---:|---:|---:|---:|---:|---|---:|---:|---|",
        ]
        for row in record["table"]:
            if row["set"] != name:
                continue
            kind = row["kind"]
            letter = "r" if kind in {"range", "unique", "single", "best range"} else "k"
            about = index_record.ABOUT[kind]
            cell = about if row["value"] is None else f"{kind}, {letter} = {row['value']}"
            mark = {None: "", True: "✓", False: "✗"}[row["reached"]]
            values = [show(row[key]) for key in ("matches", "ours", "theirs")]
            goals = [show(row["must"]), show(row["aim"])]
            values += [f"**{show(row['ratio'])}**", *goals, mark]
            values += [show(row["large"]), show(row["all_cores"])]
            parts.append(f"| {cell} | {' | '.join(values)} | {row['peer'] or ''} |")
    return "\n".join(parts) + "\n"


def growth_table(sets):
    """Return a Markdown table of our times by number of clustered items."""
    chosen = [s for name, s in sets.items() if name.startswith("clustered")]
    chosen.sort(key=lambda s: s["n_items"])
    if len(chosen) < 2:
        return ""
    tasks = [*(("range", r) for r in (0, 1, 2, 3)), ("top_k", 10)]
    titles = [f"r = {value}" if task == "range" else f"top {value}" for task, value in tasks]
    lines = [
        "\n### Growth\n",
        "Microseconds per query on clustered codes, one thread: all results written / only counted",
        "(matches per query).\n",
        f"| items | {' | '.join(titles)} |",
        "|---:|" + "---:|" * len(tasks),
    ]
    for record in chosen:
        cells = {(c["task"], c["value"]): c for c in record["times"] if c["n_threads"] == 1}
        texts = []
        for task in tasks:
            cell = cells[task]
            counted = f" / {show(cell['count_us'])}" if cell["count_us"] is not None else ""
            texts.append(f"{show(cell['ours_us'])}{counted} ({show(cell['matches'])})")
        lines.append(f"| {record['n_items']:,} | {' | '.join(texts)} |")
    return "\n".join(lines) + "\n\n![Time against items](results/index-growth.svg)\n"


NESTED_INTRO = """
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


def nested_table(lines):
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


PLANS_INTRO = """
## What each plan gains

    python benchmarks/bench_plans.py      # measures: results/plans.jsonl

Times as fast with a plan as without it, when all others stay: one thread, 64 queries in a call, the
fastest of several visits in turns. A plan may go if leaving it out keeps at least 0.8 of the speed
of every cell, that is if no cell gains more than 1.25 by it. `scan` answers what no other plan can
and always stays. `lookup` is used for radius 0 only; without it, `deletions` answers. Lists of
`neighbours` are made with deletion keys, so without `deletions` there are none either.

"""


def plans_tables(cells):
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


DEDUP_INTRO = """
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
DEDUP_GOALS = {  # must and aim
    "recall": (0.95, 0.99),
    "ratio": (10, 50),
    "bytes_per_item": (200, 80),
    "photos": (0.80, 0.84),
}


def dedup_tables(lines):
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
        must, aim = DEDUP_GOALS.get(goal, (None, None))
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


def machines(sets):
    """Return a sentence on where the record comes from."""
    lines = []
    for record in sets.values():
        m = record["machine"]
        versions = ", ".join(f"{name} {version}" for name, version in m["versions"].items())
        lines.append(
            f"{m['date']}, {m['cpu']}, {m['n_cores']} cores, {m['instruction_set']}; "
            f"Python {m['python']}, {versions}; FAISS built for {m['faiss_options']}."
        )
    return "\n".join(dict.fromkeys(lines)) + "\n"


def page(record, plans, nested, dedup):
    """Return the page of the records."""
    sets = record["sets"]
    fresh = max(
        cell["fresh_us"] / cell["ours_us"]
        for one in sets.values()
        for cell in one["times"]
        if cell["fresh_us"] is not None
    )
    n_cores = next(iter(sets.values()))["machine"]["n_cores"]
    judged = [row["reached"] for row in record["table"] if row["reached"] is not None]
    return "".join(
        [
            INTRO,
            machines(sets),
            f"\n{sum(judged)} of {len(judged)} cells reach what they must.\n\n",
            "![Ratios](results/index-ratios.svg)\n\n",
            sets_table(sets),
            METHOD.format(fresh=fresh, n_cores=n_cores, **visits(record)),
            ratio_tables(record),
            growth_table(sets),
            NESTED_INTRO,
            nested_table(nested),
            DEDUP_INTRO,
            dedup_tables(dedup),
            PLANS_INTRO,
            plans_tables(plans),
        ]
    )


def insert(text, record):
    """Return the project's README with its table of ratios brought up to date."""
    before, rest = text.split(START)
    _, after = rest.split(END)
    rows = {(row["set"], row["kind"], row["value"]): row for row in record["table"]}
    lines = [
        "| codes | items | r = 0 | r ≤ 1 | r ≤ 2 | r ≤ 3 | top 10 | top 100 | top 5,000 |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in SHORT_SETS:
        if name not in record["sets"]:
            continue
        cells = []
        for kinds, values in ((("range", "best range"), range(4)), (("best top_k",), TOP)):
            for value in values:
                found = [rows[name, kind, value] for kind in kinds if (name, kind, value) in rows]
                cells.append(show(found[0]["ratio"]) if found else "")
        n_items = record["sets"][name]["n_items"]
        lines.append(f"| {name} | {n_items:,} | {' | '.join(cells)} |")
    return f"{before}{START}{chr(10).join(lines)}\n{END}{after}"


def visits(record):
    """Return how often the cells with peers were visited, and in how many runs."""
    with_peers = {row["set"] for row in record["table"] if row["peer"] is not None}
    machines = [record["sets"][name]["machine"] for name in with_peers]
    runs = sorted({machine["repeats"] for machine in machines})
    often = sorted({min(machine["visits"], machine["repeats"]) for machine in machines})
    return {"visits": " or ".join(map(str, often)), "runs": " or ".join(map(str, runs))}


def main():
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--out", type=Path, default=README)
    options = parser.parse_args()
    record = index_record.record(index_record.read(options.record))
    plans, nested = index_record.read(PLANS), index_record.read(NESTED)
    dedup = index_record.read(DEDUP)
    pages = {
        options.out: page(record, plans, nested, dedup),
        FRONT: insert(FRONT.read_text(encoding="utf-8"), record),
    }
    for path, text in pages.items():
        if not options.check:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            sys.exit(f"error: {path} is not current; run python benchmarks/render.py")


if __name__ == "__main__":
    main()
