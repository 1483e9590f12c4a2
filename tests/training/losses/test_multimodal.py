import numpy as np
import pytest
import torch

from kinhash.training.losses import MultimodalLoss, SparseHashLoss

LOSS = SparseHashLoss(margin=5.0, lam=0.3, alpha=0.01, similar_share=0.4)


def naive_pair_loss(A, B, similar, known):
    """The loss of one block, pair by pair: the paper's formula."""
    sums = {True: [], False: []}
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            if known[i, j]:
                d = np.abs(a - b).sum()
                s = bool(similar[i, j])
                pull, push = d, LOSS.lam / 2 * max(0.0, LOSS.margin - d) ** 2
                sums[s].append(
                    (pull if s else push) + LOSS.alpha * (np.abs(a).sum() + np.abs(b).sum())
                )
    share = LOSS.similar_share
    return share * np.mean(sums[True] or [0]) + (1 - share) * np.mean(sums[False] or [0])


@pytest.mark.parametrize("mu", [(1.0, 1.0, 1.0), (0.2, 0.0, 3.0), (0.0, 0.0, 0.0)])
def test_the_loss_equals_a_loop_over_modalities_and_pairs(rng, mu):
    sizes = (6, 4, 5)
    A = [rng.uniform(size=(n, 8)).astype(np.float32) for n in sizes]
    labels = rng.integers(3, size=sum(sizes))
    similar = labels[:, None] == labels
    known = ~np.eye(sum(sizes), dtype=bool) & (rng.uniform(size=similar.shape) < 0.8)
    known &= known.T
    ends = np.cumsum([0, *sizes])
    expected = 0.0
    for m in range(3):
        for n in range(m, 3):
            block = slice(ends[m], ends[m + 1]), slice(ends[n], ends[n + 1])
            weight = mu[m] if m == n else 1.0
            expected += weight * naive_pair_loss(A[m], A[n], similar[block], known[block])
    tensors = [torch.from_numpy(a) for a in A]
    loss = MultimodalLoss(LOSS, mu, ("a", "b", "c"))
    found = loss(tensors, tensors, torch.from_numpy(similar), torch.from_numpy(known))
    assert float(found.total) == pytest.approx(expected, rel=1e-5)
    assert found.terms["pull"] + found.terms["push"] + found.terms["sparsity"] == pytest.approx(
        expected, rel=1e-5
    )
    assert ("a-a" in found.terms) == (mu[0] > 0)
    assert "a-c" in found.terms


def test_a_batch_without_one_modality_has_a_loss(rng):
    A = [torch.rand(4, 8), torch.rand(0, 8)]
    similar = torch.from_numpy(np.eye(4, dtype=bool) | (rng.uniform(size=(4, 4)) < 0.5))
    known = torch.ones(4, 4, dtype=torch.bool)
    found = MultimodalLoss(LOSS, (1.0, 1.0), ("a", "b"))(A, A, similar, known)
    assert float(found.total) == pytest.approx(float(LOSS(A[0], A[0], similar, known).total))
