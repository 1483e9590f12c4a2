import numpy as np
import pytest

from kinhash.datasets import load
from kinhash.datasets.digit_words import NAMES, NOISE, TRAITS
from kinhash.errors import InvalidInputError


@pytest.fixture(scope="module")
def data():
    return load("digits-words")


def test_the_pictures_are_those_of_digits(data):
    digits = load("digits")
    np.testing.assert_array_equal(data.vectors, digits.vectors)
    np.testing.assert_array_equal(data.images, digits.images)
    np.testing.assert_array_equal(data.labels, digits.labels)
    assert data.names[3] == "three"


def test_the_modalities_are_the_pixels_and_a_text_for_each(data):
    assert list(data.modalities) == ["image", "text"]
    assert data.modalities["image"] is data.vectors
    assert data.modalities["text"] is data.texts
    assert len(data.texts) == 1797


def test_the_texts_are_always_the_same(data):
    assert load("digits-words").texts == data.texts


def test_a_text_has_words_of_its_digit_and_some_that_say_nothing(data):
    n_unnamed = n_misnamed = 0
    for text, digit in zip(data.texts, data.labels, strict=True):
        words = set(text.split())
        own = set(NAMES[digit])
        others = {name for names in NAMES for name in names} - own
        traits = {trait for trait, having in TRAITS.items() if digit in having}
        assert words <= own | others | traits | set(NOISE)
        assert 1 <= len(words & set(NOISE)) <= 2
        assert len(words & others) <= 1
        n_unnamed += not words & own
        n_misnamed += bool(words & others)
    assert 0.13 < n_unnamed / 1797 < 0.21
    assert 0.03 < n_misnamed / 1797 < 0.07


def test_no_two_digits_share_a_name():
    names = [name for own in NAMES for name in own] + list(NOISE) + list(TRAITS)
    assert len(set(names)) == len(names)


def test_other_features_are_refused():
    with pytest.raises(InvalidInputError, match="Unknown kind of features for digits 'gist'"):
        load("digits-words", features="gist")
