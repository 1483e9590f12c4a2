import pytest

from kinhash.errors import InvalidInputError
from kinhash.show import plots
from kinhash.show.looks import LOOKS

ROWS = [
    {"promised": 0.9, "low": 0.8, "high": 0.95, "got": 0.85, "n_answers": 10},
    {"promised": 0.5, "low": 0.4, "high": 0.6, "got": 0.55, "n_answers": 100},
]


def test_got_stands_against_promised_in_percent_with_intervals():
    figure = plots.plot_reliability({"SparseHash": ROWS})
    (axes,) = figure.axes
    assert axes.get_xlabel() == "precision that was promised (%)"
    assert axes.get_ylabel() == "precision that was got (%)"
    right, line = axes.lines[:2]
    assert right.get_xdata().tolist() == right.get_ydata().tolist() == [0, 100]
    assert line.get_xdata().tolist() == [90, 50]
    assert line.get_ydata() == pytest.approx([85, 55])
    assert line.get_color() == LOOKS["SparseHash"].colour
    (bars,) = axes.collections
    ends = [path.vertices[:, 0].round(6).tolist() for path in bars.get_paths()]
    assert ends == [[80, 95], [40, 60]]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["SparseHash"]


def test_nothing_is_not_drawn():
    with pytest.raises(InvalidInputError, match="`lines` must hold at least one entry"):
        plots.plot_reliability({})
