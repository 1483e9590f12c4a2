import base64
import importlib
import sys

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from kinhash.codes import Codes
from kinhash.errors import InvalidInputError, MissingExtraError
from kinhash.show import plots


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def curves():
    """Two methods at two lengths, the longer one first."""
    return {
        ("A", 128): [0.1, 0.2, 0.3],
        ("A", 48): [0.2, 0.3, 0.4],
        ("B", 48): [0.0, 0.5, 1.0],
        ("B", 128): [0.0, 0.1, 0.2],
    }


@pytest.mark.parametrize(
    ("plot", "label"),
    [
        (plots.plot_recall_against_radius, "recall (%)"),
        (plots.plot_precision_against_radius, "precision (%)"),
    ],
)
def test_curves_are_percent_over_the_radius(curves, plot, label):
    (axes,) = plot(curves).axes
    assert axes.get_ylabel() == label
    assert axes.get_xlabel().startswith("radius")
    lines = {line.get_label(): line for line in axes.lines}
    assert list(lines) == ["A, 128 bits", "A, 48 bits", "B, 48 bits", "B, 128 bits"]
    assert lines["B, 48 bits"].get_xdata().tolist() == [0, 1, 2]
    assert lines["B, 48 bits"].get_ydata().tolist() == [0, 50, 100]


def test_methods_differ_by_marker_and_lengths_by_line_style(curves):
    (axes,) = plots.plot_recall_against_radius(curves).axes
    lines = {line.get_label(): line for line in axes.lines}
    marker = {label: line.get_marker() for label, line in lines.items()}
    assert marker["A, 48 bits"] == marker["A, 128 bits"]
    assert marker["B, 48 bits"] == marker["B, 128 bits"]
    assert marker["A, 48 bits"] != marker["B, 48 bits"]
    assert not lines["A, 48 bits"].is_dashed()
    assert lines["A, 128 bits"].is_dashed()
    assert not lines["B, 48 bits"].is_dashed()


@pytest.mark.parametrize("signed", [False, True])
def test_active_bits_are_counted_for_signed_codes_too(signed):
    # Active bits: 1, 1, 2 and 0, so shares of 25, 50 and 25 %.
    dense = np.array([[1, 0, 0], [0, 0, 1], [1, 1, 0], [0, 0, 0]])
    codes = Codes.from_dense(-dense if signed else dense, signed=signed)
    (axes,) = plots.plot_active_bits({"mine": codes}).axes
    fill, outline = axes.patches
    for steps in (fill, outline):
        assert steps.get_data().values.tolist() == [25, 50, 25]
        assert steps.get_data().edges.tolist() == [-0.5, 0.5, 1.5, 2.5]
    assert outline.get_label() == "mine: mean 1.0 of 3"
    assert axes.get_xlabel() == "active bits of a code"
    assert axes.get_ylabel() == "share of the database (%)"


def test_histograms_differ_by_line_style(rng):
    codes = Codes.from_dense(rng.integers(0, 2, (9, 8)))
    (axes,) = plots.plot_active_bits({"a": codes, "b": codes, "c": codes}).axes
    outlines = [patch for patch in axes.patches if patch.get_label() in axes_labels(axes)]
    assert len({str(outline.get_linestyle()) for outline in outlines}) == 3


def axes_labels(axes):
    return axes.get_legend_handles_labels()[1]


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


def cells(figure):
    """Return the boxes that are no background: (x, row) of the cell, filled, and colour."""
    (axes,) = figure.axes
    found = {}
    for box in axes.patches:
        centre = box.get_x() + box.get_width() / 2, box.get_y() + box.get_height() / 2
        colour = to_hex(box.get_facecolor() if box.get_fill() else box.get_edgecolor())
        if colour != plots._EMPTY:
            found[round(centre[0] - 0.5, 6), round(centre[1], 6)] = box.get_fill(), colour
    return found


def test_strips_show_which_bits_agree():
    query = Codes.from_dense([[1, 1, 0, 0]], rank=[[1, 0]])
    neighbours = Codes.from_dense([[1, 1, 0, 0], [1, 0, 1, 0]], rank=[[1, 0], [0, 0]])
    figure = plots.plot_codes(query, [neighbours])
    found = cells(figure)
    rows = sorted({y for _, y in found})
    same, other = (True, plots._COLOURS[0]), (True, plots._COLOURS[1])
    missing = False, plots._COLOURS[1]
    by_row = [{x: found[x, y] for x in range(8) if (x, y) in found} for y in rows]
    # Bucket bits at 0 to 3, rank bits at 6 and 7, after a gap.
    assert by_row == [
        {0: same, 1: same, 6: same},
        {0: same, 1: same, 6: same},
        {0: same, 1: missing, 2: other, 6: missing},
    ]
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == [
        *("4 bucket bits", "2 rank bits", "query"),
        *("1", "distance 0, rank 0", "2", "distance 2, rank 1"),
    ]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "active in both",
        "only in the neighbour",
        "only in the query",
        "inactive",
    ]


