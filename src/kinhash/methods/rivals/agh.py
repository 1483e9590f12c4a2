"""`AGH`: hashing with graphs, over anchors."""

from typing import Self

import numpy as np
import numpy.typing as npt
import scipy.sparse

from kinhash.arguments import check_integer
from kinhash.arrays import Array
from kinhash.codes import MAX_BITS
from kinhash.encoders import CHUNK_ROWS, AnchorGraphEncoder, as_float32
from kinhash.encoders.anchor_graph import nearest_anchors, weights
from kinhash.encoders.vectors import squared_distances
from kinhash.errors import InvalidInputError
from kinhash.methods.model import HashMethod
from kinhash.methods.standardisation import check_varies, standardisation

KMEANS_ROWS = 200  # random rows per anchor that k-means looks at, at most
KMEANS_STEPS = 10
LEAST_EIGENVALUE = 1e-9  # below, an eigenvector is noise


class AGH(HashMethod):
    """Learns dense codes from the neighbourhood graph of unlabelled vectors.

    Liu et al., *Hashing with graphs* (ICML 2011). Each row is joined to its `n_nearest` anchors,
    with weights Z from an RBF kernel, and two rows are as close as the anchors they share:
    A = Z inv(Lambda) Z', Lambda = diag(Z' 1) ("Anchor graphs"). The bits of one layer are signs of
    the eigenvectors of A after the trivial one. A small matrix over anchors gives them, and they
    extend to new vectors ("Eigenfunction generalization"). With two layers, each eigenvector gives
    a second bit: its positive and its negative side are each split at a threshold, so that the cut
    is smooth on the graph and balanced ("Hierarchical hashing"). So codes need half as many
    eigenvectors, and the smoother half.

    Fit it on the vectors that will be searched; labels are ignored. First come the bits of the
    first layer, then those of the second; an odd `n_bits` leaves the last eigenvector with one.

    Where the paper is silent: vectors are standardised, anchors are k-means centres (10 rounds
    from random rows, on at most 200 rows per anchor), and the width of the kernel is the squared
    mean distance to the n_nearest-th anchor, as in the authors' program.

    Args:
        n_bits: Length of the codes, 1 to 4,096.
        n_layers: 1 or 2.
        n_anchors: Centres, more than there are eigenvectors; all different rows when those are
            fewer.
        n_nearest: Anchors that a vector is joined to. With fewer, more vectors share codes.
        seed: Chooses where k-means starts.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> X, _ = load_digits(return_X_y=True)
        >>> model = AGH(n_bits=16).fit(X)
        >>> model.encode(X[:3]).n_bits
        16
    """

    name = "agh"
    unsupervised = True

    def __init__(
        self,
        n_bits: int = 64,
        *,
        n_layers: int = 2,
        n_anchors: int = 300,
        n_nearest: int = 5,
        seed: int = 0,
    ) -> None:
        self.n_bits = n_bits
        self.n_layers = n_layers
        self.n_anchors = n_anchors
        self.n_nearest = n_nearest
        self.seed = seed

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:  # noqa: ARG002 - scikit-learn's face
        """Learn from the vectors alone; returns self.

        Args:
            X: `(n, n_features)` numbers; a memory-mapped array is read in pieces.
            y: Ignored.

        Raises:
            InvalidInputError: A parameter or the vectors cannot be used, or there are too few
                anchors or different rows for this many bits.
        """
        with self._unchanged_on_failure():
            self._fit(X)
        return self

    def _fit(self, X: npt.ArrayLike) -> None:
        check_integer("n_bits", self.n_bits, 1, MAX_BITS)
        check_integer("n_layers", self.n_layers, 1, 2)
        check_integer("n_anchors", self.n_anchors, 2)
        check_integer("n_nearest", self.n_nearest, 1)
        check_integer("seed", self.seed, 0)
        n_wanted = -(-self.n_bits // self.n_layers)
        needs = f"{self.n_bits} bits in {self.n_layers} layer{'s' * (self.n_layers > 1)}"
        if self.n_anchors <= n_wanted:
            raise InvalidInputError(
                f"`n_anchors` must be at least {n_wanted + 1} for {needs}, got {self.n_anchors}. "
                "Raise it, or lower `n_bits`."
            )
        vectors = self._checked(X, reset=True)
        mean, scale, constant = standardisation(vectors)
        check_varies(constant)
        rng = np.random.default_rng(self.seed)
        n_read = min(len(vectors), KMEANS_ROWS * self.n_anchors)
        rows = np.sort(rng.permutation(len(vectors))[:n_read])
        anchors = k_means((as_float32(vectors[rows]) - mean) * scale, self.n_anchors, rng)
        n_nearest = min(self.n_nearest, len(anchors))
        Z, width = _graph(vectors, mean, scale, anchors, n_nearest)
        W = eigenvectors(Z, n_wanted)
        if len(W) < n_wanted:
            raise InvalidInputError(
                f"`X` gives {len(anchors)} different anchors and {len(W)} eigenvectors, but "
                f"{needs} need {n_wanted}. Add rows, or lower `n_bits`."
            )
        Y = Z @ W[: self.n_bits - n_wanted].T
        self.encoder_ = AnchorGraphEncoder(
            mean, scale, anchors, W, thresholds(Z, Y), n_nearest, width
        )
        self.history_ = []


def k_means(X: Array, n_centres: int, rng: np.random.Generator) -> Array:
    """Return `n_centres` centres by Lloyd's rounds from random rows, or all different rows if few.

    A centre that loses all its rows stays where it is.
    """
    different = np.unique(X, axis=0) if len(X) <= 2 * n_centres else X
    if len(different) <= n_centres:
        return different
    centres = different[rng.choice(len(different), n_centres, replace=False)]
    for _ in range(KMEANS_STEPS):
        nearest = np.concatenate(
            [
                squared_distances(X[start : start + CHUNK_ROWS], centres).argmin(axis=1)
                for start in range(0, len(X), CHUNK_ROWS)
            ]
        )
        member = np.ones(len(X), np.float32), (nearest, np.arange(len(X)))
        sums = scipy.sparse.csr_array(member, shape=(n_centres, len(X))) @ X
        sizes = np.bincount(nearest, minlength=n_centres)[:, None]
        centres = np.where(sizes > 0, sums / np.maximum(sizes, 1), centres).astype(np.float32)
    return np.unique(centres, axis=0)


def _graph(
    X: Array, mean: Array, scale: Array, anchors: Array, n_nearest: int
) -> tuple[scipy.sparse.csr_array, float]:
    """Return Z of all rows, `(n, n_anchors)`, and the width of its kernel."""
    parts = []
    for start in range(0, len(X), CHUNK_ROWS):
        part = (as_float32(X[start : start + CHUNK_ROWS]) - mean) * scale
        parts.append(nearest_anchors(part, anchors, n_nearest))
    nearest = np.concatenate([numbers for numbers, _ in parts])
    squared = np.concatenate([distances for _, distances in parts])
    farthest = np.sqrt(squared.max(axis=1)).mean(dtype=np.float64) ** 2
    width = float(farthest) or 1.0  # every row is an anchor of its own: any width will do
    starts = np.arange(0, nearest.size + 1, n_nearest)
    Z = (weights(squared, width).astype(np.float64).ravel(), nearest.ravel(), starts)
    return scipy.sparse.csr_array(Z, shape=(len(X), len(anchors))), width


def eigenvectors(Z: scipy.sparse.csr_array, n_wanted: int) -> Array:
    """Return W, at most `(n_wanted, n_anchors)`: the columns of Z W' are eigenvectors of A.

    Theirs are the largest eigenvalues but the trivial one's, in descending order.
    With M = inv(Lambda^1/2) Z' Z inv(Lambda^1/2) = V Sigma V', W is the transpose of
    sqrt(n) inv(Lambda^1/2) V inv(Sigma^1/2).
    """
    degrees = np.asarray(Z.sum(axis=0))  # Lambda
    root = np.sqrt(np.where(degrees > 0, degrees, np.inf))  # an anchor of no row takes no part
    M = (Z.T @ Z).toarray() / np.outer(root, root)
    # The trivial eigenvector is known. Where the graph falls apart, its eigenvalue 1 has others.
    trivial = np.where(degrees > 0, np.sqrt(degrees), 0) / np.sqrt(Z.shape[0])
    values, vectors = np.linalg.eigh(M - np.outer(trivial, trivial))
    kept = [i for i in np.argsort(-values)[:n_wanted] if values[i] > LEAST_EIGENVALUE]
    W = np.sqrt(Z.shape[0]) * vectors[:, kept] / root[:, None] / np.sqrt(values[kept])
    return np.ascontiguousarray(W.T, np.float32)


def thresholds(Z: scipy.sparse.csr_array, Y: Array) -> Array:
    """Return where the second layer cuts the positive and the negative side of each column of `Y`.

    f = |y| - c on the side it is on, with c_+ and c_-, shall be smooth, f' (I - A) f least, and
    balanced, sum(f) = 0. Since (I - A) 1 = 0, only the difference c_+ - c_- bears on smoothness.
    """
    size, negative = np.abs(Y), (Y <= 0).astype(np.float64)
    degrees = np.maximum(np.asarray(Z.sum(axis=0)), np.finfo(np.float64).tiny)[:, None]

    def laplacian(left: Array, right: Array) -> Array:
        product: Array = (left * right).sum(axis=0)
        product -= ((Z.T @ left) * (Z.T @ right) / degrees).sum(axis=0)
        return product

    rough = laplacian(negative, negative)
    cut = -laplacian(negative, size)
    difference = np.divide(cut, rough, out=np.zeros_like(cut), where=rough > 1e-9 * len(Y))
    positive_cut = size.mean(axis=0) + difference * negative.mean(axis=0)
    return np.stack([positive_cut, positive_cut - difference]).astype(np.float32)
