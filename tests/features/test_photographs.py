import colorsys

import numpy as np
import pytest
from PIL import Image

from kinhash.features import photographs as module
from kinhash.features.gist import gist
from kinhash.features.photographs import (
    cached_photo_features,
    colour_histogram,
    photo_features,
)


@pytest.fixture
def images(rng):
    coarse = rng.integers(0, 256, (5, 6, 4, 3), dtype=np.uint8)
    return np.stack([np.asarray(Image.fromarray(image).resize((20, 31))) for image in coarse])


def test_the_first_384_are_gist_of_the_grey_square(images):
    features = photo_features(images)
    squares = [Image.fromarray(i).convert("L").resize((64, 64), Image.BILINEAR) for i in images]
    assert features.shape == (5, 672)
    assert features.dtype == np.float32
    np.testing.assert_array_equal(features[:, :384], gist(np.stack([*map(np.asarray, squares)])))


def test_the_rest_counts_colours_as_a_naive_loop_does(images):
    for image, colours in zip(images, photo_features(images)[:, 384:], strict=True):
        counts = np.zeros((2, 2, 8, 3, 3))
        hsv = np.asarray(Image.fromarray(image).convert("HSV"))
        for y in range(31):
            for x in range(20):
                hue, saturation, value = (int(part) for part in hsv[y, x])
                counts[
                    y * 2 // 31, x * 2 // 20, hue // 32, saturation * 3 // 256, value * 3 // 256
                ] += 1
        np.testing.assert_allclose(colours, np.sqrt(counts.ravel() / 620), rtol=1e-6)


def test_hue_saturation_and_value_are_the_usual_ones():
    for colour in ((255, 0, 0), (40, 200, 90), (10, 30, 250), (130, 110, 120)):
        hsv = [int(256 * part) for part in colorsys.rgb_to_hsv(*(c / 255 for c in colour))]
        image = np.full((1, 16, 16, 3), colour, dtype=np.uint8)
        (place,) = np.flatnonzero(photo_features(image)[0, 384 : 384 + 72])
        assert place // 9 == min(hsv[0], 255) // 32


def test_a_plain_picture_has_one_colour_in_each_block():
    histogram = colour_histogram(np.zeros((10, 10, 3), dtype=np.uint8))
    np.testing.assert_array_equal(np.flatnonzero(histogram), [0, 72, 144, 216])
    np.testing.assert_allclose(histogram[[0, 72, 144, 216]], 0.5)


def test_features_are_extracted_once_and_again_for_other_images(images, tmp_path, monkeypatch):
    calls = []
    first = cached_photo_features("mine", images, tmp_path, lambda *done: calls.append(done))
    assert calls[-1] == (5, 5)
    (stored,) = (tmp_path / "features").iterdir()
    assert stored.name.startswith("mine-gist-")
    monkeypatch.setattr(module, "photo_features", None)
    np.testing.assert_array_equal(cached_photo_features("mine", images, tmp_path, None), first)
    with pytest.raises(TypeError):
        cached_photo_features("mine", images[::-1], tmp_path, None)


@pytest.mark.parametrize("version", ["GIST_VERSION", "COLOUR_VERSION"])
def test_a_new_version_is_never_given_stale_features(images, tmp_path, monkeypatch, version):
    cached_photo_features("mine", images, tmp_path, None)
    monkeypatch.setattr(module, version, 99)
    cached_photo_features("mine", images, tmp_path, None)
    assert len(list((tmp_path / "features").iterdir())) == 2
