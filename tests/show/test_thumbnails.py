import base64
import io

import numpy as np
import pytest

from kinhash.errors import InvalidInputError
from kinhash.show.thumbnails import thumbnail


def opened(uri):
    from PIL import Image

    start, _, data = uri.partition(",")
    assert start == "data:image/jpeg;base64"
    return Image.open(io.BytesIO(base64.b64decode(data)))


def test_pictures_are_small_and_keep_their_shape(tmp_path):
    from PIL import Image

    Image.new("RGB", (800, 400), (200, 10, 10)).save(tmp_path / "x.png")
    found = opened(thumbnail(tmp_path / "x.png"))
    assert found.size == (240, 120)
    assert np.asarray(found)[60, 120, 0] > 190


def test_pixels_are_enlarged():
    found = opened(thumbnail(np.zeros((8, 8), np.uint8)))
    assert found.size == (96, 96)


def test_a_file_that_is_no_picture_is_named(tmp_path):
    (tmp_path / "x.png").write_text("no")
    with pytest.raises(InvalidInputError, match=r"x\.png cannot be read as a picture"):
        thumbnail(tmp_path / "x.png")
