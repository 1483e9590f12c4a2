import builtins
import io

import numpy as np
import pytest
import scipy.fft

from kinhash.errors import InvalidInputError, MissingExtraError
from kinhash.features.perceptual_hash import N_BITS, perceptual_hashes, phash


@pytest.fixture
def pictures(tmp_path):
    """Smooth random pictures, and files of copies of the first."""
    from PIL import Image, ImageEnhance

    rng = np.random.default_rng(3)
    small = rng.integers(0, 256, (4, 6, 8, 3), np.uint8)
    made = [Image.fromarray(one).resize((320, 240), Image.Resampling.BICUBIC) for one in small]
    paths = []
    for name, picture in [
        ("0.png", made[0]),
        ("half.png", made[0].resize((160, 120))),
        ("bright.png", ImageEnhance.Brightness(made[0]).enhance(0.8)),
        ("small.jpg", made[0]),
        *((f"{i}.png", made[i]) for i in (1, 2, 3)),
    ]:
        picture.save(tmp_path / name, **({"quality": 30} if name.endswith("jpg") else {}))
        paths.append(tmp_path / name)
    return paths


def test_bits_are_frequencies_above_their_median():
    grey = np.random.default_rng(0).random((48, 48))
    frequencies = scipy.fft.dctn(grey, norm="ortho")[:12, :12].ravel()
    expected = frequencies > np.median(frequencies[1:])
    expected[0] = False
    np.testing.assert_array_equal(phash(grey), expected)


def test_copies_are_near_and_other_pictures_far(pictures):
    seen = []
    codes = perceptual_hashes(pictures, n_threads=2, progress=lambda *told: seen.append(told))
    assert (len(codes), codes.n_bits) == (7, N_BITS)
    dense = codes.to_dense().astype(int)
    distances = np.abs(dense - dense[0]).sum(axis=1)
    assert distances[:4].max() <= 20
    assert distances[4:].min() >= 40
    assert seen[-1] == (7, 7)


def test_a_picture_that_lies_on_its_side_by_its_notes_is_turned(pictures, tmp_path):
    from PIL import Image

    picture = Image.open(pictures[0])
    notes = Image.Exif()
    notes[0x0112] = 6  # to be shown turned by 90 degrees clockwise
    turned = tmp_path / "turned.jpg"
    picture.transpose(Image.Transpose.ROTATE_90).save(turned, exif=notes)
    dense = perceptual_hashes([pictures[0], turned]).to_dense().astype(int)
    assert np.abs(dense[0] - dense[1]).sum() <= 12


def test_files_that_cannot_be_read_are_named(pictures, tmp_path):
    (tmp_path / "no.jpg").write_text("no picture")
    (tmp_path / "cut.png").write_bytes(pictures[0].read_bytes()[:900])
    paths = [*pictures, tmp_path / "no.jpg", tmp_path / "cut.png", tmp_path / "not-there.png"]
    with pytest.raises(InvalidInputError) as caught:
        perceptual_hashes(paths)
    told = str(caught.value)
    assert told.startswith(f"3 of 10 pictures cannot be read: {tmp_path}/no.jpg: not a picture; ")
    assert "not-there.png: No such file or directory. Leave them out." in told


def test_pillow_is_an_extra(monkeypatch):
    known = builtins.__import__

    def without(name, *more):
        if name.startswith("PIL"):
            raise ModuleNotFoundError("no PIL", name="PIL")
        return known(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"pip install 'kinhash\[images\]'"):
        perceptual_hashes([io.BytesIO()])
