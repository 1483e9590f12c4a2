"""What every loss over pairs shares: its result, the weights of pairs, their mean distances.

A relation says of each pair how similar it is, from 0 to 1 (or False and True), and whether it is
known at all. A pair of similarity s counts s times as similar and 1 - s times as dissimilar.
"""

from typing import NamedTuple

from torch import Tensor

# Keeps 0 / 0 away where a batch has no pair of one kind; no sum of weights is this small.
TINY = 1e-30


class PairLoss(NamedTuple):
    """The loss of a batch, and what it is made of."""

    total: Tensor  # differentiable
    terms: dict[str, float]  # pull, push, sparsity; and the mean distances of both kinds of pairs


def pair_weights(similar: Tensor, known: Tensor, similar_share: float) -> tuple[Tensor, Tensor]:
    """Return each pair's weight in the pull and in the push, float64.

    The weights of the pull add up to `similar_share`, those of the push to the rest; pairs that
    are not known weigh nothing.
    """
    alike, unlike = _kinds(similar, known)
    pull = alike * (similar_share / alike.sum().clamp(min=TINY))
    push = unlike * ((1 - similar_share) / unlike.sum().clamp(min=TINY))
    return pull, push


def mean_distances(D: Tensor, similar: Tensor, known: Tensor) -> dict[str, float]:
    """Return the mean distance of similar and of dissimilar pairs; 0 where there are none."""
    kinds = zip(("similar_distance", "dissimilar_distance"), _kinds(similar, known), strict=True)
    return {
        name: float((D.detach() * kind.to(D.dtype)).sum() / kind.sum().clamp(min=TINY))
        for name, kind in kinds
    }


def _kinds(similar: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
    """Return how much each pair counts as similar and as dissimilar."""
    similarity = similar.double()
    return similarity * known, (1 - similarity) * known
