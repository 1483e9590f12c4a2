"""`CCAITQ`: canonical correlations of two modalities, rotated to bits."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse

from kinhash.arguments import check_integer, check_number
from kinhash.arrays import Array
from kinhash.codes import MAX_BITS
from kinhash.encoders import CHUNK_ROWS, LinearEncoder, as_float32
from kinhash.errors import InvalidInputError
from kinhash.methods.modalities.modality import Modality, check_paired
from kinhash.methods.modalities.model import AnyLabels, AnyPairs, MultimodalMethod, two_modalities
from kinhash.methods.parts.rotation import MAX_ROTATION_ROWS, rotation
from kinhash.vocabulary import N_WORDS

Matrix = Any  # a dense array or a sparse csr_array

# Columns that depend on one another (shares that sum to 1, say) leave variances of about 0, and
# what is divided by them is rounding.
MIN_VARIANCE = 1e-6  # as a share of the largest


class Canonical(NamedTuple):
    """Directions along which two modalities go together, the most correlated first."""

    Wx: Array  # (d1, n)
    mean_x: Array  # (d1,)
    Wy: Array  # (d2, n)
    mean_y: Array  # (d2,)
    correlations: Array  # (n,), in [0, 1]


class RotatedBits(NamedTuple):
    """What `rotated_bits` learns: bit b is set where P[b] x + a[b] or Q[b] y + b[b] is positive."""

    P: Array  # (n_bits, d1), float32
    a: Array  # (n_bits,), float32
    Q: Array  # (n_bits, d2), float32
    b: Array  # (n_bits,), float32
    correlations: Array  # of the directions that were used
    history: list[dict[str, float]]


class CCAITQ(MultimodalMethod):
    """Learns dense codes for two modalities, without labels, from rows that are paired.

    Gong and Lazebnik, *Iterative quantization: a procrustean approach to learning binary codes*
    (2011), with canonical correlation analysis: directions along which both modalities go together
    are found, scaled by a power of their correlation, and rotated to bits: see `rotated_bits`.

    Args:
        n_bits: Length of the codes, 1 to 4,096; there may be fewer directions.
        regularisation: Added to the variance of every direction, as a share of their mean.
        power: Of the correlations, which scale the directions.
        n_iterations: Turns of the rotation.
        n_words: Words of the vocabulary of a modality that is given as texts.
        seed: Draws the first rotation.

    Attributes:
        history_: For each turn, the `loss` per row.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> model = CCAITQ(n_bits=16).fit({"upper": X[:, 1:32], "lower": X[:, 40:]})
        >>> model.encode(X[:3, 40:], modality="lower").n_bits
        16
    """

    name = "cca-itq"

    def __init__(
        self,
        n_bits: int = 64,
        *,
        regularisation: float = 1.0,
        power: float = 1.5,
        n_iterations: int = 50,
        n_words: int = N_WORDS,
        seed: int = 0,
    ) -> None:
        self.n_bits = n_bits
        self.regularisation = regularisation
        self.power = power
        self.n_iterations = n_iterations
        self.n_words = n_words
        self.seed = seed

    def _check_parameters(self) -> None:
        check_integer("n_bits", self.n_bits, 1, MAX_BITS)
        check_number("regularisation", self.regularisation, 0)
        check_number("power", self.power, 0)
        check_integer("n_iterations", self.n_iterations, 0)
        check_integer("n_words", self.n_words, 1)
        check_integer("seed", self.seed, 0)

    def _learn(self, modalities: dict[str, Modality], y: AnyLabels, pairs: AnyPairs) -> None:  # noqa: ARG002 - rows are paired, and that is all it uses
        x, t = two_modalities(self.name, modalities)
        check_paired(modalities, "")
        both = np.flatnonzero(x.present & t.present)
        if len(both) < 2:
            raise InvalidInputError(
                f"At least two items must have both {x.name!r} and {t.name!r}, got {len(both)}."
            )
        found = rotated_bits(
            x.unit_rows()[both],
            t.unit_rows()[both],
            n_bits=self.n_bits,
            regularisation=self.regularisation,
            power=self.power,
            n_iterations=self.n_iterations,
            rng=np.random.default_rng(self.seed),
        )
        self.history_ = found.history
        self.encoders_ = {
            x.name: LinearEncoder(x.mean, x.scale, found.P, bias=found.a),
            t.name: LinearEncoder(t.mean, t.scale, found.Q, bias=found.b),
        }


def rotated_bits(
    X: Matrix,
    Y: Matrix,
    *,
    n_bits: int,
    regularisation: float,
    power: float,
    n_iterations: int,
    rng: np.random.Generator,
) -> RotatedBits:
    """Learn, without labels, bits that are the same for both sides of an item where they can be.

    Gong and Lazebnik, *Iterative quantization: a procrustean approach to learning binary codes*
    (2011), put canonical directions in place of principal components, with labels as the second
    modality. Here it is a modality of its own: both are projected on their canonical directions,
    each scaled by its correlation to a power, and one rotation R for both is sought that brings
    the projections of all rows of both near to their signs.

    There are no more directions than the narrower modality has columns that vary independently.
    More bits than that are made from all directions: R then has one row per direction and one
    column per bit, and its rows are orthonormal. Such bits look at the same few directions from
    more sides. They add precision to the distances, but no information of another kind.

    Args:
        X: `(n, d1)` rows of one modality, an array or a sparse csr_array.
        Y: `(n, d2)` rows of the other one: row i of `X` and row i of `Y` are of the same item.
        n_bits: Bits to learn.
        regularisation: See `canonical_directions`.
        power: Of the correlations: 0 takes all directions for equal, more prefers the correlated.
        n_iterations: Turns of the rotation; 0 leaves it random.
        rng: Draws the first rotation, and the rows that it is learned from.

    Returns:
        The bits. `history` has the `loss` of each turn of the rotation.
    """
    found = canonical_directions(X, Y, n_bits, regularisation)
    scale = found.correlations**power
    Wx, Wy = found.Wx * scale, found.Wy * scale
    n = X.shape[0]
    n_sampled = min(n, MAX_ROTATION_ROWS // 2)
    rows = np.sort(rng.choice(n, n_sampled, replace=False))
    # Directions of zeros make up for those that are missing: R's rows for them have no effect.
    V = np.zeros((2 * n_sampled, n_bits))
    V[:n_sampled, : len(scale)] = X[rows] @ Wx - found.mean_x @ Wx
    V[n_sampled:, : len(scale)] = Y[rows] @ Wy - found.mean_y @ Wy
    R, losses = rotation(V, n_iterations, rng)
    R = R[: len(scale)]
    P, Q = (Wx @ R).T, (Wy @ R).T
    return RotatedBits(
        P.astype(np.float32),
        -(P @ found.mean_x).astype(np.float32),
        Q.astype(np.float32),
        -(Q @ found.mean_y).astype(np.float32),
        found.correlations,
        [{"step": step, "loss": loss} for step, loss in enumerate(losses, 1)],
    )


def canonical_directions(X: Matrix, Y: Matrix, n: int, regularisation: float) -> Canonical:
    """Return the directions in which the rows of `X` and of `Y` correlate most.

    Canonical correlation analysis (Hotelling, 1936): both modalities are whitened, and the
    singular vectors of the covariance between the two are the directions, its singular values
    their correlations. Projections have variance 1 (less with regularisation) and, within a
    modality, no correlation with one another. Sparse rows are read in pieces, never all densely.

    Args:
        X: `(n_rows, d1)` rows, an array or a sparse csr_array.
        Y: `(n_rows, d2)` rows; row i of `X` and row i of `Y` are of the same item.
        n: Directions that are wanted; fewer come if one modality varies in fewer.
        regularisation: Added to the variance of every direction, as a share of their mean: more
            holds the directions to those in which rows differ much. 0 adds nothing.
    """
    mean_x, mean_y = mean_row(X), mean_row(Y)
    xx, xy, yy = 0.0, 0.0, 0.0
    for A, B in zip(_chunks(X), _chunks(Y), strict=True):
        U, V = A - mean_x.astype(np.float32), B - mean_y.astype(np.float32)
        xx, xy, yy = xx + U.T @ U, xy + U.T @ V, yy + V.T @ V
    n_rows = X.shape[0]
    whiten_x = whitening(xx / n_rows, regularisation)
    whiten_y = whitening(yy / n_rows, regularisation)
    left, correlations, right = scipy.linalg.svd(
        whiten_x.T @ (xy / n_rows) @ whiten_y, full_matrices=False
    )
    Wx, Wy = whiten_x @ left[:, :n], whiten_y @ right[:n].T
    # Of the two signs of a pair of directions, the one that makes the largest entry positive.
    signs = np.sign(Wx[np.abs(Wx).argmax(axis=0), np.arange(Wx.shape[1])])
    return Canonical(Wx * signs, mean_x, Wy * signs, mean_y, np.minimum(correlations[:n], 1.0))


def whitening(covariance: Array, regularisation: float) -> Array:
    """Return the `(d, rank)` matrix that makes columns uncorrelated and of variance 1."""
    variances, directions = scipy.linalg.eigh(np.asarray(covariance, np.float64))
    varying = variances > MIN_VARIANCE * variances[-1]
    raised = variances[varying] + regularisation * variances.mean()
    whitener: Array = directions[:, varying] / np.sqrt(raised)
    return whitener


def mean_row(X: Matrix) -> Array:
    """Return the mean of the rows, float64."""
    total = np.zeros(X.shape[1])
    for chunk in _chunks(X):
        total += chunk.sum(axis=0, dtype=np.float64)
    mean: Array = total / X.shape[0]
    return mean


def _chunks(X: Matrix) -> Iterator[Array]:
    for start in range(0, X.shape[0], CHUNK_ROWS):
        chunk = X[start : start + CHUNK_ROWS]
        yield as_float32(np.asarray(chunk.toarray() if scipy.sparse.issparse(X) else chunk))
