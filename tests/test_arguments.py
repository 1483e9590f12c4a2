"""How many threads are used, and how arguments are checked."""

import math
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from kinhash.arguments import (
    check_choice,
    check_directions,
    check_integer,
    check_number,
    checked_threads,
    default_threads,
)
from kinhash.encoders import LinearEncoder
from kinhash.errors import InvalidInputError


def test_threads_are_as_many_as_asked_for_or_as_this_process_has_cores():
    assert checked_threads("n_threads", 3) == 3
    assert checked_threads("n_threads", np.int64(3)) == 3
    assert checked_threads("n_threads", None) == default_threads() >= 1


def test_a_number_of_threads_that_no_machine_has_fits_the_core():
    encoder = LinearEncoder(
        np.zeros(2, "f"), np.ones(2, "f"), np.eye(2, dtype="f"), np.zeros(2, "f")
    )
    X = np.eye(2)
    assert encoder.encode(X, n_threads=10**30) == encoder.encode(X)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity here")
def test_cores_that_this_process_may_not_use_do_not_count():
    code = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from kinhash.arguments import default_threads
print(default_threads())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


@pytest.mark.parametrize("n_threads", [0, -1, 1.5, "2", True, np.nan], ids=repr)
def test_impossible_numbers_of_threads_are_refused(n_threads, tiny_model):
    message = rf"^`n_threads` must be an integer of at least 1, got {n_threads!r}\.$"
    with pytest.raises(InvalidInputError, match=message):
        checked_threads("n_threads", n_threads)
    with pytest.raises(InvalidInputError, match=message):
        tiny_model.encode(np.zeros((1, tiny_model.n_features_in_)), n_threads=n_threads)


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
