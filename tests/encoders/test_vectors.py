import numpy as np
import pytest
import scipy.sparse

from kinhash.encoders.vectors import (
    as_float32,
    check_finite,
    is_sparse,
    squared_distances,
    unit_length,
)
from kinhash.errors import InvalidInputError


def test_what_is_ready_is_not_copied():
    X = np.zeros((3, 2), np.float32)
    assert as_float32(X) is X
    turned = as_float32(X.T)
    assert turned.flags.c_contiguous
    assert turned.shape == (2, 3)


def test_what_overflows_becomes_infinite_without_a_warning():
    assert as_float32(np.array([1e300, 0.5])).tolist() == [np.inf, 0.5]


def test_rows_are_brought_to_unit_length_and_zeros_stay():
    found = unit_length(np.array([[3.0, 4.0], [0.0, 0.0]]))
    assert found.tolist() == [[0.6, 0.8], [0, 0]]


def test_squared_distances_equal_a_double_loop_and_are_never_negative(rng):
    X, Y = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    expected = [[sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for y in Y] for x in X]
    assert np.allclose(squared_distances(X, Y), expected)
    singles = X.astype(np.float32), Y.astype(np.float32)
    assert np.allclose(squared_distances(*singles), expected, atol=1e-5)
    assert squared_distances(*singles).dtype == np.float32
    near = 1000 + 1e-4 * rng.normal(size=(50, 3)).astype(np.float32)
    assert squared_distances(near, near).min() >= 0


@pytest.mark.parametrize(("value", "what"), [(np.nan, "NaN"), (-np.inf, "infinity")])
def test_the_first_row_that_is_not_finite_is_named(value, what):
    X = np.zeros((5, 2))
    check_finite(X)
    X[[2, 4], 1] = value
    with pytest.raises(
        InvalidInputError, match=f"contains {what} in row 102, column 1. Drop that row"
    ):
        check_finite(X, first_row=100)


def test_a_sparse_row_is_named_even_after_rows_without_entries():
    X = scipy.sparse.csr_array(([1.0, np.inf, np.nan], ([0, 3, 4], [1, 0, 1])), shape=(6, 2))
    with pytest.raises(InvalidInputError, match="contains infinity in row 3"):
        check_finite(X)
    check_finite(X[:3])


def test_arrays_and_matrices_are_told_apart():
    assert is_sparse(scipy.sparse.csr_array((2, 2)))
    assert is_sparse(scipy.sparse.coo_matrix((2, 2)))
    assert not is_sparse(np.zeros((2, 2)))
    assert not is_sparse([[0, 0]])
