"""Makes experiments/README.md, and the table of the README, from the records of run.py.

    python experiments/render.py [--check]

With --check it writes nothing and fails if a page is not current.
"""

import argparse
import itertools
import json
import re
import statistics
import sys
from pathlib import Path

from run import MODALITIES, key_of, read

from kinhash.measures import COUNTS, NEIGHBOURS, NESTED, OF_CODES, RESULTS, scores
from kinhash.record_file import read as read_records
from kinhash.show.tables import show, title
from kinhash.studies.comparison import Compared, verdict
from kinhash.studies.multimodal import protocols as multimodal_protocols
from kinhash.studies.multimodal import reproduction as multimodal
from kinhash.studies.paper import reproduction
from kinhash.studies.paper.reproduction import cell
from kinhash.studies.records import named, record_key

HERE = Path(__file__).parent
SHORT_BITS = 64
FRONT_ROWS = {  # rows of README's table, by the beginning of their names, and what it calls them
    "L2": "L2",
    "NNHash": "NNHash",
    "OrthoHash, n_active 16": "OrthoHash, 16 active bits",
    "ClassCode, levels 3": "ClassCode, levels 3",
    "SparseHash, margin 7": "SparseHash, recipe paper",
    "SparseHash": "SparseHash",
}
FRONT = ("map", "mp@10", "f1@r2", "f1@r0"), ("unique_codes",)  # measures, and counts
NEIGHBOUR_RECALLS = scores(NEIGHBOURS)
NEIGHBOUR_COUNTS = tuple(key for key in NEIGHBOURS if key not in NEIGHBOUR_RECALLS)
WHY = """Why, where it is more than a standard deviation: L2 depends on the GIST program, and the
authors' is another. DH has only a few directions in which dissimilar items differ more than
similar ones; bits beyond them add noise, and the weight of the two covariances is 1, as printed.
SSH's thresholds are exact, so that its codes collide even less than the paper's.
"""
TIMES = """How many times as fast as comparing all 59,000 codes in NumPy: one thread, one run of the
first seed.
"""

MODAL_CELLS = """In each cell: image-image / text-text / image-text / text-image, what is searched
with first; of unique and active bits: image / text. Means over the seeds, in percent.
"""

INTRO = """# Do we match the paper?

Means ± standard deviations over random splits, in percent; the paper's numbers in brackets.
Each record under `results/` holds the settings, the hash of its split, and all measures.
F1 means little without mAP, the number of unique codes and the number of answers: one code for
everything scores 18.2 % on ten classes. `ClassCode`, the class that a kernel SVM predicts written
as a code, is the control: what it reaches, labels alone reach.
"""


def compared(experiment):
    """Return what each row that was run reached, from its records alone."""
    records = read_records(experiment["records"])
    found = []
    for row in experiment["rows"]:
        keys = [key_of(experiment, row, seed) for seed in experiment["seeds"]]
        if all(key in records for key in keys):
            found.append(Compared(named(row), row, [records[key] for key in keys]))
    return found


def modal_results(experiment):
    """Return what each row of an experiment with several modalities reached, likewise."""
    records = read_records(experiment["records"])
    name, results = experiment["dataset"], {}
    for protocol in multimodal_protocols.PROTOCOLS[name]:
        found = results[protocol.name] = []
        for row, settings in multimodal_protocols.plan(name).items():
            keys = [record_key(settings, seed, protocol.name) for seed in experiment["seeds"]]
            if all(key in records for key in keys):
                found.append(Compared(row, settings, [records[key] for key in keys]))
    return results


def modal_parts(experiment, results):
    """Return the paragraphs of an experiment with several modalities: its tables, what they say."""
    name, parts = experiment["dataset"], [MODAL_CELLS]
    for protocol in multimodal_protocols.PROTOCOLS[name]:
        rows = results[protocol.name]
        parts += [f"### {protocol.name.capitalize()} of {name}\n", f"{protocol.about}\n"]
        shown = {one.name for one in rows}
        missing = [row for row in multimodal_protocols.plan(name) if row not in shown]
        if missing:
            parts.append(f"Not run yet with all seeds: {'; '.join(missing)}.\n")
        for search in multimodal.searches(rows):
            spread = multimodal.largest_spread(protocol, rows, search)
            said = [
                *multimodal.verdict(protocol, rows, search),
                *multimodal.warned(rows),
                f"No standard deviation over the seeds is above {100 * spread:.1f}.",
            ]
            parts += [
                f"**Database: {search}**\n",
                markdown(multimodal.compact(name, protocol, results, search)) + "\n",
                "\n".join(f"- {line}" for line in said) + "\n",
            ]
    return parts


