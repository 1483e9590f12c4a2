import gzip
import struct

import numpy as np
import pytest

from kinhash.datasets import fashion_mnist, load
from kinhash.errors import InvalidInputError

COUNTS = {"train": 6, "t10k": 4}


def idx(array):
    """The IDX layout: 0, 0, 8 (unsigned bytes), number of axes, big-endian lengths, values."""
    return (
        bytes([0, 0, 8, array.ndim])
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.astype(np.uint8).tobytes()
    )


def write_files(folder, *, zipped):
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    images, labels = [], []
    for part, n in COUNTS.items():
        images.append(rng.integers(0, 256, (n, 28, 28)))
        labels.append(rng.integers(0, 10, n))
        for kind, array in (("images-idx3", images[-1]), ("labels-idx1", labels[-1])):
            path, content = folder / f"{part}-{kind}-ubyte", idx(array)
            if zipped:
                path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(content))
            else:
                path.write_bytes(content)
    return np.concatenate(images), np.concatenate(labels)


@pytest.fixture(autouse=True)
def no_other_copies(tmp_path, monkeypatch, request):
    """Hide the copies that this computer may have."""
    if "data" in request.keywords:
        return
    monkeypatch.delenv("KINHASH_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(fashion_mnist, "SYSTEM_FOLDER", tmp_path / "system")


@pytest.mark.parametrize("zipped", [False, True])
def test_training_images_come_first_and_vectors_are_pixels(tmp_path, zipped):
    images, labels = write_files(tmp_path / "here", zipped=zipped)
    data = load("fashion-mnist", root=tmp_path / "here")
    np.testing.assert_array_equal(data.images, images)
    np.testing.assert_array_equal(data.labels, labels)
    np.testing.assert_allclose(data.vectors, images.reshape(10, 784) / 255, rtol=1e-6)
    assert data.images.dtype == np.uint8
    assert data.labels.dtype == np.int64
    assert data.vectors.dtype == np.float32
    assert data.names[9] == "Ankle boot"


@pytest.mark.parametrize("place", ["root", "environment", "home", "system"])
def test_files_are_found_in_each_documented_place(tmp_path, monkeypatch, place):
    monkeypatch.setenv("KINHASH_DATA", str(tmp_path / "environment"))
    folders = {
        "root": tmp_path / "root" / "fashion-mnist",
        "environment": tmp_path / "environment" / "fashion-mnist",
        "home": tmp_path / "home" / ".cache" / "kinhash" / "fashion-mnist",
        "system": tmp_path / "system",
    }
    write_files(folders[place], zipped=True)
    assert len(load("fashion-mnist", root=tmp_path / "root")) == 10


def test_missing_files_are_named_with_folders_and_remedy(tmp_path):
    write_files(tmp_path, zipped=True)
    (tmp_path / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(InvalidInputError) as caught:
        load("fashion-mnist", root=tmp_path)
    message = str(caught.value)
    assert "Fashion-MNIST was not found" in message
    assert "t10k-labels-idx1-ubyte" in message
    assert str(tmp_path / "system") in message
    assert "dataset-fashion-mnist" in message


def test_a_file_of_the_wrong_size_is_named_with_both_sizes(tmp_path):
    write_files(tmp_path, zipped=False)
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:-1])
    size = 16 + 6 * 784
    with pytest.raises(
        InvalidInputError, match=rf"{path.name} must have {size} bytes .* but has {size - 1}"
    ):
        load("fashion-mnist", root=tmp_path)


@pytest.mark.parametrize("content", [b"", b"\0\0\x08", b"\0\0\x08\x01\0\0\0\x06", b"<html>"])
def test_a_foreign_file_is_named(tmp_path, content):
    write_files(tmp_path, zipped=False)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"train-images.* must be an IDX file .* 3 axes"):
        load("fashion-mnist", root=tmp_path)


@pytest.mark.parametrize(
    "damage", [lambda c: c[: len(c) // 2], lambda c: b"x" + c, lambda c: c[:-3]]
)
def test_a_damaged_gzip_file_is_named(tmp_path, damage):
    write_files(tmp_path, zipped=True)
    path = tmp_path / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InvalidInputError, match=r"t10k-images-idx3-ubyte.gz cannot be read"):
        load("fashion-mnist", root=tmp_path)


def test_images_and_labels_of_different_number_are_refused(tmp_path):
    write_files(tmp_path, zipped=False)
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(idx(np.zeros(3)))
    with pytest.raises(InvalidInputError, match=r"has 3 labels but .* has 4 images"):
        load("fashion-mnist", root=tmp_path)


def test_images_of_another_size_are_refused(tmp_path):
    write_files(tmp_path, zipped=False)
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(idx(np.zeros((4, 20, 28))))
    with pytest.raises(
        InvalidInputError, match="must hold images of 28 x 28 pixels, but has 20 x 28"
    ):
        load("fashion-mnist", root=tmp_path)


def test_a_label_beyond_the_classes_is_refused(tmp_path):
    write_files(tmp_path, zipped=False)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(np.full(6, 11)))
    with pytest.raises(InvalidInputError, match=r"labels in \[0, 9\], but has 11"):
        load("fashion-mnist", root=tmp_path)


def test_other_features_are_refused(tmp_path):
    with pytest.raises(
        InvalidInputError, match=r"features for fashion-mnist 'gist'. Known: pixels"
    ):
        load("fashion-mnist", root=tmp_path, features="gist")


@pytest.mark.data
def test_the_real_data_have_ten_classes_of_7000(real_data):
    data = real_data("fashion-mnist")
    np.testing.assert_array_equal(np.bincount(data.labels), [7000] * 10)
    assert data.images.shape == (70_000, 28, 28)
    assert (data.vectors.min(), data.vectors.max()) == (0, 1)
    # The first training images, as its authors show them.
    assert [data.names[label] for label in data.labels[:2]] == ["Ankle boot", "T-shirt/top"]
