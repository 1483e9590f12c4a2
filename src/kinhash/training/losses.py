"""The training losses, one function per equation of the paper."""

import dataclasses
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kinhash import _native


class PairLoss(NamedTuple):
    """The loss of a batch, and what it is made of."""

    total: Tensor  # differentiable
    terms: dict[str, float]  # pull, push, sparsity; and the mean distances of both kinds of pairs


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
            similar: `(n, k)` booleans; symmetric when `B` is `A`.
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
        weights = pair_weights(similar, known, self.similar_share).to(D.dtype)
        pull = (D * weights * similar).sum()
        push = self.lam / 2 * ((self.margin - D).clamp(min=0).square() * weights * ~similar).sum()
        sizes = A.abs().sum(dim=1)[:, None] + B.abs().sum(dim=1)
        sparsity = self.alpha * (sizes * weights).sum()
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
            similar=similar.numpy(),
            known=known.numpy(),
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


@dataclasses.dataclass(frozen=True)
class ContrastiveLoss:
    """The loss of NNhash.

    Per pair s ||a - b||_2^2 + (1 - s) max(0, M - ||a - b||_2)^2, averaged so that `similar_share`
    of the weight goes to the similar pairs. With 1/2 it is the loss as printed.
    """

    margin: float
    similar_share: float = 0.5

    def __call__(self, A: Tensor, B: Tensor, similar: Tensor, known: Tensor) -> PairLoss:
        """Return the loss over the known pairs of rows of `A` and `B`: see SparseHashLoss."""
        squared = A.square().sum(dim=1)[:, None] + B.square().sum(dim=1) - 2 * A @ B.T
        # The root's slope is infinite at 0, where the diagonal is: keep away from it.
        squared = squared.clamp(min=1e-12)
        weights = pair_weights(similar, known, self.similar_share).to(A.dtype)
        pull = (squared * weights * similar).sum()
        gaps = (self.margin - squared.sqrt()).clamp(min=0)
        push = (gaps.square() * weights * ~similar).sum()
        terms = {"pull": float(pull.detach()), "push": float(push.detach())}
        return PairLoss(pull + push, terms | mean_distances(squared.detach(), similar, known))


def pair_weights(similar: Tensor, known: Tensor, similar_share: float) -> Tensor:
    """Return each pair's weight in the average; pairs that are not known weigh nothing."""
    positive, negative = (similar & known).double(), (~similar & known).double()
    return positive * (similar_share / positive.sum().clamp(min=1)) + negative * (
        (1 - similar_share) / negative.sum().clamp(min=1)
    )


def mean_distances(D: Tensor, similar: Tensor, known: Tensor) -> dict[str, float]:
    """Return the mean distance of similar and of dissimilar pairs; 0 where there are none."""
    kinds = {"similar_distance": similar & known, "dissimilar_distance": ~similar & known}
    return {
        name: float((D.detach() * kind).sum() / kind.sum().clamp(min=1))
        for name, kind in kinds.items()
    }
