"""`NNHash`: the dense siamese network that the paper starts from."""

import math
from typing import Any

from kinhash.methods.parameters import check_number
from kinhash.methods.siamese import SiameseMethod


class NNHash(SiameseMethod):
    """Learns dense codes with a tanh layer and a squared contrastive hinge loss.

    Masci et al. (2011), as the paper's background section gives it: tanh(beta (P x + a)), loss
    s/2 ||a - b||^2 + (1 - s)/2 max(0, M - ||a - b||)^2, both halves with the same weight. The
    papers leave the margin open: here it grows with the length, the distance between two codes
    that differ in half of their bits, as random ones do.

    Args:
        n_bits: Length of the codes, 1 to 1,024.
        margin: M, in Euclidean distance of the outputs; sqrt(2 n_bits) if left at None.
        beta: Slope of the tanh.
        optimizer: "adam", or "sgd" for plain stochastic descent with momentum, as in the paper.
        learning_rate: Initial rate, annealed to zero along a cosine; if left at None, 0.01 for
            "adam" and 0.05 for "sgd".
        momentum: Momentum of the descent (the first moment's decay for "adam").
        batch_size: Rows per batch; all their pairs count.
        max_epochs: Most passes over the training rows.
        max_steps: Most batches.
        validation_share: Share of the rows (or pairs) held out to stop early.
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
        beta: float = 3.0,
        optimizer: str = "adam",
        learning_rate: float | None = None,
        momentum: float = 0.9,
        batch_size: int = 100,
        max_epochs: int = 250,
        max_steps: int = 2000,
        validation_share: float = 0.1,
        patience: int = 20,
        n_neighbors: int = 10,
        threshold: float | None = None,
        device: str = "cpu",
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        self.n_bits = n_bits
        self.margin = margin
        self.beta = beta
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

    def _network(self, dictionary: Any) -> Any:  # noqa: ANN401 - torch stays out of signatures
        from kinhash.training.network import TanhNetwork  # noqa: PLC0415 - torch

        return TanhNetwork(dictionary, beta=self.beta)

    def _loss(self) -> Any:  # noqa: ANN401 - torch stays out of signatures
        from kinhash.training.losses import ContrastiveLoss  # noqa: PLC0415 - torch

        return ContrastiveLoss(margin=self._effective_margin())

    def _effective_margin(self) -> float:
        return self.margin or math.sqrt(2 * self.n_bits)

    def _healthy_distance(self) -> float:
        return self._effective_margin() ** 2  # the loss reports squared distances

    def _remedy(self) -> str:
        return f"Raise `margin` (now {self._effective_margin():.3g}) or lower `beta`."
