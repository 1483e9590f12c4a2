import numpy as np
import scipy.sparse
import torch

from kinhash.training import inputs as module
from kinhash.training.inputs import Inputs, MultimodalInputs


class Doubled:
    """A first layer that gives every standardised row twice, side by side."""

    n_outputs = 6

    def __call__(self, X):
        return np.hstack([X, X]).astype(np.float32)


def standard(rng):
    X = rng.normal(size=(7, 3)).astype(np.float32)
    mean, scale = X.mean(axis=0), np.float32([1.0, 2.0, 0.0])
    return X, mean, scale, (X - mean) * scale


def test_rows_are_standardised_and_of_unit_length(rng):
    X, mean, scale, expected = standard(rng)
    rows = np.array([4, 1])
    found = Inputs(X, mean, scale, "cpu")[rows].numpy()
    for one, row in zip(found, expected[rows], strict=True):
        assert np.allclose(one, row / np.linalg.norm(row), atol=1e-6)


def test_a_first_layer_takes_the_place_of_unit_length(rng):
    X, mean, scale, expected = standard(rng)
    found = Inputs(X, mean, scale, "cpu", Doubled())[np.array([2])]
    assert np.allclose(found, np.hstack([expected, expected])[[2]], atol=1e-6)


def test_what_is_not_kept_in_memory_is_the_same(rng, monkeypatch):
    X, mean, scale, _ = standard(rng)
    rows = np.array([0, 6, 3])
    for lift in (None, Doubled()):
        kept = Inputs(X, mean, scale, "cpu", lift)[rows]
        with monkeypatch.context() as patch:
            patch.setattr(module, "RESIDENT_BYTES", 0)
            assert torch.equal(Inputs(X, mean, scale, "cpu", lift)[rows], kept)


def test_sparse_rows_are_those_of_the_dense_matrix(rng):
    X = np.where(rng.random((9, 5)) < 0.4, rng.random((9, 5)), 0).astype(np.float32)
    mean, scale = np.zeros(5, np.float32), np.float32([1, 2, 3, 4, 5])
    rows = np.array([8, 0])
    for lift in (None, Doubled()):
        sparse = Inputs(scipy.sparse.csr_array(X), mean, scale, "cpu", lift)[rows]
        assert torch.equal(sparse, Inputs(X, mean, scale, "cpu", lift)[rows])


def test_views_go_to_the_modality_they_belong_to(rng):
    first, second = rng.random((3, 2)).astype(np.float32), rng.random((4, 5)).astype(np.float32)
    parts = [
        Inputs(X, np.zeros(X.shape[1]), np.ones(X.shape[1], np.float32), "cpu")
        for X in (first, second)
    ]
    views = MultimodalInputs(parts, np.array([0, 3, 7]))[np.array([1, 2, 3, 6])]
    assert torch.equal(views[0], parts[0][np.array([1, 2])])
    assert torch.equal(views[1], parts[1][np.array([0, 3])])
