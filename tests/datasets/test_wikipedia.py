import numpy as np
import pytest
import scipy.io

from kinhash.datasets import load
from kinhash.errors import InvalidInputError

CATEGORIES = ("art", "biology", "music")


@pytest.fixture
def content(rng):
    return {
        "image": rng.random((5, 128)).astype(np.float32),
        "text": rng.random((5, 10)).astype(np.float32),
        "label": np.array([2, 0, 1, 1, 2], dtype=np.uint8),
        "split": np.array([0, 0, 0, 1, 1], dtype=np.uint8),
        "categories": np.array(CATEGORIES),
    }


@pytest.fixture
def root(tmp_path, content):
    (tmp_path / "wikipedia").mkdir()
    np.savez(tmp_path / "wikipedia" / "wikipedia.npz", **content)
    return tmp_path


def write_published(folder, content):
    """The files of wikipedia_dataset.zip."""
    folder.mkdir()
    is_test = content["split"] == 1
    features = {}
    for side, name in (("I", "image"), ("T", "text")):
        features[f"{side}_tr"] = content[name][~is_test].astype(float)
        features[f"{side}_te"] = content[name][is_test].astype(float)
    scipy.io.savemat(folder / "raw_features.mat", features)
    for part, rows in (("train", ~is_test), ("test", is_test)):
        text = "".join(f"0a{i}-1\t51fc{i}\t{k + 1}\n" for i, k in enumerate(content["label"][rows]))
        (folder / f"{part}set_txt_img_cat.list").write_text(text, encoding="utf-8")
    (folder / "categories.list").write_text("\n".join(CATEGORIES) + "\n", encoding="utf-8")


def test_vectors_are_those_of_the_pictures(root, content):
    data = load("wikipedia", root=root)
    np.testing.assert_array_equal(data.vectors, content["image"])
    np.testing.assert_array_equal(data.attributes["image"], content["image"])
    np.testing.assert_array_equal(data.attributes["text"], content["text"])
    np.testing.assert_array_equal(data.labels, content["label"])
    assert data.labels.dtype == np.int64
    assert data.names == CATEGORIES
    assert data.attributes["split"].tolist() == ["train"] * 3 + ["test"] * 2


def test_vectors_may_be_those_of_the_texts(root, content):
    np.testing.assert_array_equal(
        load("wikipedia", root=root, features="text").vectors, content["text"]
    )


def test_the_published_files_give_the_same(root, content):
    write_published(root / "wikipedia_dataset", content)
    first = load("wikipedia", root=root)
    (root / "wikipedia" / "wikipedia.npz").unlink()
    data = load("wikipedia", root=root)
    np.testing.assert_array_equal(data.vectors, first.vectors)
    np.testing.assert_array_equal(data.labels, first.labels)
    assert data.names == first.names
    for name, values in first.attributes.items():
        np.testing.assert_array_equal(data.attributes[name], values)


def test_missing_files_are_named_with_the_folders_and_the_remedy(tmp_path):
    with pytest.raises(InvalidInputError) as caught:
        load("wikipedia", root=tmp_path)
    message = str(caught.value)
    assert "Wikipedia was not found: looked for wikipedia.npz, or raw_features.mat" in message
    assert str(tmp_path / "wikipedia_dataset") in message
    assert "wikipedia_dataset.zip" in message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image": np.zeros((4, 128))}, r"`modalities\['text'\]` has 5 items but `vectors` has 4"),
        (
            {"image": np.zeros(5)},
            r"`image` in .*wikipedia\.npz must hold numbers of shape \(n, d\)",
        ),
        ({"text": np.zeros((4, 10))}, r"`modalities\['text'\]` has 4 items"),
        ({"label": np.array([0, 1, 2, 3, 0])}, r"in \[0, 2\] .* got 0 to 3"),
        ({"split": np.array([0, 1, 2, 0, 0])}, "`split` in .* must hold 0 for training and 1"),
        ({"split": None}, "but has no split"),
    ],
)
def test_arrays_that_do_not_fit_are_named(root, content, change, message):
    arrays = {name: array for name, array in {**content, **change}.items() if array is not None}
    np.savez(root / "wikipedia" / "wikipedia.npz", **arrays)
    with pytest.raises(InvalidInputError, match=message):
        load("wikipedia", root=root)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("raw_features.mat", b"not a matrix", "raw_features.mat cannot be read"),
        ("raw_features.mat", b"", "raw_features.mat cannot be read"),
        (
            "trainset_txt_img_cat.list",
            b"a\tb\n",
            "trainset_txt_img_cat.list must have a text, a pic",
        ),
        ("testset_txt_img_cat.list", b"a\tb\tc\n", "testset_txt_img_cat.list must have a text"),
        ("testset_txt_img_cat.list", b"a\tb\t1\n", "`labels` has 4 items but `vectors` has 5"),
        ("categories.list", b"art\n", r"in \[0, 0\] to have one of the 1 `names`, got 0 to 2"),
    ],
)
def test_published_files_that_do_not_fit_are_named(tmp_path, content, file, text, message):
    write_published(tmp_path / "wikipedia", content)
    (tmp_path / "wikipedia" / file).write_bytes(text)
    with pytest.raises(InvalidInputError, match=message):
        load("wikipedia", root=tmp_path)


def test_a_matrix_that_is_not_there_is_named(tmp_path, content):
    write_published(tmp_path / "wikipedia", content)
    scipy.io.savemat(tmp_path / "wikipedia" / "raw_features.mat", {"I_tr": np.ones((3, 128))})
    with pytest.raises(InvalidInputError, match="the matrices I_tr, I_te, T_tr, T_te, but has no"):
        load("wikipedia", root=tmp_path)


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.95])
def test_a_matrix_file_cut_short_is_named(tmp_path, content, kept):
    write_published(tmp_path / "wikipedia", content)
    path = tmp_path / "wikipedia" / "raw_features.mat"
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole))])
    with pytest.raises(
        InvalidInputError, match=r"raw_features\.mat (cannot be read|must have the)"
    ):
        load("wikipedia", root=tmp_path)


def test_other_features_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match=r"'images'. Did you mean 'image'"):
        load("wikipedia", root=tmp_path, features="images")


@pytest.mark.data
def test_the_real_data_have_2866_items_in_ten_categories(real_data):
    data = real_data("wikipedia")
    assert data.vectors.shape == (2_866, 128)
    assert data.attributes["text"].shape == (2_866, 10)
    assert (data.attributes["split"] == "train").sum() == 2_173
    assert len(data.names) == 10
    assert len(np.unique(data.labels)) == 10
