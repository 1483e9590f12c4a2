import warnings

import numpy as np
import pytest

from kinhash.errors import CollapseWarning
from kinhash.methods.recipes.buckets import (
    class_bucket,
    n_bucket_bits,
    warn_of_shared_codes,
)


def test_the_bucket_has_two_bits_for_each_class_where_rank_bits_keep_the_most():
    assert n_bucket_bits(64, None, 10) == 20
    assert n_bucket_bits(64, None, 50) == 16
    assert n_bucket_bits(64, 40, 50) == 24
    assert n_bucket_bits(4, None, 10) == 4


def test_too_many_classes_are_said(rng):
    with pytest.warns(UserWarning, match=r"6 bucket bits have no room for 12 classes: \d+ pairs"):
        class_bucket(np.diag([5] * 12), 6, 16, rng)


def test_classes_that_share_their_codes_are_named_with_where():
    counts = np.array([[6, 4, 0], [7, 3, 0], [0, 0, 9]])
    with pytest.warns(CollapseWarning, match="^In 'image': a and b share 90% of their codes: the"):
        warn_of_shared_codes(counts, np.array(["a", "b", "c"]), where="In 'image': ")


def test_classes_that_share_most_of_their_codes_are_named_though_each_has_its_own_commonest():
    with pytest.warns(CollapseWarning, match="^a and b share 80% of their codes"):
        warn_of_shared_codes(np.array([[6, 4], [4, 6]]), np.array(["a", "b"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_shared_codes(np.array([[8, 2], [2, 8]]), np.array(["a", "b"]))
