import numpy as np
import pytest

from kinhash.datasets.user_files.fields import (
    as_ids,
    as_images,
    as_labels,
    as_modality,
    as_vectors,
    check_paired,
    first_vectors,
)
from kinhash.errors import InvalidInputError

FILE = "items.npz"


def test_vectors_are_float32_and_not_copied_if_they_are():
    X = np.ones((2, 3), np.float32)
    assert as_vectors(X, FILE) is X
    assert as_vectors(np.array([[True, False]]), FILE).dtype == np.float32
    assert as_vectors(np.array([[1e300]]), FILE).tolist() == [[np.inf]]


@pytest.mark.parametrize(
    "array", [np.zeros(3), np.zeros((0, 3)), np.zeros((3, 0)), np.array([["a"]]), np.array([[1j]])]
)
def test_what_is_no_matrix_of_numbers_is_refused_with_its_shape(array):
    with pytest.raises(InvalidInputError, match=r"items\.npz must hold numbers .*got") as caught:
        as_vectors(array, FILE)
    assert f"{array.dtype} of shape {array.shape}" in str(caught.value)


def test_class_names_become_numbers_in_alphabetical_order():
    for names in (np.array(["owl", "cat", "owl"]), np.array([b"owl", b"cat", b"owl"])):
        numbers, classes = as_labels(names, FILE)
        assert numbers.tolist() == [1, 0, 1]
        assert classes == ("cat", "owl")


def test_class_numbers_stay_and_a_matrix_is_tags():
    assert as_labels(np.array([3.0, -1.0]), FILE)[0].tolist() == [3, -1]
    tags, names = as_labels(np.array([[1.0, 0.0], [1.0, 1.0]]), FILE)
    assert (tags.dtype, tags.tolist(), names) == (np.uint8, [[1, 0], [1, 1]], None)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([[0, 2]]), "must hold 0 and 1 only"),
        (np.zeros((2, 2, 2)), r"0/1 matrix, got float64 of shape \(2, 2, 2\)"),
        (np.array(["a", "", ""]), "a label in each row, but 2 of 3 are missing: in rows 1, 2"),
        (np.array([1.0, 2.5]), "whole numbers that fit into 64 bits, got 2.5 in row 1"),
        (np.array([b"\xff"]), "must hold text in UTF-8"),
    ],
)
def test_impossible_labels_are_refused_by_value(array, message):
    with pytest.raises(InvalidInputError, match=message):
        as_labels(array, FILE)


def test_ids_are_whole_numbers_of_64_bits():
    assert as_ids(np.array([5.0, 2.0**52]), FILE).tolist() == [5, 2**52]
    for array, message in (
        (np.array([2**63], np.uint64), "got 9223372036854775808 in row 0"),
        (np.array([1.0, np.nan]), "got nan in row 1"),
        (np.array([[1]]), r"one whole number or text per item, got int64 of shape \(1, 1\)"),
        (np.array([1j]), "one whole number or text per item, got complex128"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            as_ids(array, FILE)


def test_ids_may_be_strings():
    for array in (np.array(["007", "x"]), np.array([b"007", b"x"])):
        found = as_ids(array, FILE)
        assert (found.dtype, found.tolist()) == (object, ["007", "x"])


def test_images_are_bytes():
    pictures = np.zeros((2, 8, 8), np.uint8)
    assert as_images(pictures, FILE) is pictures
    with pytest.raises(InvalidInputError, match=r"must be uint8, got float64\. Scale it to 0\.\."):
        as_images(pictures / 255, FILE)


def test_a_modality_is_numbers_or_texts():
    assert as_modality(np.array([b"red", b"sky"]), FILE) == ("red", "sky")
    assert as_modality(np.eye(2), FILE).dtype == np.float32
    with pytest.raises(InvalidInputError, match=r"vectors, .* or texts, .* of shape \(3,\)"):
        as_modality(np.zeros(3), FILE)


def test_modalities_of_different_lengths_show_both():
    check_paired({"image": np.eye(2), "text": ("a", "b")}, FILE)
    with pytest.raises(InvalidInputError, match="'image' has 2 rows and 'text' has 1"):
        check_paired({"image": np.eye(2), "text": ("a",)}, FILE)


def test_the_first_numbers_stand_for_the_items():
    image = np.eye(2, dtype=np.float32)
    assert first_vectors({"text": ("a", "b"), "image": image}) is image
