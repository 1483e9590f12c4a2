"""The report of a comparison: its tables and figures as a page. Importing this needs matplotlib."""

import dataclasses
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinhash.datasets import Dataset
from kinhash.show import plots
from kinhash.show.html import Section, write_report
from kinhash.studies.comparison import Compared, rows, verdict
from kinhash.studies.records import CURVE_RADII, N_NEIGHBOURS

REPORT = "report.html"
NOTE = (
    "F1 means little without mAP, the number of unique codes and the number of answers beside it: "
    "one code for everything has the F1 of guessing."
)
NOTE_WITHOUT_LABELS = (
    "Recall is the share of each query's true 10 nearest vectors. Within a radius it means little "
    "without the number of answers beside it: one code for everything finds all."
)
MAX_CURVES = 8  # beyond which nobody can tell them apart


def write(out: Path, data: Dataset, compared: Sequence[Compared]) -> None:
    """Write the report of a comparison to a folder, and its figures one by one beside it."""
    write_report(
        out / REPORT,
        title=f"Which method suits {data.name}?",
        lead=" ".join(verdict(compared)),
        sections=[
            Section(
                "All measures",
                rows=rows(compared),
                note=NOTE if data.labels is not None else NOTE_WITHOUT_LABELS,
            ),
            *sections(compared, data, out / "figures"),
        ],
    )


def sections(compared: Sequence[Compared], data: Dataset, folder: Path | None) -> list[Section]:
    """Return the figures of a comparison; with a folder, they are also saved there one by one."""
    drawn = _briefly([one for one in compared if one.figures])
    if not drawn:
        return []
    lengths = sorted({one.settings["n_bits"] for one in drawn})
    made: list[Section] = []

    def add(name: str, title: str, figure: Any, caption: str, picture: bool = False) -> None:  # noqa: ANN401, FBT001, FBT002 - a figure
        if folder is not None:
            plots.save_figure(figure, folder / name)
        uri = plots.data_uri(figure, "png" if picture else "svg")
        made.append(Section(title, image=uri, caption=caption))

    of_length = {n: [one for one in drawn if one.settings["n_bits"] == n] for n in lengths}
    for n_bits, some in of_length.items():
        panels = {
            _within(radius): {
                one.name: one.figures["curves"]["all" if radius is None else str(radius)]
                for one in some[:MAX_CURVES]
            }
            for radius in CURVE_RADII
        }
        add(
            f"precision-recall-{n_bits}",
            f"Precision against recall, {n_bits} bits",
            plots.plot_precision_recall(panels),
            "Mean precision of the shortest ranking that reaches a recall, among all items within "
            "the radius; 0 where the radius does not reach so far.",
        )
    both = [one for n in {lengths[0], lengths[-1]} for one in of_length[n][:MAX_CURVES]]
    for measure, draw in (
        ("recall", plots.plot_recall_against_radius),
        ("precision", plots.plot_precision_against_radius),
    ):
        curves = {(one.name, one.settings["n_bits"]): one.figures[measure] for one in both}
        add(
            f"{measure}-radius",
            f"{measure.capitalize()} against radius",
            draw(curves),
            f"Mean {measure} within each radius, the shortest and the longest codes.",
        )
    last = of_length[lengths[0]][:MAX_CURVES]
    points = {
        one.name: [
            (
                one.figures["recall"][r],
                one.figures["precision"][r],
                one.figures["microseconds"][str(r)],
            )
            for r in (0, 1, 2)
        ]
        for one in last
    }
    brute = statistics.fmean(one.figures["microseconds"]["brute force"] for one in last)
    add(
        "trade-off",
        f"Recall, precision and time, {lengths[0]} bits",
        plots.plot_trade_off(points, brute_force=brute),
        "Each line joins radius 0, 1 and 2 of a method: time per query in the index (one thread, "
        "batches) against comparing everything in NumPy.",
    )
    add(
        "active-bits",
        f"Active bits, {lengths[0]} bits",
        plots.plot_active_counts({one.name: one.figures["active"] for one in last}, lengths[0]),
        "How many bits of the codes of the database are active.",
    )
    told = {one.name: one.figures["reliability"] for one in last if one.figures.get("reliability")}
    if told:
        add(
            "reliability",
            f"How sure answers are, {lengths[0]} bits",
            plots.plot_reliability(told),
            "What the calibration of a model promises of all answers as near as that, and what is "
            "got among rows that it has not learned from. Bars: 95 % intervals of the promise.",
        )
    if data.images is not None:
        for one in last:
            plate = _plate(one, data)
            add(
                f"neighbours-{one.settings['method'].replace(':', '-')}-{lengths[0]}-"
                f"{last.index(one)}",
                f"What {one.name} finds with {lengths[0]} bits",
                plate,
                f"The {N_NEIGHBOURS} nearest of a few queries that nobody picked; at equal "
                "distance the lowest row number comes first. Green frame: correct. Dashed red "
                "frame with a cross: wrong.",
                picture=True,
            )
    return made


def _briefly(compared: Sequence[Compared]) -> list[Compared]:
    """Return the same under the method's name alone, where that says which is meant."""
    brief = [(one.name.split(",")[0], one.settings["n_bits"]) for one in compared]
    return [
        dataclasses.replace(one, name=name) if brief.count((name, n_bits)) == 1 else one
        for one, (name, n_bits) in zip(compared, brief, strict=True)
    ]


def _within(radius: int | None) -> str:
    return {None: "all items", 0: "radius 0"}.get(
        radius, f"radius \N{LESS-THAN OR EQUAL TO} {radius}"
    )


def _plate(one: Compared, data: Dataset) -> Any:  # noqa: ANN401 - a figure
    figures = one.figures
    labels, images = np.asarray(data.labels), np.asarray(data.images)
    queries, neighbours = np.array(figures["queries"]), [np.array(n) for n in figures["neighbours"]]
    if labels.ndim == 1:
        correct = [labels[n] == labels[q] for q, n in zip(queries, neighbours, strict=True)]
    else:
        correct = [
            (labels[n] & labels[q]).any(axis=1) for q, n in zip(queries, neighbours, strict=True)
        ]
    return plots.plot_neighbours(images, queries, neighbours, correct)
