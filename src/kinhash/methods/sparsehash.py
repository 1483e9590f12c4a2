"""`SparseHash`: learned codes with a sparse bucket, by the recipe that does best or the paper's."""

import re
from typing import Any, Self

from kinhash.arrays import Labels, Matrix, Vectors
from kinhash.encoders import CHUNK_ROWS, check_finite
from kinhash.errors import InvalidInputError
from kinhash.methods.model import HashMethod
from kinhash.methods.recipes.paper import check_paper, fit_paper
from kinhash.methods.recipes.parameters import PaperParameters, defaults_of, resolved
from kinhash.methods.recipes.strong import check_strong, fit_strong
from kinhash.pairs import Pairs

_X = re.compile(r"`X`|\bInput X\b|\bX(?= has )")  # what messages call the training vectors


class SparseHash(HashMethod):
    """Learns codes under which similar items collide, and an order for what collides.

    `recipe="strong"`, the default, learns from labels or tags the probability of each class: by
    ridge regression, over Gaussian units where these are worth it, calibrated on predictions of
    rows that were left out. The bucket is the word of the likeliest class; words of classes that
    are often confused overlap, so that a search within radius 2 finds them together. Rank bits,
    trained to order items by the probability that they are similar, place what is found. From
    `pairs`, and from vectors alone, it learns codes for near-duplicates and nearest neighbours.

    `recipe="paper"` is Masci et al., *Sparse similarity-preserving hashing*: a siamese ISTA-type
    network trained with an l1 contrastive loss. Its codes have no rank bits. Raise `margin` for
    finer codes (higher mAP and precision, fewer collisions), lower it for coarser ones.

    Parameters of one recipe are left at None for its default, and refused by the other.

    Args:
        n_bits: Length of the codes, bucket and rank, 1 to 4,096; half of that if `signed`.
        n_rank_bits: How many of them are rank bits; None: what suits the number of classes. Not of
            "paper".
        recipe: "strong" or "paper".
        transfer: Of "strong", 0 to 1: how much rank bits follow the vectors themselves instead of
            the classes, which orders classes never seen better and the known ones worse; 0.
        margin: M: dissimilar items are pushed this many bits apart; 7. This and all that follow
            but `seed` and `verbose` are of "paper".
        alpha: Weight of the l1 norm of the codes; larger is sparser; 0.001.
        lam: lambda: weight of the push against the pull; 0.1.
        similar_share: pi: share of the similar pairs in the average over pairs; 0.22.
        n_layers: Uses of the matrix S after the first shrinkage (`encoder="ista"`); 1.
        signed: Two-sided shrinkage and codes over {-1, 0, 1}, which take twice the storage; False.
        encoder: "ista", or "cod" for coordinate descent, which guarantees `n_active`; "ista".
        n_active: Most active bits per code, for `encoder="cod"`; 8.
        beta: Slope of the tanh that makes outputs nearly binary; 3.
        optimizer: "adam", or "sgd" for plain stochastic descent with momentum, as in the paper.
        learning_rate: Initial rate, annealed to zero along a cosine; 0.01 for "adam" and 0.05 for
            "sgd".
        momentum: Momentum of the descent (the first moment's decay for "adam"); 0.9.
        batch_size: Rows per batch; all their pairs count; 100.
        max_epochs: Most passes over the training rows; 250.
        max_steps: Most batches: what bounds the time on large data; 2,000.
        validation_share: Share of the rows (or pairs) held out to stop early; 0.1.
        patience: Looks (of 50 in a full run) without a better held-out loss before stopping; 20.
        n_neighbors: Without labels or pairs, a row is similar to this many nearest rows; 10 ...
        threshold: ... or, if given, to every row within this Euclidean distance.
        device: Where torch trains: "cpu", "cuda", ...; "cpu".
        seed: Makes the fit repeatable.
        verbose: Show a progress bar on a terminal.

    Attributes:
        encoder_: Arrays that turn vectors into codes, without torch.
        history_: Of "strong", what was chosen and how well it does on rows left out. Of "paper",
            held-out loss and its terms, active bits, share of unique and of empty codes, in 50
            looks over the run.
        calibration_: How likely two items at a distance are similar, told by training rows that
            were left out ("strong") or held out ("paper"); without labels None: see `calibrate`.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> model = SparseHash(n_bits=48).fit(X, y)
        >>> codes = model.encode(X[:3])
        >>> codes.n_bits, codes.n_rank_bits
        (48, 36)
    """

    name = "sparsehash"
    _takes_sparse = True

    def __init__(
        self,
        n_bits: int = 64,
        *,
        n_rank_bits: int | None = None,
        recipe: str = "strong",
        transfer: float | None = None,
        margin: float | None = None,
        alpha: float | None = None,
        lam: float | None = None,
        similar_share: float | None = None,
        n_layers: int | None = None,
        signed: bool | None = None,
        encoder: str | None = None,
        n_active: int | None = None,
        beta: float | None = None,
        optimizer: str | None = None,
        learning_rate: float | None = None,
        momentum: float | None = None,
        batch_size: int | None = None,
        max_epochs: int | None = None,
        max_steps: int | None = None,
        validation_share: float | None = None,
        patience: int | None = None,
        n_neighbors: int | None = None,
        threshold: float | None = None,
        device: str | None = None,
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        self.n_bits = n_bits
        self.n_rank_bits = n_rank_bits
        self.recipe = recipe
        self.transfer = transfer
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
        unlabelled: Vectors | None = None,
    ) -> Self:
        """Learn from vectors and what is similar among them; returns self.

        After an exception or Ctrl-C the method is as it was.

        Args:
            X: `(n, n_features)` numbers. A sparse matrix is never dense as a whole.
            y: `(n,)` class labels, or an `(n, n_tags)` 0/1 matrix (similar = share a tag). Without
                `y` and `pairs`, nearby rows are similar.
            pairs: Explicit similar and dissimilar pairs of rows, instead of `y`.
            unlabelled: `(m, n_features)` further vectors, whose labels are not known, beside `y`:
                what is likely of them helps the rank bits. Only `recipe="strong"`.

        Raises:
            InvalidInputError: A parameter, the vectors or the labels cannot be used.
            MissingExtraError: torch is not installed.

        Warns:
            CollapseWarning: Nearly all items get the same or the empty code, or classes share
                theirs; says what to change.
        """
        with self._unchanged_on_failure():
            settings = resolved(self.get_params())
            if isinstance(settings, PaperParameters):
                if unlabelled is not None:
                    raise InvalidInputError(
                        "`unlabelled` is used by recipe='strong', but `recipe` is 'paper'. Leave "
                        "it out."
                    )
                check_paper(settings)
                found = fit_paper(settings, self._checked(X, reset=True), y, pairs)
            else:
                check_strong(settings)
                rows = self._checked(X, reset=True)
                more = None if unlabelled is None else self._checked_unlabelled(unlabelled)
                found = fit_strong(settings, rows, y, pairs, more)
            self.encoder_, self.history_ = found.encoder, found.history
            self.calibration_ = found.calibration
        return self

    def _checked_unlabelled(self, unlabelled: Vectors) -> Matrix:
        if isinstance(unlabelled, tuple):
            raise InvalidInputError(
                "`unlabelled` must be vectors alone, got a tuple. Rows whose labels are known "
                "belong into `X` and `y`."
            )
        try:
            rows = self._checked(unlabelled, reset=False)
            for start in range(0, rows.shape[0], CHUNK_ROWS):
                check_finite(rows[start : start + CHUNK_ROWS], first_row=start)
        except InvalidInputError as error:
            raise InvalidInputError(_X.sub("`unlabelled`", str(error))) from error
        return rows

    def default_parameters(self) -> dict[str, Any]:
        """Return what the parameters are when nobody says: None, or what the recipe takes then."""
        given = {name for name, value in self.stored_parameters().items() if value is not None}
        own = {name: one for name, one in defaults_of(self.recipe).items() if name in given}
        return super().default_parameters() | own

    @classmethod
    def _from_parameters(cls, parameters: dict[str, Any]) -> Self:
        # Before there were recipes, there was the paper's.
        return super()._from_parameters({"recipe": "paper"} | parameters)
