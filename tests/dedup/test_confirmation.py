import numpy as np
import pytest

from kinhash.dedup.confirmation import cosines
from kinhash.errors import InvalidInputError


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8])
def test_cosines_of_pairs_are_in_the_order_of_the_pairs(dtype):
    rng = np.random.default_rng(0)
    X, Y = (rng.integers(-9, 9, (20, 33)).astype(dtype) for _ in range(2))
    rows, near = np.sort(rng.integers(0, 20, 60)), rng.integers(0, 20, 60)
    one, other = X[rows].astype(float), Y[near].astype(float)
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    expected = (one * other).sum(axis=1) / lengths
    np.testing.assert_allclose(cosines(X, rows, Y, near, 2), expected, atol=1e-6)


def test_no_pairs_have_no_cosines():
    none, X = np.zeros(0, np.int64), np.eye(2, dtype=np.float32)
    assert cosines(X, none, X, none, 1).size == 0


def test_a_row_that_is_not_finite_is_named():
    X = np.diag([1, np.nan, 1]).astype(np.float32)
    with pytest.raises(InvalidInputError, match="Row 1 holds NaN, infinity or too large numbers"):
        cosines(X, np.array([0, 0]), X, np.array([2, 1]), 1)
