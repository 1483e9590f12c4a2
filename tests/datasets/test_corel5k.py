import numpy as np
import pytest

from kinhash.datasets import corel5k, load
from kinhash.errors import InvalidInputError

ROWS = [
    {"id": "1000", "split": "train", "label": "0", "tags": "city mountain sky sun"},
    {"id": "1003", "split": "test", "label": "4", "tags": "sun tree"},
    {"id": "9", "split": "train", "label": "4", "tags": "bear"},
]


@pytest.fixture
def root(tmp_path, write_photos):
    write_photos(tmp_path / "corel5k", "photos.csv", ROWS, [(192, 128), (128, 192), (192, 128)])
    return tmp_path


def test_every_field_comes_in_the_order_of_the_table(root):
    data = load("corel5k", root=root)
    assert data.vectors.shape == (3, 672)
    assert data.images.shape == (3, 128, 128, 3)
    np.testing.assert_array_equal(data.labels, [0, 4, 4])
    np.testing.assert_array_equal(data.ids, [1000, 1003, 9])
    assert data.texts == ("city mountain sky sun", "sun tree", "bear")
    assert data.attributes["split"].tolist() == ["train", "test", "train"]
    np.testing.assert_array_equal(data.attributes["class"], data.labels)


def test_the_tags_are_a_matrix_in_alphabetical_order(root):
    data = load("corel5k-tags", root=root)
    assert data.name == "corel5k-tags"
    assert data.names == ("bear", "city", "mountain", "sky", "sun", "tree")
    np.testing.assert_array_equal(
        data.labels, [[0, 1, 1, 1, 1, 0], [0, 0, 0, 0, 1, 1], [1, 0, 0, 0, 0, 0]]
    )
    assert data.labels.dtype == np.uint8
    np.testing.assert_array_equal(load("corel5k", root=root).attributes["tags"], data.labels)
    np.testing.assert_array_equal(data.attributes["class"], [0, 4, 4])


def test_both_share_their_features(root):
    first = load("corel5k", root=root).vectors
    calls = []
    again = load("corel5k-tags", root=root, progress=lambda *done: calls.append(done)).vectors
    np.testing.assert_array_equal(again, first)
    assert not calls


def test_missing_files_are_named_with_the_folders_and_the_remedy(tmp_path):
    with pytest.raises(InvalidInputError) as caught:
        load("corel5k-tags", root=tmp_path)
    message = str(caught.value)
    assert "Corel-5k was not found: looked for photos.csv, images.tar in" in message
    assert str(tmp_path / "corel5k") in message
    assert "columns id, split, label, tags" in message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("split", "part", "split is not among id, part, label, tags"),
        ("test,4", "test,four", r"`label` in .*photos\.csv must hold whole numbers"),
        ("bear", " ", "must have a tag for each photograph, but row 2 has none"),
        ("1003", "1004", r"a row for 1004, but .*images\.tar has no 1004\.jpg"),
    ],
)
def test_a_table_that_does_not_fit_is_named(root, old, new, message):
    path = root / "corel5k" / "photos.csv"
    path.write_text(path.read_text("utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(InvalidInputError, match=message):
        load("corel5k", root=root)


def test_other_features_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match=r"features for corel5k 'pixels'. Known: gist"):
        load("corel5k", root=tmp_path, features="pixels")


@pytest.mark.data
def test_the_real_data_have_50_classes_and_374_tags(monkeypatch, real_data):
    monkeypatch.setattr(
        corel5k,
        "cached_photo_features",
        lambda _, images, *__: np.ones((len(images), 1), np.float32),
    )
    data = real_data("corel5k-tags")
    assert data.labels.shape == (4_999, 374)
    assert set(data.labels.sum(axis=1)) == {1, 2, 3, 4, 5}
    assert len(np.unique(data.attributes["class"])) == 50
    assert (data.attributes["split"] == "train").sum() == 4_500
    part = data.split(seed=0)
    shared = data.labels[part.query].astype(int) @ data.labels[part.database].sum(axis=0, dtype=int)
    assert (shared > 0).all()
