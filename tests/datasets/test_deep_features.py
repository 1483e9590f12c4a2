import numpy as np
import pytest

from kinhash.datasets import load
from kinhash.errors import InvalidInputError


@pytest.fixture
def pictures(rng):
    return {
        "vectors": rng.normal(size=(6, 4)).astype(np.float16),
        "labels": np.array([9, 0, 3, 3, 1, 0], np.int8),
        "rows": np.array([5, 59_999, 2, 1, 0, 7], np.int32),
    }


@pytest.fixture
def titles(rng):
    return {
        "vectors": rng.normal(size=(4, 3)).astype(np.float16),
        "labels": np.array(["Shirts", "Heels", "Shirts", "Watches"]),
        "ids": np.array(["15970", "39386", "2", "007"]),
    }


@pytest.fixture
def photos(rng):
    return {
        "vectors": rng.normal(size=(3, 4)).astype(np.float16),
        "ids": np.array(["30", "10", "20"]),
    }


@pytest.fixture
def copies(rng):
    return {
        "vectors": rng.normal(size=(2, 4)).astype(np.float16),
        "source": np.array([2, 0], np.int32),
        "kind": np.array(["flip", "crop90"]),
        "phash": np.arange(16, dtype=np.uint8).reshape(2, 8),
        "phash_of_photos": np.arange(24, dtype=np.uint8).reshape(3, 8),
    }


def write_table(root):
    (root / "corel5k").mkdir()
    (root / "corel5k" / "photos.csv").write_text(
        "id,split,label,tags\n10,train,0,sun sea\n15,train,3,sky\n20,test,3,sun\n30,train,1,bear\n",
        "utf-8",
    )


def write(root, file, content):
    (root / "deep").mkdir(exist_ok=True)
    np.savez(root / "deep" / file, **content)
    return root


def test_features_of_cifar10_are_read(tmp_path, pictures):
    data = load("cifar10-deep", root=write(tmp_path, "cifar10-efficientnet-lite0.npz", pictures))
    assert data.name == "cifar10-deep"
    assert data.vectors.dtype == np.float32
    np.testing.assert_array_equal(data.vectors, pictures["vectors"].astype(np.float32))
    assert data.labels.tolist() == [9, 0, 3, 3, 1, 0]
    assert data.ids.tolist() == [5, 59_999, 2, 1, 0, 7]
    assert (data.names[9], data.names[3]) == ("truck", "cat")


def test_features_of_titles_are_read(tmp_path, titles):
    data = load("titles", root=write(tmp_path, "titles-use-lite.npz", titles) / "deep")
    assert data.name == "titles"
    np.testing.assert_array_equal(data.vectors, titles["vectors"].astype(np.float32))
    assert data.names == ("Heels", "Shirts", "Watches")
    assert data.labels.tolist() == [1, 0, 1, 2]
    assert data.ids.tolist() == [15970, 39386, 2, 7]


def test_features_of_photographs_come_in_the_order_of_the_table(tmp_path, photos):
    write_table(tmp_path)
    data = load("corel5k-deep", root=write(tmp_path, "corel5k-efficientnet-lite0.npz", photos))
    assert data.name == "corel5k-deep"
    np.testing.assert_array_equal(data.vectors, photos["vectors"][[1, 2, 0]].astype(np.float32))
    assert data.ids.tolist() == [10, 20, 30]
    assert data.labels.tolist() == [0, 3, 1]
    assert data.texts == ("sun sea", "sun", "bear")
    assert data.attributes["split"].tolist() == ["train", "test", "train"]
    assert data.attributes["tags"].sum(axis=1).tolist() == [2, 1, 1]
    assert list(data.modalities) == ["image", "text"]


def test_altered_copies_follow_the_photographs_and_name_their_source(tmp_path, photos, copies):
    write(tmp_path, "corel5k-efficientnet-lite0.npz", photos)
    root = write(tmp_path, "corel5k-variants.npz", copies) / "deep"
    data = load("corel5k-variants", root=root)
    assert data.name == "corel5k-variants"
    expected = np.concatenate([photos["vectors"], copies["vectors"]]).astype(np.float32)
    np.testing.assert_array_equal(data.vectors, expected)
    assert data.labels.tolist() == [0, 1, 2, 2, 0]
    assert data.attributes["source"].tolist() == [0, 1, 2, 2, 0]
    assert data.attributes["kind"].tolist() == ["photo", "photo", "photo", "flip", "crop90"]
    assert data.attributes["phash"][:, 0].tolist() == [0, 8, 16, 0, 8]


