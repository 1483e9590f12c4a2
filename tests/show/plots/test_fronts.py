import pytest

from kinhash.errors import InvalidInputError
from kinhash.show import plots
from kinhash.show.looks import LOOKS

POINTS = [
    plots.Reached("ITQ", 0.9, 0.2, 8),
    plots.Reached("ITQ", 0.2, 0.3, 4),
    plots.Reached("LSH", 0.4, 0.6, 2),
]


def test_points_are_percent_and_larger_for_longer_codes():
    figure = plots.plot_front(POINTS, [POINTS[0], POINTS[2]], POINTS[2])
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("recall (%)", "precision (%)")
    itq, itq_front, lsh, lsh_front, ring = axes.collections
    assert itq.get_offsets().tolist() == [[90, 20], [20, 30]]
    assert itq_front.get_offsets().tolist() == [[90, 20]]
    assert lsh.get_offsets().tolist() == lsh_front.get_offsets().tolist() == [[40, 60]]
    assert ring.get_offsets().tolist() == [[40, 60]]
    long, short = itq.get_sizes()
    assert long > short
    assert itq.get_alpha() < itq_front.get_alpha() == 1
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["ITQ", "LSH"]
    assert LOOKS["ITQ"].colour != LOOKS["LSH"].colour
    assert "chosen" in [text.get_text() for text in axes.texts]


def test_nothing_is_not_drawn():
    with pytest.raises(InvalidInputError, match="`points` must hold at least one entry"):
        plots.plot_front([], [])
