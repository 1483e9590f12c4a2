"""`CSR`: contrastive sparse representation, the largest outputs of a network as a sparse code."""

from typing import Self

from kinhash.arguments import check_integer, check_number
from kinhash.arrays import Labels, Vectors
from kinhash.methods.modalities.modality import Modality
from kinhash.methods.model import HashMethod
from kinhash.methods.networks.collapse import Health
from kinhash.methods.networks.fit import Recipe, fit_networks
from kinhash.methods.networks.schedule import check_descent, check_torch, schedule_of
from kinhash.methods.parts.gaussian_units import GaussianUnits, units_at_rows
from kinhash.methods.supervision.rows import pair_source
from kinhash.pairs import Pairs

USUAL_BETA = 20.0
DEFAULT_DECAYS = {"adam": 3.0, "sgd": 0.01}  # momentum multiplies that of "sgd"


class CSR(HashMethod):
    """Learns sparse codes with exactly `n_active` active bits by a contrastive loss.

    Guo et al., *CSRv2: unlocking ultra-sparse embeddings* (ICLR 2026), after Wen et al., *Beyond
    Matryoshka* (ICML 2025): only the k largest outputs of a layer are left. k starts large and
    falls in a straight line until 70 % of the steps are done ("k-annealing"), so that all outputs
    come into use. The loss is the supervised contrastive one: for each row, -log of the share that
    similar rows have in the sum of exp(cosine / temperature) over the batch.

    What differs: the paper stores the values of those outputs, here a code is which they are. So
    the loss sees zeros and ones too, and gradients go through a sigmoid around the threshold of
    each row. There is no autoencoder beside the loss, since nothing is to be decoded. Below the
    layer lie Gaussian units at training rows, as in `NNHash`.

    Chosen on parts of the training rows of CIFAR-10 and digits that were held out: `temperature`
    (0.2 to 1), `beta` (2 to 40), `learning_rate`, the weight decay, and where k starts. More active
    bits rank better and share codes less: with a quarter of the bits, mAP on CIFAR-10 rises by two
    points, and F1 within radius 2 falls to a quarter.

    Args:
        n_bits: Length of the codes, 2 to 4,096.
        n_active: Active bits of each code, less than `n_bits`; a tenth of them if left at None.
        n_start: Active bits at the first step, at least `n_active`; half of all if left at None,
            or `n_active` if that is more.
        temperature: What cosines are divided by: lower, and the nearest rows weigh more.
        beta: Slope of the sigmoid that gradients go through.
        n_anchors: Gaussian units, at random training rows; all of them when there are fewer. 0
            leaves the layer out.
        gamma: Sharpness of the units: their width is the mean squared distance of two rows, over
            `gamma`.
        weight_decay: Share of the weights, times the rate, that every step takes away; if left at
            None, 3 for "adam" and 0.01 for "sgd".
        optimizer: "adam", or "sgd" for plain stochastic descent with momentum.
        learning_rate: Initial rate, annealed to zero along a cosine; if left at None, 0.01 for
            "adam" and 0.05 for "sgd".
        momentum: Momentum of the descent (the first moment's decay for "adam").
        batch_size: Rows per batch; all their pairs count.
        max_epochs: Most passes over the training rows.
        max_steps: Most batches.
        validation_share: Share of the rows (or pairs) held out to stop early; with 0, training
            goes on to the end.
        patience: Looks (of 50 in a full run) without a better held-out loss before stopping.
        n_neighbors: Without labels or pairs, a row is similar to this many nearest rows ...
        threshold: ... or, if given, to every row within this Euclidean distance.
        device: Where torch trains.
        seed: Makes the fit repeatable.
        verbose: Show a progress bar on a terminal.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> codes = CSR(n_bits=32, n_active=4, max_steps=50).fit(X, y).encode(X)
        >>> set(codes.n_active.tolist())
        {4}
    """

    name = "csr"

    def __init__(
        self,
        n_bits: int = 64,
        *,
        n_active: int | None = None,
        n_start: int | None = None,
        temperature: float = 0.3,
        beta: float = USUAL_BETA,
        n_anchors: int = 2000,
        gamma: float = 2.0,
        weight_decay: float | None = None,
        optimizer: str = "adam",
        learning_rate: float | None = None,
        momentum: float = 0.9,
        batch_size: int = 100,
        max_epochs: int = 250,
        max_steps: int = 1000,
        validation_share: float = 0.0,
        patience: int = 20,
        n_neighbors: int = 10,
        threshold: float | None = None,
        device: str = "cpu",
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        self.n_bits = n_bits
        self.n_active = n_active
        self.n_start = n_start
        self.temperature = temperature
        self.beta = beta
        self.n_anchors = n_anchors
        self.gamma = gamma
        self.weight_decay = weight_decay
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.max_steps = max_steps
        self.validation_share = validation_share
        self.patience = patience
        self.n_neighbors = n_neighbors
        self.threshold = threshold
        self.device = device
        self.seed = seed
        self.verbose = verbose

    def fit(
        self,
        X: Vectors,
        y: Labels | None = None,
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
            CollapseWarning: Nearly all items get the same code; says what to change.
        """
        with self._unchanged_on_failure():
            self._check_parameters()
            check_torch(self.device)
            rows = Modality.only(self._checked(X, reset=True))
            source = pair_source(
                rows.vectors,
                y,
                pairs,
                n_neighbors=self.n_neighbors,
                threshold=self.threshold,
                seed=self.seed,
            )
            fitted = fit_networks(self._recipe(), {rows.name: rows}, source)
            self.encoder_, self.history_ = fitted.encoders[rows.name], fitted.history
        return self

    def _check_parameters(self) -> None:
        check_descent(self)
        check_integer("n_bits", self.n_bits, 2)
        if self.n_active is not None:
            check_integer("n_active", self.n_active, 1, self.n_bits - 1)
        if self.n_start is not None:
            check_integer("n_start", self.n_start, self._active(), self.n_bits)
        check_number("temperature", self.temperature, 0.01)
        if self.threshold is not None:
            check_number("threshold", self.threshold, 0, open_low=True)
        check_integer("n_anchors", self.n_anchors, 0)
        check_number("gamma", self.gamma, 0, open_low=True)
        if self.weight_decay is not None:
            check_number("weight_decay", self.weight_decay, 0)

    def _active(self) -> int:
        return self.n_active or max(1, self.n_bits // 10)

    def _recipe(self) -> Recipe:
        from kinhash.training.losses import SupervisedContrastiveLoss  # noqa: PLC0415 - torch
        from kinhash.training.networks import TopKNetwork  # noqa: PLC0415 - torch

        n_active = self._active()
        n_start = self.n_start or max(n_active, self.n_bits // 2)
        decay = DEFAULT_DECAYS[self.optimizer] if self.weight_decay is None else self.weight_decay
        return Recipe(
            title=f"CSR, {self.n_bits} bits",
            n_bits=self.n_bits,
            branch=lambda _, W: TopKNetwork(
                W, beta=self.beta, n_active=n_active, n_start=n_start, weight_decay=decay
            ),
            loss=SupervisedContrastiveLoss(self.temperature),
            schedule=schedule_of(self),
            health=Health(
                distance=2 * n_active,
                beta=self.beta,
                usual_beta=USUAL_BETA,
                remedy=f"Lower `temperature` (now {self.temperature:g}) or raise `n_active` "
                f"(now {n_active}).",
            ),
            first_layer=self._units,
            verbose=self.verbose,
        )

    def _units(self, rows: Modality) -> GaussianUnits | None:
        if not self.n_anchors:
            return None
        return units_at_rows(
            rows.vectors, rows.mean, rows.scale, self.n_anchors, gamma=self.gamma, seed=self.seed
        )
