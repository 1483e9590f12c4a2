import math
import re

import numpy as np
import pytest

from kinhash.arguments import check_choice, check_directions, check_integer, check_number
from kinhash.errors import InvalidInputError


@pytest.mark.parametrize("value", [1, 64, np.int32(7), np.uint8(64)])
def test_integers_in_range_pass(value):
    check_integer("n_bits", value, 1, 64)


def test_without_an_upper_end_any_large_integer_passes():
    check_integer("seed", 10**30, 0)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "`n_bits` must be an integer in [1, 64], got 0."),
        (65, "`n_bits` must be an integer in [1, 64], got 65."),
        (3.0, "`n_bits` must be an integer, got 3.0."),
        (True, "`n_bits` must be an integer, got True."),
        ("3", "`n_bits` must be an integer, got '3'."),
        (None, "`n_bits` must be an integer, got None."),
    ],
)
def test_other_integers_are_refused_with_the_range(value, message):
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        check_integer("n_bits", value, 1, 64)


def test_an_open_range_says_the_least():
    with pytest.raises(InvalidInputError, match="`seed` must be an integer of at least 0, got -1"):
        check_integer("seed", -1, 0)


@pytest.mark.parametrize("value", [0, 0.5, 1, np.float32(0.25), np.int64(1)])
def test_numbers_in_range_pass(value):
    check_number("share", value, 0, 1)


@pytest.mark.parametrize(
    ("value", "open_low", "message"),
    [
        (-0.1, False, "`share` must be a number of at least 0 and at most 1, got -0.1."),
        (1.5, False, "`share` must be a number of at least 0 and at most 1, got 1.5."),
        (0, True, "`share` must be a number greater than 0 and at most 1, got 0."),
        (math.nan, False, "`share` must be a number of at least 0 and at most 1, got nan."),
        (math.inf, False, "`share` must be a number of at least 0 and at most 1, got inf."),
        ("1", False, "`share` must be a number of at least 0 and at most 1, got '1'."),
        (True, False, "`share` must be a number of at least 0 and at most 1, got True."),
    ],
)
def test_other_numbers_are_refused_with_the_range(value, open_low, message):
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        check_number("share", value, 0, 1, open_low=open_low)


def test_infinity_is_no_number_even_without_an_upper_end():
    with pytest.raises(InvalidInputError, match="`lam` must be a number of at least 0, got inf"):
        check_number("lam", math.inf, 0)


def test_a_choice_is_one_of_the_names():
    check_choice("encoder", "ista", ("ista", "cod"))
    with pytest.raises(InvalidInputError, match=r"Unknown encoder 'itsa'\. Did you mean 'ista'"):
        check_choice("encoder", "itsa", ("ista", "cod"))


def test_each_bit_needs_a_direction_of_its_own():
    check_directions(n_bits=8, n_rows=9, n_varying=8)
    with pytest.raises(InvalidInputError, match=r"`n_bits` must be at most 7, .* got 8: each bit"):
        check_directions(n_bits=8, n_rows=9, n_varying=7)
    with pytest.raises(InvalidInputError, match="more rows than the 8 bits, got 8"):
        check_directions(n_bits=8, n_rows=8, n_varying=8)
