import numpy as np
import pytest
from matplotlib.colors import to_hex

from kinhash.errors import InvalidInputError
from kinhash.show import plots
from kinhash.show.looks import LOOKS


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(6, 4, 4), (6, 4, 4, 3)])
def test_a_plate_frames_queries_and_right_and_wrong_neighbours(rng, shape):
    images = rng.integers(0, 256, shape).astype(np.uint8)
    figure = plots.plot_neighbours(
        images, [0, 1], [[2, 3, 4], [5, 3]], [[True, False, True], [False, True]]
    )
    (axes,) = figure.axes
    assert len(axes.images) == 7
    kinds = {colour: kind for kind, colour in plots.FRAMES.items()}
    frames = [kinds[to_hex(patch.get_edgecolor())] for patch in axes.patches]
    assert frames == ["query", "correct", "wrong", "correct", "query", "wrong", "correct"]
    styles = {
        kind: {
            patch.get_linestyle()
            for patch, k in zip(axes.patches, frames, strict=True)
            if k == kind
        }
        for kind in kinds.values()
    }
    assert styles == {"query": {"-"}, "correct": {"-"}, "wrong": {"--"}}
    assert len(axes.lines) == 2, "one cross per wrong neighbour"
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["query", "1", "2", "3"]


def test_a_plate_shows_the_images_asked_for(rng):
    images = rng.integers(0, 256, (3, 4, 4)).astype(np.uint8)
    (axes,) = plots.plot_neighbours(images, [2], [[0, 1]], [[True, True]]).axes
    shown = [np.asarray(image.get_array()) for image in axes.images]
    assert np.array_equal(shown, images[[2, 0, 1]])


def test_a_plate_of_several_methods_marks_what_is_wrong(rng):
    images = rng.integers(0, 256, (6, 4, 4)).astype(np.uint8)
    found = [
        {"LSH": plots.Found([1, 2], [False, True]), "KSH": plots.Found([3, 4], [True, True])},
        {"LSH": plots.Found([5, 1], [False, False]), "KSH": plots.Found([2, 3], [True, False])},
        {"LSH": plots.Found([4, 4], [True, True]), "KSH": plots.Found([4, 4], [True, True])},
    ]
    figure = plots.plot_methods_apart(images, [0, 4, 5], found, ["one", "two", "three"])
    (axes,) = figure.axes
    shown = [np.asarray(image.get_array()) for image in axes.images]
    assert np.array_equal(shown, images[[0, 1, 2, 3, 4, 4, 5, 1, 2, 3, 5, 4, 4, 4, 4]])
    kinds = {colour: kind for kind, colour in plots.FRAMES.items()}
    frames = [kinds[to_hex(patch.get_edgecolor())] for patch in axes.patches]
    assert frames == ["query", "wrong", "query", "wrong", "wrong", "wrong", "query"]
    assert len(axes.lines) == 4, "a cross on each wrong answer"
    assert [text.get_text() for text in axes.texts] == [
        *("one", "LSH", "1/2", "KSH", "2/2"),
        *("two", "LSH", "0/2", "KSH", "1/2"),
        *("three", "LSH", "2/2", "KSH", "2/2"),
    ]
    for text in axes.texts:
        if text.get_text() in LOOKS:
            assert text.get_color() == LOOKS[text.get_text()].colour
    one, two, three = (text.get_position() for text in axes.texts[::5])
    assert one[1] == two[1] < three[1], "two blocks side by side, the third below"
    assert one[0] == three[0] < two[0]


def test_no_queries_are_refused():
    with pytest.raises(InvalidInputError, match="`query_rows` must hold at least one entry"):
        plots.plot_neighbours(np.zeros((1, 2, 2), np.uint8), [], [], [])
    with pytest.raises(InvalidInputError, match="`query_rows` must hold at least one entry"):
        plots.plot_methods_apart(np.zeros((1, 2, 2), np.uint8), [], [], [])
