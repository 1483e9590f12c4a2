"""`MultimodalSparseHash`: one space of codes for several modalities, by either recipe."""

from collections.abc import Mapping
from typing import Any, Self

from kinhash.errors import InvalidInputError
from kinhash.methods.modalities.modality import Modality
from kinhash.methods.modalities.model import AnyPairs, MultimodalMethod
from kinhash.methods.recipes.multimodal_paper import check_multimodal_paper, fit_multimodal_paper
from kinhash.methods.recipes.multimodal_strong import (
    check_multimodal_strong,
    fit_multimodal_strong,
)
from kinhash.methods.recipes.parameters import (
    MultimodalPaperParameters,
    MultimodalStrongParameters,
    multimodal_defaults_of,
    multimodal_resolved,
)
from kinhash.methods.supervision.views import label_views
from kinhash.pairs import LabelSource
from kinhash.vocabulary import N_WORDS


class MultimodalSparseHash(MultimodalMethod):
    """Learns codes under which similar items collide, of whichever modality they are.

    There may be any number of modalities, also one alone.

    `recipe="strong"`, the default, learns from class labels the probability of each class, for
    each modality by itself, as `SparseHash` does. The bucket is the word of the likeliest class,
    the same in all modalities. Rank bits, trained with the probabilities of all modalities, place
    what is found. From tags, pairs, or paired rows alone it learns by the other recipe, with that
    one's defaults.

    `recipe="paper"` is Masci et al., *Sparse similarity-preserving hashing*, the multi-modal
    setting: a siamese ISTA-type network for each modality, trained together on mu_1 L(x, x') +
    mu_2 L(y, y') + L(x, y), L the sparse hashing loss, with a cross term for each two modalities.
    Its codes have no rank bits. What differs from the paper, chosen on held-out parts of the
    training rows: below the network of a dense modality lies a fixed layer of Gaussian units, as in
    `NNHash`; W has a weight decay, without which the networks learn small training sets by heart;
    similar and dissimilar pairs weigh the same. Sparse vectors and bags of words go into their
    network as they are, unless `n_anchors` says otherwise: columns weighed by how rare they are,
    rows of unit length. As printed it is `MultimodalSparseHash(recipe="paper", margin=7,
    alpha=0.001, lam=0.1, similar_share=0.22, mu=1, beta=3, signed=True, n_anchors=0,
    weight_decay=0, optimizer="sgd")`.

    Parameters of one recipe are left at None for its default, and refused by the other. Those
    marked * may be dicts with a value for each modality.

    Args:
        n_bits: Length of the codes, bucket and rank, 1 to 4,096; half of that if `signed`.
        n_rank_bits: How many of them are rank bits; None: what suits the number of classes. Not of
            "paper", nor without class labels.
        recipe: "strong" or "paper".
        mu: * Weight of the pairs within a modality against those across, of which 0 leaves only
            the latter; 0.2. This and all that follow but `n_words`, `seed` and `verbose` are of
            "paper".
        margin: M: dissimilar items are pushed this many bits apart; 16.
        alpha: Weight of the l1 norm of the codes; larger is sparser; 0.02.
        lam: lambda: weight of the push against the pull; 1.
        similar_share: pi: share of the similar pairs in the average over pairs; 0.5.
        n_layers: * Uses of the matrix S after the first shrinkage (`encoder="ista"`); 1.
        signed: Two-sided shrinkage and codes over {-1, 0, 1}, which take twice the storage; False.
        encoder: * "ista", or "cod" for coordinate descent, which guarantees `n_active`, and has
            no Gaussian units; "ista".
        n_active: Most active bits per code, for `encoder="cod"`; 8.
        n_anchors: * Gaussian units, at random training rows; 0 leaves them out. If left at None,
            2,000 for a dense modality and none for a sparse one, which then costs in proportion to
            its entries.
        gamma: Sharpness of the units: their width is the mean squared distance of two rows, over
            `gamma`; 1.
        beta: Slope of the tanh that makes outputs nearly binary; 10.
        weight_decay: Share of W, times the rate, that every step takes away; half of it where
            there are no Gaussian units. Only for "adam"; 1.
        optimizer: "adam", or "sgd" for plain stochastic descent with momentum, as in the paper.
        learning_rate: Highest rate: it rises over a fifth of the steps, then falls to zero along a
            cosine; 0.01 for "adam" and 0.05 for "sgd".
        momentum: Momentum of the descent (the first moment's decay for "adam"); 0.9.
        batch_size: Views (rows of all modalities) per batch; all their pairs count; 256.
        max_epochs: Most passes over the training rows; 50.
        max_steps: Most batches: what bounds the time on large data; 4,000.
        validation_share: Share of the views (or pairs) held out to stop early; with 0, the
            default, training goes on to the end.
        patience: Looks (of 50 in a full run) without a better held-out loss before stopping; 20.
        n_words: Words of the vocabulary of a modality that is given as texts.
        n_neighbors: Without labels or pairs, an item is similar to this many nearest items; 10.
        device: Where torch trains: "cpu", "cuda", ...; "cpu".
        seed: Makes the fit repeatable.
        verbose: Show a progress bar on a terminal.

    Attributes:
        encoders_: For each modality, arrays that turn its vectors into codes, without torch.
        words_: Vocabularies of the modalities that were given as texts.
        history_: Of "strong", what was chosen for each modality and how well it does on rows left
            out. Of "paper", the loss, its terms, active bits, share of unique and of empty codes,
            in 50 looks over the run.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> model = MultimodalSparseHash(n_bits=48)
        >>> model = model.fit({"upper": X[:, 1:32], "lower": X[:, 40:]}, y)
        >>> codes = model.encode(X[:3, 40:], modality="lower")
        >>> codes.n_bits, codes.n_rank_bits
        (48, 36)
    """

    name = "multimodal-sparsehash"

    def __init__(
        self,
        n_bits: int = 64,
        *,
        n_rank_bits: int | None = None,
        recipe: str = "strong",
        mu: float | Mapping[str, float] | None = None,
        margin: float | None = None,
        alpha: float | None = None,
        lam: float | None = None,
        similar_share: float | None = None,
        n_layers: int | Mapping[str, int] | None = None,
        signed: bool | None = None,
        encoder: str | Mapping[str, str] | None = None,
        n_active: int | None = None,
        n_anchors: int | Mapping[str, int] | None = None,
        gamma: float | None = None,
        beta: float | None = None,
        weight_decay: float | None = None,
        optimizer: str | None = None,
        learning_rate: float | None = None,
        momentum: float | None = None,
        batch_size: int | None = None,
        max_epochs: int | None = None,
        max_steps: int | None = None,
        validation_share: float | None = None,
        patience: int | None = None,
        n_words: int = N_WORDS,
        n_neighbors: int | None = None,
        device: str | None = None,
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        self.n_bits = n_bits
        self.n_rank_bits = n_rank_bits
        self.recipe = recipe
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
        settings = multimodal_resolved(self.get_params())
        if isinstance(settings, MultimodalPaperParameters):
            check_multimodal_paper(settings)
        else:
            check_multimodal_strong(settings)

    def _learn(self, modalities: dict[str, Modality], y: Any, pairs: AnyPairs) -> None:  # noqa: ANN401 - see fit
        settings = multimodal_resolved(self.get_params())
        if isinstance(settings, MultimodalStrongParameters):
            if y is not None:
                if pairs is not None:
                    raise InvalidInputError("Give either `y` or `pairs`, got both.")
                source, given = label_views(modalities, y)
                if isinstance(source, LabelSource):
                    found = fit_multimodal_strong(settings, modalities, source, given)
                    self.encoders_, self.history_ = found.encoders, found.history
                    return
            settings = _without_classes(settings)
        fitted = fit_multimodal_paper(settings, modalities, y, pairs)
        self.encoders_, self.history_ = fitted.encoders, fitted.history

    def default_parameters(self) -> dict[str, Any]:
        """Return what the parameters are when nobody says: None, or what the recipe takes then."""
        given = {name for name, value in self.stored_parameters().items() if value is not None}
        defaults = multimodal_defaults_of(self.recipe)
        own = {name: one for name, one in defaults.items() if name in given}
        return super().default_parameters() | own

    @classmethod
    def _from_parameters(cls, parameters: dict[str, Any]) -> Self:
        # Before there were recipes, there was the paper's.
        return super()._from_parameters({"recipe": "paper"} | parameters)


def _without_classes(settings: MultimodalStrongParameters) -> MultimodalPaperParameters:
    """Return the parameters of the network, which learns from tags, pairs and paired rows."""
    if settings.n_rank_bits:
        raise InvalidInputError(
            f"Codes of several modalities have rank bits only where `y` are class labels, got "
            f"{settings.n_rank_bits} as `n_rank_bits`. Leave it out."
        )
    return MultimodalPaperParameters(
        n_bits=settings.n_bits,
        n_words=settings.n_words,
        seed=settings.seed,
        verbose=settings.verbose,
    )
