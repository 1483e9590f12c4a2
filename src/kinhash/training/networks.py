"""The networks that are trained: ISTA, coordinate descent, dense layers; several together."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from kinhash.arrays import Array
from kinhash.encoders import CodEncoder, Encoder, IstaEncoder, LinearEncoder, TopKEncoder


class Network(nn.Module):
    """What the training loop asks of a network."""

    def project(self) -> None:
        """Bring the parameters back into their range, after a step. By default all may be any."""

    def anneal(self, done: float) -> None:
        """Set what changes during the run, before a step: `done` is the share of it, 0 to 1."""

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return the parameters, each group with its `weight_decay`."""
        raise NotImplementedError

    @staticmethod
    def binary(outputs: Any) -> Tensor:  # noqa: ANN401 - a tensor, or one per modality
        """Return the codes behind the outputs."""
        raise NotImplementedError


class Branch(Network):
    """The network of one modality."""

    W: nn.Parameter

    def encoder(self, mean: Array, scale: Array) -> Encoder:
        """Return what was learned as plain arrays."""
        raise NotImplementedError


class PursuitNetwork(Branch):
    """A siamese branch that maps unit-length inputs to nearly binary, sparse outputs.

    Args:
        dictionary: `(n_bits, n_features)` initial W, rows of unit length.
        beta: Slope of the tanh.
        n_steps: Uses of S (ISTA), or coordinates updated (coordinate descent).
        signed: Two-sided shrinkage, as printed in the paper; else one-sided, max(0, v - tau).
        weight_decay: Of W; the lateral matrix and the thresholds have none.
    """

    def __init__(
        self,
        dictionary: Tensor,
        *,
        beta: float,
        n_steps: int,
        signed: bool,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__()
        self.beta, self.n_steps, self.signed = beta, n_steps, signed
        self.weight_decay = weight_decay
        self.W = nn.Parameter(dictionary.clone())
        self.S = nn.Parameter(self._initial_lateral(dictionary))
        self.tau = nn.Parameter(torch.zeros(len(dictionary)))

    @staticmethod
    def _initial_lateral(dictionary: Tensor) -> Tensor:
        raise NotImplementedError

    def shrink(self, v: Tensor) -> Tensor:
        """Return sigma(v, tau)."""
        if self.signed:
            return (v.abs() - self.tau).clamp(min=0) * v.sign()
        return (v - self.tau).clamp(min=0)

    def project(self) -> None:
        """Clamp tau to >= 0 (signed codes only)."""
        if self.signed:
            # Below 0 the two-sided shrinkage would jump at 0 instead of shrinking.
            with torch.no_grad():
                self.tau.clamp_(min=0)

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return W with its weight decay, and the rest without."""
        return [
            {"params": [self.W], "weight_decay": self.weight_decay},
            {"params": [self.S, self.tau], "weight_decay": 0.0},
        ]

    @staticmethod
    def binary(outputs: Tensor) -> Tensor:
        """Return the codes behind the outputs: the nearest of (-1,) 0, 1."""
        return outputs.round()

    def encoder(self, mean: Array, scale: Array) -> Encoder:
        """Return what was learned as plain arrays."""
        arrays = {
            name: value.detach().cpu().numpy().copy() for name, value in self.named_parameters()
        }
        return self._encoder_class(
            mean=mean,
            scale=scale,
            beta=self.beta,
            n_steps=self.n_steps,
            two_sided=self.signed,
            **arrays,
        )

    _encoder_class: type[IstaEncoder] | type[CodEncoder]


class IstaNetwork(PursuitNetwork):
    """h = shrink(W x), then `n_steps` times h = shrink(W x + S h); output tanh(beta h)."""

    _encoder_class = IstaEncoder

    @staticmethod
    def _initial_lateral(dictionary: Tensor) -> Tensor:
        # ISTA with W^T as dictionary: S = I - W W^T / L, L the largest eigenvalue of W W^T.
        gram = dictionary @ dictionary.T
        largest = torch.linalg.eigvalsh(gram)[-1].clamp(min=1e-12)
        lateral: Tensor = torch.eye(len(gram)) - gram / largest
        return lateral

    def forward(self, x: Tensor) -> Tensor:
        """Return outputs in [0, 1), or (-1, 1) when signed: `(b, n_bits)`."""
        v = x @ self.W.T
        h = self.shrink(v)
        for _ in range(self.n_steps):
            h = self.shrink(torch.addmm(v, h, self.S.T))
        return torch.tanh(self.beta * h)


class CodNetwork(PursuitNetwork):
    """Learned coordinate descent: at most `n_steps` outputs are not zero."""

    _encoder_class = CodEncoder

    @staticmethod
    def _initial_lateral(dictionary: Tensor) -> Tensor:
        # Coordinate descent on unit atoms: S = I - W W^T, whose diagonal is zero.
        return torch.eye(len(dictionary)) - dictionary @ dictionary.T

    def forward(self, x: Tensor) -> Tensor:
        """Return outputs in [0, 1), or (-1, 1) when signed: `(b, n_bits)`."""
        b = x @ self.W.T
        z = torch.zeros_like(b)
        for _ in range(self.n_steps):
            h = self.shrink(b)
            best = (h - z).abs().argmax(dim=1, keepdim=True)
            chosen = h.gather(1, best)
            b = b + self.S.T[best[:, 0]] * (chosen - z.gather(1, best))
            z = z.scatter(1, best, chosen)
        return torch.tanh(self.beta * z)


class TanhNetwork(Branch):
    """One dense layer, tanh(beta (P x + a)): the network of NNhash.

    Args:
        P: `(n_bits, n_features)` initial weights.
        beta: Slope of the tanh.
        weight_decay: Of P and a.
    """

    def __init__(self, P: Tensor, *, beta: float, weight_decay: float = 0.0) -> None:
        super().__init__()
        self.beta, self.weight_decay = beta, weight_decay
        self.W = nn.Parameter(P.clone())
        self.bias = nn.Parameter(torch.zeros(len(P)))

    def forward(self, x: Tensor) -> Tensor:
        """Return outputs in (-1, 1): `(b, n_bits)`."""
        return torch.tanh(self.beta * torch.addmm(self.bias, x, self.W.T))

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return both parameters with the weight decay."""
        return [{"params": [self.W, self.bias], "weight_decay": self.weight_decay}]

    @staticmethod
    def binary(outputs: Tensor) -> Tensor:
        """Return the codes behind the outputs: 0 or 1."""
        return (outputs > 0).float()

    def encoder(self, mean: Array, scale: Array) -> Encoder:
        """Return what was learned as plain arrays."""
        return LinearEncoder(
            mean=mean,
            scale=scale,
            W=self.W.detach().cpu().numpy().copy(),
            bias=self.bias.detach().cpu().numpy().copy(),
        )


class TopKNetwork(Branch):
    """One dense layer whose largest outputs win: 1 for those of W x + a, else 0.

    While it trains, more of them win than in the end: from `n_start` on, their number falls in a
    straight line to `n_active`, after `ANNEALED` of the steps. Gradients flow as if an output were
    sigmoid(beta (v - t)), t half-way between the least winner and the largest loser of its row.

    Args:
        W: `(n_bits, n_features)` initial weights.
        beta: Slope of the sigmoid.
        n_active: How many win in the end, and in the codes.
        n_start: How many win at the first step.
        weight_decay: Of W and a.
    """

    ANNEALED = 0.7

    def __init__(
        self, W: Tensor, *, beta: float, n_active: int, n_start: int, weight_decay: float = 0.0
    ) -> None:
        super().__init__()
        self.beta, self.weight_decay = beta, weight_decay
        self.n_active, self.n_start, self.n_winners = n_active, n_start, n_start
        self.W = nn.Parameter(W.clone())
        self.bias = nn.Parameter(torch.zeros(len(W)))

    def anneal(self, done: float) -> None:
        """Set how many outputs win."""
        share = min(1.0, done / self.ANNEALED)
        self.n_winners = round((1 - share) * self.n_start + share * self.n_active)

    def forward(self, x: Tensor) -> Tensor:
        """Return 0 and 1: `(b, n_bits)`."""
        v = torch.addmm(self.bias, x, self.W.T)
        n = self.n_winners if self.training else self.n_active
        largest = v.detach().topk(min(n + 1, v.shape[1]), dim=1)
        codes = torch.zeros_like(v).scatter(1, largest.indices[:, :n], 1.0)
        threshold = (largest.values[:, n - 1] + largest.values[:, -1]) / 2
        soft = torch.sigmoid(self.beta * (v - threshold[:, None]))
        return codes + (soft - soft.detach())

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return both parameters with the weight decay."""
        return [{"params": [self.W, self.bias], "weight_decay": self.weight_decay}]

    @staticmethod
    def binary(outputs: Tensor) -> Tensor:
        """Return the codes, which the outputs are already."""
        return outputs.round()

    def encoder(self, mean: Array, scale: Array) -> Encoder:
        """Return what was learned as plain arrays."""
        return TopKEncoder(
            mean=mean,
            scale=scale,
            W=self.W.detach().cpu().numpy().copy(),
            bias=self.bias.detach().cpu().numpy().copy(),
            n_active=self.n_active,
        )


class MultimodalNetwork(Network):
    """One branch per modality."""

    def __init__(self, branches: Sequence[Branch]) -> None:
        super().__init__()
        self.branches = tuple(branches)
        for number, branch in enumerate(branches):
            self.add_module(str(number), branch)

    def forward(self, views: list[Tensor]) -> list[Tensor]:
        """Return the outputs of the views of each modality."""
        return [branch(x) for branch, x in zip(self.branches, views, strict=True)]

    def project(self) -> None:
        """Bring the parameters of all branches back into their range."""
        for branch in self.branches:
            branch.project()

    @staticmethod
    def binary(outputs: list[Tensor]) -> Tensor:
        """Return the codes behind all outputs, one modality after the other."""
        return torch.cat(outputs).round()

    def anneal(self, done: float) -> None:
        """Tell all branches how much of the run is done."""
        for branch in self.branches:
            branch.anneal(done)

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return the parameters of all branches."""
        return [group for branch in self.branches for group in branch.parameter_groups()]