def markdown(lines):
    """Return lines of cells as a Markdown table."""
    keys = list(lines[0])
    rows = [keys, ["---"] * len(keys), *([line[key] for key in keys] for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def table(rows, columns=RESULTS, counts=COUNTS):
    """Return a Markdown table of some rows, with the paper's numbers where it has them."""
    paper = {
        (named(settings), settings.get("n_bits")): measures
        for settings, measures in reproduction.paper_results("cifar10")
    }
    titles = [title(measure) for measure in (*columns, *counts)]
    lines = [
        f"| method | bits | {' | '.join(titles)} |",
        "|" + "---|" * (2 + len(titles)),
    ]
    for one in rows:
        on_cifar10 = one.records[0]["dataset"] == "cifar10"
        usual = on_cifar10 and one.records[0]["protocol"] == "paper"
        theirs = paper.get((one.name, one.settings.get("n_bits")), {}) if usual else {}
        cells = [cell(one.mean(key), one.spread(key), theirs.get(key)) for key in columns]
        cells += [show(key, one.mean(key)) for key in counts]
        bits = show("n_bits", one.settings.get("n_bits"))
        if one.settings.get("signed"):
            bits += f" ({one.records[0]['stored_bits']} stored)"
        lines.append(f"| {one.name} | {bits} | {' | '.join(cells)} |")
    return "\n".join(lines)


def collisions(rows):
    """Return the Markdown table of different codes and answers at 48 bits."""
    lines = [
        "| method | unique codes | answers, r = 0 | answers, r ≤ 1 | answers, r ≤ 2 |",
        "|" + "---|" * 5,
    ]
    for one in rows:
        if one.settings.get("n_bits") != reproduction.COLLISION_BITS:
            continue
        keys = ("unique_codes", *(f"mean_matches@r{r}" for r in (0, 1, 2)))
        lines.append(f"| {one.name} | {' | '.join(show(key, one.mean(key)) for key in keys)} |")
    return "\n".join(lines)


def times(rows):
    """Return the Markdown table of the time per query, as ratios to comparing everything."""
    lines = [
        "| method | bits | r = 0 | r ≤ 1 | r ≤ 2 |",
        "|" + "---|" * 5,
    ]
    for one in reproduction.drawn(rows):
        taken = one.figures["microseconds"]
        ratios = [f"{taken['brute force'] / taken[str(r)]:,.0f}" for r in (0, 1, 2)]
        lines.append(f"| {one.name} | {one.settings['n_bits']} | {' | '.join(ratios)} |")
    return "\n".join(lines)


def section(path, experiment, *, has_title):
    """Return the paragraphs of an experiment on one data set."""
    command = f"python experiments/run.py experiments/{path.name}"
    parts = []
    if has_title:
        ranked = "" if experiment["order"] == "nested" else f", order {experiment['order']}"
        parts.append(f"### {experiment['dataset']}{ranked}\n")
        command += f" --datasets {experiment['dataset']}"
    is_modal = experiment["protocol"] == MODALITIES
    results = modal_results(experiment) if is_modal else {path.stem: compared(experiment)}
    if not is_modal:
        run = [one.settings for one in results[path.stem]]
        missing = [named(row) for row in experiment["rows"] if row not in run]
        if missing:
            parts.append(f"Not run yet with all seeds: {'; '.join(missing)}.\n")
        if not run:
            return [*parts, f"`{command}`\n"]
    records = [r for rows in results.values() for one in rows for r in one.records]
    minutes = sum(r["seconds"] for r in records) / 60
    parts.append(f"{len(experiment['seeds'])} seeds, {minutes:.0f} minutes: `{command}`\n")
    if is_modal:
        return parts + modal_parts(experiment, results)
    (rows,) = results.values()
    if not experiment["labels"]:
        return [*parts, table(rows, NEIGHBOUR_RECALLS, NEIGHBOUR_COUNTS) + "\n"]
    if experiment.get("columns") == "nested":
        return [*parts, table(rows, NESTED, OF_CODES) + "\n"]
    parts.append(table(rows) + "\n")
    if path.stem == "cifar10":
        parts += [f"- {line}" for line in (*reproduction.gaps("cifar10", rows), *verdict(rows))]
        parts += [
            f"\n{WHY}",
            f"### Collisions at {reproduction.COLLISION_BITS} bits\n",
            reproduction.PAPER_COLLISIONS + "\n",
            collisions(rows) + "\n",
            "### Time per query\n",
            TIMES,
            times(rows) + "\n",
        ]
    return parts


ALONE = """## Without labels

From vectors alone and from pairs alone: `python experiments/alone.py`. Of each query's 10 nearest
database vectors by cosine, the share among the first 500 and 100 in the order of the codes, and
within a radius of the bucket, with 64 bits stored (56 for digits). *finer buckets* has twice as
many bucket bits. Pairs are altered copies of photographs, learned from half of the sources and
found among the others with 256 bits at a radius chosen on the learned half. Means ± standard
deviations over 5 seeds, in percent.
"""
ALONE_SEEDS = 5
ALONE_COUNTS = ("mean_matches@r0", "radius")
ALONE_NAMES = {
    "flyhash": "FlyHash",
    "itq": "ITQ",
    "lsh": "LSH",
    "nnhash": "NNHash",
    "phash": "perceptual hash",
}
OURS_ALONE = ("vectors-alone", "pairs-alone")  # what SparseHash learns from these


def alone():
    """Return the tables of what is learned without labels, of rows with all seeds."""
    groups = {}
    for line in (HERE / "results" / "alone.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        method = record["settings"]["method"]
        for name in OURS_ALONE:
            method = method.replace(name, "SparseHash")
        method = ALONE_NAMES.get(method, method)
        if record.get("order"):
            method += f", order {record['order']}"
        group = groups.setdefault((record["protocol"], record["dataset"], method), {})
        group[record["seed"]] = record["metrics"]
    parts = [ALONE]
    for protocol, columns in (
        ("vectors", ("recall@500", "recall@100", "recall@r2", "recall@r0", "mean_matches@r0")),
        ("pairs", ("pair_f1", "pair_precision", "pair_recall", "radius")),
    ):
        titles = [column.replace("_", " ").replace("@", ", ") for column in columns]
        lines = [f"| data | method | {' | '.join(titles)} |", "|" + "---|" * (2 + len(titles))]
        for (kind, dataset, method), seeds in sorted(groups.items()):
            if kind == protocol and len(seeds) >= ALONE_SEEDS:
                cells = [_alone_cell(column, list(seeds.values())) for column in columns]
                lines.append(f"| {dataset} | {method} | {' | '.join(cells)} |")
        parts.append("\n".join(lines) + "\n")
    return parts


def _alone_cell(column, measured):
    values = [one[column] for one in measured if column in one]
    if not values:
        return "-"
    if column in ALONE_COUNTS:
        return f"{statistics.fmean(values):,.0f}"
    shares = [100 * value for value in values]
    return f"{statistics.fmean(shares):.1f} ± {statistics.pstdev(shares):.1f}"


CALIBRATION = """## Calibration

Is what was asked for what is got, on new rows? `python experiments/calibration.py`.
Half, three quarters and nine tenths of the highest precision that a calibration promises are asked
for, of SparseHash with 64 bits (titles 128), at the share of similar pairs that training rows have
and at a tenth of it. A search can only stop at a whole rank distance, so it *promises* more than
was *asked* where precision falls fast; *miss* is the largest difference between *got* and promised,
and *below* how far got is below what was asked, at most. Means over splits, in percent.

The share of similar pairs is given:

"""
ESTIMATED = """
The share is estimated, from distances of queries to items or, as a search does that is told
nothing, between items. At a tenth, queries are of classes that are rare among the items: what the
items say of one another is then about something else, and no promise can be kept with it.
`kinhash search` estimates from queries, if these are 100 or more.

"""
WHY_CALIBRATION = """
Why rows left out promise too much of rare answers where they are few: of half of the training rows
of digits, with the other half in place of new rows (`python experiments/calibration_why.py`), at a
tenth of the share. Leaving a row out of the regression does not leave it out of the training of
rank bits, nor of the choice of penalties. Training rank bits on other rows alone does not help
enough; fitting everything to other rows does.

| calibrated by | repeats | promised | got |
|---|---|---|---|
"""
WAYS = ("rows left out", "5 folds")


def calibration():
    """Return the tables of what is promised and got."""
    records = read_records(HERE / "results" / "calibration.jsonl").values()
    groups = {}
    for record in records:
        key = record["dataset"], record["times"], record["calibrated_by"], record["known_by"]
        groups.setdefault(key, []).append(record)
    datasets = dict.fromkeys(key[0] for key in groups)
    parts = [CALIBRATION + _promises_head("calibrated by")]
    cells = list(itertools.product(datasets, ("1", "0.1")))
    parts += [
        _promises_row(groups[dataset, times, way, "true"], times, way)
        for dataset, times in cells
        for way in WAYS
    ]
    parts.append(ESTIMATED + _promises_head("estimated from; calibrated by"))
    parts += [
        _promises_row(groups[dataset, times, way, known], times, f"{known}; {way}")
        for dataset, times in cells
        for known, way in (("queries", WAYS[0]), ("queries", WAYS[1]), ("items", WAYS[0]))
    ]
    ways = {}
    for record in read_records(HERE / "results" / "calibration-why.jsonl").values():
        ways.setdefault(record["way"], []).append(record)
    parts.append(WHY_CALIBRATION)
    for way, some in ways.items():
        promised, got = (_three(_means(some, key)) for key in ("promised", "got"))
        parts.append(f"| {way} | {len(some)} | {promised} | {got} |\n")
    return "".join(parts)


def _promises_head(title):
    names = [
        "data",
        "splits",
        "share",
        title,
        "share, known as",
        "asked",
        "promised",
        "got",
        "miss",
        "below",
    ]
    return f"| {' | '.join(names)} |\n{'|---' * len(names)}|\n"


def _promises_row(records, times, how):
    asked, promised, got = (_means(records, key) for key in ("asked", "promised", "got"))
    miss = max((g - p for g, p in zip(got, promised, strict=True)), key=abs)
    below = max(0.0, *(a - g for a, g in zip(asked, got, strict=True)))
    share = 100 * statistics.fmean(one["similar_share"] for one in records)
    true = 100 * statistics.fmean(one["training_share"] for one in records) * float(times)
    cells = [records[0]["dataset"], str(len(records)), f"{true:.2f}", how, f"{share:.2f}"]
    cells += [_three(asked), _three(promised), _three(got), f"{miss:+.1f}", f"{below:.1f}"]
    return f"| {' | '.join(cells)} |\n"


def _means(records, key):
    return [
        100 * statistics.fmean(column)
        for column in zip(*(one[key] for one in records), strict=True)
    ]


def _three(values):
    return " / ".join(f"{value:.1f}" for value in values)


SEEDS = """## Seeds of a fit

How much depends on the seed of SparseHash, nothing else set, on one split (split 0):
`python experiments/seeds.py`.

| data | bits | fits | mAP | standard deviation |
|---|---|---|---|---|
"""


def seeds():
    """Return the table of several fits of one split."""
    groups = {}
    for line in (HERE / "results" / "seeds.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        groups.setdefault((record["dataset"], record["n_bits"]), []).append(100 * record["map"])
    return SEEDS + "".join(
        f"| {name} | {n_bits} | {len(values)} | {statistics.fmean(values):.2f} | "
        f"{statistics.pstdev(values):.2f} |\n"
        for (name, n_bits), values in groups.items()
    )


def page():
    """Return the whole page."""
    parts = [INTRO]
    for path in sorted(HERE.glob("*.toml")):
        experiments = read(path)
        about = re.split(r"^\w+ =", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[0]
        parts += [
            f"## {path.stem}\n",
            " ".join(line.removeprefix("#").strip() for line in about.strip().splitlines()) + "\n",
        ]
        for experiment in experiments:
            parts += section(path, experiment, has_title=len(experiments) > 1)
    return "\n".join([*parts, *alone(), calibration(), seeds()]).rstrip() + "\n"


def insert(text):
    """Return the project's README with its results brought up to date."""
    start, end = "<!-- results:start -->\n", "<!-- results:end -->"
    before, rest = text.split(start)
    _, after = rest.split(end)
    today = next(e for e in read(HERE / "nested.toml") if e["dataset"] == "cifar10")
    rows = [
        one
        for one in compared(*read(HERE / "cifar10.toml")) + compared(today)
        if one.settings.get("n_bits", SHORT_BITS) == SHORT_BITS
        and not one.settings.get("signed")
        and "optimizer" not in one.settings
        # Of the paper's recipe, the rows that have numbers of the paper beside them.
        and ("recipe" not in one.settings or "validation_share" in one.settings)
    ]
    rows = list({one.name: one for one in rows}.values())
    front = {
        one.name: shown
        for name, shown in FRONT_ROWS.items()
        for one in rows
        if one.name == name or (", " in name and one.name.startswith(f"{name}, "))
    }
    text = table([one for name in front for one in rows if one.name == name], *FRONT)
    for name, shown in front.items():  # the other settings stand in experiments/README.md
        text = text.replace(f"| {name} |", f"| {shown} |")
    return f"{before}{start}{text}\n{end}{after}"


def main():
    """Write the pages, or check that they are current."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    readme = HERE.parent / "README.md"
    pages = {HERE / "README.md": page(), readme: insert(readme.read_text(encoding="utf-8"))}
    for path, text in pages.items():
        if not options.check:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path} is not current. Run: python experiments/render.py")


if __name__ == "__main__":
    main()
