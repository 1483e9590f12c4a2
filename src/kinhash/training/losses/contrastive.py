"""`ContrastiveLoss`: the loss of NNhash."""

import dataclasses

from torch import Tensor

from kinhash.training.losses.pairs import PairLoss, mean_distances, pair_weights


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
        alike, unlike = (w.to(A.dtype) for w in pair_weights(similar, known, self.similar_share))
        pull = (squared * alike).sum()
        gaps = (self.margin - squared.sqrt()).clamp(min=0)
        push = (gaps.square() * unlike).sum()
        terms = {"pull": float(pull.detach()), "push": float(push.detach())}
        return PairLoss(pull + push, terms | mean_distances(squared, similar, known))
