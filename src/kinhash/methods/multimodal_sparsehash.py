"""`MultimodalSparseHash`: the paper's method for several modalities."""

import itertools
import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from kinhash.arguments import check_choice, check_integer, check_number
from kinhash.codes import Codes
from kinhash.encoders import Encoder, IstaEncoder, KernelIstaEncoder
from kinhash.encoders.blocks import one_blas_thread
from kinhash.errors import CollapseWarning
from kinhash.methods.modalities.modality import Modality, per_modality
from kinhash.methods.modalities.model import AnyPairs, MultimodalMethod
from kinhash.methods.networks.descent import initial_dictionary
from kinhash.methods.networks.sparsity import Sparsity
from kinhash.methods.parts.gaussian_units import GaussianUnits, units_at_rows
from kinhash.methods.supervision.views import view_source
from kinhash.progress import progress_bar
from kinhash.vocabulary import N_WORDS

N_ANCHORS = 2000  # of a dense modality
MAX_CHECKED_ROWS = 10_000
MOSTLY_EMPTY = 0.5  # share of empty codes from which a modality has collapsed
MOSTLY_SAME = 0.9  # share of equal codes, likewise: a class may well have most of the rows
RARELY = 0.01  # a bit that fewer rows have is not in use
LEAST_SHARED = 0.1  # share of the bits in use that two modalities should both use


class MultimodalSparseHash(Sparsity, MultimodalMethod):
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
        n_bits: Length of the codes, 1 to 1,024.
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
        beta: float = 10.0,
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
        self._check_descent()
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
        self._check_sparsity([value for _, value in _each("encoder", self.encoder)])

    def _healthy_distance(self) -> float:
        kinds = {value for _, value in _each("encoder", self.encoder)}
        return self._wanted_distance(coordinate_descent="cod" in kinds)

    def _learn(self, modalities: dict[str, Modality], y: Any, pairs: AnyPairs) -> None:  # noqa: ANN401 - see fit
        self._check_device()
        import torch  # noqa: PLC0415 - only training needs it

        from kinhash.training.loop import Inputs, single_thread, train  # noqa: PLC0415 - torch
        from kinhash.training.multimodal import MultimodalInputs, MultimodalLoss  # noqa: PLC0415
        from kinhash.training.network import MultimodalNetwork  # noqa: PLC0415

        mu = per_modality("mu", self.mu, modalities, 0.2)
        n_layers = per_modality("n_layers", self.n_layers, modalities, 1)
        kinds = per_modality("encoder", self.encoder, modalities, "ista")
        source = view_source(modalities, y, pairs, n_neighbors=self.n_neighbors, seed=self.seed)
        progress = progress_bar(self._title(), shown=self.verbose)
        # One thread for matrix products, too: how they are cut up would change the last digits.
        with single_thread(), one_blas_thread(), progress as report:
            lifts = self._lifts(modalities, kinds)
            branches, decays, inputs = [], [], []
            for number, (name, m) in enumerate(modalities.items()):
                rows = m.vectors if m.present.all() else m.vectors[m.present]
                dictionary = initial_dictionary(
                    rows, m.mean, m.scale, lifts[name], n_bits=self.n_bits, seed=self.seed + number
                )
                branches.append(
                    self._branch(torch.from_numpy(dictionary), kinds[name], n_layers[name])
                )
                lifted = lifts[name] is not None
                decay = self.weight_decay if self.optimizer == "adam" else 0.0
                decays.append(decay if lifted else decay / 2)
                inputs.append(Inputs(_filled(m), m.mean, m.scale, self.device, lifts[name]))
            network = MultimodalNetwork(branches, decays)
            self.history_, _ = train(
                network,
                MultimodalLoss(self._loss(), tuple(mu.values()), tuple(modalities)),
                source,
                MultimodalInputs(inputs, source.starts),
                self._schedule(warm_up=0.2, clip=5.0),
                report=report,
                on_early=self._warn_early,
            )
        self.encoders_ = {
            name: _encoder(branch.encoder(m.mean, m.scale), lifts[name])
            for branch, (name, m) in zip(branches, modalities.items(), strict=True)
        }
        self._warn_after(modalities)

    def _lifts(
        self, modalities: Mapping[str, Modality], kinds: Mapping[str, str]
    ) -> dict[str, GaussianUnits | None]:
        """Return the fixed first layer of each modality, or None."""
        n_anchors = per_modality("n_anchors", self.n_anchors, modalities, None)
        lifts: dict[str, GaussianUnits | None] = {}
        for name, m in modalities.items():
            lifts[name] = None
            n_units = n_anchors[name]
            if n_units is None:
                n_units = 0 if m.is_sparse else N_ANCHORS
            if n_units and kinds[name] == "ista":
                rows = m.vectors if m.present.all() else m.vectors[m.present]
                lifts[name] = units_at_rows(
                    rows, m.mean, m.scale, n_units, gamma=self.gamma, seed=self.seed
                )
        return lifts

    def _warn_after(self, modalities: Mapping[str, Modality]) -> None:
        in_use = {}
        for name, m in modalities.items():
            rows = np.flatnonzero(m.present)
            rows = rows[:: math.ceil(len(rows) / MAX_CHECKED_ROWS)]
            codes = self.encode(m.vectors[rows], modality=name)
            in_use[name] = np.abs(codes.to_dense()).mean(axis=0) > RARELY
            problem = _collapse(codes)
            if problem:
                warnings.warn(
                    f"The codes of {name!r} have collapsed: {problem}. {self._remedy()}",
                    CollapseWarning,
                    stacklevel=5,
                )
        for left, right in itertools.combinations(in_use, 2):
            both, either = (
                (in_use[left] & in_use[right]).sum(),
                (in_use[left] | in_use[right]).sum(),
            )
            if both < LEAST_SHARED * either:
                warnings.warn(
                    f"{left!r} and {right!r} use different bits ({both} of {either} in common), so "
                    f"that neither finds the other. {self._remedy()}",
                    CollapseWarning,
                    stacklevel=5,
                )


