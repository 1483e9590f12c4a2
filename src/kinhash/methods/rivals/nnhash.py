"""`NNHash`: the dense siamese network that the paper starts from."""

import math
from typing import Any, ClassVar

import numpy as np

from kinhash.arguments import check_integer, check_number
from kinhash.arrays import Array
from kinhash.encoders import Encoder, KernelEncoder
from kinhash.methods.networks.siamese import SiameseMethod
from kinhash.methods.parts.gaussian_units import GaussianUnits, units_at_rows

DEFAULT_DECAYS = {"adam": 3.0, "sgd": 0.01}  # momentum multiplies that of "sgd"


class NNHash(SiameseMethod):
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
        n_bits: Length of the codes, 1 to 1,024.
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
    _usual_beta: ClassVar[float] = 10.0

    def __init__(
        self,
        n_bits: int = 64,
        *,
        margin: float | None = None,
        similar_share: float = 0.05,
        beta: float = 10.0,
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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.margin is not None:
            check_number("margin", self.margin, 0, open_low=True)
        check_number("similar_share", self.similar_share, 0, 1, open_low=True)
        check_integer("n_anchors", self.n_anchors, 0)
        check_number("gamma", self.gamma, 0, open_low=True)
        if self.weight_decay is not None:
            check_number("weight_decay", self.weight_decay, 0)

    def _network(self, dictionary: Any) -> Any:  # noqa: ANN401 - torch stays out of signatures
        from kinhash.training.network import TanhNetwork  # noqa: PLC0415 - torch

        return TanhNetwork(dictionary, beta=self.beta)

    def _loss(self) -> Any:  # noqa: ANN401 - torch stays out of signatures
        from kinhash.training.losses import ContrastiveLoss  # noqa: PLC0415 - torch

        return ContrastiveLoss(margin=self._effective_margin(), similar_share=self.similar_share)

    def _lift(self, X: Array, mean: Array, scale: Array) -> GaussianUnits | None:
        if not self.n_anchors:
            return None
        return units_at_rows(X, mean, scale, self.n_anchors, gamma=self.gamma, seed=self.seed)

    def _encoder(self, network: Any, mean: Array, scale: Array, lift: Any) -> Encoder:  # noqa: ANN401 - torch stays out of signatures
        layer = network.encoder(mean, scale)
        if lift is None:
            return super()._encoder(network, mean, scale, lift)
        W = (layer.W @ lift.whitening).astype(np.float32)
        bias = (layer.bias - layer.W @ lift.mean).astype(np.float32)
        return KernelEncoder(mean, scale, lift.centres, W, bias, lift.gamma)

    def _weight_decay(self) -> float:
        if self.weight_decay is None:
            return DEFAULT_DECAYS[self.optimizer]
        return self.weight_decay

    def _effective_margin(self) -> float:
        return self.margin or 1.1 * math.sqrt(self.n_bits)

    def _healthy_distance(self) -> float:
        return self._effective_margin() ** 2  # the loss reports squared distances

    def _remedy(self) -> str:
        return f"Raise `margin` (now {self._effective_margin():.3g}) or lower `similar_share`."
