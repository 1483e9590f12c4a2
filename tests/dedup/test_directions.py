import numpy as np
import pytest

from kinhash.dedup.directions import directions
from kinhash.errors import InvalidInputError


def test_rows_have_length_one_whatever_their_size():
    expected = [[0.6, 0.8], [-0.6, 0.8], [0, 0], [1, 0]]
    for scale in (1, 1e-30, 1e30):
        X = np.array([[3, 4], [-3, 4], [0, 0], [9e-9, 0]]) * scale
        np.testing.assert_allclose(directions(X), expected, atol=1e-6)
    assert directions(np.array([[3, 4]], np.int8)).dtype == np.float32


def test_no_rows_have_no_directions():
    assert directions(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize(("value", "what"), [(np.nan, "NaN"), (-np.inf, "infinity")])
def test_what_has_no_direction_is_refused(value, what):
    X = np.ones((4, 2))
    X[2, 1] = value
    with pytest.raises(InvalidInputError, match=f"contains {what} in row 102, column 1"):
        directions(X, first_row=100)
