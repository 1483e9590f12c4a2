import doctest

import pytest

from kinhash.studies.multimodal import meaningful as meaningful_module
from kinhash.studies.multimodal.meaningful import STOP_WORDS, meaningful


def test_stop_words_letters_and_numbers_say_nothing():
    words = ["The", "shoe", "of", "x", "42", "3.5", "and", "men", "3d"]
    assert meaningful(words) == ["shoe", "men", "3d"]


@pytest.mark.parametrize("word", ["top", "fire", "red", "two", "women", "sky"])
def test_words_that_name_things_are_kept(word):
    assert meaningful([word]) == [word]


def test_stop_words_are_lower_case_words():
    assert all(word.islower() and word.isalpha() for word in STOP_WORDS)


def test_docstring_examples_run():
    assert doctest.testmod(meaningful_module).failed == 0
