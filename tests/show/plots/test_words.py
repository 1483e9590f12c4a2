import itertools

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from kinhash.errors import InvalidInputError
from kinhash.show import plots
from kinhash.show.looks import LOOKS


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_pictures_of_a_word_stand_in_a_line_with_methods_side_by_side(rng):
    images = rng.integers(0, 256, (5, 4, 2, 3)).astype(np.uint8)
    figure = plots.plot_pictures_of_words(
        images,
        ["sky", "sea", "fox"],
        {"LSH": [[0, 1], [2, 3], [4, 0]], "KSH": [[1, 2], [3], [0, 1]]},
        {
            "LSH": [[True, False], [True, True], [False, False]],
            "KSH": [[True, True], [False], [1, 0]],
        },
        {row: f"shows {row}" for row in range(5)},
    )
    (axes,) = figure.axes
    texts = {text.get_text(): text for text in axes.texts}
    assert texts.keys() == {
        *("sky", "sea", "fox", "LSH", "KSH"),
        *("shows 0", "shows 1", "shows 2", "shows 3", "shows 4"),
    }
    for name in ("LSH", "KSH"):
        assert texts[name].get_color() == LOOKS[name].colour
    assert texts["LSH"].get_position()[0] < texts["KSH"].get_position()[0]
    assert texts["sky"].get_position()[1] < texts["sea"].get_position()[1]
    kinds = {colour: kind for kind, colour in plots.FRAMES.items()}
    frames = [kinds[to_hex(patch.get_edgecolor())] == "correct" for patch in axes.patches]
    assert frames == [1, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0]
    assert len(axes.lines) == frames.count(False), "a cross on each wrong picture"
    shown = np.asarray(axes.images[0].get_array())
    assert shown.shape == (4, 4, 3), "in its own proportions, on a square"
    assert np.array_equal(shown[:, 1:3], images[0])
    assert (shown[:, [0, 3]] == 255).all()


def test_a_long_truth_is_broken_and_cut_below_its_picture(rng):
    images = rng.integers(0, 256, (1, 4, 4)).astype(np.uint8)
    figure = plots.plot_pictures_of_words(
        images, ["fox"], {"LSH": [[0] * 5]}, {"LSH": [[True] * 5]}, {0: "sky sea " * 40}
    )
    (axes,) = figure.axes
    below = [text for text in axes.texts if "sea" in text.get_text()]
    assert len(below) == 5
    assert below[0].get_text().count("\n") == 2
    assert below[0].get_text().endswith("\N{HORIZONTAL ELLIPSIS}")
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [text.get_window_extent(renderer) for text in below]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))
    assert boxes[0].y0 > 0, "and stays within the figure"


def test_words_of_a_picture_are_ticked_and_green_where_correct(rng):
    images = rng.integers(0, 256, (3, 4, 4)).astype(np.uint8)
    many = [(f"word{i}", i % 2 == 0) for i in range(40)]
    figure = plots.plot_words_of_pictures(
        images,
        [2, 0],
        {"LSH": [[("sky", True), ("fox", False)], many], "KSH": [[], [("sea", True)]]},
        {2: "sky moon", 0: "beach"},
    )
    (axes,) = figure.axes
    assert len(axes.images) == 2
    texts = {text.get_text(): text for text in axes.texts}
    assert {"LSH", "KSH", "\N{CHECK MARK} sky", "fox", "\N{CHECK MARK} sea"} <= texts.keys()
    green = texts["\N{CHECK MARK} sky"], texts["\N{CHECK MARK} word38"]
    assert {to_hex(text.get_color()) for text in green} == {plots.FRAMES["correct"]}
    assert to_hex(texts["fox"].get_color()) == plots.INK
    assert {"truth", "moon", "beach"} <= texts.keys(), "and what the picture shows"
    assert texts["LSH"].get_color() == LOOKS["LSH"].colour
    lines = {text.get_position()[1] for name, text in texts.items() if "word" in name}
    assert len(lines) > 1, "a long answer is wrapped"
    plots.data_uri(figure, "png")
    renderer = FigureCanvasAgg(figure).get_renderer()
    edges = [text.get_window_extent(renderer).x1 for text in axes.texts]
    assert max(edges) < figure.bbox.x1, "and stays within the figure"


def test_without_truths_there_is_no_line_for_them(rng):
    images = rng.integers(0, 256, (1, 4, 4)).astype(np.uint8)
    (axes,) = plots.plot_words_of_pictures(images, [0], {"LSH": [[("sky", True)]]}).axes
    assert [text.get_text() for text in axes.texts] == ["LSH", "\N{CHECK MARK} sky"]


def test_nothing_to_draw_is_refused():
    images = np.zeros((1, 2, 2), np.uint8)
    with pytest.raises(InvalidInputError, match="`words` must hold at least one"):
        plots.plot_pictures_of_words(images, [], {"A": []}, {"A": []})
    with pytest.raises(InvalidInputError, match="`rows` must hold at least one"):
        plots.plot_pictures_of_words(images, ["sky"], {}, {})
    with pytest.raises(InvalidInputError, match="`query_rows` must hold at least one"):
        plots.plot_words_of_pictures(images, [], {"A": []})
