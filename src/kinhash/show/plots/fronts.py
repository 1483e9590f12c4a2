"""What settings reach: recall against precision, and the settings that no others beat."""

from collections.abc import Sequence
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure

from kinhash.show.looks import looks
from kinhash.show.plots.style import INK, SOFT, STYLE, check_any


class Reached(NamedTuple):
    """What one method reached with one of its settings, at one radius."""

    method: str
    recall: float
    precision: float
    n_bytes: float


@mpl.rc_context(STYLE)
def plot_front(
    points: Sequence[Reached], front: Sequence[Reached], chosen: Reached | None = None
) -> Figure:
    """Return recall against precision: all that was tried, and the front in strong colours.

    Args:
        points: All settings at all radii.
        front: Those that stand out; the larger the mark, the longer the code.
        chosen: The one that is ringed and named.
    """
    check_any("points", points)
    look = looks(sorted({point.method for point in (*points, *front)}))
    figure = Figure(figsize=(7.6, 5.2), layout="constrained")
    axes = figure.subplots()
    longest = max(point.n_bytes for point in points)
    for method, own in look.items():
        for some, alpha in ((points, 0.22), (front, 1.0)):
            drawn = [point for point in some if point.method == method]
            axes.scatter(
                [100 * point.recall for point in drawn],
                [100 * point.precision for point in drawn],
                s=[14 + 60 * point.n_bytes / longest for point in drawn],
                color=own.colour,
                marker=own.marker,
                alpha=alpha,
                linewidths=0,
                label=method if some is front and drawn else None,
                clip_on=False,
            )
    if chosen is not None:
        at = (100 * chosen.recall, 100 * chosen.precision)
        axes.scatter(*at, s=220, facecolors="none", edgecolors=INK, linewidths=1.6, clip_on=False)
        axes.annotate("chosen", at, (11, 9), textcoords="offset points", color=SOFT)
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 100)
    axes.set_xlabel("recall (%)")
    axes.set_ylabel("precision (%)")
    figure.legend(loc="outside lower center", ncols=5)
    return figure
