import subprocess
import sys

import numpy as np
import pytest

from kinhash.show.plots.style import draw_picture, sheet


def test_without_matplotlib_the_error_names_the_extra():
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "try:\n    import kinhash.show.plots\n"
        "except ImportError as error:\n    print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    said = done.stdout.decode()
    assert said.startswith("MissingExtraError Plots need matplotlib"), done.stderr
    assert "'kinhash[plot]'" in said


def test_the_unit_of_a_sheet_is_an_inch():
    figure, axes = sheet(4, 2)
    assert tuple(figure.get_size_inches()) == (4, 2)
    draw_picture(axes, np.zeros((8, 8), np.uint8), 1, 1, None, side=0.5)
    (image,) = axes.images
    box = image.get_window_extent()
    assert (box.x0, box.x1) == pytest.approx((figure.dpi, 1.5 * figure.dpi))
    assert (box.y0, box.y1) == pytest.approx((0.5 * figure.dpi, figure.dpi))
    assert not axes.patches, "no frame without a kind"


def test_large_pictures_keep_their_pixels_and_tiny_ones_are_smoothed():
    _, axes = sheet(4, 2)
    for n_pixels in (8, 128):
        draw_picture(axes, np.zeros((n_pixels, n_pixels), np.uint8), 0, 0, "query", side=1)
    assert [image.get_interpolation() for image in axes.images] == ["bicubic", "nearest"]
