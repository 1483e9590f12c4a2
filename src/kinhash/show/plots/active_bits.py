"""How many bits of each code are active: a histogram for each method, one below the other."""

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from kinhash.codes import Codes
from kinhash.show.looks import looks
from kinhash.show.plots.style import STYLE, check_any


def plot_active_bits(codes_by_name: Mapping[str, Codes]) -> Figure:
    """Return histograms of how many bits of each bucket are active.

    Args:
        codes_by_name: At least one code under every name; signed ones count -1 as active.
    """
    check_any("codes_by_name", codes_by_name)
    counts = {name: np.bincount(codes.n_active) for name, codes in codes_by_name.items()}
    n_bits = {name: codes.n_bucket_bits for name, codes in codes_by_name.items()}
    return plot_active_counts(counts, n_bits)


@mpl.rc_context(STYLE)
def plot_active_counts(
    counts: Mapping[str, npt.ArrayLike], n_bits: int | Mapping[str, int]
) -> Figure:
    """Return the same from how many codes have 0, 1, 2, ... active bits, under every name.

    Each histogram is as high as its own highest bar: else one spike would flatten all others.

    Args:
        counts: By name, the numbers of codes.
        n_bits: The length of all codes, or of those of each name.
    """
    check_any("counts", counts)
    look = looks(counts)
    figure = Figure(figsize=(10, 0.7 + 0.62 * len(counts)), layout="constrained")
    rows = np.atleast_1d(figure.subplots(len(counts), 1, sharex=True))
    for axes, (name, numbers) in zip(rows, counts.items(), strict=True):
        numbers = np.asarray(numbers, dtype=float)  # noqa: PLW2901 - the same, as an array
        shares = 100 * numbers / max(1, numbers.sum())
        mean = np.arange(len(numbers)) @ numbers / max(1, numbers.sum())
        length = n_bits if isinstance(n_bits, int) else n_bits[name]
        axes.stairs(
            shares,
            np.arange(len(shares) + 1) - 0.5,
            fill=True,
            color=look[name].colour,
            label=f"{name}: mean {mean:.1f} of {length}",
        )
        beside = {"rotation": 0, "va": "center"}
        axes.set_ylabel(name, ha="right", color=look[name].colour, weight="bold", **beside)
        axes.annotate(
            f"mean {mean:.1f} of {length}", (1.01, 0.35), xycoords="axes fraction", fontsize=9.5
        )
        axes.set_yticks([])
        axes.set_ylim(0, 1.05 * max(1e-9, shares.max(initial=0)))
        axes.spines["left"].set_visible(False)
    rows[-1].set_xlabel("active bits of a code")
    rows[-1].set_xlim(left=-0.5)
    rows[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure
