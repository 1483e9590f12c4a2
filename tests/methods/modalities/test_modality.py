import math

import numpy as np
import pytest
import scipy.sparse

from kinhash.errors import InvalidInputError
from kinhash.methods.modalities.modality import (
    Modality,
    as_rows,
    check_paired,
    per_modality,
    read_modalities,
)


def read(values, n_words=100):
    return Modality.read("image", values, n_words=n_words)


def test_numbers_are_standardised_over_the_rows_that_are_there():
    """The second row is not there; of the others, the columns have means 2 and 4."""
    found = read(np.array([[1.0, 0.0], [np.nan, np.nan], [3.0, 8.0]]))
    assert found.present.tolist() == [True, False, True]
    assert found.mean.tolist() == [2, 4]
    assert found.scale.tolist() == [1, 0.25]
    assert (found.n_rows, found.is_sparse, found.words) == (3, False, None)
    root = math.sqrt(0.5)
    assert np.allclose(found.unit_rows(), [[-root, -root], [0, 0], [root, root]])


def test_whole_numbers_are_all_there():
    assert read([[1, 2], [3, 4]]).present.tolist() == [True, True]


def test_a_sparse_row_without_an_entry_is_not_there():
    found = read(scipy.sparse.coo_array(np.array([[3.0, 4.0], [0.0, 0.0], [3.0, 0.0]])))
    assert found.present.tolist() == [True, False, True]
    assert found.mean.tolist() == [0, 0]
    rows = found.unit_rows()
    assert scipy.sparse.issparse(rows)
    assert rows.dtype == np.float32
    dense = rows.toarray()
    assert np.allclose(np.linalg.norm(dense, axis=1), [1, 0, 1])
    assert np.allclose(dense[0], np.array([3, 4]) * found.scale / np.hypot(*([3, 4] * found.scale)))


def test_texts_become_bags_of_their_words():
    found = read(["red rose", "", "red sky", "red"])
    assert found.is_sparse
    assert found.present.tolist() == [True, False, True, True]
    assert set(found.words.words) == {"red", "rose", "sky"}
    assert len(read(["red rose", "red sky"], n_words=1).words.words) == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.full((3, 2), np.nan), "All 3 rows of 'image' are empty"),
        (scipy.sparse.csr_array((3, 2)), "All 3 rows of 'image' are empty"),
        (np.ones((3, 2)), "All columns of 'image' are constant"),
        ([[1.0, 2.0], [np.nan, 3.0]], "'image' contains NaN in row 1"),
        (scipy.sparse.csr_array([[1.0, np.inf]]), "'image' contains infinity in row 0"),
        ([["a", "b"]], "Modality 'image' cannot be used"),
        (np.zeros((2, 2, 2)), "Modality 'image' cannot be used"),
    ],
)
def test_unusable_values_are_refused_by_the_modalitys_name(values, message):
    with pytest.raises(InvalidInputError, match=message):
        read(values)


def test_constant_columns_are_counted_with_the_modalitys_name():
    with pytest.warns(UserWarning, match="1 of 2 columns of 'image' are constant"):
        read([[1.0, 7.0], [2.0, 7.0]])


def test_sparse_rows_have_each_entry_once_and_no_zeros():
    twice = scipy.sparse.coo_array(([1, 2, 0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    rows = as_rows("image", twice)
    assert rows.nnz == 1
    assert rows.toarray().tolist() == [[0, 3], [0, 0]]


def test_modalities_keep_the_order_of_the_dict():
    values = np.array([[1.0, 2.0], [3.0, 5.0]])
    assert list(read_modalities({"text": values, "image": values}, n_words=9)) == ["text", "image"]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.eye(3), "must be a dict with the vectors of each modality, .* got ndarray"),
        ({}, "at least one modality, got none"),
        ({"a/b": np.eye(3), "text": np.eye(3)}, "text without a slash, got 'a/b'"),
        ({3: np.eye(3), "text": np.eye(3)}, "text without a slash, got 3"),
    ],
)
def test_what_is_no_dict_of_modalities_is_refused(X, message):
    with pytest.raises(InvalidInputError, match=message):
        read_modalities(X, n_words=9)


def test_rows_that_are_not_paired_show_both_numbers(rng):
    def some(n):
        return rng.normal(size=(n, 2))

    assert check_paired(read_modalities({"a": some(4), "b": some(4)}, n_words=9), "") == 4
    with pytest.raises(InvalidInputError, match=r"'a' has 4 rows and 'b' has 3\. .*, or else\."):
        check_paired(read_modalities({"a": some(4), "b": some(3)}, n_words=9), ", or else")


def test_a_parameter_is_one_for_all_or_one_for_each():
    known = {"image": 1, "text": 2}
    assert per_modality("mu", 0.5, known, 1.0) == {"image": 0.5, "text": 0.5}
    assert per_modality("mu", {"text": 0.5}, known, 1.0) == {"image": 1.0, "text": 0.5}
    with pytest.raises(InvalidInputError, match="Unknown modality in `mu` 'sound'"):
        per_modality("mu", {"sound": 1.0}, known, 1.0)
