"""`NNHash`: the dense siamese network that the paper starts from."""

import math
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

USUAL_BETA = 10.0
DEFAULT_DECAYS = {"adam": 3.0, "sgd": 0.01}  # momentum multiplies that of "sgd"


class NNHash(HashMethod):
    """Learns dense codes with a tanh layer and a squared contrastive hinge loss.

    Masci et al. (2011), as equation 3 of the sparse hashing paper gives it: tanh(beta (P x + a)),
    and the loss s/2 ||a - b||^2 + (1 - s)/2 max(0, M - ||a - b||)^2, a mean over each kind of
    pairs.

    What differs, chosen on held-out parts of CIFAR-10's training rows: below the layer that is
    learned lies a fixed one of Gaussian units, exp(-||x - c||^2 / w), at training rows c, turned,
    scaled and centred so that inner products of its outputs are values of the centred kernel. P
    is then a projection in the space of that kernel, and the weight decay bounds its norm there,
    so that no rows need to be held out. A layer on the vectors themselves (`n_anchors=0`) does
    not reach the paper's mAP, nor do the linear classifiers that we tried. Similar pairs get less
    than half of the weight: with half of it many more items share a code. The margin, which the
    papers leave open, grows with the length: dissimilar rows want to differ in 30 % of the bits.

    Args:
        n_bits: Length of the codes, 1 to 4,096.
        margin: M, in Euclidean distance of the outputs; 1.1 sqrt(n_bits) if left at None.
        similar_share: Share of the similar pairs in the average over pairs.
        beta: Slope of the tanh.
        n_anchors: Gaussian units, at random training rows; all of them when there are fewer. 0
            leaves the layer out.
        gamma: Sharpness of the units: w is the mean squared distance of two rows, over `gamma`.
        weight_decay: Share of the weights, times the rate, that every step takes away; if left at
            None, 3 for "adam" and 0.01 for "sgd".
        optimizer: "adam", or "sgd" for plain stochastic descent with momentum, as in the paper.
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
        >>> NNHash(n_bits=32).fit(X, y).encode(X[:3]).n_bits
        32
    """

    name = "nnhash"

    def __init__(
        self,
        n_bits: int = 64,
        *,
        margin: float | None = None,
        similar_share: float = 0.05,
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
        self.margin = margin
        self.similar_share = similar_share
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
            CollapseWarning: Nearly all items get the same or the empty code; says what to change.
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
        if self.threshold is not None:
            check_number("threshold", self.threshold, 0, open_low=True)
        if self.margin is not None:
            check_number("margin", self.margin, 0, open_low=True)
        check_number("similar_share", self.similar_share, 0, 1, open_low=True)
        check_integer("n_anchors", self.n_anchors, 0)
        check_number("gamma", self.gamma, 0, open_low=True)
        if self.weight_decay is not None:
            check_number("weight_decay", self.weight_decay, 0)

    def _recipe(self) -> Recipe:
        from kinhash.training.losses import ContrastiveLoss  # noqa: PLC0415 - torch
        from kinhash.training.networks import TanhNetwork  # noqa: PLC0415 - torch

        margin = self.margin or 1.1 * math.sqrt(self.n_bits)
        decay = DEFAULT_DECAYS[self.optimizer] if self.weight_decay is None else self.weight_decay
        return Recipe(
            title=f"NNHash, {self.n_bits} bits",
            n_bits=self.n_bits,
            branch=lambda _, P: TanhNetwork(P, beta=self.beta, weight_decay=decay),
            loss=ContrastiveLoss(margin, self.similar_share),
            schedule=schedule_of(self),
            health=Health(
                distance=margin**2,  # the loss reports squared distances
                beta=self.beta,
                usual_beta=USUAL_BETA,
                remedy=f"Raise `margin` (now {margin:.3g}) or lower `similar_share`.",
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
