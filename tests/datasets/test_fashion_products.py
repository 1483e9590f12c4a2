import numpy as np
import pytest

from kinhash.datasets import fashion_products, load
from kinhash.errors import InvalidInputError

ROWS = [
    {
        "id": str(id_),
        "title": title,
        "masterCategory": "Apparel",
        "subCategory": "Topwear",
        "articleType": kind,
        "baseColour": colour,
        "usage": "Casual",
    }
    for id_, title, kind, colour in (
        (12783, "Mother Earth Women Red Kurtas", "Kurtas", "Red"),
        (25, "Puma, Men's Shoe", "Casual Shoes", "Black"),
        (21179, "ADIDAS Men Black Flip Flops", "Flip Flops", "Black"),
        (9, "Diva Women Green Kurta", "Kurtas", "Green"),
    )
]
SIZES = [(60, 80), (60, 80), (53, 80), (60, 60)]


@pytest.fixture
def root(tmp_path, write_photos):
    write_photos(tmp_path / "fashion-products", "products.csv", ROWS, SIZES)
    return tmp_path


def test_every_field_comes_in_the_order_of_the_table(root):
    data = load("fashion-products", root=root)
    assert data.name == "fashion-products"
    assert data.vectors.shape == (4, 672)
    assert data.images.shape == (4, 80, 60, 3)
    assert data.names == ("Casual Shoes", "Flip Flops", "Kurtas")
    np.testing.assert_array_equal(data.labels, [2, 0, 1, 2])
    np.testing.assert_array_equal(data.ids, [12783, 25, 21179, 9])
    assert data.texts[1] == "Puma, Men's Shoe"
    assert data.attributes["baseColour"].tolist() == ["Red", "Black", "Black", "Green"]
    assert sorted(data.attributes) == ["baseColour", "masterCategory", "subCategory", "usage"]


def test_images_are_the_photographs(tmp_path, write_photos):
    photos = write_photos(tmp_path, "products.csv", ROWS[:2], SIZES[:2])
    images = load("fashion-products", root=tmp_path).images
    for image, photo in zip(images, photos, strict=True):
        assert np.abs(image.astype(float) - np.asarray(photo)).mean() < 4


def test_features_are_kept_and_progress_is_told(root):
    calls = []
    first = load("fashion-products", root=root, progress=lambda *done: calls.append(done))
    assert calls[-1] == (4, 4)
    calls.clear()
    again = load("fashion-products", root=root, features="gist", progress=calls.append)
    np.testing.assert_array_equal(again.vectors, first.vectors)
    assert not calls


@pytest.mark.parametrize("file", ["products.csv", "images.tar"])
def test_a_missing_file_is_named_with_the_folders_and_the_remedy(root, file):
    (root / "fashion-products" / file).unlink()
    with pytest.raises(InvalidInputError) as caught:
        load("fashion-products", root=root)
    message = str(caught.value)
    assert "Fashion products was not found: looked for products.csv, images.tar in" in message
    assert str(root / "fashion-products") in message
    assert "Fashion Product Images (Small)" in message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("articleType", "kind", "articleType is not among"),
        ("12783,", "x,", r"`id` in .*products\.csv must hold whole numbers"),
        ("12783,", "4,", r"a row for 4, but .*images\.tar has no 4\.jpg"),
        (
            "Flip Flops,Black",
            ",Black",
            r"`articleType` in .*1 of 4 are missing: in row ",
        ),
        ("Kurtas,Green", "Kurtas", "must have 7 values in each line, but has 6 in line 5"),
    ],
)
def test_a_table_that_does_not_fit_is_named(root, old, new, message):
    path = root / "fashion-products" / "products.csv"
    path.write_text(path.read_text("utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(InvalidInputError, match=message):
        load("fashion-products", root=root)


def test_other_features_are_refused_before_any_file_is_read(tmp_path):
    with pytest.raises(InvalidInputError, match=r"features for fashion-products 'pixels'"):
        load("fashion-products", root=tmp_path, features="pixels")


@pytest.mark.data
def test_the_real_data_have_23_types_of_article(monkeypatch, real_data):
    # Features take a minute or two when they are not stored yet.
    monkeypatch.setattr(
        fashion_products,
        "cached_photo_features",
        lambda _, images, *__: np.ones((len(images), 1), np.float32),
    )
    data = real_data("fashion-products")
    assert data.images.shape == (34_667, 80, 60, 3)
    assert len(data.names) == 23
    assert np.bincount(data.labels)[data.names.index("Tshirts")] == 7_065
    assert data.texts[0] == "Mother Earth Women Aug Bagru Red Kurtas"
    assert data.ids[0] == 12_783
    assert (data.attributes["baseColour"] == "Black").sum() == 8_049
    # A shop's photograph has a white background.
    assert data.images[:, :4, :4].mean() > 230
