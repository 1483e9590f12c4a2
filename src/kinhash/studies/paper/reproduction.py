"""The paper's experiments: which methods and settings, what the paper got, and what we get."""

import csv
import importlib.resources
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinhash.datasets import Dataset
from kinhash.errors import unknown_name
from kinhash.measures import COUNTS, F1, PAPER
from kinhash.progress import Report
from kinhash.show.html import Section, write_report
from kinhash.show.tables import Row, heading, show, title
from kinhash.studies import comparison, comparison_report
from kinhash.studies.comparison import Compared
from kinhash.studies.records import RAW, Settings, named

REPORT = "report.html"
RECORDS = "records.jsonl"
FIGURES = "figures"
UNSEEN_BITS = 64
COLLISION_BITS = 48
# Beside mAP, unique codes and answers: F1 alone can be had with one code for everything.
PAPER_COLLISIONS = "The paper has 9,828 unique codes at 48 bits and 798 / 2,035 / 3,250 answers."

UNSEEN = (
    "Trained on seven classes, searched among the other three. Unsupervised methods saw the "
    "database without labels; L2 and cosine learned nothing."
)

_DATASETS = {"cifar10": "CIFAR10"}  # ours, and the table's
_METHODS: dict[str, Settings] = {
    "L2": {"method": "l2"},
    "KSH": {"method": "ksh"},
    "AGH1": {"method": "agh", "n_layers": 1},
    "AGH2": {"method": "agh", "n_layers": 2},
    "SSH": {"method": "ssh"},
    "DH": {"method": "dh"},
    "NN": {"method": "nnhash"},
    # As in the paper, all labels are trained on: none are held out to stop early.
    "Sparse": {"method": "sparsehash", "validation_share": 0.0, "recipe": "paper"},
}

# How far codes follow the vectors instead of the classes: from nothing to all.
TRANSFERS: tuple[Settings, ...] = ({}, {"transfer": 0.5}, {"transfer": 1.0})


def paper_results(dataset: str) -> list[tuple[Settings, dict[str, float]]]:
    """Return the rows of the paper's table: our settings for each, and its measures as fractions.

    Raises:
        InvalidInputError: The paper has no table of this data set that can be reproduced here.
    """
    if dataset not in _DATASETS:
        raise unknown_name("experiment", dataset, tuple(_DATASETS))
    text = importlib.resources.files("kinhash.studies.paper").joinpath("results.csv")
    found = []
    for line in csv.DictReader(text.read_text(encoding="utf-8").splitlines()):
        if line["dataset"] != _DATASETS[dataset]:
            continue
        printed: Settings = {"n_bits": int(line["m"])} if line["m"] else {}
        for ours, theirs in (("margin", "M"), ("alpha", "alpha"), ("lam", "lambda")):
            if line[theirs]:
                printed[ours] = float(line[theirs])
        kind = _METHODS[line["method"]]
        settings = {"method": kind["method"]} | printed | kind
        measures = {key: line[_printed_name(key)] for key in PAPER}  # in percent
        found.append((settings, {key: float(v) / 100 for key, v in measures.items() if v}))
    return found


def _printed_name(key: str) -> str:
    """Return the column of the paper's table."""
    return {"map": "mAP"}.get(key, key.replace("@", "_"))


def plan(dataset: str) -> list[Settings]:
    """Return all that is run: the paper's rows, sparse codes with signs, and what it lacks."""
    rows = [settings for settings, _ in paper_results(dataset)]
    rows.insert(1, {"method": "cosine"})  # beside L2, which is the first
    signed = [row | {"signed": True} for row in rows if row["method"] == "sparsehash"]
    lengths = sorted({row["n_bits"] for row in rows if "n_bits" in row})
    others = [{"method": name, "n_bits": n} for name in ("itq", "lsh") for n in lengths]
    today: list[Settings] = [
        {"method": name, "n_bits": UNSEEN_BITS} for name in ("classcode", "sparsehash")
    ]
    return [*rows, *signed, *others, *today]


def unseen_plan() -> list[Settings]:
    """Return what is run on classes that were never trained on."""
    names = ("classcode", "ksh", "nnhash", "ssh", "dh", "itq", "lsh")
    return [
        *({"method": name} for name in RAW),
        _METHODS["Sparse"] | {"n_bits": UNSEEN_BITS},
        *({"method": "sparsehash", "n_bits": UNSEEN_BITS} | one for one in TRANSFERS),
        *({"method": name, "n_bits": UNSEEN_BITS} for name in names),
        *({"method": "agh", "n_bits": UNSEEN_BITS, "n_layers": n} for n in (1, 2)),
    ]


