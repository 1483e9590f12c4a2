"""`MultimodalLoss`: the paper's loss over several modalities."""

import dataclasses
import itertools

import numpy as np
import torch
from torch import Tensor

from kinhash.training.losses.pairs import PairLoss
from kinhash.training.losses.sparse import SparseHashLoss


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
            similar: `(b, b)` booleans, or similarities from 0 to 1, over all views in that order.
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
            if (known[block] & (similar[block] > 0)).any():
                distances["similar_distance"].append(found.terms["similar_distance"])
            if (known[block] & (similar[block] < 1)).any():
                distances["dissimilar_distance"].append(found.terms["dissimilar_distance"])
            if weight == 0:
                continue
            total = total.to(found.total.device) + weight * found.total
            for name in ("pull", "push", "sparsity"):
                sums[name] = sums.get(name, 0.0) + weight * found.terms[name]
            sums[f"{self.names[m]}-{self.names[n]}"] = float(found.total.detach())
        means = {name: float(np.mean(values or [0.0])) for name, values in distances.items()}
        return PairLoss(total, sums | means)
