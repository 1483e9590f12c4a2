"""Plates of words and pictures: the pictures that a word finds, the words that a picture finds."""

import textwrap
from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from kinhash.arrays import Array
from kinhash.show.looks import looks
from kinhash.show.plots.style import FRAMES, INK, SOFT, STYLE, check_any, draw_picture, sheet

_WORD_SIZE = 10.0  # points, of the words that a picture finds
_TRUTH_SIZE = 8.5  # points, of what a picture shows
_POINTS = 72  # an inch
_MAX_LINES = 3  # of what a picture shows


@mpl.rc_context(STYLE)
def plot_pictures_of_words(
    images: Array,
    words: Sequence[str],
    rows: Mapping[str, Sequence[Sequence[int]]],
    correct: Mapping[str, Sequence[Sequence[bool]]],
    truths: Mapping[int, str] | None = None,
) -> Figure:
    """Return the first pictures for each word, a line for each word, methods side by side.

    Pictures are framed as in `plot_neighbours`.

    Args:
        images: `(n, h, w)` or `(n, h, w, 3)`, uint8.
        words: What was searched with.
        rows: By method, for each word, the rows of the pictures, nearest first.
        correct: By method, for each word, whether each of these is correct.
        truths: By row, what the picture shows: it stands below the picture.
    """
    check_any("words", words)
    check_any("rows", rows)
    width, label, gap, head = 11.0, 1.15, 0.25, 0.35
    n_shown = max([1, *(len(line) for lines in rows.values() for line in lines)])
    panel = (width - label - gap * (len(rows) - 1)) / len(rows)
    step = min(1.1, panel / n_shown)
    side = 0.9 * step
    below = {row: _lines(text, side) for row, text in (truths or {}).items()}
    n_lines = max((len(lines) for lines in below.values()), default=0)
    height = step + n_lines * 1.25 * _TRUTH_SIZE / _POINTS + 0.08
    figure, axes = sheet(width, head + len(words) * height)
    look = looks(rows)
    for number, (name, found) in enumerate(rows.items()):
        left = label + number * (panel + gap)
        colour = look[name].colour
        axes.text(left, head / 2, name, va="center", fontsize=11.5, weight="bold", color=colour)
        for at, shown in enumerate(found):
            for rank, (row, is_correct) in enumerate(zip(shown, correct[name][at], strict=True)):
                x, y = left + rank * step, head + at * height
                kind = "correct" if is_correct else "wrong"
                draw_picture(axes, _square(images[row]), x, y, kind, side=side)
                axes.text(
                    x + side / 2,
                    y + side + 0.05,
                    "\n".join(below.get(row, [])),
                    va="top",
                    ha="center",
                    fontsize=_TRUTH_SIZE,
                    linespacing=1.1,
                    color=INK if is_correct else FRAMES["wrong"],
                )
    for at, word in enumerate(words):
        axes.text(0.05, head + at * height + side / 2, word, va="center", fontsize=11.5)
    return figure


def _lines(text: str, width: float) -> list[str]:
    """Return what stands below a picture of a width in inches: few lines, broken at spaces."""
    n_letters = max(4, int(width * _POINTS / (0.58 * _TRUTH_SIZE)))
    return textwrap.wrap(
        text, n_letters, max_lines=_MAX_LINES, placeholder=" \N{HORIZONTAL ELLIPSIS}"
    )


@mpl.rc_context(STYLE)
def plot_words_of_pictures(
    images: Array,
    query_rows: Sequence[int],
    words: Mapping[str, Sequence[Sequence[tuple[str, bool]]]],
    truths: Mapping[int, str] | None = None,
) -> Figure:
    """Return the words found by each picture, a paragraph for each method, the first one above.

    A correct word is green and bold, with a tick before it.

    Args:
        images: `(n, h, w)` or `(n, h, w, 3)`, uint8.
        query_rows: Rows of the pictures that were searched with.
        words: By method, for each picture, the words and whether each is correct.
        truths: By row, what the picture shows: it stands beside the picture, first of all.
    """
    check_any("query_rows", query_rows)
    check_any("words", words)
    side, left, right, leading, gap = 82.0, 212.0, 776.0, 16.0, 16.0  # points
    look = looks(words)
    lists = [
        [
            *([("truth", _marked(truths[row]))] if truths is not None else []),
            *((name, found[at]) for name, found in words.items()),
        ]
        for at, row in enumerate(query_rows)
    ]
    placed = [[(name, _flowed(found, left, right)) for name, found in some] for some in lists]
    tops, y = [], 0.4 * gap
    for blocks in placed:
        tops.append(y)
        n_lines = sum(
            1.4 + max((below for _, below, _, _ in flow), default=0) for _, flow in blocks
        )
        y += max(side, n_lines * leading) + gap
    figure, axes = sheet((right + gap) / _POINTS, y / _POINTS)
    for row, top, blocks in zip(query_rows, tops, placed, strict=True):
        at = gap / _POINTS, top / _POINTS
        draw_picture(axes, _square(images[row]), *at, "query", side=side / _POINTS)
        line = top + 0.8 * leading
        for name, flow in blocks:
            is_truth = name == "truth"
            axes.text(
                (2 * gap + side) / _POINTS,
                line / _POINTS,
                name,
                va="baseline",
                fontsize=9,
                weight="normal" if is_truth else "bold",
                color=SOFT if is_truth else look[name].colour,
            )
            for x, below, text, is_correct in flow:
                axes.text(
                    x / _POINTS,
                    (line + below * leading) / _POINTS,
                    text,
                    va="baseline",
                    fontsize=_WORD_SIZE,
                    weight="bold" if is_correct else "normal",
                    color=SOFT if is_truth else FRAMES["correct"] if is_correct else INK,
                )
            line += (1.4 + max((below for _, below, _, _ in flow), default=0)) * leading
    return figure


def _marked(truth: str) -> list[tuple[str, bool]]:
    return [(word, False) for word in truth.split()]


def _flowed(
    words: Sequence[tuple[str, bool]], left: float, right: float
) -> list[tuple[float, int, str, bool]]:
    """Return where each word goes, in lines between two margins: x, line, text, is correct."""
    placed, x, line = [], left, 0
    for word, is_correct in words:
        text = f"\N{CHECK MARK} {word}" if is_correct else word
        font = FontProperties(weight="bold" if is_correct else "normal")
        width = TextPath((0, 0), text, size=_WORD_SIZE, prop=font).get_extents().width
        if x + width > right and x > left:
            x, line = left, line + 1
        placed.append((x, line, text, is_correct))
        x += width + 0.9 * _WORD_SIZE
    return placed


def _square(image: Array) -> Array:
    """Return a picture on a white square, in its own proportions."""
    height, width = image.shape[:2]
    side = max(height, width)
    square = np.full((side, side, *image.shape[2:]), 255, np.uint8)
    top, left = (side - height) // 2, (side - width) // 2
    square[top : top + height, left : left + width] = image
    return square
