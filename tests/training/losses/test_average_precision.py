import numpy as np
import pytest
import torch

from kinhash.training.losses.average_precision import average_precision


def naive(distances, relevance, later, known):
    """Each item is preceded by all that are nearer, and by half of those at its own place."""
    found = np.zeros(len(distances))
    for query, row in enumerate(distances):
        places = [(bool(later[query, item]), row[item]) for item in range(len(row))]
        items = [item for item in range(len(row)) if known[query, item]]
        for item in items:
            before, hits = 0.0, 0.0
            for other in items:
                if places[other] <= places[item]:
                    share = 0.5 if places[other] == places[item] else 1.0
                    before += share
                    hits += share * relevance[query, other]
            found[query] += relevance[query, item] * hits / before
        found[query] /= max(1e-6, sum(relevance[query, item] for item in items))
    return found


def problem(rng, n, n_bits, *, soft):
    bits = rng.integers(2, size=(n, n_bits))
    distances = (bits[:, None] != bits).sum(axis=2).astype(np.float64)
    relevance = rng.random((n, n)) if soft else rng.integers(2, size=(n, n)).astype(float)
    later = rng.random((n, n)) < 0.5
    return distances, relevance, later, 1.0 - np.eye(n)


@pytest.mark.parametrize("n_bits", [1, 3, 9, 40])
@pytest.mark.parametrize("soft", [False, True])
def test_it_is_that_of_a_naive_loop_with_ties(rng, n_bits, soft):
    given = problem(rng, 25, n_bits, soft=soft)
    found = average_precision(*map(torch.from_numpy, given), n_bits)
    np.testing.assert_allclose(found.numpy(), naive(*given), atol=1e-4)


def test_of_a_ranking_without_ties_it_is_known_by_hand():
    """Relevant, not, relevant: each preceded by half of itself, (0.5 / 0.5 + 1.5 / 2.5) / 2."""
    distances = torch.tensor([[9.0, 1.0, 2.0, 3.0]])
    relevance = torch.tensor([[1.0, 1.0, 0.0, 1.0]])
    known = torch.tensor([[0.0, 1.0, 1.0, 1.0]])
    none = torch.zeros(1, 4, dtype=torch.bool)
    found = average_precision(distances, relevance, none, known, 9)
    assert found.item() == pytest.approx((1 + 1.5 / 2.5) / 2, abs=1e-5)
    # What comes later is behind all others, however near: relevant, relevant, not.
    last = torch.tensor([[False, False, True, False]])
    found = average_precision(distances, relevance, last, known, 9)
    assert found.item() == pytest.approx(1.0, abs=1e-5)


def test_rows_with_nothing_to_find_have_none():
    zeros = torch.zeros(2, 2)
    found = average_precision(zeros, zeros, zeros.bool(), 1 - torch.eye(2), 5)
    assert found.tolist() == [0, 0]


def test_gradients_are_those_of_differences(rng):
    """Between whole numbers, where the histogram is smooth."""
    _, relevance, later, known = problem(rng, 7, 6, soft=True)
    distances = torch.from_numpy(rng.integers(6, size=(7, 7)) + rng.uniform(0.2, 0.8, (7, 7)))
    others = [torch.from_numpy(one) for one in (relevance, later, known)]
    assert torch.autograd.gradcheck(
        lambda D: average_precision(D, *others, 6), distances.requires_grad_(), eps=1e-6
    )


def test_bringing_a_relevant_item_nearer_raises_it():
    distances = torch.tensor([[0.0, 3.5, 2.5]], requires_grad=True)
    relevance, known = torch.tensor([[0.0, 1.0, 0.0]]), torch.tensor([[0.0, 1.0, 1.0]])
    average_precision(distances, relevance, torch.zeros(1, 3).bool(), known, 5).sum().backward()
    assert distances.grad[0, 1] < 0 < distances.grad[0, 2]
