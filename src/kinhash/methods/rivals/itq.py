"""`ITQ`: iterative quantisation, principal components rotated towards the corners of a cube."""

from typing import Self

import numpy as np
import numpy.typing as npt
import scipy.linalg

from kinhash.arguments import check_directions, check_integer
from kinhash.arrays import Array
from kinhash.codes import MAX_BITS
from kinhash.encoders import CHUNK_ROWS, LinearEncoder, as_float32, unit_length
from kinhash.methods.model import HashMethod
from kinhash.methods.parts.rotation import MAX_ROTATION_ROWS, rotation
from kinhash.methods.standardisation import check_varies, standardisation


class ITQ(HashMethod):
    """Learns, without labels, codes that lose little of the principal components.

    Gong and Lazebnik, *Iterative quantization: a procrustean approach to learning binary codes*
    (2011): vectors are centred and projected on their first principal components, V (section
    2.1); then a rotation R is sought that minimises ||B - V R||^2 (equation 2) over R and the
    codes B = sign(V R), in turns: B for a fixed R, and R for a fixed B, which is the orthogonal
    Procrustes problem (section 2.2). R starts as a random rotation.

    As for the other methods, vectors are standardised and brought to unit length first; the paper
    only centres them.

    Args:
        n_bits: Length of the codes, 1 to 4,096, and at most the columns of `X` that vary.
        n_iterations: Turns; the paper uses 50.
        seed: Draws the first rotation.

    Attributes:
        history_: For each turn, the `loss` ||B - V R||^2 per row.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> ITQ(n_bits=32).fit(X).encode(X[:3]).n_bits
        32
    """

    name = "itq"
    unsupervised = True

    def __init__(self, n_bits: int = 64, *, n_iterations: int = 50, seed: int = 0) -> None:
        self.n_bits = n_bits
        self.n_iterations = n_iterations
        self.seed = seed

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:  # noqa: ARG002 - scikit-learn's face
        """Learn from the vectors alone; returns self.

        Args:
            X: `(n, n_features)` numbers; a memory-mapped array is read in pieces, never copied.
            y: Ignored.

        Raises:
            InvalidInputError: A parameter or the vectors cannot be used, or there are fewer rows
                or varying columns than bits.
        """
        with self._unchanged_on_failure():
            self._fit(X)
        return self

    def _fit(self, X: npt.ArrayLike) -> None:
        check_integer("n_bits", self.n_bits, 1, MAX_BITS)
        check_integer("n_iterations", self.n_iterations, 0)
        check_integer("seed", self.seed, 0)
        vectors = self._checked(X, reset=True)
        mean, scale, constant = standardisation(vectors)
        check_varies(constant)
        check_directions(self.n_bits, len(vectors), int(np.sum(~constant)))
        rng = np.random.default_rng(self.seed)

        def seen(rows: slice | Array) -> Array:
            return unit_length((as_float32(vectors[rows]) - mean) * scale)

        chunks = [slice(at, at + CHUNK_ROWS) for at in range(0, len(vectors), CHUNK_ROWS)]
        centre = sum(seen(rows).sum(axis=0, dtype=np.float64) for rows in chunks) / len(vectors)
        covariance = sum((U := seen(rows) - centre).T @ U for rows in chunks)
        d = len(centre)
        components = scipy.linalg.eigh(covariance, subset_by_index=(d - self.n_bits, d - 1))[1]
        if len(vectors) > MAX_ROTATION_ROWS:
            sample = np.sort(rng.choice(len(vectors), MAX_ROTATION_ROWS, replace=False))
        else:
            sample = np.arange(len(vectors))
        R, losses = rotation((seen(sample) - centre) @ components, self.n_iterations, rng)
        W = (components @ R).T
        self.encoder_ = LinearEncoder(
            mean, scale, W.astype(np.float32), bias=-(W @ centre).astype(np.float32)
        )
        self.history_ = [{"step": step, "loss": loss} for step, loss in enumerate(losses, 1)]
