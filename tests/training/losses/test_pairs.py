import numpy as np
import pytest
import torch

from kinhash.training.losses import mean_distances, pair_weights


def test_weights_by_hand():
    """Of three known pairs, similarities 1, 0 and 1/2: half a pair counts on each side."""
    similar, known = torch.tensor([[1.0, 0.0, 0.5, 1.0]]), torch.tensor([[True, True, True, False]])
    pull, push = pair_weights(similar, known, 0.3)
    assert np.allclose(pull, [[0.2, 0.0, 0.1, 0.0]])
    assert np.allclose(push, [[0.0, 0.7 / 1.5, 0.35 / 1.5, 0.0]])


@pytest.mark.parametrize("similar", [torch.tensor([[True, False]]), torch.tensor([[1.0, 0.0]])])
def test_true_and_false_are_one_and_zero(similar):
    pull, push = pair_weights(similar, torch.tensor([[True, True]]), 0.25)
    assert pull.tolist() == [[0.25, 0.0]]
    assert push.tolist() == [[0.0, 0.75]]


def test_a_kind_that_is_missing_weighs_nothing():
    pull, push = pair_weights(torch.zeros(2, 2), torch.ones(2, 2, dtype=torch.bool), 0.25)
    assert not pull.any()
    assert push.sum().item() == pytest.approx(0.75)


def test_mean_distances_by_hand():
    D = torch.tensor([[4.0, 2.0, 10.0]])
    found = mean_distances(D, torch.tensor([[1.0, 0.5, 0.0]]), torch.tensor([[True, True, False]]))
    assert found == {"similar_distance": pytest.approx(5 / 1.5), "dissimilar_distance": 2.0}
