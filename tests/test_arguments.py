"""How many threads are used, and how arguments are checked."""

import os
import subprocess
import sys

import numpy as np
import pytest

from kinhash.arguments import checked_threads, default_threads
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
