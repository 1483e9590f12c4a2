import numpy as np
import pytest

from kinhash.errors import InvalidInputError
from kinhash.show import plots
from kinhash.show.looks import LOOKS


@pytest.fixture
def curves():
    """Two methods at two lengths, the longer one first."""
    return {
        ("LSH", 128): [0.1, 0.2, 0.3],
        ("LSH", 48): [0.2, 0.3, 0.4],
        ("KSH", 48): [0.0, 0.5, 1.0],
        ("KSH", 128): [0.0, 0.1, 0.2],
    }


@pytest.mark.parametrize(
    ("plot", "label"),
    [
        (plots.plot_recall_against_radius, "recall (%)"),
        (plots.plot_precision_against_radius, "precision (%)"),
    ],
)
def test_curves_are_percent_over_the_radius_with_a_panel_for_each_length(curves, plot, label):
    figure = plot(curves)
    short, long = figure.axes
    assert short.get_ylabel() == label
    assert [axes.get_title(loc="left") for axes in (short, long)] == ["48 bits", "128 bits"]
    assert all(axes.get_xlabel().startswith("radius") for axes in (short, long))
    lines = {line.get_label(): line for line in short.lines}
    assert list(lines) == ["LSH", "KSH"]
    assert lines["KSH"].get_xdata().tolist() == [0, 1, 2]
    assert lines["KSH"].get_ydata().tolist() == [0, 50, 100]
    assert long.lines[1].get_ydata().tolist() == [0, 10, 20]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["LSH", "KSH"]


def test_every_method_has_its_own_colour_and_marker_in_every_curve(curves):
    figures = [
        plots.plot_recall_against_radius(curves),
        plots.plot_precision_recall({"all": {"KSH": [0.5, 0.1], "LSH": [0.4, 0.2]}}),
        plots.plot_trade_off({"LSH": [(0.1, 0.9, 3.0)], "KSH": [(0.2, 0.8, 5.0)]}),
    ]
    for figure in figures:
        for axes in figure.axes:
            for line in axes.lines:
                look = LOOKS[line.get_label()]
                assert (line.get_color(), line.get_marker()) == look


def test_curves_of_different_lengths_share_their_axis():
    short, _ = plots.plot_recall_against_radius(
        {("LSH", 8): [0.1, 0.2], ("LSH", 64): np.linspace(0, 1, 33)}
    ).axes
    assert short.get_xlim() == (0, 32)


def test_no_curves_are_refused():
    with pytest.raises(InvalidInputError, match="`curves` must hold at least one entry, got none"):
        plots.plot_recall_against_radius({})


def test_curves_that_reach_nothing_leave_the_panels_their_room():
    panels = {name: {"some": [0.5, 0.2], "none": [0.0, 0.0]} for name in ("radius 0", "all")}
    figure = plots.plot_precision_recall(panels)
    figure.draw_without_rendering()
    widths = [axes.get_position().width for axes in figure.axes]
    assert min(widths) > 0.35
