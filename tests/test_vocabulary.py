import numpy as np
import pytest

from kinhash.errors import InvalidInputError
from kinhash.vocabulary import Words, are_texts

TEXTS = ["Red leather shoes", "blue shoes, red laces", "a hat", ""]


def test_the_most_frequent_words_are_kept_in_alphabetical_order():
    assert Words.of(TEXTS, n_words=2).words == ("red", "shoes")
    assert Words.of(TEXTS).words == ("blue", "hat", "laces", "leather", "red", "shoes")


def test_a_bag_has_a_one_for_each_known_word_however_often_it_stands():
    words = Words(("blue", "red", "shoes"))
    bags = words.bags(["red RED red shoes", "green", "blue shoes"])
    assert bags.dtype == np.float32
    assert bags.toarray().tolist() == [[0, 1, 1], [0, 0, 0], [1, 0, 1]]
    assert len(words) == 3


def test_a_bag_can_be_read_back():
    words = Words(("blue", "red", "shoes"))
    assert words.of_bag(words.bags(["shoes red"])) == ["red", "shoes"]
    assert words.of_bag(np.zeros(3)) == []


@pytest.mark.parametrize("texts", [["a", "?"], ["", ""]])
def test_texts_without_words_are_refused(texts):
    with pytest.raises(InvalidInputError, match="None of the 2 texts has a word"):
        Words.of(texts)


def test_one_text_alone_and_what_is_no_text_are_refused():
    with pytest.raises(InvalidInputError, match="got one string, 'red shoes'"):
        Words.of("red shoes")
    with pytest.raises(InvalidInputError, match="got NoneType in row 1"):
        Words(("red",)).bags(["red", None])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["red"], True),
        (("red", ""), True),
        (np.array(["red"]), True),
        (np.array(["red", None], object), True),
        ([[1.0, 2.0]], False),
        (np.eye(2), False),
        ([], False),
    ],
)
def test_texts_are_told_from_vectors(values, expected):
    assert are_texts(values) is expected
