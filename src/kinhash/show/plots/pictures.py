"""Plates of pictures: what each query finds, of one method or of several."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from kinhash.arrays import Array
from kinhash.show.looks import looks
from kinhash.show.plots.style import FRAMES, SOFT, STYLE, check_any, draw_picture, sheet


class Found(NamedTuple):
    """What one method finds for one query.

    Attributes:
        rows: The rows of the answers' images, nearest first.
        correct: Whether each of them is correct.
    """

    rows: Sequence[int]
    correct: Sequence[bool]


@mpl.rc_context(STYLE)
def plot_neighbours(
    images: Array,
    query_rows: npt.ArrayLike,
    neighbour_rows: Sequence[npt.ArrayLike],
    correct: Sequence[npt.ArrayLike],
) -> Figure:
    """Return a plate of pictures: each query, then its neighbours from left to right.

    A query is framed in grey, a correct neighbour in green; a wrong one has a dashed red frame and
    a cross.

    Args:
        images: `(n, h, w)` or `(n, h, w, 3)`, uint8.
        query_rows: Rows of `images`, one per query.
        neighbour_rows: For each query the rows of its neighbours, nearest first.
        correct: For each query whether each of these neighbours is correct.
    """
    queries = np.asarray(query_rows)
    check_any("query_rows", queries)
    n_columns = 1 + max(np.size(rows) for rows in neighbour_rows)
    gap = 0.35  # between the query and its neighbours
    figure = Figure(figsize=(0.8 * n_columns + 0.3, 0.8 * len(queries) + 0.35), layout="tight")
    axes = figure.add_subplot(aspect="equal", frame_on=False)
    for line, (query, rows, right) in enumerate(zip(queries, neighbour_rows, correct, strict=True)):
        draw_picture(axes, images[query], 0, line, "query", side=0.9)
        pairs = zip(np.asarray(rows), np.asarray(right), strict=True)
        for rank, (row, is_correct) in enumerate(pairs):
            kind = "correct" if is_correct else "wrong"
            draw_picture(axes, images[row], 1 + rank + gap, line, kind, side=0.9)
    axes.set_xlim(-0.1, n_columns + gap)
    axes.set_ylim(len(queries), -0.1)
    places = [0.45, *(1.45 + gap + np.arange(n_columns - 1))]
    axes.set_xticks(places, ["query", *map(str, range(1, n_columns))])
    axes.set_yticks([])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(visible=False)
    return figure


@mpl.rc_context(STYLE)
def plot_methods_apart(
    images: Array,
    query_rows: Sequence[int],
    found: Sequence[Mapping[str, Found]],
    titles: Sequence[str],
) -> Figure:
    """Return a plate of blocks, two side by side: a query, and below one another what methods find.

    Only wrong answers are marked, with a dashed red frame and a cross. The number of
    correct ones stands at the end of the line.

    Args:
        images: `(n, h, w)` or `(n, h, w, 3)`, uint8.
        query_rows: Rows of `images`, one per query.
        found: For each query, by method, its answers.
        titles: For each query what stands above it.
    """
    check_any("query_rows", query_rows)
    width, margin, side, name, count = 11.0, 0.1, 0.75, 0.98, 0.42
    n_shown = max(len(one.rows) for by_method in found for one in by_method.values())
    block = (width - 3 * margin) / 2
    left = side + 0.12 + name
    step = min(0.5, (block - left - count) / max(1, n_shown))
    n_lines = max(len(by_method) for by_method in found)
    height = 0.34 + max(n_lines * step, side) + 0.2
    figure, axes = sheet(width, -(-len(query_rows) // 2) * height + margin)
    look = looks(method for by_method in found for method in by_method)
    for at, (query, by_method, title) in enumerate(zip(query_rows, found, titles, strict=True)):
        x, y = margin + at % 2 * (block + margin), margin + at // 2 * height
        axes.text(x, y + 0.12, title, va="center", fontsize=10.5, weight="bold")
        y += 0.34
        draw_picture(axes, images[query], x, y, "query", side=side)
        for line, (method, (rows, correct)) in enumerate(by_method.items()):
            top = y + line * step
            axes.text(
                x + left - 0.1,
                top + 0.46 * step,
                method,
                va="center",
                ha="right",
                fontsize=9.5,
                weight="bold",
                color=look[method].colour,
            )
            for rank, (row, is_correct) in enumerate(zip(rows, correct, strict=True)):
                corner = x + left + rank * step, top
                kind = None if is_correct else "wrong"
                draw_picture(axes, images[row], *corner, kind, side=0.88 * step)
            n_correct = sum(map(bool, correct))
            axes.text(
                x + left + n_shown * step + 0.04,
                top + 0.46 * step,
                f"{n_correct}/{len(rows)}",
                va="center",
                fontsize=9.5,
                color=FRAMES["wrong"] if n_correct < len(rows) / 2 else SOFT,
            )
    return figure
