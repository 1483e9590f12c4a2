"""Supervision of several modalities: labels of views, and what is refused."""

import numpy as np
import pytest

from kinhash.errors import InvalidInputError
from kinhash.methods.modalities.modality import read_modalities
from kinhash.methods.supervision.views import view_source


@pytest.fixture
def modalities(rng):
    image, text = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    text[4] = np.nan  # an item without a text
    return read_modalities({"image": image, "text": text}, n_words=10)


def relation(views, *rows):
    return views.source.relate(np.array(rows)).similar.tolist()


def source(modalities, y):
    return view_source(modalities, y, None, n_neighbors=2, seed=0)


def test_labels_of_different_types_are_different_classes_in_and_across_modalities(modalities):
    views = source(modalities, {"image": [1, 2, 1, 2, 1, 2], "text": list("112211")})
    assert relation(views, 0, 2) == [[True, True], [True, True]]
    assert relation(views, 6, 7) == [[True, True], [True, True]]
    assert relation(views, 0, 6) == [[True, False], [False, True]]  # 1 and "1"


@pytest.mark.parametrize("missing", [None, np.nan], ids=str)
def test_missing_labels_are_refused_with_their_rows(modalities, missing):
    labels = ["a", missing, "a", missing, "b", "b"]
    message = r"^`y` must have a label in each row, but 2 of 6 are missing: in rows 1, 3 "
    with pytest.raises(InvalidInputError, match=message):
        source(modalities, labels)
    message = r"^`y` of 'text' must have a label in each row, but 2 of 6 are missing: in rows 1, 3 "
    with pytest.raises(InvalidInputError, match=message):
        source(modalities, {"image": list("ababab"), "text": labels})


def test_a_view_that_is_not_there_needs_no_label(modalities):
    views = source(modalities, {"image": list("ababab"), "text": ["a", "b", "a", "b", None, "b"]})
    assert relation(views, 0, 8, 11) == [
        [True, True, False],
        [True, True, False],
        [False, False, True],
    ]
    with pytest.raises(InvalidInputError, match=r"`y` of 'image' .* 1 of 6 are missing: in row 4 "):
        source(modalities, {"image": ["a", "b", "a", "b", None, "b"], "text": list("ababab")})


def test_missing_tags_are_refused_with_their_rows(modalities):
    tags = np.ones((6, 2))
    tags[3, 1] = np.nan
    with pytest.raises(InvalidInputError, match=r"`y` .* 1 of 6 are missing: in row 3 "):
        source(modalities, tags)
