import numpy as np
import pytest
from matplotlib.colors import to_hex

from kinhash.codes import Codes
from kinhash.errors import InvalidInputError
from kinhash.show import plots
from kinhash.show.looks import LOOKS
from kinhash.show.plots.code_strips import DIFFERENT, EMPTY, SAME


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def cells(figure):
    """Return the boxes that are no background, row by row: column, filled, and colour."""
    (axes,) = figure.axes
    boxes = [(box.get_x(), box.get_y() + box.get_height() / 2, box) for box in axes.patches]
    columns = sorted({round(x, 6) for x, _, _ in boxes})
    found = {}
    for x, y, box in boxes:
        colour = to_hex(box.get_facecolor() if box.get_fill() else box.get_edgecolor())
        row = found.setdefault(round(y, 6), {})
        if colour != EMPTY:
            row[columns.index(round(x, 6))] = box.get_fill(), colour
    return [found[y] for y in sorted(found)]


def test_strips_show_which_bits_agree():
    query = Codes.from_dense([[1, 1, 0, 0]], rank=[[1, 0]])
    neighbours = Codes.from_dense([[1, 1, 0, 0], [1, 0, 1, 0]], rank=[[1, 0], [0, 0]])
    figure = plots.plot_codes(query, [neighbours])
    same, other, missing = (True, SAME), (True, DIFFERENT), (False, DIFFERENT)
    # Bucket bits at 0 to 3, rank bits at 4 and 5.
    assert cells(figure) == [
        {0: same, 1: same, 4: same},
        {0: same, 1: same, 4: same},
        {0: same, 1: missing, 2: other, 4: missing},
    ]
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == [
        *("4 bucket bits", "2 rank bits", "distance", "query"),
        *("1", "0 + 0", "2", "2 + 1"),
    ]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "active in both",
        "only in the neighbour",
        "only in the query",
        "inactive",
    ]


def test_a_gap_parts_the_bucket_from_the_rank_bits():
    code = Codes.from_dense([[1, 1]], rank=[[1, 1]])
    (axes,) = plots.plot_codes(code, [code]).axes
    lefts = sorted({round(box.get_x(), 6) for box in axes.patches})
    assert np.diff(lefts) == pytest.approx([0.17, 3 * 0.17, 0.17])


def test_strips_of_codes_without_rank_bits_and_with_signs():
    query = Codes.from_dense([[1, -1, 0]], signed=True)
    neighbours = Codes.from_dense([[-1, -1, 0]], signed=True)
    figure = plots.plot_codes(query, [neighbours], [["no. 7"]])
    (axes,) = figure.axes
    texts = [text.get_text() for text in axes.texts]
    assert texts == ["3 bits", "distance", "query", "no. 7", "2"]
    assert len(axes.lines) == 3, "a bar for each -1: one of the query, two of the neighbour"
    assert cells(figure)[1] == {0: (True, DIFFERENT), 1: (True, SAME)}


def test_strips_of_several_queries_and_of_wide_codes_are_drawn(rng):
    for n_bits in (8, 700):
        codes = Codes.from_dense(rng.integers(0, 2, (4, n_bits)), rank=rng.integers(0, 2, (4, 3)))
        figure = plots.plot_codes(codes[:2], [codes[2:], codes[:0]])
        assert figure.get_figwidth() < 12
        assert len(plots.data_uri(figure)) > 1000


def test_methods_stand_beside_one_another_with_pictures(rng):
    sparse = Codes.from_dense([[1, 0], [1, 0], [0, 1]], rank=[[1, 1, 0]] * 3)
    dense = Codes.from_dense([[1, 1, 0, 1], [0, 1, 0, 1], [1, 0, 1, 0]])
    images = rng.integers(0, 256, (9, 4, 4)).astype(np.uint8)
    figure = plots.plot_codes_beside(
        {
            "SparseHash": plots.Strips(sparse[:1], [sparse[1:]], [["no. 1", "no. 9"]], [[8, 0, 1]]),
            "NNHash": plots.Strips(dense[:1], [dense[1:]], [["no. 1", "no. 9"]], [[8, 2, 3]]),
        },
        images,
    )
    (axes,) = figure.axes
    texts = {text.get_text(): text for text in axes.texts}
    for name in ("SparseHash", "NNHash"):
        assert texts[name].get_color() == LOOKS[name].colour
    assert texts["SparseHash"].get_position()[0] < texts["NNHash"].get_position()[0]
    assert {"2 bucket bits", "3 rank bits", "4 bits", "no. 1", "2 + 0", "3"} <= texts.keys()
    shown = [np.asarray(image.get_array()) for image in axes.images]
    assert np.array_equal(shown, images[[8, 0, 1, 8, 2, 3]])


def test_strips_stand_beside_one_another_without_pictures():
    codes = Codes.from_dense([[1, 0]])
    figure = plots.plot_codes_beside({"LSH": plots.Strips(codes, [codes])})
    assert not figure.axes[0].images


def test_nothing_to_draw_is_refused():
    nothing = Codes.from_dense(np.zeros((0, 3)))
    with pytest.raises(InvalidInputError, match="`queries` must hold at least one entry"):
        plots.plot_codes(nothing, [])
    with pytest.raises(InvalidInputError, match="`strips` must hold at least one entry"):
        plots.plot_codes_beside({})
    with pytest.raises(InvalidInputError, match="`queries` must hold at least one entry"):
        plots.plot_codes_beside({"LSH": plots.Strips(nothing, [])})
