import math

import numpy as np
import pytest

from kinhash.errors import InvalidInputError
from kinhash.features import gist as gist_module
from kinhash.features.gist import gist


def naive_gist(image):
    """LMgist for one square image of even side, line by line, in double precision."""
    grey = image.astype(float)
    if grey.ndim == 3:
        grey = (grey[:, :, 0] + grey[:, :, 1] + grey[:, :, 2]) / 3
    grey -= grey.min()
    grey = 255 * grey / grey.max()

    width, cycles = 5, 4
    logs = np.pad(np.log(grey + 1), width, mode="symmetric")
    n = len(logs)
    fx, fy = np.meshgrid(np.arange(-n // 2, n // 2), np.arange(-n // 2, n // 2))
    low_pass = np.fft.fftshift(np.exp(-(fx**2 + fy**2) / (cycles / math.sqrt(math.log(2))) ** 2))
    detail = logs - np.fft.ifft2(np.fft.fft2(logs) * low_pass).real
    contrast = np.sqrt(np.abs(np.fft.ifft2(np.fft.fft2(detail**2) * low_pass)))
    clean = (detail / (0.2 + contrast))[width:-width, width:-width]

    border = 32
    padded = np.pad(clean, border, mode="symmetric")
    n = len(padded)
    fx, fy = np.meshgrid(np.arange(-n // 2, n // 2), np.arange(-n // 2, n // 2))
    frequency = np.fft.fftshift(np.sqrt(fx**2 + fy**2))
    angle = np.fft.fftshift(np.angle(fx + 1j * fy))
    spectrum = np.fft.fft2(padded)
    side = len(clean) // 4
    features = []
    for scale in range(3):
        for orientation in range(8):
            turned = angle + math.pi / 8 * orientation
            turned = turned + 2 * math.pi * (turned < -math.pi) - 2 * math.pi * (turned > math.pi)
            transfer = np.exp(
                -10 * 0.35 * (frequency / n / (0.3 / 1.85**scale) - 1) ** 2
                - 2 * (16 * 8**2 / 32**2) * math.pi * turned**2
            )
            strength = np.abs(np.fft.ifft2(spectrum * transfer))[border:-border, border:-border]
            for row in range(4):
                for column in range(4):
                    block = [
                        strength[y, x]
                        for y in range(row * side, (row + 1) * side)
                        for x in range(column * side, (column + 1) * side)
                    ]
                    features.append(sum(block) / len(block))
    return np.array(features)


def smooth_images(n, side, seed, *, colour=True):
    """Blurred noise: like photographs, and unlike noise, it has most of its power in slow waves."""
    rng = np.random.default_rng(seed)
    shape = (n, side, side, 3) if colour else (n, side, side)
    noise = rng.normal(size=shape)
    for axis in (1, 2):
        noise = sum(np.roll(noise, shift, axis=axis) for shift in range(4))
    low, high = noise.min(), noise.max()
    return np.round((noise - low) / (high - low) * 255).astype(np.uint8)


@pytest.mark.parametrize(("side", "colour"), [(32, True), (32, False), (16, True), (64, True)])
def test_features_are_those_of_the_line_by_line_definition(side, colour):
    images = smooth_images(3, side, seed=side, colour=colour)
    expected = np.array([naive_gist(image) for image in images])
    np.testing.assert_allclose(gist(images), expected, rtol=2e-4, atol=2e-6)


def test_there_are_384_features_of_float32():
    features = gist(smooth_images(5, 32, seed=0))
    assert features.shape == (5, 384)
    assert features.dtype == np.float32


@pytest.mark.parametrize("shape", [(17, 19), (33, 33), (28, 28), (60, 45)])
def test_any_image_of_at_least_16_pixels_a_side_is_described(shape):
    images = np.random.default_rng(0).integers(0, 256, (2, *shape), dtype=np.uint8)
    features = gist(images)
    assert np.isfinite(features).all()
    assert (features > 0).all()


def test_blocks_of_an_uneven_side_cover_each_pixel_once():
    values = np.arange(18 * 19, dtype=np.float32).reshape(1, 18, 19)
    rows, columns = (0, 4, 9, 13, 18), (0, 4, 9, 14, 19)
    expected = [
        [
            np.mean(
                [
                    values[0, y, x]
                    for y in range(*rows[i : i + 2])
                    for x in range(*columns[j : j + 2])
                ]
            )
            for j in range(4)
        ]
        for i in range(4)
    ]
    np.testing.assert_allclose(gist_module._block_means(values)[0], expected, rtol=1e-6)


def test_an_image_has_the_same_features_in_any_batch_and_on_any_number_of_threads():
    images = smooth_images(40, 32, seed=1)
    together = gist(images)
    np.testing.assert_array_equal(gist(images, n_jobs=1), together)
    np.testing.assert_array_equal(gist(images[7:31], n_jobs=3), together[7:31])
    np.testing.assert_array_equal(
        np.concatenate([gist(images[i : i + 1]) for i in range(40)]), together
    )


def test_the_images_are_left_as_they_were():
    images = smooth_images(3, 32, seed=2)
    before = images.copy()
    gist(images)
    np.testing.assert_array_equal(images, before)


def test_brightness_and_contrast_hardly_matter():
    images = smooth_images(8, 32, seed=3)
    darker = (images // 2 + 20).astype(np.uint8)
    features = gist(images)
    change = np.linalg.norm(gist(darker) - features, axis=1)
    apart = np.linalg.norm(features - np.roll(features, 1, axis=0), axis=1)
    assert change.max() < 0.1 * apart.min()


def test_upright_stripes_excite_other_filters_than_lying_stripes():
    stripes = np.tile(np.where(np.arange(32) % 4 < 2, 255, 0).astype(np.uint8), (32, 1))
    upright, lying = gist(np.stack([stripes, stripes.T])).reshape(2, 3, 8, 16).mean(axis=(1, 3))
    # A wave along x has the angle 0, a wave along y the angle of half a turn of the eight filters.
    assert upright.argmax() == 0
    assert lying.argmax() == 4


def test_a_flat_image_has_no_edges():
    np.testing.assert_array_equal(gist(np.full((2, 32, 32), 7, dtype=np.uint8)), 0)


def test_no_images_give_no_features():
    assert gist(np.empty((0, 32, 32), dtype=np.uint8)).shape == (0, 384)


def test_progress_rises_to_the_number_of_images():
    calls = []
    gist(smooth_images(40, 32, seed=4), progress=lambda done, total: calls.append((done, total)))
    done = [call[0] for call in calls]
    assert done == sorted(done)
    assert calls[-1] == (40, 40)


def test_an_interrupt_ends_the_work_that_is_still_queued():
    def interrupt(done, total):
        raise KeyboardInterrupt

    images = np.broadcast_to(smooth_images(1, 32, seed=5), (100_000, 32, 32, 3))
    with pytest.raises(KeyboardInterrupt):
        gist(images, progress=interrupt)


@pytest.mark.parametrize("shape", [(32, 32), (2, 15, 32), (2, 32, 32, 4)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(InvalidInputError, match=r"`images` must have the shape .*at least 16, got"):
        gist(np.zeros(shape, dtype=np.uint8))


def test_no_threads_are_refused():
    with pytest.raises(InvalidInputError, match="`n_jobs` must be an integer of at least 1, got 0"):
        gist(np.zeros((1, 32, 32), dtype=np.uint8), n_jobs=0)
