"""What the methods that train a siamese network share: supervision, training, collapse checks."""

import math
import warnings
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from kinhash.codes import MAX_BITS
from kinhash.encoders import Encoder, as_float32, unit_length
from kinhash.errors import CollapseWarning, InvalidInputError, MissingExtraError
from kinhash.methods.base import HashMethod, check_varies, standardisation
from kinhash.methods.parameters import check_choice, check_integer, check_number
from kinhash.methods.supervision import pair_source
from kinhash.pairs import Pairs
from kinhash.progress import progress_bar

Array = npt.NDArray[Any]

# At margin 7, runs that are nearer than this after 50 steps tend to end in a single code.
EARLY_DISTANCE = 3.0
SATURATED_DISTANCE = 1.0  # below this before the first step, the tanh is flat
COLLAPSED_DISTANCE = 1.0  # codes nearer than this at the end: most dissimilar items share one
DEFAULT_RATES = {"adam": 0.01, "sgd": 0.05}
MAX_CHECKED_ROWS = 10_000


class SiameseMethod(HashMethod):
    """A network applied to both items of a pair. Subclasses give network, loss and remedy."""

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
    threshold: float | None
    device: str
    seed: int
    verbose: bool

    def _network(self, dictionary: Any) -> Any:  # noqa: ANN401 - torch stays out of signatures
        raise NotImplementedError

    def _loss(self) -> Any:  # noqa: ANN401 - torch stays out of signatures
        raise NotImplementedError

    def _remedy(self) -> str:
        """Return one sentence: which parameter to change, and how, when codes collapse."""
        raise NotImplementedError

    def _healthy_distance(self) -> float:
        """Return how far apart, in l1 of the outputs, the loss wants dissimilar items."""
        raise NotImplementedError

    def _lift(self, X: Array, mean: Array, scale: Array) -> Any:  # noqa: ANN401, ARG002 - see Inputs
        """Return the fixed first layer, or None: standardised vectors go in, of unit length."""
        return None

    def _encoder(self, network: Any, mean: Array, scale: Array, lift: Any) -> Encoder:  # noqa: ANN401, ARG002 - torch stays out of signatures
        """Return the trained network, with the first layer if there is one, as an encoder."""
        encoder: Encoder = network.encoder(mean, scale)
        return encoder

    def _weight_decay(self) -> float:
        return 0.0

    def _rate(self) -> float:
        return self.learning_rate or DEFAULT_RATES[self.optimizer]

    def _check_parameters(self) -> None:
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
        if self.threshold is not None:
            check_number("threshold", self.threshold, 0, open_low=True)

    def fit(
        self,
        X: npt.ArrayLike,
        y: Any = None,  # noqa: ANN401 - any array-like or sparse matrix
        *,
        pairs: Pairs | None = None,
    ) -> Self:
        """Learn from vectors and what is similar among them; returns self.

        After an exception or Ctrl-C the method is as it was.

        Args:
            X: `(n, n_features)` numbers; a memory-mapped array is read in pieces, never copied.
            y: `(n,)` class labels, or an `(n, n_tags)` 0/1 matrix (similar = share a tag). Without
                `y` and `pairs`, nearby rows are similar: see `n_neighbors` and `threshold`.
            pairs: Explicit similar and dissimilar pairs of rows, instead of `y`.

        Raises:
            InvalidInputError: A parameter, the vectors or the labels cannot be used.
            MissingExtraError: torch is not installed.

        Warns:
            CollapseWarning: Nearly all items get the same or the empty code; says what to change.
        """
        before = dict(self.__dict__)
        try:
            self._fit(X, y, pairs)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _fit(self, X: npt.ArrayLike, y: Any, pairs: Pairs | None) -> None:  # noqa: ANN401 - see fit
        self._check_parameters()
        try:
            import torch  # noqa: PLC0415 - only training needs it

            from kinhash.training.loop import Inputs, Schedule, single_thread, train  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError("Training needs torch", "train") from error

        try:
            torch.empty(0, device=self.device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise InvalidInputError(f"`device` {self.device!r} cannot be used: {reason}") from error
        vectors = self._checked(X, reset=True)
        source = pair_source(
            vectors,
            y,
            pairs,
            n_neighbors=self.n_neighbors,
            threshold=self.threshold,
            seed=self.seed,
        )
        mean, scale, constant = standardisation(vectors)
        check_varies(constant)
        self._warn_before(vectors)
        schedule = Schedule(
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
            weight_decay=self._weight_decay(),
        )
        title = f"{type(self).__name__}, {self.n_bits} bits"
        with single_thread(), progress_bar(title, shown=self.verbose) as report:
            lift = self._lift(vectors, mean, scale)
            dictionary = self._dictionary(vectors, mean, scale, lift)
            network = self._network(torch.from_numpy(dictionary))
            self.history_, kept = train(
                network,
                self._loss(),
                source,
                Inputs(vectors, mean, scale, self.device, lift),
                schedule,
                report=report,
                on_early=self._warn_early,
            )
        self.encoder_ = self._encoder(network, mean, scale, lift)
        self._warn_after(vectors, kept)

    def _dictionary(self, X: Array, mean: Array, scale: Array, lift: Any) -> Array:  # noqa: ANN401 - see Inputs
        """Return `n_bits` random training vectors as the network sees them: the initial W."""
        rng = np.random.default_rng(self.seed)
        rows = np.sort(rng.permutation(len(X))[: self.n_bits])
        atoms = (unit_length if lift is None else lift)((as_float32(X[rows]) - mean) * scale)
        atoms = atoms[np.any(atoms, axis=1)]
        # Too few different rows: random directions make up the number.
        used = scale > 0 if lift is None else np.ones(lift.n_outputs, bool)
        rest = rng.standard_normal((self.n_bits - len(atoms), len(used))).astype(np.float32)
        return rng.permutation(np.concatenate([atoms, unit_length(rest * used)]))

    def _warn_before(self, X: Array) -> None:
        if len(X) < self.n_bits:
            warnings.warn(
                f"`X` has {len(X)} rows, fewer than the {self.n_bits} bits: the rest of the "
                "network starts at random. Lower `n_bits` or add rows.",
                UserWarning,
                stacklevel=4,
            )

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

    def _warn_after(self, X: Array, kept: dict[str, float]) -> None:
        least = min(COLLAPSED_DISTANCE, self._healthy_distance() / 7)
        if kept["code_distance"] >= least:
            return
        codes = self.encoder_.encode(X[:: math.ceil(len(X) / MAX_CHECKED_ROWS)])
        empty = float((codes.n_active == 0).mean())
        remedy = self._remedy()
        if kept["dissimilar_distance"] >= 2 * least:
            # The outputs differ, but not enough to round to different codes.
            usual = f"raise `beta` (now {self.beta:g}) to {self._usual_beta:g}."
            remedy = f"Outputs are far from binary: {usual}"
        warnings.warn(
            f"Dissimilar items share codes: {len(codes)} training rows have {codes.n_unique} "
            f"different code{'s' * (codes.n_unique > 1)}, {empty:.0%} of them the empty one. "
            f"{remedy}",
            CollapseWarning,
            stacklevel=4,
        )
