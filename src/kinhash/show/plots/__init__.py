"""The figures. Importing this needs matplotlib."""

from kinhash.show.plots.style import FRAMES, INK  # isort: skip - first: it says what is missing
from kinhash.show.plots.active_bits import plot_active_bits, plot_active_counts
from kinhash.show.plots.code_strips import Strips, plot_codes, plot_codes_beside
from kinhash.show.plots.curves import (
    plot_precision_against_radius,
    plot_precision_recall,
    plot_recall_against_radius,
    plot_trade_off,
)
from kinhash.show.plots.files import data_uri, save_figure
from kinhash.show.plots.fronts import Reached, plot_front
from kinhash.show.plots.pictures import Found, plot_methods_apart, plot_neighbours
from kinhash.show.plots.reliability import plot_reliability
from kinhash.show.plots.words import plot_pictures_of_words, plot_words_of_pictures

__all__ = [
    "FRAMES",
    "INK",
    "Found",
    "Reached",
    "Strips",
    "data_uri",
    "plot_active_bits",
    "plot_active_counts",
    "plot_codes",
    "plot_codes_beside",
    "plot_front",
    "plot_methods_apart",
    "plot_neighbours",
    "plot_pictures_of_words",
    "plot_precision_against_radius",
    "plot_precision_recall",
    "plot_recall_against_radius",
    "plot_reliability",
    "plot_trade_off",
    "plot_words_of_pictures",
    "save_figure",
]
