import numpy as np
import pytest
import torch

from kinhash import _native
from kinhash.training.losses import SparseHashLoss

LOSS = SparseHashLoss(margin=4.0, lam=0.3, alpha=0.05, similar_share=0.3)


def naive(loss, A, B, similar, known):
    """The paper's equation, pair by pair, with its gradient by central differences' exact twin."""
    n, k, similar = len(A), len(B), similar.astype(float)
    n_similar = sum(similar[i][j] * known[i][j] for i in range(n) for j in range(k))
    n_dissimilar = sum((1 - similar[i][j]) * known[i][j] for i in range(n) for j in range(k))
    total = 0.0
    gA, gB = np.zeros_like(A), np.zeros_like(B)
    for i in range(n):
        for j in range(k):
            if not known[i][j]:
                continue
            d = sum(abs(a - b) for a, b in zip(A[i], B[j], strict=True))
            size = sum(map(abs, A[i])) + sum(map(abs, B[j]))
            alike = loss.similar_share * similar[i][j] / n_similar
            unlike = (1 - loss.similar_share) * (1 - similar[i][j]) / n_dissimilar
            gap = max(0.0, loss.margin - d)
            total += alike * d + unlike * loss.lam / 2 * gap**2
            total += (alike + unlike) * loss.alpha * size
            slope = alike - unlike * loss.lam * gap
            signs = np.sign(A[i] - B[j])
            gA[i] += slope * signs + (alike + unlike) * loss.alpha * np.sign(A[i])
            gB[j] += -slope * signs + (alike + unlike) * loss.alpha * np.sign(B[j])
    return total, gA, gB


def batch(rng, n, k, m, *, symmetric, soft=False):
    A = rng.uniform(-1, 1, (n, m))
    B = A if symmetric else rng.uniform(-1, 1, (k, m))
    similar, known = rng.random((n, k)) < 0.3, rng.random((n, k)) < 0.8
    if soft:
        similar = np.where(similar, rng.random((n, k)), similar).astype(np.float32)
    if symmetric:
        similar, known = np.maximum(similar, similar.T), known & known.T & ~np.eye(n, dtype=bool)
    return A, B, similar, known


@pytest.mark.parametrize("instruction_set", _native.instruction_sets())
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("m", [1, 7, 16, 64, 77])
def test_value_and_gradient_equal_a_naive_double_loop(rng, m, soft, symmetric, instruction_set):
    """Of similarities that are 0 and 1, and of those in between."""
    A, B, similar, known = batch(rng, 9, 9 if symmetric else 6, m, symmetric=symmetric, soft=soft)
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
@pytest.mark.parametrize("soft", [True, False])
def test_broadcasting_equals_a_naive_double_loop(rng, soft, symmetric):
    """The path of other devices and types."""
    A, B, similar, known = batch(rng, 8, 8 if symmetric else 5, 12, symmetric=symmetric, soft=soft)
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


def test_soft_pairs_have_weighted_mean_distances(rng):
    A, _, similar, known = batch(rng, 10, 10, 16, symmetric=True, soft=True)
    D = np.abs(A[:, None] - A[None]).sum(axis=2)
    for a in (torch.tensor(A, dtype=torch.float32), torch.tensor(A)):
        terms = LOSS(a, a, torch.tensor(similar), torch.tensor(known)).terms
        for name, kind in (("similar", similar * known), ("dissimilar", (1 - similar) * known)):
            expected = (D * kind).sum() / kind.sum()
            assert terms[f"{name}_distance"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("similar", [torch.zeros(3, 3), torch.ones(3, 3)])
def test_a_batch_of_one_kind_has_no_distance_of_the_other(similar):
    A = torch.rand(3, 4, dtype=torch.float64)
    known = ~torch.eye(3, dtype=torch.bool)
    for a in (A, A.float()):
        terms = LOSS(a, a, similar, known).terms
        missing = "dissimilar_distance" if similar.any() else "similar_distance"
        assert terms[missing] == 0
