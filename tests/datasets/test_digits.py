import numpy as np
import pytest

from kinhash.datasets import load
from kinhash.errors import InvalidInputError


def test_vectors_are_the_pixels_and_images_are_bytes():
    data = load("digits")
    assert data.vectors.shape == (1797, 64)
    assert data.vectors.dtype == np.float32
    assert data.images.shape == (1797, 8, 8)
    assert data.images.dtype == np.uint8
    assert (data.images.min(), data.images.max()) == (0, 255)
    np.testing.assert_array_equal(data.images.reshape(1797, 64), np.rint(data.vectors * 255 / 16))


def test_labels_are_the_digits():
    data = load("digits", features="pixels")
    assert data.names == tuple("0123456789")
    assert data.labels.dtype == np.int64
    # As printed in scikit-learn's documentation: the first ten images show 0 to 9.
    np.testing.assert_array_equal(data.labels[:10], range(10))


def test_every_class_gives_queries():
    data = load("digits")
    counts = np.bincount(data.labels)
    part = data.split(seed=0)
    np.testing.assert_array_equal(np.bincount(data.labels[part.query]), counts // 6)
    np.testing.assert_array_equal(np.bincount(data.labels[part.train]), counts // 2)


def test_other_features_are_refused():
    with pytest.raises(InvalidInputError, match="Unknown kind of features for digits 'gist'"):
        load("digits", features="gist")
