"""Curves: recall and precision against the radius, against one another, and against time."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from kinhash.show.looks import looks
from kinhash.show.plots.style import DASHES, INK, STYLE, check_any

_RADII = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


@mpl.rc_context(STYLE)
def plot_recall_against_radius(curves: Mapping[tuple[str, int], npt.ArrayLike]) -> Figure:
    """Return recall against radius, a panel for each code length, the shortest first.

    The radius is drawn to its square root: small radii are what can be looked up.

    Args:
        curves: By method and number of bits, the recall (a fraction) within radius 0, 1, ...
    """
    return _against_radius(curves, "recall (%)")


@mpl.rc_context(STYLE)
def plot_precision_against_radius(curves: Mapping[tuple[str, int], npt.ArrayLike]) -> Figure:
    """Return precision against radius, drawn as `plot_recall_against_radius` draws recall."""
    return _against_radius(curves, "precision (%)")


def _against_radius(curves: Mapping[tuple[str, int], npt.ArrayLike], y_label: str) -> Figure:
    check_any("curves", curves)
    look = looks(name for name, _ in curves)
    lengths = sorted({n_bits for _, n_bits in curves})
    figure = Figure(figsize=(10, 4.3), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(lengths), sharey=True))
    farthest = max(np.size(values) for values in curves.values()) - 1
    lines = {}
    for axes, length in zip(panels, lengths, strict=True):
        for (name, n_bits), values in curves.items():
            if n_bits != length:
                continue
            percent = 100 * np.asarray(values, dtype=float)
            (lines[name],) = axes.plot(
                np.arange(len(percent)),
                percent,
                label=name,
                color=look[name].colour,
                marker=look[name].marker,
                markevery=[radius for radius in _RADII if radius < len(percent)],
                clip_on=False,  # a point at 0 or 100 % is drawn whole
            )
        axes.set_title(f"{length} bits")
        axes.set_xlabel("radius: bits in which an answer may differ")
        axes.set_xscale("function", functions=(_root, np.square))
        axes.set_xlim(0, max(1, farthest))
        axes.set_ylim(0, 100)
        axes.xaxis.set_major_locator(FixedLocator([r for r in _RADII if r <= max(1, farthest)]))
        axes.xaxis.set_minor_locator(NullLocator())
    panels[0].set_ylabel(y_label)
    figure.legend(lines.values(), lines, loc="outside lower center", ncols=5, handlelength=3)
    return figure


def _root(radius: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.sqrt(np.maximum(radius, 0))


@mpl.rc_context(STYLE)
def plot_precision_recall(panels: Mapping[str, Mapping[str, npt.ArrayLike]]) -> Figure:
    """Return precision against recall, a panel beside the other, with one legend.

    Args:
        panels: By title, by method, the mean precision at equally spaced levels of recall up to 1;
            the same methods in every panel. What a radius does not reach has precision 0 and is not
            drawn.
    """
    check_any("panels", panels)
    figure = Figure(figsize=(10, 3.9), layout="constrained")
    all_axes = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
    for axes, (title, curves) in zip(all_axes, panels.items(), strict=True):
        check_any("panels", curves)
        look = looks(curves)
        for rank, (name, values) in enumerate(curves.items()):
            percent = 100 * np.asarray(values, dtype=float)
            levels = 100 * np.arange(1, len(percent) + 1) / len(percent)
            reached = percent > 0
            axes.plot(
                levels[reached],
                percent[reached],
                label=name,
                color=look[name].colour,
                linestyle=DASHES[rank // 6 % len(DASHES)],
                marker=look[name].marker,
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


@mpl.rc_context(STYLE)
def plot_trade_off(
    points: Mapping[str, Sequence[tuple[float, float, float]]], *, brute_force: float | None = None
) -> Figure:
    """Return recall and precision against the time of a query, a line through radius 0, 1, 2 each.

    Args:
        points: By method, for radius 0, 1, ...: recall, precision (fractions) and microseconds.
        brute_force: Microseconds of comparing everything, drawn as a line.
    """
    check_any("points", points)
    look = looks(points)
    figure = Figure(figsize=(10, 3.9), layout="constrained")
    both = figure.subplots(1, 2)
    for at, (axes, measure) in enumerate(zip(both, ("recall", "precision"), strict=True)):
        for rank, (name, line) in enumerate(points.items()):
            values = np.asarray(line, dtype=float)
            axes.plot(
                values[:, 2],
                100 * values[:, at],
                label=name,
                color=look[name].colour,
                linestyle=DASHES[rank // 6 % len(DASHES)],
                marker=look[name].marker,
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