def test_strips_of_codes_without_rank_bits_and_with_signs():
    query = Codes.from_dense([[1, -1, 0]], signed=True)
    neighbours = Codes.from_dense([[-1, -1, 0]], signed=True)
    figure = plots.plot_codes(query, [neighbours], [["no. 7"]])
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts] == ["3 bits", "query", "no. 7", "distance 2"]
    # A bar for each -1: one of the query, two of the neighbour.
    assert sorted(np.mean(line.get_xdata()) for line in axes.lines) == [0.5, 1.5, 1.5]
    assert (True, plots._COLOURS[1]) in cells(figure).values()


def test_strips_of_several_queries_and_of_wide_codes_are_drawn(rng):
    for n_bits in (8, 700):
        codes = Codes.from_dense(rng.integers(0, 2, (4, n_bits)), rank=rng.integers(0, 2, (4, 3)))
        figure = plots.plot_codes(codes[:2], [codes[2:], codes[:0]])
        assert figure.get_figwidth() < 12
        assert len(plots.data_uri(figure)) > 1000


def test_pictures_of_a_word_stand_in_a_line_for_each_method(rng):
    images = rng.integers(0, 256, (5, 4, 2, 3)).astype(np.uint8)
    figure = plots.plot_pictures_of_words(
        images,
        ["sky", "sea", "fox"],
        {"A": [[0, 1], [2, 3], [4, 0]], "B": [[1, 2], [3], [0, 1]]},
        {"A": [[True, False], [True, True], [False, False]], "B": [[True, True], [False], [1, 0]]},
    )
    (axes,) = figure.axes
    texts = [text.get_text() for text in axes.texts]
    assert texts == ["sky", "A", "B", "sea", "A", "B", "fox", "A", "B"]
    assert [text.get_position()[0] for text in axes.texts[:1]] == [0]
    assert axes.texts[1].get_position()[1] < axes.texts[2].get_position()[1], "A above B"
    kinds = {colour: kind for kind, colour in plots.FRAMES.items()}
    frames = [kinds[to_hex(patch.get_edgecolor())] == "correct" for patch in axes.patches]
    assert frames == [1, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0]
    assert len(axes.lines) == frames.count(False), "a cross on each wrong picture"
    shown = np.asarray(axes.images[0].get_array())
    assert shown.shape == (4, 4, 3), "in its own proportions, on a square"
    assert np.array_equal(shown[:, 1:3], images[0])
    assert (shown[:, [0, 3]] == 255).all()


def test_words_of_a_picture_are_ticked_and_green_where_correct(rng):
    images = rng.integers(0, 256, (3, 4, 4)).astype(np.uint8)
    many = [(f"word{i}", i % 2 == 0) for i in range(40)]
    figure = plots.plot_words_of_pictures(
        images, [2, 0], {"A": [[("sky", True), ("fox", False)], many], "B": [[], [("sea", True)]]}
    )
    (axes,) = figure.axes
    assert len(axes.images) == 2
    texts = {text.get_text(): text for text in axes.texts}
    assert {"A", "B", "\N{CHECK MARK} sky", "fox", "\N{CHECK MARK} sea"} <= texts.keys()
    green = texts["\N{CHECK MARK} sky"], texts["\N{CHECK MARK} word38"]
    assert {to_hex(text.get_color()) for text in green} == {plots.FRAMES["correct"]}
    assert to_hex(texts["fox"].get_color()) == plots.INK
    lines = {text.get_position()[1] for name, text in texts.items() if "word" in name}
    assert len(lines) > 1, "a long answer is wrapped"
    plots.data_uri(figure, "png")
    renderer = FigureCanvasAgg(figure).get_renderer()
    edges = [text.get_window_extent(renderer).x1 for text in axes.texts]
    assert max(edges) < figure.bbox.x1, "and stays within the figure"


