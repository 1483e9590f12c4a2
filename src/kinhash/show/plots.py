"""The figures, in one style that also reads in grey: markers and line styles, never colour alone.

Importing this module needs matplotlib. No figure touches pyplot or its state.
"""

import base64
import io
import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from kinhash import storage
from kinhash.arrays import Array
from kinhash.codes import Codes
from kinhash.errors import InvalidInputError, MissingExtraError

try:
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle
    from matplotlib.textpath import TextPath
    from matplotlib.ticker import MaxNLocator
except ImportError as error:
    raise MissingExtraError("Plots need matplotlib", "plot") from error

INK = "#1f2933"
FRAMES = {"query": "#8a94a0", "correct": "#1a8f4c", "wrong": "#c9302c"}

_FAINT = "#d9dee4"
_EMPTY = "#e9edf1"  # a cell of an inactive bit
# Okabe and Ito's palette, ordered so that the first few also differ in lightness.
_COLOURS = ("#0072b2", "#d55e00", "#7a8691", "#009e73", "#cc79a7", "#e69f00")
_MARKERS = ("o", "s", "^", "D", "v", "P")
_DASHES: tuple[Any, ...] = ("-", (0, (1, 1.6)), (0, (5, 2)), (0, (5, 1.5, 1, 1.5)))
_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#9aa5b1",
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelcolor": INK,
    "axes.labelsize": 10.5,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "figure.facecolor": "white",
    "font.family": "sans-serif",
    "font.size": 10,
    "grid.color": _FAINT,
    "grid.linewidth": 0.8,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "lines.linewidth": 2.0,
    "lines.markersize": 5.5,
    "svg.fonttype": "path",  # looks the same whatever fonts the reader has
    "svg.hashsalt": "kinhash",  # equal figures give equal files
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "ytick.major.size": 0,
}

_WORD_SIZE = 10.0  # points, of the words that a picture finds

_LOSS_TERMS = {
    "loss": "loss",
    "pull": "pull of similar pairs",
    "push": "push of dissimilar pairs",
    "sparsity": "sparsity",
}


@mpl.rc_context(_STYLE)
def plot_recall_against_radius(curves: Mapping[tuple[str, int], npt.ArrayLike]) -> Figure:
    """Return recall against radius: one marker per method, one line style per code length.

    Args:
        curves: By method and number of bits, the recall (a fraction) within radius 0, 1, ...;
            the shortest length of all is drawn solid, the next dotted, as in the paper.
    """
    return _against_radius(curves, "recall (%)")


@mpl.rc_context(_STYLE)
def plot_precision_against_radius(curves: Mapping[tuple[str, int], npt.ArrayLike]) -> Figure:
    """Return precision against radius, drawn as `plot_recall_against_radius` draws recall."""
    return _against_radius(curves, "precision (%)")