@pytest.mark.parametrize("name", ["cifar10-deep", "titles", "corel5k-deep", "corel5k-variants"])
def test_a_missing_file_is_named(tmp_path, name):
    with pytest.raises(InvalidInputError, match=r"was not found: looked for .*\.npz in .*deep"):
        load(name, root=tmp_path)


def test_wrong_content_is_refused(tmp_path, pictures, titles):
    for changed, message in [
        ({"labels": np.full(6, 10)}, "`labels` in .* must be class numbers from 0 to 9"),
        ({"labels": np.array(list("abcdef"))}, "must be class numbers from 0 to 9"),
        ({"vectors": np.zeros(6)}, "`vectors` in .* must hold numbers of shape"),
        ({"rows": np.zeros(5, int)}, "`ids` has 5 items but `vectors` has 6"),
    ]:
        root = write(tmp_path, "cifar10-efficientnet-lite0.npz", pictures | changed)
        with pytest.raises(InvalidInputError, match=message):
            load("cifar10-deep", root=root)
    root = write(tmp_path, "titles-use-lite.npz", titles | {"ids": np.array(["a", "1", "2", "3"])})
    with pytest.raises(InvalidInputError, match=r"`ids` in .* must be whole numbers"):
        load("titles", root=root)
    del titles["labels"]
    with pytest.raises(InvalidInputError, match="labels"):
        load("titles", root=write(tmp_path, "titles-use-lite.npz", titles))


def test_a_missing_table_of_photographs_is_named(tmp_path, photos):
    root = write(tmp_path, "corel5k-efficientnet-lite0.npz", photos)
    with pytest.raises(InvalidInputError, match=r"looked for photos\.csv in .*corel5k"):
        load("corel5k-deep", root=root)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"ids": np.array(["10", "20", "11"])}, r"photos\.csv has none for id 11 of .*\.npz"),
        ({"ids": np.array(["10", "20", "20"])}, "must differ, but some are there twice"),
        ({"ids": np.array(["10", "20"])}, "one id per vector, got 2 ids of 3 vectors"),
        ({"ids": np.array(["10", "20", "b"])}, "`ids` in .* must be whole numbers"),
    ],
)
def test_photographs_that_do_not_fit_the_table_are_refused(tmp_path, photos, changed, message):
    write_table(tmp_path)
    root = write(tmp_path, "corel5k-efficientnet-lite0.npz", photos | changed)
    with pytest.raises(InvalidInputError, match=message):
        load("corel5k-deep", root=root)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"source": np.array([0, 3])}, "must be rows of the 3 photographs in .*, got 0 to 3"),
        ({"source": np.array([0])}, r"has 4 items but `vectors` has 5"),
        ({"vectors": np.zeros((2, 5))}, "must have 4 columns as those in .*, got 5"),
        ({"phash": np.zeros((2, 4), np.uint8)}, r"must be uint8 of shape \(2, 8\), got uint8"),
        ({"phash_of_photos": np.zeros((3, 8), int)}, r"uint8 of shape \(3, 8\), got int64"),
    ],
)
def test_copies_that_do_not_fit_the_photographs_are_refused(
    tmp_path, photos, copies, changed, message
):
    write(tmp_path, "corel5k-efficientnet-lite0.npz", photos)
    with pytest.raises(InvalidInputError, match=message):
        load("corel5k-variants", root=write(tmp_path, "corel5k-variants.npz", copies | changed))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cifar10-deep", "efficientnet"),
        ("titles", "use"),
        ("corel5k-deep", "efficientnet"),
        ("corel5k-variants", "efficientnet"),
    ],
)
def test_unknown_features_are_refused(tmp_path, name, kind):
    with pytest.raises(InvalidInputError, match=rf"'gist'.* Known: {kind}-lite"):
        load(name, root=tmp_path, features="gist")


@pytest.mark.data
def test_the_files_at_hand_are_as_described():
    pictures, titles = load("cifar10-deep"), load("titles")
    assert (pictures.vectors.shape, len(pictures.names)) == ((18_000, 1280), 10)
    assert (titles.vectors.shape, len(titles.names)) == ((6000, 512), 23)
    part = pictures.split(0)
    assert (len(part.train), len(part.query)) == (2000, 1000)
    photos, copies = load("corel5k-deep"), load("corel5k-variants")
    assert (photos.vectors.shape, len(np.unique(photos.labels))) == ((4999, 1280), 50)
    np.testing.assert_array_equal(copies.vectors[:4999], photos.vectors)
    assert (len(copies), len(np.unique(copies.labels[4999:]))) == (7999, 600)