def test_history_has_panels_for_loss_active_bits_and_shares():
    look = {"loss": 2.0, "pull": 1.0, "push": 0.7, "sparsity": 0.3, "active": 5.0}
    history = [
        {"step": 10, **look, "unique": 0.5, "empty": 0.0},
        {"step": 20, **look, "unique": 0.25, "empty": 0.1},
    ]
    left, middle, right = plots.plot_history(history).axes
    assert [axes.get_ylabel() for axes in (left, middle, right)] == [
        "held-out loss",
        "active bits per code",
        "share of held-out items (%)",
    ]
    assert {axes.get_xlabel() for axes in (left, middle, right)} == {"training step"}
    assert len(left.lines) == 4
    assert middle.lines[0].get_ydata().tolist() == [5, 5]
    assert [line.get_ydata().tolist() for line in right.lines] == [[50, 25], [0, 10]]
    assert right.lines[0].get_xdata().tolist() == [10, 20]


def test_terms_that_a_history_lacks_are_left_out():
    history = [{"step": 1, "loss": 2.0, "pull": 1.0, "push": 1.0, "active": 3.0, "unique": 1.0}]
    left, _, right = plots.plot_history(history).axes
    assert (len(left.lines), len(right.lines)) == (3, 1)


def test_an_empty_history_is_refused():
    with pytest.raises(InvalidInputError, match="`history` is empty"):
        plots.plot_history([])


def test_nothing_to_draw_is_refused():
    with pytest.raises(InvalidInputError, match="`curves` must hold at least one entry, got none"):
        plots.plot_recall_against_radius({})
    with pytest.raises(InvalidInputError, match="`codes_by_name` must hold at least one entry"):
        plots.plot_active_bits({})
    with pytest.raises(InvalidInputError, match="`query_rows` must hold at least one entry"):
        plots.plot_neighbours(np.zeros((1, 2, 2), np.uint8), [], [], [])
    with pytest.raises(InvalidInputError, match="`queries` must hold at least one entry"):
        plots.plot_codes(Codes.from_dense(np.zeros((0, 3))), [])
    with pytest.raises(InvalidInputError, match="`words` must hold at least one"):
        plots.plot_pictures_of_words(np.zeros((1, 2, 2), np.uint8), [], {"A": []}, {"A": []})
    with pytest.raises(InvalidInputError, match="`query_rows` must hold at least one"):
        plots.plot_words_of_pictures(np.zeros((1, 2, 2), np.uint8), [], {"A": []})


def test_a_figure_becomes_a_data_uri(curves):
    figure = plots.plot_recall_against_radius(curves)
    svg, png = plots.data_uri(figure), plots.data_uri(figure, "png")
    assert svg.startswith("data:image/svg+xml;base64,")
    assert b"<svg" in base64.b64decode(svg.partition(",")[2])
    assert png.startswith("data:image/png;base64,")
    assert base64.b64decode(png.partition(",")[2]).startswith(b"\x89PNG")


def test_equal_figures_are_equal_files(curves):
    one, two = (plots.plot_recall_against_radius(curves) for _ in range(2))
    assert plots.data_uri(one) == plots.data_uri(two)


def test_figures_are_replaced_as_all_files_are(curves, tmp_path):
    (tmp_path / "elsewhere.png").touch()
    (tmp_path / "figure.png").symlink_to("elsewhere.png")
    files = plots.save_figure(plots.plot_recall_against_radius(curves), tmp_path / "figure")
    assert (tmp_path / "figure.png").is_symlink()
    assert (tmp_path / "elsewhere.png").read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in tmp_path.iterdir()} == {
        "elsewhere.png",
        *(file.name for file in files),
    }


def test_drawing_leaves_no_global_state(curves):
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    plots.data_uri(plots.plot_recall_against_radius(curves))
    assert dict(mpl.rcParams) == before
    assert "matplotlib.pyplot" not in sys.modules or not mpl.pyplot.get_fignums()


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "kinhash.show.plots")
    with pytest.raises(MissingExtraError, match=r"Plots need matplotlib.*'kinhash\[plot\]'"):
        importlib.import_module("kinhash.show.plots")


def test_curves_that_reach_nothing_leave_the_panels_their_room():
    panels = {name: {"some": [0.5, 0.2], "none": [0.0, 0.0]} for name in ("radius 0", "all")}
    figure = plots.plot_precision_recall(panels)
    figure.draw_without_rendering()
    widths = [axes.get_position().width for axes in figure.axes]
    assert min(widths) > 0.35
