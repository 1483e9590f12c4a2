import numpy as np
import pytest
import torch

from kinhash.progress import silent
from kinhash.training import rank_bits
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


def mean_rank_gap(clusters, W, bias):
    """Return how many bits dissimilar rows are farther apart than similar ones."""
    inputs, _, classes = clusters
    bits = inputs @ W.T + bias > 0
    D = (bits[:, None] != bits).sum(axis=2)
    alike = classes[:, None] == classes
    return D[~alike].mean() - D[alike].mean()


def test_bits_come_to_rank_what_is_likely_similar_first(clusters, rng):
    start = 0.3 * rng.normal(size=(8, 6))
    W, bias = trained(clusters, start)
    assert W.shape == (8, 6)
    assert bias.shape == (8,)
    before = mean_rank_gap(clusters, start, np.zeros(8))
    assert mean_rank_gap(clusters, W, bias) > max(3, 1.5 * before)


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


def test_what_is_in_one_bucket_is_compared_first(clusters, rng, monkeypatch):
    """Where the buckets are the classes, there is nothing left for bits to gain."""
    monkeypatch.setattr(rank_bits, "N_STEPS", 60)
    start = 0.3 * rng.normal(size=(8, 6))
    apart = [
        mean_rank_gap(clusters, *trained(clusters, start, cells=cells))
        for cells in (None, clusters[2])
    ]
    assert apart[0] > apart[1]


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
