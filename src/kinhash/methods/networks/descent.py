"""What the methods share that train networks by gradient descent: parameters, early warnings."""

import warnings
from typing import Any, ClassVar

import numpy as np

from kinhash.arguments import check_choice, check_integer, check_number
from kinhash.arrays import Array
from kinhash.codes import MAX_BITS
from kinhash.encoders import as_float32, unit_length
from kinhash.errors import CollapseWarning, InvalidInputError, MissingExtraError

# At margin 7, runs that are nearer than this after 50 steps tend to end in a single code.
EARLY_DISTANCE = 3.0
SATURATED_DISTANCE = 1.0  # below this before the first step, the tanh is flat
DEFAULT_RATES = {"adam": 0.01, "sgd": 0.05}


class Descent:
    """A method whose `fit` is gradient descent over pairs."""

    _usual_beta: ClassVar[float] = 3.0

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
    verbose: bool

    def _remedy(self) -> str:
        """Return one sentence: which parameter to change, and how, when codes collapse."""
        raise NotImplementedError

    def _healthy_distance(self) -> float:
        """Return how far apart, in l1 of the outputs, the loss wants dissimilar items."""
        raise NotImplementedError

    def _rate(self) -> float:
        return self.learning_rate or DEFAULT_RATES[self.optimizer]

    def _check_descent(self) -> None:
        check_integer("n_bits", self.n_bits, 1, MAX_BITS)
        check_number("beta", self.beta, 0, open_low=True)
        check_choice("optimizer", self.optimizer, tuple(DEFAULT_RATES))
        if self.learning_rate is not None:
            check_number("learning_rate", self.learning_rate, 0, open_low=True)
        check_number("momentum", self.momentum, 0, 0.999)
        check_integer("batch_size", self.batch_size, 4)
        check_integer("max_epochs", self.max_epochs, 1)
        check_integer("max_steps", self.max_steps, 1)
        check_number("validation_share", self.validation_share, 0, 0.9)
        check_integer("patience", self.patience, 1)
        check_integer("n_neighbors", self.n_neighbors, 1)
        check_integer("seed", self.seed, 0)

    def _check_device(self) -> None:
        """Raise MissingExtraError without torch, InvalidInputError if it cannot use `device`."""
        try:
            import torch  # noqa: PLC0415 - only training needs it
        except ImportError as error:
            raise MissingExtraError("Training needs torch", "train") from error
        try:
            torch.empty(0, device=self.device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise InvalidInputError(f"`device` {self.device!r} cannot be used: {reason}") from error

    def _schedule(self, **more: float) -> Any:  # noqa: ANN401 - torch stays out of signatures
        from kinhash.training.loop import Schedule  # noqa: PLC0415 - torch

        return Schedule(
            optimizer=self.optimizer,
            learning_rate=self._rate(),
            momentum=self.momentum,
            batch_size=self.batch_size,
            max_epochs=self.max_epochs,
            max_steps=self.max_steps,
            patience=self.patience,
            validation_share=self.validation_share,
            seed=self.seed,
            device=self.device,
            **more,
        )

    def _title(self) -> str:
        return f"{type(self).__name__}, {self.n_bits} bits"

    def _warn_early(self, initial: float, early: float) -> None:
        wanted = self._healthy_distance()
        if initial < min(SATURATED_DISTANCE, wanted / 7):
            cause, change = ("hardly move", "Raise") if self.beta < 1 else ("saturate", "Lower")
            message = (
                f"Dissimilar items start {initial:.2g} bits apart: the inputs {cause} the "
                f"network's outputs. {change} `beta` (now {self.beta:g}) to {self._usual_beta:g}."
            )
        elif early < min(EARLY_DISTANCE, wanted * 3 / 7):
            message = (
                f"After 50 steps dissimilar items are {early:.2g} bits apart, and codes tend to "
                f"collapse from there. {self._remedy()}"
            )
        else:
            return
        warnings.warn(message, CollapseWarning, stacklevel=5)


def initial_dictionary(
    X: Any,  # noqa: ANN401 - an array or csr
    mean: Array,
    scale: Array,
    lift: Any,  # noqa: ANN401 - a training.loop.Lift or None
    *,
    n_bits: int,
    seed: int,
) -> Array:
    """Return `n_bits` random training vectors as the network sees them: the initial W."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(X.shape[0])[:n_bits])
    chosen = X[rows]
    dense = chosen if isinstance(chosen, np.ndarray) else chosen.toarray()
    atoms = (unit_length if lift is None else lift)((as_float32(dense) - mean) * scale)
    atoms = atoms[np.any(atoms, axis=1)]
    # Too few different rows: random directions make up the number.
    used = scale > 0 if lift is None else np.ones(lift.n_outputs, bool)
    rest = rng.standard_normal((n_bits - len(atoms), len(used))).astype(np.float32)
    return rng.permutation(np.concatenate([atoms, unit_length(rest * used)]))
