"""Supervision of several modalities: labels of views, and what is refused."""

import numpy as np
import pytest
import scipy.sparse

from kinhash import Pairs
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


def read(rng, n_image=6, n_text=6, missing=()):
    """Two modalities; the images in `missing` are not there."""
    image, text = rng.normal(size=(n_image, 3)), rng.normal(size=(n_text, 2))
    image[list(missing)] = np.nan
    return read_modalities({"image": image, "text": text}, n_words=10)


def source_of(modalities, y=None, pairs=None, n_neighbors=1):
    return view_source(modalities, y, pairs, n_neighbors=n_neighbors, seed=0)


def similar_pairs(source, n_views):
    """The pairs of views that are similar and count, each once."""
    views = np.arange(n_views)
    similar, known = source.relate(views)
    both = np.asarray(similar).astype(bool) & np.asarray(known).astype(bool)
    return {(int(a), int(b)) for a, b in zip(*np.nonzero(np.triu(both)), strict=True)}


def test_views_of_items_of_one_class_are_similar(rng):
    y = np.array([0, 0, 1, 1, 2, 2])
    source = source_of(read(rng), y)
    expected = {(a, b) for a in range(12) for b in range(a + 1, 12) if y[a % 6] == y[b % 6]}
    assert similar_pairs(source, 12) == expected
    assert source.starts.tolist() == [0, 6, 12]
    assert source.n_units == 6  # items


def test_tags_may_be_sparse(rng):
    tags = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]])
    dense, sparse = (source_of(read(rng), y) for y in (tags, scipy.sparse.csr_array(tags)))
    share = tags @ tags.T > 0
    expected = {(a, b) for a in range(12) for b in range(a + 1, 12) if share[a % 6, b % 6]}
    assert similar_pairs(dense, 12) == similar_pairs(sparse, 12) == expected


def test_rows_that_are_not_paired_have_labels_of_their_own(rng):
    """Views 0 to 3 are images, 4 to 6 texts."""
    source = source_of(
        read(rng, 4, 3), {"image": ["a", "b", "a", "b"], "text": np.array(["b", "a", "b"])}
    )
    assert similar_pairs(source, 7) == {(0, 2), (0, 5), (1, 3), (1, 4), (1, 6), (2, 5), (3, 4)} | {
        (3, 6),
        (4, 6),
    }
    assert source.n_units == 7  # views


def test_a_view_that_is_not_there_is_never_dealt(rng):
    source = source_of(read(rng, missing=[2]), np.array([0, 0, 1, 1, 2, 2]))
    dealt = np.concatenate(list(source.batches(rng, 12)))
    assert sorted(dealt.tolist()) == [0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11]


def test_pairs_of_items_hold_within_and_across(rng):
    """Items 0 and 1: views 0, 1, 6 and 7. Besides, an item is similar to itself across."""
    source = source_of(read(rng), pairs=Pairs([0], [1]))
    own = {(item, item + 6) for item in range(6)}
    assert similar_pairs(source, 12) == own | {(0, 1), (6, 7), (0, 7), (1, 6)}


def test_pairs_by_name_are_of_rows_of_these_modalities(rng):
    listed = {"text": Pairs([0], [1]), ("text", "image"): Pairs.across([2], [2])}
    source = source_of(read(rng, 4, 3), pairs=listed)
    assert similar_pairs(source, 7) == {(4, 5), (2, 6)}


def test_without_supervision_neighbours_and_the_views_of_an_item_are_similar():
    """Unit vectors at 0, 10, 90 and 100 degrees, so 0-1 and 2-3 are nearest, in both modalities."""
    angles = np.deg2rad([0, 10, 90, 100])
    X = np.c_[np.cos(angles), np.sin(angles)]
    X -= X.mean(axis=0)
    modalities = read_modalities({"image": X, "text": X.copy()}, n_words=10)
    own = {(item, item + 4) for item in range(4)}
    near = {(a, b) for i, j in ((0, 1), (2, 3)) for a in (i, i + 4) for b in (j, j + 4)}
    near = {(min(pair), max(pair)) for pair in near}
    assert similar_pairs(source_of(modalities), 8) == own | near


@pytest.mark.parametrize(
    ("y", "pairs", "message"),
    [
        (np.zeros(6), Pairs([0], [1]), "either `y` or `pairs`, got both"),
        (np.zeros(5), None, "`y` has 5 labels but 'image' has 6 rows"),
        (np.zeros(6), None, "`y` has a single class"),
        ({"sound": np.zeros(3)}, None, "Unknown modality in `y` 'sound'. Known: image, text"),
        ({"image": np.eye(6), "text": np.zeros(6)}, None, "got 1 columns and 6 columns"),
        (None, {"sound": Pairs([0], [1])}, "Unknown modality in `pairs` 'sound'"),
        (None, {("image", "text"): [(0, 1)]}, r"must hold kinhash\.Pairs, got list"),
        (None, {("image",): Pairs([0], [1])}, "must be a modality or two of them"),
        (None, [(0, 1)], r"must be kinhash\.Pairs, or a dict of them, got list"),
        (None, Pairs([0], [9999]), "name row 9999, but `X` has 6 rows"),
        (None, {"image": Pairs([0], [1], [False])}, "No two views are similar"),
    ],
)
def test_bad_supervision_is_refused_in_one_sentence(rng, y, pairs, message):
    with pytest.raises(InvalidInputError, match=message):
        source_of(read(rng), y, pairs)


def test_rows_that_must_be_paired_show_both_numbers(rng):
    with pytest.raises(InvalidInputError, match="'image' has 4 rows and 'text' has 3"):
        source_of(read(rng, 4, 3), np.zeros(4))
    with pytest.raises(InvalidInputError, match="no labels for 'text', whose 3 rows are not paire"):
        source_of(read(rng, 4, 3), {"image": [0, 0, 1, 1]})
