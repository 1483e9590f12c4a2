import math

import numpy as np
import pytest
import torch

from kinhash.training.losses import SupervisedContrastiveLoss


@pytest.mark.parametrize("soft", [False, True])
def test_it_equals_a_naive_double_loop(rng, soft):
    A = rng.uniform(-1, 1, (9, 12))
    similar, known = rng.random((9, 9)), rng.random((9, 9)) < 0.8
    similar = similar if soft else (similar < 0.3).astype(float)
    a = torch.tensor(A, requires_grad=True)
    found = SupervisedContrastiveLoss(0.4)(a, a, torch.tensor(similar), torch.tensor(known))
    found.total.backward()
    losses, distances = [], {"similar": [], "dissimilar": []}
    for i in range(9):
        alike = total = 0.0
        for j in range(9):
            if known[i, j]:
                cosine = A[i] @ A[j] / (np.linalg.norm(A[i]) * np.linalg.norm(A[j]))
                alike += similar[i, j] * math.exp(cosine / 0.4)
                total += math.exp(cosine / 0.4)
                squared = float(np.sum((A[i] - A[j]) ** 2))
                distances["similar"].append((squared, similar[i, j]))
                distances["dissimilar"].append((squared, 1 - similar[i, j]))
        if alike > 0:
            losses.append(-math.log(alike / total))
    assert found.total.item() == pytest.approx(np.mean(losses))
    assert torch.isfinite(a.grad).all()
    for kind, pairs in distances.items():
        expected = sum(d * w for d, w in pairs) / sum(w for _, w in pairs)
        assert found.terms[f"{kind}_distance"] == pytest.approx(expected)


def test_rows_without_a_similar_one_do_not_count():
    a = torch.eye(3, requires_grad=True)
    nothing, known = torch.zeros(3, 3), ~torch.eye(3, dtype=torch.bool)
    found = SupervisedContrastiveLoss(0.5)(a, a, nothing, known)
    found.total.backward()
    assert found.total.item() == 0
    assert not a.grad.any()
