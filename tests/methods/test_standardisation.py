import math
import warnings

import numpy as np
import pytest
import scipy.sparse

from kinhash.errors import InvalidInputError
from kinhash.methods import standardisation as module
from kinhash.methods.standardisation import check_varies, standardisation


def test_mean_and_spread_by_hand():
    """Columns 1, 3 (mean 2, spread 1) and 0, 8 (mean 4, spread 4); and a constant one."""
    mean, scale, constant = standardisation(np.array([[1, 0, 5], [3, 8, 5]]))
    assert mean.tolist() == [2, 4, 5]
    assert scale.tolist() == [1, 0.25, 0]
    assert constant.tolist() == [False, False, True]
    assert mean.dtype == scale.dtype == np.float32


def test_columns_come_out_with_mean_0_and_spread_1_in_any_number_of_pieces(rng, monkeypatch):
    X = rng.normal(loc=3, scale=[1, 10, 0.01], size=(100, 3))
    whole = standardisation(X)
    monkeypatch.setattr(module, "CHUNK_ROWS", 7)
    pieces = standardisation(X)
    standard = (X - pieces[0]) * pieces[1]
    assert np.allclose(standard.mean(axis=0), 0, atol=1e-4)
    assert np.allclose(standard.std(axis=0), 1, atol=1e-4)
    assert all(np.allclose(*both) for both in zip(whole, pieces, strict=True))


def test_a_column_that_differs_by_rounding_is_constant():
    _, scale, constant = standardisation(np.array([[1e6], [1e6 + 0.01]]))
    assert (scale.tolist(), constant.tolist()) == ([0], [True])


def test_a_row_of_a_later_piece_is_named(monkeypatch):
    monkeypatch.setattr(module, "CHUNK_ROWS", 4)
    X = np.zeros((10, 2))
    X[9, 1] = np.nan
    with pytest.raises(InvalidInputError, match="NaN in row 9"):
        standardisation(X)


def test_rare_entries_of_sparse_columns_weigh_more_by_hand():
    """Of 4 rows, a column has 4 entries of 2, another one of 5, and the last none."""
    X = scipy.sparse.csr_array(np.array([[2.0, 0, 0], [2, 5, 0], [2, 0, 0], [-2, 0, 0]]))
    mean, scale, constant = standardisation(X)
    assert mean.tolist() == [0, 0, 0]  # so that sparse stays sparse
    assert scale[0] == pytest.approx(1 / 2 * (math.log(5 / 5) + 1))
    assert scale[1] == pytest.approx(1 / 5 * (math.log(5 / 2) + 1))
    assert scale[2] == 0
    assert constant.tolist() == [False, False, True]


def test_constant_columns_are_listed_but_not_all_of_many():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_varies(np.zeros(3, bool))
    with pytest.warns(UserWarning, match=r"2 of 3 columns of `X` are constant .*: 0, 2\."):
        check_varies(np.array([True, False, True]))
    with pytest.warns(UserWarning, match=r"6 of 7 columns .*: 1, 2, 3, 4, 5, \.\.\."):
        check_varies(np.arange(7) > 0)


def test_nothing_but_constant_columns_is_refused():
    with pytest.raises(InvalidInputError, match="All columns of `X` are constant"):
        check_varies(np.ones(3, bool))
