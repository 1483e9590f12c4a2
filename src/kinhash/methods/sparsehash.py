"""`SparseHash`: the paper's method for one modality."""

import warnings
from typing import Any

from kinhash.errors import CollapseWarning, InvalidInputError
from kinhash.methods.parameters import check_choice, check_integer, check_number
from kinhash.methods.siamese import DEFAULT_RATES, SiameseMethod

DEFAULT_ACTIVE = 8  # for coordinate descent: about what ISTA learns at 64 bits


class SparseHash(SiameseMethod):
    """Learns codes that are long but sparse, under which similar items collide.

    Masci et al., *Sparse similarity-preserving hashing*: a siamese ISTA-type network trained with
    an l1 contrastive loss. The defaults suit vectors of any scale; raise `margin` for finer codes
    (higher mAP and precision, fewer collisions), lower it for coarser ones.

    Args:
        n_bits: Length of the codes, 1 to 1,024.
        margin: M: dissimilar items are pushed this many bits apart.
        alpha: Weight of the l1 norm of the codes; larger is sparser.
        lam: lambda: weight of the push against the pull.
        similar_share: pi: share of the similar pairs in the average over pairs.
        n_layers: Uses of the matrix S after the first shrinkage (`encoder="ista"`).
        signed: Two-sided shrinkage and codes over {-1, 0, 1}, which take twice the storage.
        encoder: "ista", or "cod" for coordinate descent, which guarantees `n_active`.
        n_active: Most active bits per code, for `encoder="cod"`; 8 if left at None.
        beta: Slope of the tanh that makes outputs nearly binary.
        optimizer: "adam", or "sgd" for plain stochastic descent with momentum, as in the paper.
        learning_rate: Initial rate, annealed to zero along a cosine; if left at None, 0.01 for
            "adam" and 0.05 for "sgd".
        momentum: Momentum of the descent (the first moment's decay for "adam").
        batch_size: Rows per batch; all their pairs count.
        max_epochs: Most passes over the training rows.
        max_steps: Most batches: what bounds the time on large data.
        validation_share: Share of the rows (or pairs) held out to stop early.
        patience: Looks (of 50 in a full run) without a better held-out loss before stopping.
        n_neighbors: Without labels or pairs, a row is similar to this many nearest rows ...
        threshold: ... or, if given, to every row within this Euclidean distance.
        device: Where torch trains: "cpu", "cuda", ...
        seed: Makes the fit repeatable.
        verbose: Show a progress bar on a terminal.

    Attributes:
        encoder_: Arrays that turn vectors into codes, without torch.
        history_: Held-out loss and its terms, active bits, share of unique and of empty codes, in
            50 looks over the run.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> model = SparseHash(n_bits=48).fit(X, y)
        >>> model.encode(X[:3]).n_bits
        48
    """

    name = "sparsehash"

    def __init__(
        self,
        n_bits: int = 64,
        *,
        margin: float = 7.0,
        alpha: float = 0.001,
        lam: float = 0.1,
        similar_share: float = 0.22,
        n_layers: int = 1,
        signed: bool = False,
        encoder: str = "ista",
        n_active: int | None = None,
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
        self.alpha = alpha
        self.lam = lam
        self.similar_share = similar_share
        self.n_layers = n_layers
        self.signed = signed
        self.encoder = encoder
        self.n_active = n_active
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
        check_number("margin", self.margin, 0, open_low=True)
        check_number("alpha", self.alpha, 0)
        check_number("lam", self.lam, 0, open_low=True)
        check_number("similar_share", self.similar_share, 0, 1, open_low=True)
        check_integer("n_layers", self.n_layers, 0, 100)
        check_choice("encoder", self.encoder, ("cod", "ista"))
        if self.n_active is not None:
            check_integer("n_active", self.n_active, 1, self.n_bits)
            if self.encoder == "ista":
                raise InvalidInputError(
                    "`n_active` is guaranteed only by encoder='cod', got encoder='ista'. "
                    "Pass encoder='cod', or raise `alpha` for sparser codes."
                )
        if self._push_over_pull() < 1:
            warnings.warn(f"Codes may collapse. {self._remedy()}", CollapseWarning, stacklevel=5)

    def _network(self, dictionary: Any) -> Any:  # noqa: ANN401 - torch stays out of signatures
        from kinhash.training.network import CodNetwork, IstaNetwork  # noqa: PLC0415 - torch

        if self.encoder == "cod":
            return CodNetwork(
                dictionary, beta=self.beta, n_steps=self._n_active(), signed=self.signed
            )
        return IstaNetwork(dictionary, beta=self.beta, n_steps=self.n_layers, signed=self.signed)

    def _loss(self) -> Any:  # noqa: ANN401 - torch stays out of signatures
        from kinhash.training.losses import SparseHashLoss  # noqa: PLC0415 - torch

        return SparseHashLoss(
            margin=self.margin, lam=self.lam, alpha=self.alpha, similar_share=self.similar_share
        )

    def _healthy_distance(self) -> float:
        # Two codes of k active bits are at most 2k apart, whatever the margin asks for.
        farthest = 2 * self._n_active() if self.encoder == "cod" else self.n_bits
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
