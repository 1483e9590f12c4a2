import numpy as np
import pytest

from kinhash.codes import Codes
from kinhash.errors import InvalidInputError
from kinhash.show import plots
from kinhash.show.looks import LOOKS


@pytest.mark.parametrize("signed", [False, True])
def test_active_bits_are_counted_for_signed_codes_too(signed):
    # Active bits: 1, 1, 2 and 0, so shares of 25, 50 and 25 %.
    dense = np.array([[1, 0, 0], [0, 0, 1], [1, 1, 0], [0, 0, 0]])
    codes = Codes.from_dense(-dense if signed else dense, signed=signed)
    (axes,) = plots.plot_active_bits({"mine": codes}).axes
    (steps,) = axes.patches
    assert steps.get_data().values.tolist() == [25, 50, 25]
    assert steps.get_data().edges.tolist() == [-0.5, 0.5, 1.5, 2.5]
    assert steps.get_label() == "mine: mean 1.0 of 3"
    assert [text.get_text() for text in axes.texts] == ["mean 1.0 of 3"]
    assert axes.get_xlabel() == "active bits of a code"


def test_each_method_has_a_line_whose_highest_bar_fills_it():
    figure = plots.plot_active_counts({"LSH": [0, 100], "KSH": [1, 1, 2]}, 8)
    for axes, name, highest in zip(figure.axes, ("LSH", "KSH"), (100, 50), strict=True):
        assert axes.get_ylabel() == name
        assert axes.yaxis.label.get_color() == LOOKS[name].colour
        assert axes.get_ylim()[1] == pytest.approx(1.05 * highest)


def test_codes_with_rank_bits_are_counted_by_their_buckets():
    codes = Codes.from_dense([[1, 0], [1, 1]], rank=[[1, 1, 1], [0, 0, 0]])
    other = Codes.from_dense([[1, 0, 0, 0, 1]])
    figure = plots.plot_active_bits({"nested": codes, "flat": other})
    said = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert said == ["mean 1.5 of 2", "mean 2.0 of 5"]


def test_no_codes_are_refused():
    with pytest.raises(InvalidInputError, match="`codes_by_name` must hold at least one entry"):
        plots.plot_active_bits({})
