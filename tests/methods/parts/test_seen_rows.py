import numpy as np
import pytest
import scipy.sparse

from kinhash.encoders import unit_length
from kinhash.methods.parts import seen_rows as module
from kinhash.methods.parts.seen_rows import seen_rows, unit_rows


def a_set(rng):
    X = (rng.random((30, 6)) < 0.4) * rng.normal(size=(30, 6))
    X[4] = 0
    scale = rng.random(6).astype(np.float32) + 0.5
    return X, scale


@pytest.mark.parametrize("mean", [0.0, 0.3])
def test_sparse_rows_are_seen_as_dense_ones_are(rng, mean):
    X, scale = a_set(rng)
    means, rows = np.full(6, mean, np.float32), np.array([0, 4, 7, 29])
    dense = unit_rows(X, rows, means, scale)
    sparse = unit_rows(scipy.sparse.csr_array(X), rows, means, scale)
    found = sparse.toarray() if scipy.sparse.issparse(sparse) else sparse
    assert np.allclose(found, dense, atol=1e-6)
    assert np.allclose(dense, unit_length(((X[rows] - mean) * scale).astype(np.float32)))


@pytest.mark.parametrize("max_columns", [2048, 3])
@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_all_directions_keep_inner_products(rng, monkeypatch, kind, max_columns):
    monkeypatch.setattr(module, "MAX_COLUMNS", max_columns)
    X, scale = a_set(rng)
    rows = np.arange(30)
    seen = seen_rows(kind(X), rows, np.zeros(6, np.float32), scale, n_directions=99, seed=0)
    U = unit_length((X * scale).astype(np.float32))
    centred = U - U.mean(axis=0)
    assert seen.values.shape == (30, 6)
    assert np.allclose(seen.values @ seen.values.T, centred @ centred.T, atol=1e-5)
    variances = np.square(seen.values).sum(axis=0)
    assert (np.diff(variances) <= 1e-2).all(), "widest first"


def test_a_linear_map_of_coordinates_is_one_of_rows(rng):
    X, scale = a_set(rng)
    mean = X.mean(axis=0).astype(np.float32)
    seen = seen_rows(X, np.arange(30), mean, scale, n_directions=4, seed=0)
    W, bias = rng.normal(size=(5, 3)).astype(np.float32), rng.normal(size=5).astype(np.float32)
    whole, whole_bias = seen.linear(W, bias)  # of the first three coordinates
    U = unit_rows(X, np.arange(30), mean, scale)
    assert np.allclose(U @ whole.T + whole_bias, seen.values[:, :3] @ W.T + bias, atol=1e-5)
