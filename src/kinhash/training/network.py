"""The networks that are trained: ISTA, coordinate descent, a dense layer; several together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from kinhash.encoders import CodEncoder, Encoder, IstaEncoder, LinearEncoder


class PursuitNetwork(nn.Module):
    """A siamese branch that maps unit-length inputs to nearly binary, sparse outputs.

    Args:
        dictionary: `(n_bits, n_features)` initial W, rows of unit length.
        beta: Slope of the tanh.
        n_steps: Uses of S (ISTA), or coordinates updated (coordinate descent).
        signed: Two-sided shrinkage, as printed in the paper; else one-sided, max(0, v - tau).
    """

    def __init__(self, dictionary: Tensor, *, beta: float, n_steps: int, signed: bool) -> None:
        super().__init__()
        self.beta, self.n_steps, self.signed = beta, n_steps, signed
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
        """Bring the parameters back to where they mean something, after a step."""
        if self.signed:
            # Below 0 the two-sided shrinkage would jump at 0 instead of shrinking.
            with torch.no_grad():
                self.tau.clamp_(min=0)

    @staticmethod
    def binary(outputs: Tensor) -> Tensor:
        """Return the codes behind the outputs: the nearest of (-1,) 0, 1."""
        return outputs.round()

    def encoder(self, mean: np.ndarray, scale: np.ndarray) -> Encoder:
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


class TanhNetwork(nn.Module):
    """One dense layer, tanh(beta (P x + a)): the network of NNhash."""

    def __init__(self, P: Tensor, *, beta: float) -> None:
        super().__init__()
        self.beta = beta
        self.W = nn.Parameter(P.clone())
        self.bias = nn.Parameter(torch.zeros(len(P)))

    def forward(self, x: Tensor) -> Tensor:
        """Return outputs in (-1, 1): `(b, n_bits)`."""
        return torch.tanh(self.beta * torch.addmm(self.bias, x, self.W.T))

    def project(self) -> None:
        """Leave the parameters: all values mean something."""

    @staticmethod
    def binary(outputs: Tensor) -> Tensor:
        """Return the codes behind the outputs: 0 or 1."""
        return (outputs > 0).float()

    def encoder(self, mean: np.ndarray, scale: np.ndarray) -> Encoder:
        """Return what was learned as plain arrays."""
        return LinearEncoder(
            mean=mean,
            scale=scale,
            W=self.W.detach().cpu().numpy().copy(),
            bias=self.bias.detach().cpu().numpy().copy(),
        )


class MultimodalNetwork(nn.Module):
    """One branch per modality.

    Args:
        branches: A network of `training/network.py` for each modality.
        weight_decays: Of the W of each; the lateral matrices and thresholds have none.
    """

    def __init__(self, branches: Sequence[nn.Module], weight_decays: Sequence[float]) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)
        self.weight_decays = tuple(weight_decays)

    def forward(self, views: list[Tensor]) -> list[Tensor]:
        """Return the outputs of the views of each modality."""
        return [branch(x) for branch, x in zip(self.branches, views, strict=True)]

    def project(self) -> None:
        """Bring the parameters back to where they mean something, after a step."""
        for branch in self.branches:
            branch.project()  # type: ignore[operator]  # nn.Module says too little

    @staticmethod
    def binary(outputs: list[Tensor]) -> Tensor:
        """Return the codes behind all outputs, one modality after the other."""
        return torch.cat(outputs).round()

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return the parameters with the weight decay of each."""
        groups = []
        for branch, decay in zip(self.branches, self.weight_decays, strict=True):
            rest = [value for name, value in branch.named_parameters() if name != "W"]
            groups.append({"params": [branch.W], "weight_decay": decay})
            groups.append({"params": rest, "weight_decay": 0.0})
        return groups