@mpl.rc_context(_STYLE)
def plot_precision_recall(panels: Mapping[str, Mapping[str, npt.ArrayLike]]) -> Figure:
    """Return precision against recall, a panel beside the other, with one legend.

    Args:
        panels: By title, by method, the mean precision at equally spaced levels of recall up to 1;
            the same methods in every panel. What a radius does not reach has precision 0 and is not
            drawn.
    """
    _check_any("panels", panels)
    figure = Figure(figsize=(10, 3.9), layout="constrained")
    all_axes = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
    for axes, (title, curves) in zip(all_axes, panels.items(), strict=True):
        _check_any("panels", curves)
        for rank, (name, values) in enumerate(curves.items()):
            percent = 100 * np.asarray(values, dtype=float)
            levels = 100 * np.arange(1, len(percent) + 1) / len(percent)
            reached = percent > 0
            axes.plot(
                levels[reached],
                percent[reached],
                label=name,
                color=_COLOURS[rank % len(_COLOURS)],
                linestyle=_DASHES[rank // len(_COLOURS) % len(_DASHES)],
                marker=_MARKERS[rank % len(_MARKERS)],
                markevery=max(1, len(percent) // 8),
                clip_on=not reached.any(),  # an empty line without clipping upsets the layout
            )
        axes.set_title(title)
        axes.set_xlabel("recall (%)")
        axes.set_xlim(0, 100)
        axes.set_ylim(0, 100)
    all_axes[0].set_ylabel("precision (%)")
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


@mpl.rc_context(_STYLE)
def plot_trade_off(
    points: Mapping[str, Sequence[tuple[float, float, float]]], *, brute_force: float | None = None
) -> Figure:
    """Return recall and precision against the time of a query, a line through radius 0, 1, 2 each.

    Args:
        points: By method, for radius 0, 1, ...: recall, precision (fractions) and microseconds.
        brute_force: Microseconds of comparing everything, drawn as a line.
    """
    _check_any("points", points)
    figure = Figure(figsize=(10, 3.9), layout="constrained")
    both = figure.subplots(1, 2)
    for at, (axes, measure) in enumerate(zip(both, ("recall", "precision"), strict=True)):
        for rank, (name, line) in enumerate(points.items()):
            values = np.asarray(line, dtype=float)
            axes.plot(
                values[:, 2],
                100 * values[:, at],
                label=name,
                color=_COLOURS[rank % len(_COLOURS)],
                linestyle=_DASHES[rank // len(_COLOURS) % len(_DASHES)],
                marker=_MARKERS[rank % len(_MARKERS)],
                clip_on=False,
            )
            for radius, (x, y) in enumerate(zip(values[:, 2], 100 * values[:, at], strict=True)):
                if rank == 0:  # the others go the same way, and labels would hide them
                    axes.annotate(
                        f"r = {radius}", (x, y), (4, 5), textcoords="offset points", fontsize=8
                    )
        if brute_force is not None:
            axes.axvline(brute_force, color=INK, linewidth=1.2, linestyle=(0, (2, 2)))
            axes.annotate(
                "comparing everything",
                (brute_force, 97),
                (-5, 0),
                textcoords="offset points",
                rotation=90,
                va="top",
                ha="right",
                fontsize=8.5,
            )
        axes.set_xscale("log")
        axes.set_xlabel("microseconds per query")
        axes.set_ylabel(f"{measure} (%)")
        axes.set_ylim(0, 100)
    figure.legend(*both[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def plot_active_bits(codes_by_name: Mapping[str, Codes]) -> Figure:
    """Return histograms, one over the other, of how many bits of each bucket are active.

    Args:
        codes_by_name: At least one code under every name; signed ones count -1 as active.
    """
    _check_any("codes_by_name", codes_by_name)
    n_bits = max(codes.n_bucket_bits for codes in codes_by_name.values())
    counts = {name: np.bincount(codes.n_active) for name, codes in codes_by_name.items()}
    return plot_active_counts(counts, n_bits)


@mpl.rc_context(_STYLE)
def plot_active_counts(counts: Mapping[str, npt.ArrayLike], n_bits: int) -> Figure:
    """Return the same from how many codes have 0, 1, 2, ... active bits, under every name."""
    _check_any("counts", counts)
    figure, axes = _figure(9, 3.4)
    for rank, (name, numbers) in enumerate(counts.items()):
        numbers = np.asarray(numbers, dtype=float)  # noqa: PLW2901 - the same, as an array
        shares = 100 * numbers / max(1, numbers.sum())
        mean = np.arange(len(numbers)) @ numbers / max(1, numbers.sum())
        edges = np.arange(len(shares) + 1) - 0.5
        colour = _COLOURS[rank % len(_COLOURS)]
        axes.stairs(shares, edges, fill=True, color=colour, alpha=0.2)
        axes.stairs(
            shares,
            edges,
            label=f"{name}: mean {mean:.1f} of {n_bits}",
            color=colour,
            linestyle=_DASHES[rank % len(_DASHES)],
            linewidth=1.6,
        )
    axes.set_xlabel("active bits of a code")
    axes.set_ylabel("share of the database (%)")
    axes.set_xlim(left=-0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.3, ncols=3)
    return figure


@mpl.rc_context(_STYLE)
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
    _check_any("query_rows", queries)
    n_columns = 1 + max(np.size(rows) for rows in neighbour_rows)
    gap = 0.35  # between the query and its neighbours
    figure = Figure(figsize=(0.8 * n_columns + 0.3, 0.8 * len(queries) + 0.35), layout="tight")
    axes = figure.add_subplot(aspect="equal", frame_on=False)
    for line, (query, rows, right) in enumerate(zip(queries, neighbour_rows, correct, strict=True)):
        _picture(axes, images[query], 0, line, "query")
        pairs = zip(np.asarray(rows), np.asarray(right), strict=True)
        for rank, (row, is_correct) in enumerate(pairs):
            kind = "correct" if is_correct else "wrong"
            _picture(axes, images[row], 1 + rank + gap, line, kind)
    axes.set_xlim(-0.1, n_columns + gap)
    axes.set_ylim(len(queries), -0.1)
    places = [0.45, *(1.45 + gap + np.arange(n_columns - 1))]
    axes.set_xticks(places, ["query", *map(str, range(1, n_columns))])
    axes.set_yticks([])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(visible=False)
    return figure


@mpl.rc_context(_STYLE)
def plot_codes(
    queries: Codes, neighbours: Sequence[Codes], labels: Sequence[Sequence[str]] | None = None
) -> Figure:
    """Return codes as strips of cells: each query, then its neighbours from top to bottom.

    A cell is a bit, bucket bits first, then rank bits after a gap. A full cell is active in both
    codes, a small one in the neighbour only, a small frame in the query only: these two are what
    the distance counts. A bar marks an entry of -1. An entry of the other sign is a small cell.

    Args:
        queries: One code per query.
        neighbours: For each query the codes of its neighbours, nearest first, of the same lengths.
        labels: For each query a text for each of its neighbours; their numbers unless given.
    """
    _check_any("queries", queries)
    n_rows = sum(1 + len(codes) for codes in neighbours)
    n_columns = queries.n_bits
    rank_gap, query_gap, head = (2 if queries.n_rank_bits else 0), 0.8, 1.4  # in cells
    cell = min(0.17, 8.6 / n_columns)  # inches
    row = max(cell, 0.17) / cell  # wide codes have narrow cells, but labels must fit
    height = row * (n_rows + head + query_gap * (len(queries) - 1))
    left, right = 0.85 / cell, (1.65 if queries.n_rank_bits else 1.05) / cell
    width = left + n_columns + rank_gap + right
    inches, legend = height * cell, 0.4
    figure = Figure(figsize=(width * cell, inches + legend))
    axes = figure.add_axes((0, legend / (inches + legend), 1, inches / (inches + legend)))
    starts = 0, queries.n_bucket_bits + rank_gap
    for start, name, n_bits in zip(
        starts,
        ("bucket bits", "rank bits"),
        (queries.n_bucket_bits, queries.n_rank_bits),
        strict=True,
    ):
        if n_bits:
            said = f"{n_bits} {name if queries.n_rank_bits else 'bits'}"
            axes.text(start, 0.55 * row, said, va="center", fontsize=9)
    y = head * row
    for at, (query, found) in enumerate(zip(queries, neighbours, strict=True)):
        own = query.to_dense()[0], query.rank_to_dense()[0]
        axes.text(-0.6, y + row / 2, "query", va="center", ha="right", fontsize=8.5, weight="bold")
        for start, bits in zip(starts, own, strict=True):
            _strip(axes, bits, bits, (start, y), row)
        for number, code in enumerate(found):
            y += row
            text = str(number + 1) if labels is None else labels[at][number]
            axes.text(-0.6, y + row / 2, text, va="center", ha="right", fontsize=8.5)
            parts = code.to_dense()[0], code.rank_to_dense()[0]
            apart = [int(np.abs(a - b).sum()) for a, b in zip(own, parts, strict=True)]
            for start, bits, theirs in zip(starts, parts, own, strict=True):
                _strip(axes, bits, theirs, (start, y), row)
            said = f"distance {apart[0]}" + (f", rank {apart[1]}" if queries.n_rank_bits else "")
            axes.text(n_columns + rank_gap + 0.6, y + row / 2, said, va="center", fontsize=8.5)
        y += (1 + query_gap) * row
    axes.set_xlim(-left, width - left)
    axes.set_ylim(height, 0)
    axes.set_axis_off()
    figure.legend(handles=_cell_legend(), loc="lower center", ncols=4, handlelength=1)
    return figure


def _strip(axes: Axes, bits: Array, query: Array, corner: tuple[float, float], row: float) -> None:
    """Draw the cells of one part of a code from a corner on; the query says which bits agree."""
    x, y = corner
    for at, (bit, asked) in enumerate(zip(bits.tolist(), query.tolist(), strict=True)):
        agrees, colour = bit == asked, _COLOURS[0] if bit == asked else _COLOURS[1]
        size = 0.84 if agrees else 0.5  # the difference must not be one of colour alone
        inner = x + at + (1 - size) / 2, y + row * (1 - size) / 2
        _box(axes, (x + at + 0.08, y + 0.08 * row), 0.84, 0.84 * row, facecolor=_EMPTY)
        if bit:
            _box(axes, inner, size, size * row, facecolor=colour)
        elif asked:
            _box(axes, inner, size, size * row, edgecolor=colour, fill=False, linewidth=1.1)
        if bit < 0:
            middle = x + at + 0.5, y + row / 2
            axes.add_line(
                Line2D(
                    [middle[0] - 0.2, middle[0] + 0.2],
                    [middle[1]] * 2,
                    color="white",
                    linewidth=1.2,
                )
            )


def _box(
    axes: Axes,
    corner: tuple[float, float],
    width: float,
    height: float,
    **style: Any,  # noqa: ANN401 - matplotlib's
) -> None:
    axes.add_patch(Rectangle(corner, width, height, **{"linewidth": 0, **style}))


def _cell_legend() -> list[Line2D]:
    def mark(label: str, size: float, **style: Any) -> Line2D:  # noqa: ANN401 - matplotlib's
        return Line2D([], [], linestyle="", marker="s", markersize=size, label=label, **style)

    return [
        mark("active in both", 8, color=_COLOURS[0]),
        mark("only in the neighbour", 5, color=_COLOURS[1]),
        mark("only in the query", 5, markeredgecolor=_COLOURS[1], markerfacecolor="none"),
        mark("inactive", 8, color=_EMPTY),
    ]


@mpl.rc_context(_STYLE)
def plot_pictures_of_words(
    images: Array,
    words: Sequence[str],
    rows: Mapping[str, Sequence[Sequence[int]]],
    correct: Mapping[str, Sequence[Sequence[bool]]],
) -> Figure:
    """Return the first pictures for each word, a line for each method, the first one above.

    Pictures are framed as in `plot_neighbours`.

    Args:
        images: `(n, h, w)` or `(n, h, w, 3)`, uint8.
        words: What was searched with.
        rows: By method, for each word, the rows of the pictures, nearest first.
        correct: By method, for each word, whether each of these is correct.
    """
    _check_any("words", words)
    _check_any("rows", rows)
    n_shown = max((len(line) for lines in rows.values() for line in lines), default=0)
    label, gap = 1.75, 0.3  # for the word and the method; between blocks
    width, height = label + n_shown + gap, len(rows) + gap
    n_blocks = 1 if len(words) == 1 else 2  # side by side
    n_lines = -(-len(words) // n_blocks)
    figure = Figure(figsize=(0.75 * n_blocks * width, 0.75 * n_lines * height), layout="tight")
    axes = figure.add_subplot(aspect="equal", frame_on=False)
    for at, word in enumerate(words):
        x, y = at % n_blocks * width, at // n_blocks * height
        axes.text(x, y + 0.02, word, va="top", fontsize=11, weight="bold")
        for line, name in enumerate(rows):
            axes.text(x, y + line + 0.5, name, va="center", fontsize=8)
            shown = zip(rows[name][at], correct[name][at], strict=True)
            for rank, (row, is_correct) in enumerate(shown):
                kind = "correct" if is_correct else "wrong"
                _picture(axes, _square(images[row]), x + label + rank, y + line, kind)
    axes.set_xlim(0, n_blocks * width - gap)
    axes.set_ylim(n_lines * height - gap, -0.05)
    axes.set_axis_off()
    return figure


@mpl.rc_context(_STYLE)
def plot_words_of_pictures(
    images: Array,
    query_rows: Sequence[int],
    words: Mapping[str, Sequence[Sequence[tuple[str, bool]]]],
) -> Figure:
    """Return the words found by each picture, a paragraph for each method, the first one above.

    A correct word is green and bold, with a tick before it.

    Args:
        images: `(n, h, w)` or `(n, h, w, 3)`, uint8.
        query_rows: Rows of the pictures that were searched with.
        words: By method, for each picture, the words and whether each is correct.
    """
    _check_any("query_rows", query_rows)
    _check_any("words", words)
    side, left, right, leading, gap = 82.0, 190.0, 720.0, 16.0, 16.0  # points
    figure = Figure()
    axes = figure.add_axes((0, 0, 1, 1), frame_on=False)
    y = gap
    for at, row in enumerate(query_rows):
        _picture(axes, _square(images[row]), gap, y, "query", side=side)
        line = y + 0.7 * leading
        for name, found in words.items():
            axes.text(2 * gap + side, line, name, va="baseline", fontsize=8.5)
            placed = _flowed(found[at], left, right)
            for x, below, text, is_correct in placed:
                axes.text(
                    x,
                    line + below * leading,
                    text,
                    va="baseline",
                    fontsize=_WORD_SIZE,
                    weight="bold" if is_correct else "normal",
                    color=FRAMES["correct"] if is_correct else INK,
                )
            n_lines = 1 + max((below for _, below, _, _ in placed), default=0)
            line += (n_lines + 0.5) * leading
        y = max(y + side, line) + gap
    figure.set_size_inches((right + gap) / 72, y / 72)
    axes.set_xlim(0, right + gap)
    axes.set_ylim(y, 0)
    axes.set_axis_off()
    return figure


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


@mpl.rc_context(_STYLE)
def plot_history(history: Sequence[Mapping[str, float]]) -> Figure:
    """Return three panels over the training steps: loss, active bits, unique and empty codes.

    Args:
        history: A fitted method's `history_`; terms that it lacks are left out.

    Raises:
        InvalidInputError: It is empty: the method does not learn in steps.
    """
    if not history:
        raise InvalidInputError(
            "`history` is empty: only methods that learn step by step leave one."
        )
    figure = Figure(figsize=(9, 3.1), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _lines(left, history, _LOSS_TERMS)
    _lines(middle, history, {"active": "active"})
    _lines(right, history, {"unique": "unique codes", "empty": "empty codes"}, scale=100)
    left.set_ylabel("held-out loss")
    middle.set_ylabel("active bits per code")
    right.set_ylabel("share of held-out items (%)")
    left.legend()
    right.legend()
    for axes in (left, middle, right):
        axes.set_xlabel("training step")
        axes.set_ylim(bottom=0)
    return figure


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> list[Path]:
    """Write `figure` as `path`.png and `path`.svg, in a folder that is made if needed."""
    stem = Path(path)
    stem.parent.mkdir(parents=True, exist_ok=True)
    files = [stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "svg")]
    for file in files:
        drawn = _drawn(figure, file.suffix[1:])
        with storage.atomic(file) as part:
            part.write_bytes(drawn)
    return files


def data_uri(figure: Figure, format: Literal["svg", "png"] = "svg") -> str:  # noqa: A002 - its name
    """Return `figure` as a `data:` URI, ready to be the `src` of an `<img>`."""
    media = {"svg": "image/svg+xml", "png": "image/png"}[format]
    return f"data:{media};base64,{base64.b64encode(_drawn(figure, format)).decode()}"


def _drawn(figure: Figure, kind: str) -> bytes:
    metadata: dict[str, Any] = {
        "svg": {"Creator": None, "Date": None, "Format": None, "Type": None},
        "png": {"Software": None},
    }[kind]
    raw = io.BytesIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(raw, format=kind, dpi=160, metadata=metadata)
    return raw.getvalue()


def _against_radius(curves: Mapping[tuple[str, int], npt.ArrayLike], y_label: str) -> Figure:
    _check_any("curves", curves)
    names = list(dict.fromkeys(name for name, _ in curves))
    lengths = sorted({n_bits for _, n_bits in curves})
    figure, axes = _figure(9, 4.3)
    for (name, n_bits), values in curves.items():
        rank = names.index(name)
        percent = 100 * np.asarray(values, dtype=float)
        is_shortest = n_bits == lengths[0]
        axes.plot(
            np.arange(len(percent)),
            percent,
            label=f"{name}, {n_bits} bits",
            color=_COLOURS[rank % len(_COLOURS)],
            linestyle=_DASHES[lengths.index(n_bits) % len(_DASHES)],
            marker=_MARKERS[rank % len(_MARKERS)],
            markerfacecolor=None if is_shortest else "white",
            clip_on=False,  # a point at 0 or 100 % is drawn whole
        )
    axes.set_xlabel("radius: bits in which an answer may differ from the query")
    axes.set_ylabel(y_label)
    axes.set_ylim(0, 100)
    axes.set_xlim(left=-0.25)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=3.2, labelspacing=0.9)
    return figure


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _picture(axes: Axes, image: Array, x: float, y: float, kind: str, *, side: float = 0.9) -> None:
    """Draw one square picture with its top left corner at (x, y), framed by its kind."""
    axes.imshow(
        image,
        cmap="gray",
        vmin=0,
        vmax=255,
        extent=(x, x + side, y + side, y),
        interpolation="nearest",
    )
    is_wrong = kind == "wrong"
    axes.add_patch(
        Rectangle(
            (x, y),
            side,
            side,
            fill=False,
            edgecolor=FRAMES[kind],
            linewidth=3,
            linestyle="--" if is_wrong else "-",
        )
    )
    if is_wrong:
        cross = Line2D(
            [x + 0.76],
            [y + 0.14],
            marker="X",
            markersize=9,
            color=FRAMES[kind],
            markeredgecolor="white",
        )
        axes.add_line(cross)


def _lines(
    axes: Axes,
    history: Sequence[Mapping[str, float]],
    labels: Mapping[str, str],
    *,
    scale: float = 1.0,
) -> None:
    steps = [look["step"] for look in history]
    known = [key for key in labels if key in history[0]]
    for key, colour, dashes in zip(
        known, itertools.cycle(_COLOURS), itertools.cycle(_DASHES), strict=False
    ):
        values = [scale * look[key] for look in history]
        axes.plot(steps, values, label=labels[key], color=colour, linestyle=dashes, linewidth=1.6)


def _check_any(name: str, values: Iterable[object]) -> None:
    if not any(True for _ in values):
        raise InvalidInputError(f"`{name}` must hold at least one entry, got none.")
