import pytest

from kinhash.datasets.user_files.columns import Wanted, choose, choose_columns
from kinhash.errors import InvalidInputError

FILE = "items.csv"
SHOP = [
    ("id", "integer"),
    ("e0", "number"),
    ("e1", "number"),
    ("price", "decimal"),
    ("title", "text"),
    ("label", "text"),
    ("", "integer"),
]


def chosen(kinds=SHOP, **wanted):
    return choose_columns(kinds, Wanted(**wanted), FILE)


def test_a_role_goes_to_the_name_asked_for_or_the_usual_one():
    found = ["label", "x", "y"]
    assert choose("labels", "y", ("label", "labels"), found, FILE) == "y"
    assert choose("labels", None, ("label", "labels"), found, FILE) == "label"
    assert choose("ids", None, ("id", "ids"), found, FILE) is None


@pytest.mark.parametrize(
    ("asked", "found", "message"),
    [
        ("labl", ["x", "label"], r"`labels` 'labl' is no column of items\.csv\. .* mean 'label'"),
        ("z", [], r"`labels` 'z' is no column of items\.csv\. It has no columns\."),
        (None, ["label", "labels"], r"items\.csv has label and labels, of which only one"),
        ("x", ["x", "x"], r"items\.csv has x and x, of which only one"),
    ],
)
def test_a_role_that_cannot_be_given_is_said(asked, found, message):
    with pytest.raises(InvalidInputError, match=message):
        choose("labels", asked, ("label", "labels"), found, FILE)


def test_numbers_without_another_role_are_the_features_unless_told_otherwise():
    found = chosen()
    assert found.features == ("e0", "e1", "price")
    assert found.unnamed == found.features
    assert (found.labels, found.ids, found.text) == ("label", "id", None)
    assert found.left == ("title", "")


def test_a_column_of_lists_is_the_only_feature():
    found = chosen([*SHOP, ("v", "list")])
    assert found.features == ("v",)
    assert found.left == ("e0", "e1", "price", "title", "")
    with pytest.raises(InvalidInputError, match=r"several columns of lists: v, w\. Name one"):
        chosen([("v", "list"), ("w", "list")])


def test_features_are_chosen_by_name_or_pattern():
    found = chosen(features="e*")
    assert (found.features, found.unnamed) == (("e0", "e1"), ("e0", "e1"))
    found = chosen(features="price,e?")
    assert (found.features, found.unnamed) == (("price", "e0", "e1"), ("e0", "e1"))
    assert chosen(features=["e1", "e0"]).features == ("e1", "e0")


def test_a_pattern_does_not_turn_ids_into_features_but_their_name_does():
    assert "id" not in chosen(features="*").features
    assert chosen(features="id,e0").features == ("id", "e0")


def test_with_texts_features_must_be_asked_for():
    assert chosen(text="title").features == ()
    assert chosen(text="title", features="e*").features == ("e0", "e1")
    assert chosen(text="title").roles == {"title": "text", "label": "labels", "id": "ids"}


def test_without_numbers_there_are_no_features():
    with pytest.raises(InvalidInputError, match=r"numeric columns .* has none\. Its columns: a\."):
        chosen([("a", "text")])


@pytest.mark.parametrize(
    ("wanted", "modalities"),
    [
        ({"modalities": ("title", "e")}, {"title": ("title",), "e": ("e0", "e1")}),
        ({"modalities": ("image",)}, {"image": ("e0", "e1", "price")}),
        ({"modalities": ("image",), "features": "e*"}, {"image": ("e0", "e1")}),
        ({"modalities": ("words",), "text": "title"}, {"words": ("title",)}),
        ({"modalities": ("e", "text"), "text": "title"}, {"e": ("e0", "e1"), "text": ("title",)}),
        (
            {"modalities": ("image", "text"), "text": "title", "features": "e1"},
            {"image": ("e1",), "text": ("title",)},
        ),
    ],
)
def test_modalities_have_columns_of_their_name_or_those_asked_for(wanted, modalities):
    assert chosen(**wanted).modalities == modalities


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            {"modalities": ("image", "e")},
            "no modality 'image': neither a column of that name",
        ),
        ({"modalities": ("image", "word"), "features": "e*"}, "`features` cannot name one"),
        ({"modalities": ("image", "word"), "text": "title"}, "`text` cannot name one"),
    ],
)
def test_a_modality_whose_columns_are_open_is_refused(wanted, message):
    with pytest.raises(InvalidInputError, match=message):
        chosen(**wanted)


def test_a_modality_in_two_columns_is_refused():
    with pytest.raises(InvalidInputError, match=r"items\.csv has two columns 'title'\. Rename one"):
        chosen([("title", "text"), ("title", "text"), ("e0", "number")], modalities=("title", "e"))
