"""Codes as strips of cells: which bits a query and its neighbours have in common."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from kinhash.arrays import Array
from kinhash.codes import Codes
from kinhash.show.looks import looks
from kinhash.show.plots.style import FRAMES, INK, STYLE, check_any, draw_picture, sheet

SAME, DIFFERENT = "#34495e", FRAMES["wrong"]
EMPTY = "#e9edf1"  # a cell of an inactive bit

_HEAD, _QUERY_GAP, _LEGEND = 0.3, 0.14, 0.4  # inches
_RANK_GAP = 2  # cells


class Strips(NamedTuple):
    """The codes of some queries and of their neighbours.

    Attributes:
        queries: One code per query.
        neighbours: For each query the codes of its neighbours, nearest first, of the same lengths.
        labels: For each query a text for each of its neighbours; their numbers unless given.
        rows: For each query the row of its image, then those of its neighbours.
    """

    queries: Codes
    neighbours: Sequence[Codes]
    labels: Sequence[Sequence[str]] | None = None
    rows: Sequence[Sequence[int]] | None = None


class _Place(NamedTuple):
    """Where a panel stands, and how large its parts are, in inches."""

    left: float
    label: float
    picture: float
    cell: float
    row: float


@mpl.rc_context(STYLE)
def plot_codes(
    queries: Codes, neighbours: Sequence[Codes], labels: Sequence[Sequence[str]] | None = None
) -> Figure:
    """Return codes as strips of cells: each query, then its neighbours from top to bottom.

    A cell is a bit, bucket bits first, then rank bits after a gap. A full cell is active in both
    codes, a low one in the neighbour only, a low frame in the query only: these two are what the
    distance counts. A bar marks an entry of -1. An entry of the other sign is a low cell.

    Args:
        queries: One code per query.
        neighbours: For each query the codes of its neighbours, nearest first, of the same lengths.
        labels: For each query a text for each of its neighbours; their numbers unless given.
    """
    check_any("queries", queries)
    strips = Strips(queries, neighbours, labels)
    cell = min(0.17, 8.6 / _n_columns(queries))
    place = _Place(0.0, 0.75, 0.0, cell, max(cell, 0.17))
    return _drawn([(None, strips, place)], None, place.label + cell * _n_columns(queries) + 0.9)


@mpl.rc_context(STYLE)
def plot_codes_beside(strips: Mapping[str, Strips], images: Array | None = None) -> Figure:
    """Return the codes of several methods beside one another, each as `plot_codes` draws them.

    Args:
        strips: By method; the same number of codes in each.
        images: `(n, h, w)` or `(n, h, w, 3)`, uint8: those that the strips' `rows` count; without,
            none are drawn.
    """
    check_any("strips", strips)
    width, label, picture, right, gap = 11.0, 0.72, 0.0 if images is None else 0.3, 0.62, 0.25
    one = (width - gap * (len(strips) - 1)) / len(strips)
    panels = []
    for number, (name, some) in enumerate(strips.items()):
        check_any("queries", some.queries)
        cell = min(0.17, (one - label - picture - right) / _n_columns(some.queries))
        place = _Place(number * (one + gap), label, picture, cell, 0.28 if picture else 0.2)
        panels.append((name, some, place))
    return _drawn(panels, images, width)


def _n_columns(codes: Codes) -> int:
    return codes.n_bits + (_RANK_GAP if codes.n_rank_bits else 0)


def _drawn(
    panels: Sequence[tuple[str | None, Strips, _Place]], images: Array | None, width: float
) -> Figure:
    _, first, place = panels[0]
    n_rows = sum(1 + len(codes) for codes in first.neighbours)
    title = _HEAD if panels[0][0] is not None else 0.0
    height = title + _HEAD + n_rows * place.row + _QUERY_GAP * (len(first.queries) - 1) + _LEGEND
    figure, axes = sheet(width, height)
    look = looks(name for name, _, _ in panels if name is not None)
    for name, strips, at in panels:
        if name is not None:
            x, colour = at.left + at.label + at.picture, look[name].colour
            axes.text(x, 0.22, name, fontsize=11.5, weight="bold", color=colour)
        _panel(axes, strips, at, title, images)
    figure.legend(handles=_legend(), loc="lower center", ncols=4, handlelength=1)
    return figure


def _panel(axes: Axes, strips: Strips, place: _Place, top: float, images: Array | None) -> None:
    queries, cell, row = strips.queries, place.cell, place.row
    start = place.left + place.label + place.picture
    starts = start, start + cell * (queries.n_bucket_bits + _RANK_GAP)
    end = start + cell * _n_columns(queries)
    parts = ("bucket bits", queries.n_bucket_bits), ("rank bits", queries.n_rank_bits)
    for x, (name, n_bits) in zip(starts, parts, strict=True):
        if n_bits:
            said = f"{n_bits} {name if queries.n_rank_bits else 'bits'}"
            axes.text(x, top + _HEAD / 2, said, va="center", fontsize=9)
    axes.text(end + 0.08, top + _HEAD / 2, "distance", va="center", fontsize=9)
    y = top + _HEAD
    for at, (query, found) in enumerate(zip(queries, strips.neighbours, strict=True)):
        own = query.to_dense()[0], query.rank_to_dense()[0]
        codes = [own, *((code.to_dense()[0], code.rank_to_dense()[0]) for code in found)]
        texts = strips.labels[at] if strips.labels else map(str, range(1, len(codes)))
        for number, (code, text) in enumerate(zip(codes, ["query", *texts], strict=True)):
            middle = y + row / 2
            axes.text(
                place.left + place.label - 0.08,
                middle,
                text,
                va="center",
                ha="right",
                fontsize=9,
                weight="normal" if number else "bold",
            )
            if images is not None and strips.rows is not None:
                side = 0.92 * row
                picture = images[strips.rows[at][number]]
                x = place.left + place.label - 0.02
                draw_picture(axes, picture, x, middle - side / 2, None, side=side)
            for x, bits, theirs in zip(starts, code, own, strict=True):
                _strip(axes, bits, theirs, (x, y), (cell, row))
            if number:
                apart = [int(np.abs(a - b).sum()) for a, b in zip(own, code, strict=True)]
                said = " + ".join(map(str, apart[: 2 if queries.n_rank_bits else 1]))
                axes.text(end + 0.08, middle, said, va="center", fontsize=9)
            y += row
        y += _QUERY_GAP


def _strip(
    axes: Axes,
    bits: Array,
    query: Array,
    corner: tuple[float, float],
    size: tuple[float, float],
) -> None:
    """Draw the cells of one part of a code from a corner on; the query says which bits agree."""
    (x, y), (cell, row) = corner, size
    for at, (bit, asked) in enumerate(zip(bits.tolist(), query.tolist(), strict=True)):
        left = x + cell * (at + 0.08)
        _box(axes, (left, y + 0.06 * row), 0.84 * cell, 0.88 * row, facecolor=EMPTY)
        # A difference must not be one of colour alone.
        share, colour = (0.88, SAME) if bit == asked else (0.44, DIFFERENT)
        low = left, y + row * (1 - share) / 2
        if bit:
            _box(axes, low, 0.84 * cell, share * row, facecolor=colour)
        elif asked:
            style = {"edgecolor": colour, "fill": False, "linewidth": 0.9}
            _box(axes, low, 0.84 * cell, share * row, **style)
        if bit < 0:
            middle = x + cell * (at + 0.5), y + row / 2
            ends = [middle[0] - 0.2 * cell, middle[0] + 0.2 * cell]
            axes.add_line(Line2D(ends, [middle[1]] * 2, color="white", linewidth=1.2))


def _box(
    axes: Axes,
    corner: tuple[float, float],
    width: float,
    height: float,
    **style: Any,  # noqa: ANN401 - matplotlib's
) -> None:
    axes.add_patch(Rectangle(corner, width, height, **{"linewidth": 0, **style}))


def _legend() -> list[Line2D]:
    def mark(label: str, size: float, **style: Any) -> Line2D:  # noqa: ANN401 - matplotlib's
        return Line2D([], [], linestyle="", marker="s", markersize=size, label=label, **style)

    return [
        mark("active in both", 9, color=SAME),
        mark("only in the neighbour", 5.5, color=DIFFERENT),
        mark("only in the query", 5.5, markeredgecolor=DIFFERENT, markerfacecolor="none"),
        mark("inactive", 9, color=EMPTY, markeredgecolor=INK, markeredgewidth=0.2),
    ]
