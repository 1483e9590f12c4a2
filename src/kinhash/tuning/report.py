"""The page of a tuning: the front as a figure and tables. Importing this needs matplotlib."""

import os
from collections.abc import Sequence
from typing import Any

from kinhash.show import plots
from kinhash.show.html import Fact, Section, write_report
from kinhash.show.tables import show
from kinhash.tuning.search import Point, Tuned
from kinhash.tuning.space import name_of
from kinhash.tuning.tables import growth_rows, row, shown_front

_GROWTH = (
    "Measured: parts of the rows that were left out, cut into 8, 4 and 2 parts and whole. "
    "Expected: what the smaller parts say of the whole, to be compared with what was measured. "
    "Extrapolated: what all of them say of a collection of this size and of ten times as many."
)


def write(path: str | os.PathLike[str], found: Tuned, name: str) -> None:
    """Write what was found on data of that name as one page.

    Raises:
        InvalidInputError: The file cannot be written.
    """
    measures = found.chosen.measures
    write_report(
        path,
        title=f"Settings for {name}",
        lead=f"Wished for: {found.goal}. Chosen: {found.chosen}.",
        facts=[
            Fact("precision", f"{show('precision', measures['precision'])} %", "of what is found"),
            Fact("recall", f"{show('recall', measures['recall'])} %", "of what is similar"),
            Fact("answers", show("mean_matches", measures["answers"]), "for a query, on average"),
            Fact("bytes", f"{measures['bytes']:.0f}", "for each item"),
        ],
        sections=_sections(found),
        footer="All measures are means over rows that were left out of the training.",
    )


def _sections(found: Tuned) -> list[Section]:
    figure = plots.plot_front(_reached(found.points), _reached(found.front), _of(found.chosen))
    sections = [
        Section(
            "Recall against precision",
            image=plots.data_uri(figure),
            caption="Each mark is a setting at a radius, larger for longer codes. Strong ones make "
            "up the front: no other has more recall, more precision and shorter codes.",
            rows=shown_front(found, len(found.front)),
        )
    ]
    promises = _promises(found)
    if promises:
        sections.append(
            Section(
                "How sure answers are",
                image=plots.data_uri(plots.plot_reliability(promises)),
                caption="What the calibration promises of all answers as near as that, and what is "
                "got among rows that were left out. Bars: 95 % intervals of the promise.",
            )
        )
    if found.growth is not None:
        rows = growth_rows(found.growth)
        sections.append(Section("As the collection grows", rows=rows, note=_GROWTH))
    sections.append(Section("All that was tried", rows=[row(point) for point in found.points]))
    return sections


def _promises(found: Tuned) -> dict[str, Any]:
    """Return what was promised and got, of the chosen settings; of none without a calibration."""
    rows = found.chosen.record.get("reliability")
    return {name_of(found.chosen.settings): rows} if rows else {}


def _reached(points: Sequence[Point]) -> list[plots.Reached]:
    return [_of(point) for point in points]


def _of(point: Point) -> plots.Reached:
    measures = point.measures
    return plots.Reached(
        name_of(point.settings), measures["recall"], measures["precision"], measures["bytes"]
    )
