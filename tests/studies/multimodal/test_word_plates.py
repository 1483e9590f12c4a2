import dataclasses
import doctest
import json

import numpy as np
import pytest

from kinhash.codes import Codes
from kinhash.evaluation.multimodal import Parts, Search
from kinhash.studies.multimodal import word_plates
from kinhash.studies.multimodal.protocols import PROTOCOLS
from kinhash.studies.multimodal.word_plates import (
    found_by_words_and_pictures,
    has_plates,
    sections,
    word_queries,
)


class Known:
    """Knows the code of each word; of nothing else."""

    def __init__(self, codes):
        self.codes = codes

    def encode(self, X, *, modality):
        assert modality == "text"
        return Codes.from_dense([self.codes[word] for word in X])


@pytest.fixture
def parts(shop):
    return PROTOCOLS["fashion-products"][0].parts(shop, 0)


def one_bit_per_class(data):
    return Codes.from_dense(np.eye(3, dtype=int)[data.labels])


def test_words_name_classes_in_either_number(shop, parts):
    assert sorted(word_queries(shop, parts)) == ["hat", "shoe", "tie"]


def test_without_names_words_are_the_most_frequent(shop, parts):
    unnamed = dataclasses.replace(shop, names=None)
    found = word_queries(unnamed, parts)
    assert found[0] == "leather"
    assert sorted(found) == ["blue", "hat", "leather", "red", "shoe", "tie"], "and no stop words"


def test_answers_are_the_nearest_rows_of_the_database(shop, parts):
    codes = one_bit_per_class(shop)
    method = Known({"shoe": [1, 0, 0], "hat": [0, 1, 0], "tie": [0, 0, 1]})
    found = found_by_words_and_pictures(method, shop, {"image": codes, "text": codes}, parts)
    (search,) = parts.searches.values()
    for word, rows in zip(found["words"], found["pictures"], strict=True):
        assert len(rows) == 5
        assert set(rows) <= set(search.database.tolist())
        assert all(word in shop.texts[row] for row in rows)
    for query, rows in zip(found["queries"], found["texts"], strict=True):
        assert query in search.query
        assert (shop.labels[rows] == shop.labels[query]).all()
        expected = [r for r in search.database if shop.labels[r] == shop.labels[query]][:5]
        assert rows == expected
    json.dumps(found)


def test_a_query_is_not_its_own_answer(shop):
    rows = np.arange(30, 60)
    parts = Parts(np.arange(30), {"rest": Search(rows, rows, np.arange(30))})
    codes = one_bit_per_class(shop)
    method = Known({"shoe": [1, 0, 0], "hat": [0, 1, 0], "tie": [0, 0, 1]})
    found = found_by_words_and_pictures(method, shop, {"image": codes, "text": codes}, parts)
    for query, answers in zip(found["queries"], found["texts"], strict=True):
        assert query not in answers
        assert len(answers) == 5


def test_sections_count_what_is_correct_and_show_both_methods(shop):
    one = {"words": ["shoe"], "pictures": [[0, 1]], "queries": [0], "texts": [[3, 4]]}
    other = one | {"pictures": [[0, 3]], "texts": [[1, 4]]}
    by_word, by_picture = sections("Classes", {"CM-SSH": one, "Ours": other}, shop)
    assert by_word.title == "Classes: pictures found by a word"
    assert by_word.paragraphs == [
        "Pictures whose own text has the word that found them: CM-SSH 1 of 2, Ours 2 of 2."
    ]
    own = set(shop.texts[0].split())
    shares = []
    for rows in ([3, 4], [1, 4]):
        union = set(" ".join(shop.texts[row] for row in rows).split()) - {"of"}
        shares.append(f"{len(union & own)} of {len(union)}")
    assert by_picture.paragraphs == [
        f"Words that the text of the picture has itself: CM-SSH {shares[0]}, Ours {shares[1]}.",
        word_plates.NOT_COUNTED,
    ]
    for section in (by_word, by_picture):
        assert section.image.startswith("data:image/png;base64,")
    assert "from left to right: CM-SSH, Ours" in by_word.caption
    assert "from top to bottom: CM-SSH, Ours" in by_picture.caption


def test_the_truth_stands_beside_each_picture(shop, monkeypatch):
    drawn = []
    for name in ("plot_pictures_of_words", "plot_words_of_pictures"):
        plot = getattr(word_plates.plots, name)

        def noted(*arguments, plot=plot):
            drawn.append(arguments[-1])
            return plot(*arguments)

        monkeypatch.setattr(word_plates.plots, name, noted)
    one = {"words": ["shoe"], "pictures": [[0, 1]], "queries": [0], "texts": [[3, 4]]}
    named, _ = sections("Classes", {"Ours": one}, shop)
    below, beside = drawn
    assert (below[0], below[1]) == ("Leather Shoes", "Hats")
    assert beside == {0: f"Leather Shoes: {shop.texts[0]}"}
    assert "Below each picture: its class" in named.caption
    drawn.clear()
    unnamed, _ = sections("Tags", {"Ours": one}, dataclasses.replace(shop, names=None))
    below, beside = drawn
    assert (below[1], beside) == (shop.texts[1], {0: shop.texts[0]})
    assert "Below each picture: its own text" in unnamed.caption


def test_plates_need_pictures_and_texts(shop):
    assert has_plates(shop)
    assert not has_plates(dataclasses.replace(shop, images=None))
    assert not has_plates(dataclasses.replace(shop, texts=None))
    vectors = {"image": shop.vectors, "text": shop.vectors}
    assert not has_plates(dataclasses.replace(shop, modalities=vectors))
    assert not has_plates(dataclasses.replace(shop, modalities=None))


def test_docstring_examples_run():
    assert doctest.testmod(word_plates).failed == 0
