"""`FlyHash`: sparse random projections of which the largest win, as in the brain of the fly."""

from typing import Self

import numpy as np
import numpy.typing as npt

from kinhash.arguments import check_integer, check_number
from kinhash.codes import MAX_BITS
from kinhash.encoders import TopKEncoder
from kinhash.methods.model import HashMethod
from kinhash.methods.standardisation import check_varies, standardisation


class FlyHash(HashMethod):
    """Sparse codes that learn nothing: the largest of many sums of a few columns each.

    Dasgupta, Stevens and Navlakha, *A neural algorithm for a fundamental computing problem*
    (Science 2017): each bit adds up a random tenth of the columns, and the bits with the largest
    sums are set ("winner take all"). The paper subtracts the mean of each row first; here that
    changes nothing, because all bits have equally many columns.

    As for the other methods, columns are standardised first; the training vectors serve for
    nothing else, and labels are ignored. The paper has 20 times as many bits as active ones. At
    the usual lengths of codes that is coarse: with 3 of 64, mAP among held-out training rows of
    CIFAR-10, digits and titles was 2 to 18 points lower than with the quarter that is active here.
    For codes as in the paper, raise `n_bits` to 1,000 or more and set `n_active` to a twentieth.

    Args:
        n_bits: Length of the codes, 1 to 4,096.
        n_active: Active bits of each code; a quarter of them if left at None.
        share: Share of the columns that each bit adds up.
        seed: Chooses the columns.

    Example:
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(20, 50))
        >>> set(FlyHash(n_bits=32).fit(X).encode(X).n_active.tolist())
        {8}
    """

    name = "flyhash"
    unsupervised = True

    def __init__(
        self,
        n_bits: int = 64,
        *,
        n_active: int | None = None,
        share: float = 0.1,
        seed: int = 0,
    ) -> None:
        self.n_bits = n_bits
        self.n_active = n_active
        self.share = share
        self.seed = seed

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:  # noqa: ARG002 - scikit-learn's face
        """Draw the columns and learn the standardisation of `X`; returns self.

        Args:
            X: `(n, n_features)` numbers; a memory-mapped array is read in pieces, never copied.
            y: Ignored.

        Raises:
            InvalidInputError: A parameter or the vectors cannot be used.
        """
        with self._unchanged_on_failure():
            self._fit(X)
        return self

    def _fit(self, X: npt.ArrayLike) -> None:
        check_integer("n_bits", self.n_bits, 1, MAX_BITS)
        if self.n_active is not None:
            check_integer("n_active", self.n_active, 1, self.n_bits)
        check_number("share", self.share, 0, 1, open_low=True)
        check_integer("seed", self.seed, 0)
        vectors = self._checked(X, reset=True)
        mean, scale, constant = standardisation(vectors)
        check_varies(constant)
        columns = np.flatnonzero(~constant)
        n_added = max(1, round(self.share * len(columns)))
        rng = np.random.default_rng(self.seed)
        W = np.zeros((self.n_bits, len(scale)), np.float32)
        for row in W:
            row[rng.choice(columns, n_added, replace=False)] = 1
        self.encoder_ = TopKEncoder(
            mean,
            scale,
            W=W,
            bias=np.zeros(self.n_bits, np.float32),
            n_active=self.n_active or max(1, self.n_bits // 4),
        )
        self.history_ = []