def reproduce(
    dataset: str,
    data: Dataset,
    out: Path,
    *,
    seeds: Sequence[int] = range(5),
    unseen_seeds: Sequence[int] = range(2),
    report: Report | None = None,
) -> list[Compared]:
    """Run the paper's experiments on a data set and write records, figures and a report.

    Records that `out` has are not computed again, so that work goes on where it was stopped.

    Args:
        dataset: The experiment's name, such as "cifar10".
        data: The data set itself.
        out: A folder; it is made if needed.
        seeds: Of the splits; the paper has one.
        unseen_seeds: Of the deals into seen and unseen classes.
        report: Called with (records done, records in all, what comes next).

    Returns:
        What each row reached, for `table` and `shown`.
    """
    start = time.perf_counter()
    settings = plan(dataset)
    compared = comparison.compare(out / RECORDS, data, settings, seeds, report=report)
    unseen = comparison.compare(
        out / RECORDS, data, unseen_plan(), unseen_seeds, protocol="unseen", report=report
    )
    write_report(
        out / REPORT,
        title=f"The paper's experiments on {data.name}",
        lead=(
            f"{len(data):,} items, {len(seeds)} random splits of 200 training and 100 query items "
            "per class; all else is the database. Means, in percent, beside the paper's numbers."
        ),
        sections=[
            Section(
                "Ours beside the paper's",
                paragraphs=[*gaps(dataset, compared), *comparison.verdict(compared)],
                rows=shown(dataset, compared),
            ),
            Section(
                "Classes never seen in training",
                paragraphs=[UNSEEN],
                rows=comparison.rows(unseen),
            ),
            Section(
                f"Collisions at {COLLISION_BITS} bits",
                paragraphs=[PAPER_COLLISIONS],
                rows=[
                    row
                    for row in comparison.collisions(compared)
                    if row["n_bits"] == COLLISION_BITS
                ],
            ),
            *comparison_report.sections(drawn(compared), data, out / FIGURES),
        ],
        footer=f"Made by kinhash reproduce in {(time.perf_counter() - start) / 60:.1f} minutes.",
    )
    return compared


def drawn(compared: Sequence[Compared]) -> list[Compared]:
    """Return what the figures show: one sparse row per length and its rivals, unsigned."""
    chosen: dict[tuple[Any, ...], Compared] = {}
    for one in compared:
        kind = one.settings["method"], one.settings.get("n_layers")
        variant = one.settings.get("signed") or "optimizer" in one.settings
        if "n_bits" not in one.settings or variant:
            continue
        if one.settings["method"] == "sparsehash" and "validation_share" not in one.settings:
            continue
        chosen[*kind, one.settings["n_bits"]] = one  # the last: of two sparse rows, the usual one
    order = {"sparsehash": 0, "nnhash": 1, "ksh": 2, "agh": 3, "ssh": 4, "dh": 5, "itq": 6}
    return sorted(chosen.values(), key=lambda one: order.get(one.settings["method"], 9))


def table(dataset: str, compared: Sequence[Compared]) -> list[Row]:
    """Return a line per method: our means, their spreads, and the paper's numbers."""
    paper = {named(s) + str(s.get("n_bits")): m for s, m in paper_results(dataset)}
    lines = []
    for one in compared:
        theirs = paper.get(one.name + str(one.settings.get("n_bits")), {})
        line: Row = {"method": one.name, "n_bits": one.settings.get("n_bits")}
        line["stored_bits"] = one.records[0].get("stored_bits")
        for measure in PAPER:
            line[measure] = one.mean(measure)
            line[f"sd {measure}"] = one.spread(measure)
            line[f"paper {measure}"] = theirs.get(measure)
        for measure in COUNTS:
            line[measure] = one.mean(measure)
        lines.append(line)
    return lines


def shown(dataset: str, compared: Sequence[Compared]) -> list[Row]:
    """Return the same for people: "26.42 ± 0.93 (21.29)" in one cell, the paper's in brackets."""
    lines = []
    for line in table(dataset, compared):
        cells: Row = {"method": line["method"], "bits": show("n_bits", line["n_bits"])}
        cells["stored"] = show("stored_bits", line["stored_bits"])
        for measure in PAPER:
            cells[title(measure)] = cell(
                line[measure], line[f"sd {measure}"], line[f"paper {measure}"]
            )
        for measure in COUNTS:
            cells[heading(measure)[0]] = show(measure, line[measure])
        lines.append(cells)
    return lines


def cell(mean: float, spread: float, paper: float | None) -> str:
    """Return mean and spread in percent, and the paper's number in brackets.

    Example:
        >>> cell(0.2642, 0.0093, 0.2129), cell(float("nan"), float("nan"), None)
        ('26.42 ± 0.93 (21.29)', '-')
    """
    if np.isnan(mean):
        return "-"
    text = f"{100 * mean:.2f} ± {100 * spread:.2f}"
    return text if paper is None else f"{text} ({100 * paper:g})"


def gaps(dataset: str, compared: Sequence[Compared]) -> list[str]:
    """Return a sentence on each mAP or F1 that is below the paper's, or one that says none is."""
    behind = []
    for line in table(dataset, compared):
        for measure in ("map", *F1):
            paper, ours = line[f"paper {measure}"], line[measure]
            if paper is not None and ours < paper - 5e-5:
                what = title(measure, " at ")
                behind.append(
                    f"{line['method']}, {line['n_bits'] or 'no'} bits: {what} {100 * ours:.2f}, "
                    f"the paper's {100 * paper:.2f}"
                )
    if not behind:
        return ["No mAP and no F1 is below the paper's."]
    return [f"Below the paper: {'; '.join(behind)}."]
