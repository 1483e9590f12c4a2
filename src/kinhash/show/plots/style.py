"""What all figures share: one style, which also reads in grey, and the colours of pictures.

Importing this module needs matplotlib. No figure touches pyplot or its state.
"""

from collections.abc import Iterable
from typing import Any

from kinhash.arrays import Array
from kinhash.errors import InvalidInputError, MissingExtraError

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle
except ImportError as error:
    raise MissingExtraError("Plots need matplotlib", "plot") from error

INK = "#1f2933"
SOFT = "#5b6875"
FAINT = "#d9dee4"
FRAMES = {"query": "#8a94a0", "correct": "#1a8f4c", "wrong": "#c9302c"}

DASHES: tuple[Any, ...] = ("-", (0, (1, 1.6)), (0, (5, 2)), (0, (5, 1.5, 1, 1.5)))
STYLE: dict[Any, Any] = {
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
    "grid.color": FAINT,
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

_SMOOTH_BELOW = 16  # pixels a side: fewer are hard to read as squares


def sheet(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure of so many inches, and axes without any marks whose unit is an inch."""
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1), frame_on=False)
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.set_axis_off()
    return figure, axes


def draw_picture(
    axes: Axes, image: Array, x: float, y: float, kind: str | None, *, side: float
) -> None:
    """Draw one square picture with its top left corner at (x, y), framed by its kind.

    A query is framed in grey, a correct answer in green; a wrong one has a dashed red frame and a
    cross. Without a kind there is no frame.
    """
    axes.imshow(
        image,
        cmap="gray",
        vmin=0,
        vmax=255,
        extent=(x, x + side, y + side, y),
        interpolation="bicubic" if max(image.shape[:2]) < _SMOOTH_BELOW else "nearest",
        aspect="auto" if axes.get_aspect() == "auto" else "equal",
    )
    if kind is None:
        return
    is_wrong = kind == "wrong"
    axes.add_patch(
        Rectangle(
            (x, y),
            side,
            side,
            fill=False,
            edgecolor=FRAMES[kind],
            linewidth=3 if side > 0.5 else 1.3,
            linestyle="--" if is_wrong else "-",
        )
    )
    if is_wrong:
        cross = Line2D(
            [x + 0.86 * side],
            [y + 0.14 * side],
            marker="X",
            markersize=9 if side > 0.5 else 5.5,
            markeredgewidth=1 if side > 0.5 else 0.6,
            color=FRAMES[kind],
            markeredgecolor="white",
        )
        axes.add_line(cross)


def check_any(name: str, values: Iterable[object]) -> None:
    """Refuse to draw nothing.

    Raises:
        InvalidInputError: There are no values.
    """
    if not any(True for _ in values):
        raise InvalidInputError(f"`{name}` must hold at least one entry, got none.")
