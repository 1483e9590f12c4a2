import numpy as np
import pytest
import torch

from kinhash.training.losses import ContrastiveLoss


@pytest.mark.parametrize("soft", [False, True])
def test_it_equals_a_naive_double_loop(rng, soft):
    A = rng.uniform(-1, 1, (9, 12))
    similar, known = rng.random((9, 9)), rng.random((9, 9)) < 0.8
    similar = similar if soft else (similar < 0.3).astype(float)
    a = torch.tensor(A, requires_grad=True)
    loss = ContrastiveLoss(margin=3.0, similar_share=0.2)
    found = loss(a, a, torch.tensor(similar), torch.tensor(known))
    found.total.backward()
    pull = push = n_similar = n_dissimilar = 0.0
    for i in range(9):
        for j in range(9):
            if known[i, j]:
                d = np.linalg.norm(A[i] - A[j])
                pull += similar[i, j] * d**2
                push += (1 - similar[i, j]) * max(0.0, 3.0 - d) ** 2
                n_similar += similar[i, j]
                n_dissimilar += 1 - similar[i, j]
    expected = 0.2 * pull / n_similar + 0.8 * push / n_dissimilar
    assert found.total.item() == pytest.approx(expected)
    assert torch.isfinite(a.grad).all()
