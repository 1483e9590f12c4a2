"""`SparseHashLoss`: the paper's loss."""

import dataclasses
from typing import Any

import torch
from torch import Tensor

from kinhash import _native
from kinhash.training.losses.pairs import PairLoss, mean_distances, pair_weights


@dataclasses.dataclass(frozen=True)
class SparseHashLoss:
    """The paper's loss.

    Per pair s ||a - b||_1 + lambda/2 (1 - s) max(0, M - ||a - b||_1)^2
    + alpha (||a||_1 + ||b||_1), averaged so that `similar_share` = pi of the weight goes to the
    similar pairs: pi * mean over similar + (1 - pi) * mean over dissimilar.
    """

    margin: float
    lam: float
    alpha: float
    similar_share: float

    def __call__(self, A: Tensor, B: Tensor, similar: Tensor, known: Tensor) -> PairLoss:
        """Return the loss over the known pairs of rows of `A` and `B`.

        Args:
            A: Outputs, `(n, n_bits)`.
            B: Outputs, `(k, n_bits)`; the very same tensor as `A` within one modality.
            similar: `(n, k)` booleans, or similarities from 0 to 1; symmetric when `B` is `A`.
            known: `(n, k)` booleans: the pairs that count.
        """
        if A.device.type == "cpu" and A.dtype == torch.float32:
            terms: dict[str, float] = {}
            total = _NativeSparseHashLoss.apply(A, B, similar, known, self, terms)  # type: ignore[no-untyped-call]
            return PairLoss(total, terms)
        return self.by_broadcasting(A, B, similar, known)

    def by_broadcasting(self, A: Tensor, B: Tensor, similar: Tensor, known: Tensor) -> PairLoss:
        """Return the same by plain tensor operations, on any device."""
        D = (A[:, None] - B[None]).abs().sum(dim=2)
        alike, unlike = (w.to(D.dtype) for w in pair_weights(similar, known, self.similar_share))
        pull = (D * alike).sum()
        push = self.lam / 2 * ((self.margin - D).clamp(min=0).square() * unlike).sum()
        sizes = A.abs().sum(dim=1)[:, None] + B.abs().sum(dim=1)
        sparsity = self.alpha * (sizes * (alike + unlike)).sum()
        parts = {"pull": pull, "push": push, "sparsity": sparsity}
        terms = {name: float(value.detach()) for name, value in parts.items()}
        return PairLoss(pull + push + sparsity, terms | mean_distances(D, similar, known))


class _NativeSparseHashLoss(torch.autograd.Function):
    """Value and gradient in one pass of the native kernel, some times as fast as `torch.cdist`."""

    @staticmethod
    def forward(  # noqa: PLR0917 - torch passes by position
        ctx: Any,  # noqa: ANN401 - torch's context
        A: Tensor,
        B: Tensor,
        similar: Tensor,
        known: Tensor,
        loss: SparseHashLoss,
        terms: dict[str, float],
    ) -> Tensor:
        # A view of the same memory is the same batch: torch hands new tensor objects in here.
        symmetric = A.data_ptr() == B.data_ptr() and A.shape == B.shape
        A = A.detach().contiguous()
        B = A if symmetric else B.detach().contiguous()
        gA = torch.zeros_like(A)
        gB = gA if symmetric else torch.zeros_like(B)
        names = ("pull", "push", "sparsity", "similar_distance", "dissimilar_distance")
        values = _native.pair_loss(
            A=A.numpy(),
            B=B.numpy(),
            similar=similar.float().contiguous().numpy(),
            known=known.contiguous().numpy(),
            gA=gA.numpy(),
            gB=gB.numpy(),
            symmetric=symmetric,
            similar_share=loss.similar_share,
            margin=loss.margin,
            lam=loss.lam,
            alpha=loss.alpha,
        )
        terms.update(zip(names, values, strict=True))
        ctx.gradients = gA, None if symmetric else gB
        return torch.tensor(sum(values[:3]))

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401 - torch's context
        gA, gB = ctx.gradients
        return grad[0] * gA, None if gB is None else grad[0] * gB, None, None, None, None
