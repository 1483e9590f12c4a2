import numpy as np
import pytest
import torch

from kinhash.progress import silent
from kinhash.training import rank_bits
from kinhash.training.losses.average_precision import average_precision
from kinhash.training.rank_bits import similarity, train_rank_bits


@pytest.fixture
def clusters(rng):
    """Rows of three classes along six directions, of which three say nothing."""
    classes = np.arange(240) % 3
    inputs = np.eye(3, 6)[classes] + 0.4 * rng.normal(size=(240, 6))
    likely = np.full((240, 3), 0.05)
    likely[np.arange(240), classes] = 0.9
    return inputs.astype(np.float32), likely, classes


def trained(clusters, start, seed=0, cells=None, report=silent):
    inputs, likely, _ = clusters
    cells = np.zeros(len(inputs)) if cells is None else cells
    return train_rank_bits(inputs, likely, cells, start, exclusive=True, seed=seed, report=report)


def mean_precision(clusters, W, bias):
    """Return the mean average precision of rankings by the bits."""
    inputs, _, classes = clusters
    bits = inputs @ W.T + bias > 0
    D = torch.from_numpy((bits[:, None] != bits).sum(axis=2).astype(np.float64))
    alike = torch.from_numpy((classes[:, None] == classes).astype(np.float64))
    later, known = torch.zeros(D.shape, dtype=torch.bool), 1 - torch.eye(len(bits))
    return average_precision(D, alike, later, known, len(W)).mean().item()


def test_bits_come_to_rank_what_is_likely_similar_first(clusters, rng):
    start = 0.3 * rng.normal(size=(8, 6))
    W, bias = trained(clusters, start)
    assert W.shape == (8, 6)
    assert bias.shape == (8,)
    assert mean_precision(clusters, start, np.zeros(8)) < 0.6
    assert mean_precision(clusters, W, bias) > 0.7


def test_it_is_repeatable_by_seed_and_tells_its_progress(clusters, rng, monkeypatch):
    monkeypatch.setattr(rank_bits, "N_STEPS", 12)
    monkeypatch.setattr(rank_bits, "BATCH_ROWS", 50)
    start, told = rng.normal(size=(4, 6)), []
    first = trained(clusters, start, report=lambda *said: told.append(said[:2]))
    again, other = trained(clusters, start), trained(clusters, start, seed=1)
    assert np.array_equal(first[0], again[0])
    assert np.array_equal(first[1], again[1])
    assert not np.array_equal(first[0], other[0])
    assert told == [(step, 12) for step in range(1, 13)]


def test_the_order_is_that_of_searches(clusters, rng, monkeypatch):
    """Of the pairs of a batch: their bits, how likely they are similar, which bucket is later."""
    seen = []

    def spy(*given):
        seen.append([one.detach().numpy() for one in given[:4]])
        return average_precision(*given)

    monkeypatch.setattr(rank_bits, "average_precision", spy)
    monkeypatch.setattr(rank_bits, "N_STEPS", 1)
    start, cells = rng.normal(size=(8, 6)), rng.integers(5, size=240)
    trained(clusters, start, cells=cells)
    rows = np.random.default_rng(0).permutation(240)
    inputs, likely, _ = clusters
    bits = inputs[rows] @ start.T > 0
    ((distances, relevance, later, known),) = seen
    assert np.array_equal(distances, (bits[:, None] != bits).sum(axis=2))
    np.testing.assert_allclose(relevance, likely[rows] @ likely[rows].T, atol=1e-5)
    assert np.array_equal(later, cells[rows][:, None] != cells[rows])
    assert np.array_equal(known, 1 - np.eye(240))


@pytest.mark.parametrize("exclusive", [True, False])
def test_similarity_is_the_probability_of_a_shared_class(rng, exclusive):
    likely = rng.dirichlet(np.ones(4), 6) if exclusive else 0.1 * rng.random((6, 4))
    found = similarity(torch.from_numpy(likely), exclusive=exclusive).numpy()
    for i in range(6):
        for j in range(6):
            if exclusive:
                expected = sum(likely[i, c] * likely[j, c] for c in range(4))
            else:  # that not all of the tags differ, about
                expected = 1 - np.prod([1 - likely[i, c] * likely[j, c] for c in range(4)])
            assert found[i, j] == pytest.approx(expected, abs=1e-12 if exclusive else 1e-3)
