"""What the sparse methods share: the parameters of the paper's loss, and what to do on collapse."""

import warnings
from collections.abc import Iterable
from typing import Any

from kinhash.arguments import check_integer, check_number
from kinhash.errors import CollapseWarning, InvalidInputError
from kinhash.methods.networks.descent import DEFAULT_RATES, Descent

DEFAULT_ACTIVE = 8  # for coordinate descent: about what ISTA learns at 64 bits


class Sparsity(Descent):
    """A method that learns sparse codes with the paper's loss."""

    margin: float
    alpha: float
    lam: float
    similar_share: float
    signed: bool
    n_active: int | None

    def _check_sparsity(self, encoders: Iterable[str]) -> None:
        """Check the parameters; `encoders` are the kinds that are used."""
        check_number("margin", self.margin, 0, open_low=True)
        check_number("alpha", self.alpha, 0)
        check_number("lam", self.lam, 0, open_low=True)
        check_number("similar_share", self.similar_share, 0, 1, open_low=True)
        if self.n_active is not None:
            check_integer("n_active", self.n_active, 1, self.n_bits)
            if "cod" not in encoders:
                raise InvalidInputError(
                    "`n_active` is guaranteed only by encoder='cod', got encoder='ista'. "
                    "Pass encoder='cod', or raise `alpha` for sparser codes."
                )
        if self._push_over_pull() < 1:
            warnings.warn(f"Codes may collapse. {self._remedy()}", CollapseWarning, stacklevel=6)

    def _branch(self, dictionary: Any, encoder: str, n_layers: int) -> Any:  # noqa: ANN401 - torch stays out of signatures
        """Return the network of one modality."""
        from kinhash.training.network import CodNetwork, IstaNetwork  # noqa: PLC0415 - torch

        if encoder == "cod":
            return CodNetwork(
                dictionary, beta=self.beta, n_steps=self._n_active(), signed=self.signed
            )
        return IstaNetwork(dictionary, beta=self.beta, n_steps=n_layers, signed=self.signed)

    def _loss(self) -> Any:  # noqa: ANN401 - torch stays out of signatures
        from kinhash.training.losses import SparseHashLoss  # noqa: PLC0415 - torch

        return SparseHashLoss(
            margin=self.margin, lam=self.lam, alpha=self.alpha, similar_share=self.similar_share
        )

    def _wanted_distance(self, *, coordinate_descent: bool) -> float:
        # Two codes of k active bits are at most 2k apart, whatever the margin asks for.
        farthest = 2 * self._n_active() if coordinate_descent else self.n_bits
        return min(self.margin, float(farthest))

    def _n_active(self) -> int:
        return self.n_active or min(DEFAULT_ACTIVE, self.n_bits)

    def _push_over_pull(self) -> float:
        """Slope of the push over that of the pull where two codes are equal."""
        return self.lam * self.margin * (1 - self.similar_share) / self.similar_share

    def _remedy(self) -> str:
        """What to change when codes collapse: the parameter that is farthest off."""
        ratio = self._push_over_pull()
        if ratio < 1.5:
            return (
                f"The push is weak against the pull ({ratio:.2g} to 1): raise `lam` "
                f"(now {self.lam:g}) to {self.lam * 2.5 / ratio:.2g}."
            )
        strongest = 0.02 * self.lam * self.margin
        if self.alpha > strongest:
            return f"Lower `alpha` (now {self.alpha:g}) to {strongest:.1g} or less."
        default = DEFAULT_RATES[self.optimizer]
        if self._rate() * self.beta > 10 * default:
            return f"Lower `learning_rate` (now {self._rate():g}) to {default:g} and `beta` to 3."
        return f"Raise `lam` (now {self.lam:g}) or `margin` (now {self.margin:g})."
