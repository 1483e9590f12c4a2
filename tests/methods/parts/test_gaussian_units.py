import numpy as np
import pytest
import scipy.sparse
import torch

from kinhash.encoders import CodEncoder, KernelEncoder, KernelIstaEncoder, KernelTopKEncoder
from kinhash.methods.parts.gaussian_units import GaussianUnits, units_at_rows, with_units
from kinhash.training.networks import CodNetwork, IstaNetwork, TanhNetwork, TopKNetwork


def kernel(x, c, gamma):
    return np.exp(-gamma * np.square(np.asarray(x, float) - c).sum())


def test_units_have_the_inner_products_of_the_kernel(rng):
    """Up to their mean: differences of outputs are distances of the kernel's space."""
    centres = rng.normal(size=(12, 4)).astype(np.float32)
    units = GaussianUnits(centres, 0.2)
    outputs = units(centres)
    assert outputs.dtype == np.float32
    assert np.allclose(outputs.mean(axis=0), 0, atol=1e-4)
    for i in range(12):
        for j in range(12):
            expected = 2 - 2 * kernel(centres[i], centres[j], 0.2)
            assert np.square(outputs[i] - outputs[j]).sum() == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("kind", [TanhNetwork, IstaNetwork])
def test_the_encoder_is_the_network_on_top_of_the_units(rng, kind):
    X = rng.normal(size=(300, 5)).astype(np.float32)
    mean, scale = X.mean(axis=0), 1 / X.std(axis=0)
    units = units_at_rows(X, mean, scale, 40, gamma=1.0, seed=0)
    settings = {} if kind is TanhNetwork else {"n_steps": 2, "signed": False}
    start = torch.from_numpy(rng.normal(size=(16, 40)).astype(np.float32))
    network = kind(start, beta=3.0, **settings)
    encoder = with_units(network.encoder(mean, scale), units)
    assert isinstance(encoder, KernelEncoder if kind is TanhNetwork else KernelIstaEncoder)
    with torch.no_grad():
        expected = network(torch.from_numpy(units((X - mean) * scale))).numpy()
    outputs = encoder.forward(X)
    found = np.tanh(3.0 * outputs) if kind is TanhNetwork else outputs
    assert np.allclose(found, expected, atol=1e-2)


def test_winners_on_top_of_the_units_are_those_of_the_network(rng):
    X = rng.normal(size=(300, 5)).astype(np.float32)
    mean, scale = X.mean(axis=0), 1 / X.std(axis=0)
    units = units_at_rows(X, mean, scale, 40, gamma=1.0, seed=0)
    start = torch.from_numpy(rng.normal(size=(16, 40)).astype(np.float32))
    network = TopKNetwork(start, beta=3.0, n_active=3, n_start=3)
    with torch.no_grad():
        network.bias += torch.randn(16)
    encoder = with_units(network.encoder(mean, scale), units)
    assert isinstance(encoder, KernelTopKEncoder)
    lifted = units((X - mean) * scale)
    expected = lifted @ network.W.detach().numpy().T + network.bias.detach().numpy()
    assert np.allclose(encoder.forward(X), expected, atol=1e-2)
    assert encoder.encode(X).n_active.tolist() == [3] * 300


def test_without_units_an_encoder_stays_as_it_is(rng):
    start = torch.from_numpy(rng.normal(size=(4, 3)).astype(np.float32))
    network = CodNetwork(start, beta=3.0, n_steps=2, signed=False)
    encoder = network.encoder(np.zeros(3, np.float32), np.ones(3, np.float32))
    assert with_units(encoder, None) is encoder
    assert isinstance(encoder, CodEncoder)


def test_units_at_sparse_rows_have_unit_length(rng):
    X = scipy.sparse.csr_array(np.where(rng.random((50, 8)) < 0.5, 1.0, 0.0).astype(np.float32))
    units = units_at_rows(X, np.zeros(8), np.ones(8, np.float32), 10, gamma=1.0, seed=0)
    assert units.unit_rows
    assert np.allclose(np.linalg.norm(units.centres, axis=1), 1, atol=1e-6)
    assert units.gamma == 0.5


def test_rows_are_brought_to_unit_length_where_the_centres_are(rng):
    centres = np.eye(3, dtype=np.float32)
    X = rng.normal(size=(5, 3)).astype(np.float32)
    plain, unit = GaussianUnits(centres, 0.5), GaussianUnits(centres, 0.5, unit_rows=True)
    assert np.allclose(unit(X), unit(7 * X), atol=1e-5)
    assert not np.allclose(plain(X), plain(7 * X), atol=1e-2)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    assert np.allclose(unit(X), plain(X / lengths), atol=1e-5)


def test_units_stand_at_random_rows_and_the_seed_draws_them(rng):
    X = rng.normal(size=(30, 4)).astype(np.float32)
    mean, scale = np.ones(4, np.float32), np.array([2, 1, 1, 0], np.float32)
    units = units_at_rows(X, mean, scale, 8, gamma=1.2, seed=3)
    standard = ((X - mean) * scale).tolist()
    chosen = [standard.index(centre) for centre in units.centres.tolist()]
    assert units.n_outputs == len(set(chosen)) == 8
    assert units.gamma == pytest.approx(1.2 / (2 * 3))  # three columns vary
    again = units_at_rows(X, mean, scale, 8, gamma=1.2, seed=3)
    assert np.array_equal(again.centres, units.centres)
    other = units_at_rows(X, mean, scale, 8, gamma=1.2, seed=4)
    assert not np.array_equal(other.centres, units.centres)


def test_there_are_no_more_units_than_rows(rng):
    X = rng.normal(size=(5, 4)).astype(np.float32)
    zeros, ones = np.zeros(4, np.float32), np.ones(4, np.float32)
    assert units_at_rows(X, zeros, ones, 1000, gamma=1.0, seed=0).n_outputs == 5


def test_units_of_sparse_rows_have_unit_length():
    X = scipy.sparse.csr_array(np.diag([1.0, 2.0, 5.0]))
    zeros, scale = np.zeros(3, np.float32), np.full(3, 0.5, np.float32)
    units = units_at_rows(X, zeros, scale, 3, gamma=1.0, seed=0)
    assert units.unit_rows
    assert np.array_equal(units.centres, np.eye(3))
    assert units.gamma == 0.5  # rows that share no entry are sqrt(2) apart
