"""`SupervisedContrastiveLoss`: similar rows must stand out among all rows of a batch."""

import dataclasses

import torch
from torch import Tensor

from kinhash.training.losses.pairs import PairLoss, mean_distances

TINY = 1e-12


@dataclasses.dataclass(frozen=True)
class SupervisedContrastiveLoss:
    """The loss of CSRv2.

    Per row -log(sum over similar rows of e / sum over all known rows of e), with
    e = exp(cosine / temperature); a mean over the rows that have a similar one. A row of
    similarity s counts s times as similar.
    """

    temperature: float

    def __call__(self, A: Tensor, B: Tensor, similar: Tensor, known: Tensor) -> PairLoss:
        """Return the loss over the known pairs of rows of `A` and `B`: see SparseHashLoss."""
        products = A @ B.T
        sizes_a, sizes_b = A.norm(dim=1)[:, None], B.norm(dim=1)
        cosines = products / (sizes_a * sizes_b).clamp(min=TINY)
        squared = (sizes_a.square() + sizes_b.square() - 2 * products).clamp(min=0)
        some = ((similar > 0) & known).any(dim=1)
        logits = (cosines / self.temperature).masked_fill(~known, -torch.inf)[some]
        alike = logits + similar[some].to(A.dtype).log()  # -inf where nothing is similar
        losses = torch.logsumexp(logits, dim=1) - torch.logsumexp(alike, dim=1)
        total = losses.sum() / max(1, int(some.sum()))
        return PairLoss(total, mean_distances(squared, similar, known))
