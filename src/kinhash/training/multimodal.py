"""What training several modalities together takes: their inputs, and a loss over all of them."""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from kinhash.arrays import Array
from kinhash.training.loop import Inputs
from kinhash.training.losses import PairLoss, SparseHashLoss


class MultimodalInputs:
    """Views by their numbers in `pairs.Views`, as each modality's network sees them.

    Args:
        inputs: Those of each modality.
        starts: Where each modality's views begin.
    """

    def __init__(self, inputs: Sequence[Inputs], starts: Array) -> None:
        self._inputs, self._starts = tuple(inputs), starts

    def __getitem__(self, views: Array) -> list[Tensor]:
        """Return the given views (ascending) of each modality."""
        ends = np.searchsorted(views, self._starts)
        return [
            inputs[views[low:high] - first]
            for inputs, first, low, high in zip(
                self._inputs, self._starts, ends, ends[1:], strict=False
            )
        ]


@dataclasses.dataclass(frozen=True)
class MultimodalLoss:
    """The paper's multi-modal loss: mu_1 L(x, x') + mu_2 L(y, y') + L(x, y), for any number.

    L is the loss of one modality; there is a cross term for each two modalities.
    """

    loss: SparseHashLoss
    mu: tuple[float, ...]
    names: tuple[str, ...]

    def __call__(
        self, A: list[Tensor], _: list[Tensor], similar: Tensor, known: Tensor
    ) -> PairLoss:
        """Return the loss of a batch.

        Args:
            A: Outputs of the views of each modality.
            similar: `(b, b)` booleans over all views, in that order.
            known: The same: the pairs that count.
        """
        ends = list(itertools.accumulate((len(outputs) for outputs in A), initial=0))
        parts = [slice(low, high) for low, high in itertools.pairwise(ends)]
        total = torch.zeros(())
        sums: dict[str, float] = {}
        distances: dict[str, list[float]] = {"similar_distance": [], "dissimilar_distance": []}
        for m, n in itertools.combinations_with_replacement(range(len(A)), 2):
            weight = self.mu[m] if m == n else 1.0
            block = parts[m], parts[n]
            if not known[block].any():  # also where a batch has no view of a modality
                continue
            found = self.loss(A[m], A[n], similar[block], known[block])
            # Measured even if they weigh nothing: a modality that collapses within must show.
            if (similar[block] & known[block]).any():
                distances["similar_distance"].append(found.terms["similar_distance"])
            if (~similar[block] & known[block]).any():
                distances["dissimilar_distance"].append(found.terms["dissimilar_distance"])
            if weight == 0:
                continue
            total = total.to(found.total.device) + weight * found.total
            for name in ("pull", "push", "sparsity"):
                sums[name] = sums.get(name, 0.0) + weight * found.terms[name]
            sums[f"{self.names[m]}-{self.names[n]}"] = float(found.total.detach())
        means = {name: float(np.mean(values or [0.0])) for name, values in distances.items()}
        return PairLoss(total, sums | means)
