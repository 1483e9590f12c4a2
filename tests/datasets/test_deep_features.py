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


@pytest.mark.parametrize("name", ["cifar10-deep", "titles"])
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


@pytest.mark.parametrize(("name", "kind"), [("cifar10-deep", "efficientnet"), ("titles", "use")])
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