def _each(name: str, value: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - one value, or a dict
    """Return what to call each value of a parameter, and the value."""
    if isinstance(value, Mapping):
        return [(f"{name}[{key!r}]", one) for key, one in value.items()]
    return [(name, value)]


def _filled(m: Modality) -> Any:  # noqa: ANN401 - an array or csr
    """Return the vectors; rows that are not there are never dealt, but must not spread NaN."""
    return m.vectors if m.is_sparse or m.present.all() else np.nan_to_num(m.vectors)


def _encoder(network: Encoder, lift: GaussianUnits | None) -> Encoder:
    """Return the trained network with the fixed layer below it, if there is one."""
    if lift is None or not isinstance(network, IstaEncoder):
        return network
    return KernelIstaEncoder(
        network.mean,
        network.scale,
        anchors=lift.centres,
        W=(network.W @ lift.whitening).astype(np.float32),
        bias=-(network.W @ lift.mean).astype(np.float32),
        S=network.S,
        tau=network.tau,
        gamma=lift.gamma,
        beta=network.beta,
        n_steps=network.n_steps,
        two_sided=network.two_sided,
        unit_rows=lift.unit_rows,
    )


def _collapse(codes: Codes) -> str | None:
    """Return what is wrong with the codes of one modality, or None."""
    empty = float((codes.n_active == 0).mean())
    if empty > MOSTLY_EMPTY:
        return f"{empty:.0%} of its rows have the empty code"
    _, counts = np.unique(codes.words, axis=0, return_counts=True)
    same = float(counts.max() / len(codes))
    if same > MOSTLY_SAME and len(codes) > 2:
        return f"{same:.0%} of its rows have the same code"
    return None
