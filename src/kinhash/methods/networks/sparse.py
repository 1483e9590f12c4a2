"""The paper's network, loss and advice, as parts of a recipe, from a method's parameters."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from kinhash.arguments import check_integer, check_number
from kinhash.codes import MAX_BITS
from kinhash.errors import CollapseWarning, InvalidInputError, warn
from kinhash.methods.networks.collapse import Health
from kinhash.methods.networks.schedule import DEFAULT_RATES, DescentParameters, rate_of

if TYPE_CHECKING:
    from torch import Tensor

    from kinhash.training.losses import SparseHashLoss
    from kinhash.training.networks import Branch

DEFAULT_ACTIVE = 8  # for coordinate descent: about what ISTA learns at 64 bits


class SparseParameters(DescentParameters, Protocol):
    """The parameters of the paper's method."""

    margin: float
    alpha: float
    lam: float
    similar_share: float
    signed: bool
    n_active: int | None


def check_sparse(model: SparseParameters, encoders: Iterable[str]) -> None:
    """Check the parameters of the paper's loss; `encoders` are the kinds that are used.

    Raises:
        InvalidInputError: One of them cannot be used.

    Warns:
        CollapseWarning: The push is weaker than the pull.
    """
    if model.signed and model.n_bits > MAX_BITS // 2:
        raise InvalidInputError(
            f"`n_bits` must be at most {MAX_BITS // 2} with signed=True, got {model.n_bits}: "
            f"a signed entry takes two of at most {MAX_BITS} stored bits."
        )
    check_number("margin", model.margin, 0, open_low=True)
    check_number("alpha", model.alpha, 0)
    check_number("lam", model.lam, 0, open_low=True)
    check_number("similar_share", model.similar_share, 0, 1, open_low=True)
    if model.n_active is not None:
        check_integer("n_active", model.n_active, 1, model.n_bits)
        if "cod" not in encoders:
            raise InvalidInputError(
                "`n_active` is guaranteed only by encoder='cod', got encoder='ista'. "
                "Pass encoder='cod', or raise `alpha` for sparser codes."
            )
    if _push_over_pull(model) < 1:
        warn(f"Codes may collapse. {_remedy(model)}", CollapseWarning)


def sparse_branch(
    model: SparseParameters,
    dictionary: "Tensor",
    *,
    encoder: str,
    n_layers: int,
    weight_decay: float = 0.0,
) -> "Branch":
    """Return the network of one modality, from its initial W."""
    from kinhash.training.networks import (  # noqa: PLC0415 - torch
        CodNetwork,
        IstaNetwork,
        PursuitNetwork,
    )

    kind: type[PursuitNetwork] = CodNetwork if encoder == "cod" else IstaNetwork
    return kind(
        dictionary,
        beta=model.beta,
        n_steps=_n_active(model) if encoder == "cod" else n_layers,
        signed=model.signed,
        weight_decay=weight_decay,
    )


def sparse_loss(model: SparseParameters) -> "SparseHashLoss":
    """Return the paper's loss."""
    from kinhash.training.losses import SparseHashLoss  # noqa: PLC0415 - torch

    return SparseHashLoss(
        margin=model.margin, lam=model.lam, alpha=model.alpha, similar_share=model.similar_share
    )


def sparse_health(model: SparseParameters, encoders: Iterable[str], usual_beta: float) -> Health:
    """Return what the codes should look like; `encoders` are the kinds that are used."""
    # Two codes of k active bits are at most 2k apart, whatever the margin asks for.
    farthest = 2 * _n_active(model) if "cod" in encoders else model.n_bits
    distance = min(model.margin, float(farthest))
    return Health(distance, model.beta, usual_beta, _remedy(model))


def _n_active(model: SparseParameters) -> int:
    return model.n_active or min(DEFAULT_ACTIVE, model.n_bits)


def _push_over_pull(model: SparseParameters) -> float:
    """Slope of the push over that of the pull where two codes are equal."""
    return model.lam * model.margin * (1 - model.similar_share) / model.similar_share


def _remedy(model: SparseParameters) -> str:
    """What to change when codes collapse: the parameter that is farthest off."""
    ratio = _push_over_pull(model)
    if ratio < 1.5:
        return (
            f"The push is weak against the pull ({ratio:.2g} to 1): raise `lam` "
            f"(now {model.lam:g}) to {model.lam * 2.5 / max(ratio, 1e-9):.2g}."
        )
    strongest = 0.02 * model.lam * model.margin
    if model.alpha > strongest:
        return f"Lower `alpha` (now {model.alpha:g}) to {strongest:.1g} or less."
    rate, default = rate_of(model), DEFAULT_RATES[model.optimizer]
    if rate * model.beta > 10 * default:
        if rate > default:
            return f"Lower `learning_rate` (now {rate:g}) to {default:g}."
        return f"Lower `beta` (now {model.beta:g}) to {model.beta / 3:.2g}."
    return f"Raise `lam` (now {model.lam:g}) or `margin` (now {model.margin:g})."
