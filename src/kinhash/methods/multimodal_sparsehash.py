"""`MultimodalSparseHash`: the paper's method for several modalities."""

from collections.abc import Mapping
from typing import Any

from kinhash.arguments import check_choice, check_integer, check_number
from kinhash.methods.modalities.modality import Modality, per_modality
from kinhash.methods.modalities.model import AnyPairs, MultimodalMethod
from kinhash.methods.networks.fit import Recipe, fit_networks
from kinhash.methods.networks.schedule import check_descent, check_torch, schedule_of
from kinhash.methods.networks.sparse import check_sparse, sparse_branch, sparse_health, sparse_loss
from kinhash.methods.parts.gaussian_units import GaussianUnits, units_at_rows
from kinhash.methods.supervision.views import view_source
from kinhash.vocabulary import N_WORDS

N_ANCHORS = 2000  # of a dense modality
USUAL_BETA = 10.0


class MultimodalSparseHash(MultimodalMethod):
    """Learns sparse codes under which similar items collide, of whichever modality they are.

    Masci et al., *Sparse similarity-preserving hashing*, the multi-modal setting: a siamese
    ISTA-type network for each modality, trained together on mu_1 L(x, x') + mu_2 L(y, y') +
    L(x, y), L the sparse hashing loss. There may be any number of modalities, with a cross term for
    each two. `mu=0` is the cross-modal regime.

    What differs from the paper, chosen on held-out parts of the training rows: below the network of
    a dense modality lies a fixed layer of Gaussian units, as in `NNHash`; W has a weight decay,
    without which the networks learn small training sets by heart; similar and dissimilar pairs
    weigh the same. Sparse vectors and bags of words go into their network as they are, unless
    `n_anchors` says otherwise: columns weighed by how rare they are, rows of unit length. The
    paper's own recipe is `MultimodalSparseHash(margin=7, alpha=0.001, lam=0.1, similar_share=0.22,
    mu=1, beta=3, signed=True, n_anchors=0, weight_decay=0, optimizer="sgd")`.

    Parameters marked * may be dicts with a value for each modality.

    Args:
        n_bits: Length of the codes, 1 to 4,096; 2,048 if `signed`.
        mu: * Weight of the pairs within a modality against those across.
        margin: M: dissimilar items are pushed this many bits apart.
        alpha: Weight of the l1 norm of the codes; larger is sparser.
        lam: lambda: weight of the push against the pull.
        similar_share: pi: share of the similar pairs in the average over pairs.
        n_layers: * Uses of the matrix S after the first shrinkage (`encoder="ista"`).
        signed: Two-sided shrinkage and codes over {-1, 0, 1}, which take twice the storage.
        encoder: * "ista", or "cod" for coordinate descent, which guarantees `n_active`, and has
            no Gaussian units.
        n_active: Most active bits per code, for `encoder="cod"`; 8 if left at None.
        n_anchors: * Gaussian units, at random training rows; 0 leaves them out. If left at None,
            2,000 for a dense modality and none for a sparse one, which then costs in proportion to
            its entries.
        gamma: Sharpness of the units: their width is the mean squared distance of two rows, over
            `gamma`.
        beta: Slope of the tanh that makes outputs nearly binary.
        weight_decay: Share of W, times the rate, that every step takes away; half of it where
            there are no Gaussian units. Only for "adam".
        optimizer: "adam", or "sgd" for plain stochastic descent with momentum, as in the paper.
        learning_rate: Highest rate: it rises over a fifth of the steps, then falls to zero along a
            cosine; if left at None, 0.01 for "adam" and 0.05 for "sgd".
        momentum: Momentum of the descent (the first moment's decay for "adam").
        batch_size: Views (rows of all modalities) per batch; all their pairs count.
        max_epochs: Most passes over the training rows.
        max_steps: Most batches: what bounds the time on large data.
        validation_share: Share of the views (or pairs) held out to stop early; with 0, training
            goes on to the end.
        patience: Looks (of 50 in a full run) without a better held-out loss before stopping.
        n_words: Words of the vocabulary of a modality that is given as texts.
        n_neighbors: Without labels or pairs, an item is similar to this many nearest items.
        device: Where torch trains: "cpu", "cuda", ...
        seed: Makes the fit repeatable.
        verbose: Show a progress bar on a terminal.

    Attributes:
        encoders_: For each modality, arrays that turn its vectors into codes, without torch.
        words_: Vocabularies of the modalities that were given as texts.
        history_: The loss, its terms, active bits, share of unique and of empty codes, in 50 looks
            over the run.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> model = MultimodalSparseHash(n_bits=32, max_steps=200)
        >>> model = model.fit({"upper": X[:, 1:32], "lower": X[:, 40:]}, y)
        >>> model.encode(X[:3, 40:], modality="lower").n_bits
        32
    """

    name = "multimodal-sparsehash"

    def __init__(
        self,
        n_bits: int = 64,
        *,
        mu: float | Mapping[str, float] = 0.2,
        margin: float = 16.0,
        alpha: float = 0.02,
        lam: float = 1.0,
        similar_share: float = 0.5,
        n_layers: int | Mapping[str, int] = 1,
        signed: bool = False,
        encoder: str | Mapping[str, str] = "ista",
        n_active: int | None = None,
        n_anchors: int | Mapping[str, int] | None = None,
        gamma: float = 1.0,
        beta: float = USUAL_BETA,
        weight_decay: float = 1.0,
        optimizer: str = "adam",
        learning_rate: float | None = None,
        momentum: float = 0.9,
        batch_size: int = 256,
        max_epochs: int = 50,
        max_steps: int = 4000,
        validation_share: float = 0.0,
        patience: int = 20,
        n_words: int = N_WORDS,
        n_neighbors: int = 10,
        device: str = "cpu",
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        self.n_bits = n_bits
        self.mu = mu
        self.margin = margin
        self.alpha = alpha
        self.lam = lam
        self.similar_share = similar_share
        self.n_layers = n_layers
        self.signed = signed
        self.encoder = encoder
        self.n_active = n_active
        self.n_anchors = n_anchors
        self.gamma = gamma
        self.beta = beta
        self.weight_decay = weight_decay
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.max_steps = max_steps
        self.validation_share = validation_share
        self.patience = patience
        self.n_words = n_words
        self.n_neighbors = n_neighbors
        self.device = device
        self.seed = seed
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_descent(self)
        for name, value in _each("mu", self.mu):
            check_number(name, value, 0)
        for name, value in _each("n_layers", self.n_layers):
            check_integer(name, value, 0, 100)
        for name, value in _each("encoder", self.encoder):
            check_choice(name, value, ("cod", "ista"))
        for name, value in _each("n_anchors", self.n_anchors):
            if value is not None:
                check_integer(name, value, 0)
        check_number("gamma", self.gamma, 0, open_low=True)
        check_number("weight_decay", self.weight_decay, 0)
        check_integer("n_words", self.n_words, 1)
        check_sparse(self, [value for _, value in _each("encoder", self.encoder)])

    def _learn(self, modalities: dict[str, Modality], y: Any, pairs: AnyPairs) -> None:  # noqa: ANN401 - see fit
        check_torch(self.device)
        recipe = self._recipe(modalities)
        source = view_source(modalities, y, pairs, n_neighbors=self.n_neighbors, seed=self.seed)
        fitted = fit_networks(recipe, modalities, source)
        self.encoders_, self.history_ = fitted.encoders, fitted.history

    def _recipe(self, modalities: Mapping[str, Modality]) -> Recipe:
        encoders = per_modality("encoder", self.encoder, modalities, "ista")
        n_layers = per_modality("n_layers", self.n_layers, modalities, 1)
        n_units = self._n_units(modalities, encoders)
        decay = self.weight_decay if self.optimizer == "adam" else 0.0

        def units(m: Modality) -> GaussianUnits | None:
            if not n_units[m.name]:
                return None
            return units_at_rows(
                m.there(), m.mean, m.scale, n_units[m.name], gamma=self.gamma, seed=self.seed
            )

        return Recipe(
            title=f"MultimodalSparseHash, {self.n_bits} bits",
            n_bits=self.n_bits,
            branch=lambda name, dictionary: sparse_branch(
                self,
                dictionary,
                encoder=encoders[name],
                n_layers=n_layers[name],
                weight_decay=decay if n_units[name] else decay / 2,
            ),
            loss=sparse_loss(self),
            schedule=schedule_of(self, warm_up=0.2, clip=5.0),
            health=sparse_health(self, encoders.values(), USUAL_BETA),
            first_layer=units,
            mu=per_modality("mu", self.mu, modalities, 0.2),
            verbose=self.verbose,
        )

    def _n_units(
        self, modalities: Mapping[str, Modality], encoders: Mapping[str, str]
    ) -> dict[str, int]:
        """Return how many Gaussian units lie below the network of each modality."""
        n_units = {}
        for name, wanted in per_modality("n_anchors", self.n_anchors, modalities, None).items():
            default = 0 if modalities[name].is_sparse else N_ANCHORS
            n_units[name] = default if wanted is None else wanted
            if encoders[name] != "ista":
                n_units[name] = 0
        return n_units


def _each(name: str, value: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - one value, or a dict
    """Return what to call each value of a parameter, and the value."""
    if isinstance(value, Mapping):
        return [(f"{name}[{key!r}]", one) for key, one in value.items()]
    return [(name, value)]
