import math

import numpy as np
import pytest

from kinhash.errors import InvalidInputError
from kinhash.metrics.checks import (
    Side,
    checked_integers,
    checked_labels,
    checked_own,
    mean_of_known,
)


def test_integers_become_pythons_own():
    found = checked_integers("at", np.array([1, 5]), least=1)
    assert found == (1, 5)
    assert all(type(one) is int for one in found)
    with pytest.raises(InvalidInputError, match="`at` must be a sequence of integers of at least"):
        checked_integers("at", [1, True], least=1)


def test_errors_call_each_side_by_its_names():
    sides = Side("asked", "asked_codes", "`asked_codes`"), Side("kept", "kept_codes", "the rest")
    with pytest.raises(InvalidInputError, match="`kept` have 2 rows but `kept_codes` have 3 codes"):
        checked_labels([1, 2], 2, [1, 2], 3, sides)
    with pytest.raises(InvalidInputError, match="Drop those rows from `kept` and from the rest"):
        checked_labels([1, 2], 2, [1, None], 2, sides)
    with pytest.raises(InvalidInputError, match="`asked` are numbers but `kept` are strings"):
        checked_labels([1, 2], 2, ["a", "b"], 2, sides)


def test_matrices_become_bool_and_classes_stay():
    tags, others = checked_labels([[0, 1]], 1, [[1, 1], [0, 0]], 2)
    assert tags.dtype == others.dtype == bool
    classes, _ = checked_labels([3, 1], 2, [1], 1)
    assert classes.tolist() == [3, 1]


def test_own_rows_are_numbers_of_the_database():
    assert checked_own(None, 2, 3) is None
    assert checked_own([0, 2], 2, 3).dtype == np.int64
    with pytest.raises(InvalidInputError, match="rows of the database, 0 to 2, got 0 to 3"):
        checked_own([0, 3], 2, 3)


def test_unknown_values_are_left_out_of_a_mean():
    assert mean_of_known(np.array([1.0, np.nan, 3.0])) == 2
    assert math.isnan(mean_of_known(np.array([np.nan])))
