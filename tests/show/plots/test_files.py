import base64
import sys

import pytest

from kinhash.show import plots


@pytest.fixture
def curves():
    return {("LSH", 48): [0.2, 0.3, 0.4], ("KSH", 48): [0.0, 0.5, 1.0]}


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
