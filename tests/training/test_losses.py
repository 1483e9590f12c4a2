import numpy as np
import pytest
import torch

from kinhash import _native
from kinhash.training.losses import ContrastiveLoss, SparseHashLoss

LOSS = SparseHashLoss(margin=4.0, lam=0.3, alpha=0.05, similar_share=0.3)


def naive(loss, A, B, similar, known):
    """The paper's equation, pair by pair, with its gradient by central differences' exact twin."""
    n, k = len(A), len(B)
    n_similar = sum(similar[i][j] and known[i][j] for i in range(n) for j in range(k))
    n_dissimilar = sum(not similar[i][j] and known[i][j] for i in range(n) for j in range(k))
    total = 0.0
    gA, gB = np.zeros_like(A), np.zeros_like(B)
    for i in range(n):
        for j in range(k):
            if not known[i][j]:
                continue
            d = sum(abs(a - b) for a, b in zip(A[i], B[j], strict=True))
            size = sum(map(abs, A[i])) + sum(map(abs, B[j]))
            if similar[i][j]:
                weight, value, slope = loss.similar_share / n_similar, d, 1.0
            else:
                weight = (1 - loss.similar_share) / n_dissimilar
                gap = max(0.0, loss.margin - d)
                value, slope = loss.lam / 2 * gap**2, -loss.lam * gap
            total += weight * (value + loss.alpha * size)
            signs = np.sign(A[i] - B[j])
            gA[i] += weight * (slope * signs + loss.alpha * np.sign(A[i]))
            gB[j] += weight * (-slope * signs + loss.alpha * np.sign(B[j]))
    return total, gA, gB


def batch(rng, n, k, m, *, symmetric):
    A = rng.uniform(-1, 1, (n, m))
    B = A if symmetric else rng.uniform(-1, 1, (k, m))
    similar, known = rng.random((n, k)) < 0.3, rng.random((n, k)) < 0.8
    if symmetric:
        similar, known = similar | similar.T, known & known.T & ~np.eye(n, dtype=bool)
    return A, B, similar, known


@pytest.mark.parametrize("instruction_set", _native.instruction_sets())
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("m", [1, 7, 16, 64, 77])
def test_value_and_gradient_equal_a_naive_double_loop(rng, m, symmetric, instruction_set):
    A, B, similar, known = batch(rng, 9, 9 if symmetric else 6, m, symmetric=symmetric)
    before = _native.instruction_set()
    _native.use_instruction_set(instruction_set)
    try:
        a = torch.tensor(A, dtype=torch.float32, requires_grad=True)
        b = a if symmetric else torch.tensor(B, dtype=torch.float32, requires_grad=True)
        found = LOSS(a, b, torch.tensor(similar), torch.tensor(known))
        found.total.backward()
    finally:
        _native.use_instruction_set(before)
    total, gA, gB = naive(LOSS, A, B, similar, known)
    assert found.total.item() == pytest.approx(total, rel=1e-5)
    assert sum(found.terms[t] for t in ("pull", "push", "sparsity")) == pytest.approx(total, 1e-5)
    assert np.allclose(a.grad, gA + gB if symmetric else gA, atol=1e-6)
    if not symmetric:
        assert np.allclose(b.grad, gB, atol=1e-6)


@pytest.mark.parametrize("symmetric", [True, False])
def test_broadcasting_equals_a_naive_double_loop(rng, symmetric):
    """The path of other devices and types."""
    A, B, similar, known = batch(rng, 8, 8 if symmetric else 5, 12, symmetric=symmetric)
    a = torch.tensor(A, requires_grad=True)
    b = a if symmetric else torch.tensor(B, requires_grad=True)
    found = LOSS(a, b, torch.tensor(similar), torch.tensor(known))
    found.total.backward()
    total, gA, gB = naive(LOSS, A, B, similar, known)
    assert found.total.item() == pytest.approx(total, rel=1e-12)
    assert np.allclose(a.grad, gA + gB if symmetric else gA)


def test_mean_distances_are_reported(rng):
    A, _, similar, known = batch(rng, 10, 10, 16, symmetric=True)
    D = np.abs(A[:, None] - A[None]).sum(axis=2)
    for a in (torch.tensor(A, dtype=torch.float32), torch.tensor(A)):
        terms = LOSS(a, a, torch.tensor(similar), torch.tensor(known)).terms
        assert terms["similar_distance"] == pytest.approx(D[similar & known].mean(), rel=1e-5)
        assert terms["dissimilar_distance"] == pytest.approx(D[~similar & known].mean(), rel=1e-5)


def test_a_batch_without_similar_pairs_has_no_pull(rng):
    A = torch.rand(5, 8, requires_grad=True)
    found = LOSS(A, A, torch.zeros(5, 5, dtype=torch.bool), ~torch.eye(5, dtype=torch.bool))
    found.total.backward()
    assert found.terms["pull"] == 0
    assert torch.isfinite(A.grad).all()


def test_contrastive_loss_equals_a_naive_double_loop(rng):
    A, _, similar, known = batch(rng, 9, 9, 12, symmetric=True)
    a = torch.tensor(A, requires_grad=True)
    found = ContrastiveLoss(margin=3.0)(a, a, torch.tensor(similar), torch.tensor(known))
    found.total.backward()
    values = {True: [], False: []}
    for i in range(9):
        for j in range(9):
            if known[i, j]:
                d = np.linalg.norm(A[i] - A[j])
                alike = bool(similar[i, j])
                values[alike].append(d**2 / 2 if alike else max(0.0, 3.0 - d) ** 2 / 2)
    assert found.total.item() == pytest.approx(np.mean(values[True]) + np.mean(values[False]))
    assert torch.isfinite(a.grad).all()
