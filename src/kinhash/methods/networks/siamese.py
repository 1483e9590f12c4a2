"""What the methods that train a siamese network share: supervision, training, collapse checks."""

import math
import warnings
from typing import Any, Self

from kinhash.arguments import check_number
from kinhash.arrays import Array
from kinhash.encoders import Encoder
from kinhash.errors import CollapseWarning
from kinhash.methods.model import HashMethod
from kinhash.methods.networks.descent import Descent, initial_dictionary
from kinhash.methods.standardisation import check_varies, standardisation
from kinhash.methods.supervision.rows import pair_source
from kinhash.pairs import Pairs
from kinhash.progress import progress_bar

COLLAPSED_DISTANCE = 1.0  # codes nearer than this at the end: most dissimilar items share one
MAX_CHECKED_ROWS = 10_000


class SiameseMethod(Descent, HashMethod):
    """A network applied to both items of a pair. Subclasses give network, loss and remedy."""

    threshold: float | None

    def _network(self, dictionary: Any) -> Any:  # noqa: ANN401 - torch stays out of signatures
        raise NotImplementedError

    def _loss(self) -> Any:  # noqa: ANN401 - torch stays out of signatures
        raise NotImplementedError

    def _lift(self, X: Array, mean: Array, scale: Array) -> Any:  # noqa: ANN401, ARG002 - see Inputs
        """Return the fixed first layer, or None: standardised vectors go in, of unit length."""
        return None

    def _encoder(self, network: Any, mean: Array, scale: Array, lift: Any) -> Encoder:  # noqa: ANN401, ARG002 - torch stays out of signatures
        """Return the trained network, with the first layer if there is one, as an encoder."""
        encoder: Encoder = network.encoder(mean, scale)
        return encoder

    def _weight_decay(self) -> float:
        return 0.0

    def _check_parameters(self) -> None:
        self._check_descent()
        if self.threshold is not None:
            check_number("threshold", self.threshold, 0, open_low=True)

    def fit(
        self,
        X: Any,  # noqa: ANN401 - array-like or sparse
        y: Any = None,  # noqa: ANN401 - any array-like or sparse matrix
        *,
        pairs: Pairs | None = None,
    ) -> Self:
        """Learn from vectors and what is similar among them; returns self.

        After an exception or Ctrl-C the method is as it was.

        Args:
            X: `(n, n_features)` numbers; a memory-mapped array is read in pieces, never copied. A
                sparse matrix, if the method takes one, is never dense as a whole.
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
            self._fit(X, y, pairs)
        return self

    def _fit(self, X: Any, y: Any, pairs: Pairs | None) -> None:  # noqa: ANN401 - see fit
        self._check_parameters()
        self._check_device()
        import torch  # noqa: PLC0415 - only training needs it

        from kinhash.training.loop import Inputs, single_thread, train  # noqa: PLC0415 - torch

        vectors = self._checked(X, reset=True)
        source = pair_source(
            vectors,
            y,
            pairs,
            n_neighbors=self.n_neighbors,
            threshold=self.threshold,
            seed=self.seed,
        )
        mean, scale, constant = standardisation(vectors)
        check_varies(constant)
        self._warn_before(vectors)
        with single_thread(), progress_bar(self._title(), shown=self.verbose) as report:
            lift = self._lift(vectors, mean, scale)
            dictionary = initial_dictionary(
                vectors, mean, scale, lift, n_bits=self.n_bits, seed=self.seed
            )
            network = self._network(torch.from_numpy(dictionary))
            self.history_, kept = train(
                network,
                self._loss(),
                source,
                Inputs(vectors, mean, scale, self.device, lift),
                self._schedule(weight_decay=self._weight_decay()),
                report=report,
                on_early=self._warn_early,
            )
        self.encoder_ = self._encoder(network, mean, scale, lift)
        self._warn_after(vectors, kept)

    def _warn_before(self, X: Any) -> None:  # noqa: ANN401 - an array or csr
        if X.shape[0] < self.n_bits:
            warnings.warn(
                f"`X` has {X.shape[0]} rows, fewer than the {self.n_bits} bits: the rest of the "
                "network starts at random. Lower `n_bits` or add rows.",
                UserWarning,
                stacklevel=4,
            )

    def _warn_after(self, X: Any, kept: dict[str, float]) -> None:  # noqa: ANN401 - an array or csr
        least = min(COLLAPSED_DISTANCE, self._healthy_distance() / 7)
        if kept["code_distance"] >= least:
            return
        codes = self.encoder_.encode(X[:: math.ceil(X.shape[0] / MAX_CHECKED_ROWS)])
        empty = float((codes.n_active == 0).mean())
        remedy = self._remedy()
        if kept["dissimilar_distance"] >= 2 * least:
            # The outputs differ, but not enough to round to different codes.
            usual = f"raise `beta` (now {self.beta:g}) to {self._usual_beta:g}."
            remedy = f"Outputs are far from binary: {usual}"
        warnings.warn(
            f"Dissimilar items share codes: {len(codes)} training rows have {codes.n_unique} "
            f"different code{'s' * (codes.n_unique > 1)}, {empty:.0%} of them the empty one. "
            f"{remedy}",
            CollapseWarning,
            stacklevel=4,
        )
