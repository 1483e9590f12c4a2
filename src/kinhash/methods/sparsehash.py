"""`SparseHash`: the paper's method for one modality."""

from typing import Self

from kinhash.arguments import check_choice, check_integer, check_number
from kinhash.arrays import Labels, Vectors
from kinhash.methods.modalities.modality import Modality
from kinhash.methods.model import HashMethod
from kinhash.methods.networks.fit import Recipe, fit_networks
from kinhash.methods.networks.schedule import check_descent, check_torch, schedule_of
from kinhash.methods.networks.sparse import check_sparse, sparse_branch, sparse_health, sparse_loss
from kinhash.methods.supervision.rows import pair_source
from kinhash.pairs import Pairs

USUAL_BETA = 3.0


class SparseHash(HashMethod):
    """Learns codes that are long but sparse, under which similar items collide.

    Masci et al., *Sparse similarity-preserving hashing*: a siamese ISTA-type network trained with
    an l1 contrastive loss. The defaults suit vectors of any scale; raise `margin` for finer codes
    (higher mAP and precision, fewer collisions), lower it for coarser ones.

    Args:
        n_bits: Length of the codes, 1 to 4,096; 2,048 if `signed`.
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
    _takes_sparse = True

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
        beta: float = USUAL_BETA,
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
            X: `(n, n_features)` numbers; a memory-mapped array is read in pieces, never copied. A
                sparse matrix is never dense as a whole.
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
        check_integer("n_layers", self.n_layers, 0, 100)
        check_choice("encoder", self.encoder, ("cod", "ista"))
        check_sparse(self, [self.encoder])

    def _recipe(self) -> Recipe:
        return Recipe(
            title=f"SparseHash, {self.n_bits} bits",
            n_bits=self.n_bits,
            branch=lambda _, dictionary: sparse_branch(
                self, dictionary, encoder=self.encoder, n_layers=self.n_layers
            ),
            loss=sparse_loss(self),
            schedule=schedule_of(self),
            health=sparse_health(self, [self.encoder], USUAL_BETA),
            verbose=self.verbose,
        )
