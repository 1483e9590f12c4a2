"""Reliability diagrams: the precision that was promised against the one that was got."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from kinhash.show.looks import looks
from kinhash.show.plots.style import INK, SOFT, STYLE, check_any


@mpl.rc_context(STYLE)
def plot_reliability(lines: Mapping[str, Sequence[Mapping[str, float]]]) -> Figure:
    """Return got against promised precision, a line for each method; what is right is dashed.

    Args:
        lines: By method, rows as `kinhash.evaluation.reliability.reliability` returns them. Bars
            are the intervals of what was promised.
    """
    check_any("lines", lines)
    look = looks(lines)
    figure = Figure(figsize=(5.6, 5.6), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 100], [0, 100], color=INK, linewidth=1.2, linestyle=(0, (2, 2)))
    axes.annotate("got less than promised", (97, 4), ha="right", color=SOFT, fontsize=8.5)
    axes.annotate("got more than promised", (3, 95), color=SOFT, fontsize=8.5)
    for name, rows in lines.items():
        promised = [100 * row["promised"] for row in rows]
        axes.errorbar(
            promised,
            [100 * row["got"] for row in rows],
            xerr=[
                [x - 100 * row["low"] for x, row in zip(promised, rows, strict=True)],
                [100 * row["high"] - x for x, row in zip(promised, rows, strict=True)],
            ],
            label=name,
            color=look[name].colour,
            marker=look[name].marker,
            elinewidth=0.9,
            clip_on=False,
        )
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 100)
    axes.set_aspect("equal")
    axes.set_xlabel("precision that was promised (%)")
    axes.set_ylabel("precision that was got (%)")
    figure.legend(loc="outside lower center", ncols=3)
    return figure
