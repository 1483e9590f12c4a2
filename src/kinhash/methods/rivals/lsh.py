"""`LSH`: signs of random projections, the baseline that learns nothing."""

from typing import Self

import numpy as np
import numpy.typing as npt

from kinhash.arguments import check_integer
from kinhash.codes import MAX_BITS
from kinhash.encoders import LinearEncoder
from kinhash.methods.model import HashMethod
from kinhash.methods.standardisation import standardisation


class LSH(HashMethod):
    """Locality-sensitive hashing for the cosine of standardised vectors.

    Gionis et al. (1999) in the form of Charikar: bit j is the sign of a random projection. The
    training vectors serve only to standardise; labels are ignored.

    Args:
        n_bits: Length of the codes, 1 to 4,096.
        seed: Chooses the projections.

    Example:
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(20, 5))
        >>> LSH(n_bits=16).fit(X).encode(X).n_bits
        16
    """

    name = "lsh"

    def __init__(self, n_bits: int = 64, *, seed: int = 0) -> None:
        self.n_bits = n_bits
        self.seed = seed

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:  # noqa: ARG002 - scikit-learn's face
        """Draw the projections and learn the standardisation of `X`; returns self."""
        check_integer("n_bits", self.n_bits, 1, MAX_BITS)
        check_integer("seed", self.seed, 0)
        vectors = self._checked(X, reset=True)
        mean, scale, _ = standardisation(vectors)
        rng = np.random.default_rng(self.seed)
        W = rng.standard_normal((self.n_bits, vectors.shape[1])).astype(np.float32)
        self.encoder_ = LinearEncoder(mean, scale, W, bias=np.zeros(self.n_bits, np.float32))
        self.history_ = []
        return self
