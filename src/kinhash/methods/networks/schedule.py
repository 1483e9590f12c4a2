"""The parameters of gradient descent: checked, and as a `Schedule`."""

from typing import Protocol

from kinhash.arguments import check_choice, check_integer, check_number
from kinhash.codes import MAX_BITS
from kinhash.errors import InvalidInputError, MissingExtraError
from kinhash.training.schedule import Schedule

DEFAULT_RATES = {"adam": 0.01, "sgd": 0.05}


class DescentParameters(Protocol):
    """The parameters that every method with a network has."""

    n_bits: int
    beta: float
    optimizer: str
    learning_rate: float | None
    momentum: float
    batch_size: int
    max_epochs: int
    max_steps: int
    validation_share: float
    patience: int
    n_neighbors: int
    device: str
    seed: int


def check_descent(model: DescentParameters) -> None:
    """Raise InvalidInputError if a parameter of gradient descent cannot be used."""
    check_integer("n_bits", model.n_bits, 1, MAX_BITS)
    check_number("beta", model.beta, 0, open_low=True)
    check_choice("optimizer", model.optimizer, tuple(DEFAULT_RATES))
    if model.learning_rate is not None:
        check_number("learning_rate", model.learning_rate, 0, open_low=True)
    check_number("momentum", model.momentum, 0, 0.999)
    check_integer("batch_size", model.batch_size, 4)
    check_integer("max_epochs", model.max_epochs, 1)
    check_integer("max_steps", model.max_steps, 1)
    check_number("validation_share", model.validation_share, 0, 0.9)
    check_integer("patience", model.patience, 1)
    check_integer("n_neighbors", model.n_neighbors, 1)
    check_integer("seed", model.seed, 0)


def check_torch(device: str) -> None:
    """Raise MissingExtraError without torch, InvalidInputError if it cannot use `device`."""
    try:
        import torch  # noqa: PLC0415 - only training needs it
    except ImportError as error:
        raise MissingExtraError("Training needs torch", "train") from error
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidInputError(f"`device` {device!r} cannot be used: {reason}") from error


def rate_of(model: DescentParameters) -> float:
    """Return the learning rate: the one given, or that of the optimizer."""
    return model.learning_rate or DEFAULT_RATES[model.optimizer]


def schedule_of(
    model: DescentParameters, *, warm_up: float = 0.0, clip: float | None = None
) -> Schedule:
    """Return the schedule that a method's parameters ask for."""
    return Schedule(
        optimizer=model.optimizer,
        learning_rate=rate_of(model),
        momentum=model.momentum,
        batch_size=model.batch_size,
        max_epochs=model.max_epochs,
        max_steps=model.max_steps,
        patience=model.patience,
        validation_share=model.validation_share,
        seed=model.seed,
        device=model.device,
        warm_up=warm_up,
        clip=clip,
    )
