"""Average precision of a ranking by Hamming distance, as a loss: counted in soft histograms."""

import torch
from torch import Tensor

TINY = 1e-6


def average_precision(
    distances: Tensor, relevance: Tensor, later: Tensor, known: Tensor, n_bits: int
) -> Tensor:
    """Return the average precision of each row's ranking of the others, `(n,)`.

    After Cakir et al., *Deep metric learning to rank* (CVPR 2019): each distance counts in the two
    whole numbers next to it, in proportion, so that counts up to a distance have a gradient. Items
    at one distance are tied: each is preceded by half of them.

    Args:
        distances: `(n, n)`, in [0, n_bits].
        relevance: `(n, n)`, the probability that both are similar.
        later: `(n, n)` booleans: items that come after all others, whatever their distance.
        known: `(n, n)` of 0 and 1: 0 where a pair does not count.
        n_bits: The largest distance.
    """
    near = distances.clamp(0, n_bits - TINY)
    low = near.detach().floor()
    share = near - low
    place = low.long() + (n_bits + 2) * later
    counts = _histogram(place, share, known, 2 * (n_bits + 2))
    hits = _histogram(place, share, relevance * known, 2 * (n_bits + 2))
    before = counts.cumsum(1) - counts / 2
    hits_before = hits.cumsum(1) - hits / 2
    return (hits * hits_before / (before + TINY)).sum(1) / (hits.sum(1) + TINY)


def _histogram(place: Tensor, share: Tensor, weights: Tensor, n_places: int) -> Tensor:
    empty = torch.zeros(len(place), n_places, dtype=share.dtype)
    lower = empty.scatter_add(1, place, (1 - share) * weights)
    return lower.scatter_add(1, place + 1, share * weights)
