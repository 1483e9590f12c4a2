"""`KSH`: supervised hashing with kernels."""

import dataclasses
import math
from collections.abc import Callable
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy.linalg

from kinhash.arguments import check_integer, check_number
from kinhash.arrays import Array, Labels
from kinhash.codes import MAX_BITS
from kinhash.encoders import CHUNK_ROWS, KernelEncoder, as_float32
from kinhash.encoders.vectors import squared_distances
from kinhash.methods.model import HashMethod
from kinhash.methods.standardisation import check_varies, standardisation
from kinhash.methods.supervision.rows import label_source
from kinhash.pairs import LabelSource, TagSource
from kinhash.progress import Report, progress_bar, silent

TOLERANCE = 1e-5  # a bit is learned when a step gains less than this share of its objective


class KSH(HashMethod):
    """Learns dense codes bit by bit so that their inner products say which rows are alike.

    Liu et al., *Supervised hashing with kernels* (CVPR 2012). Bit k is the sign of a projection
    a_k of an RBF kernel with `n_anchors` random training rows, centred ("Kernel-based hashing").
    The bits fit ||H H' / n_bits - S||^2 over all pairs, S_ij = 1 for similar and -1 for dissimilar
    rows ("Objective function"), one after the other: a_k maximises b' R b, b = sign(K a_k), where
    R = n_bits S - sum of b b' over the bits so far ("Greedy optimization"). It starts from the
    largest generalised eigenvector of K' R K and K' K ("Spectral relaxation"), then climbs the
    objective with the sign smoothed to 2 / (1 + exp(-x)) - 1 = tanh(x / 2), by Nesterov's
    accelerated method with a line search ("Sigmoid smoothing"). The better of both by the true
    objective stays.

    S and R are never built: S has one value per pair of classes (or of different sets of tags),
    and R adds one column per bit. So time and memory grow with the rows, not with their square.

    Where the paper is silent: vectors are standardised, the kernel is exp(-||x - a||^2 / w) with
    w the mean squared distance between rows and anchors, the eigenproblem has a ridge of `ridge`
    times the mean of its diagonal, and 100 steps are enough: on held-out parts of CIFAR-10's
    training rows more of them lower the loss, and retrieve no better.

    Args:
        n_bits: Length of the codes, 1 to 4,096.
        n_anchors: Rows that the kernel compares with; all of them when there are fewer.
        ridge: Regularises the start of each bit.
        max_steps: Most steps of descent per bit.
        seed: Chooses the anchors.
        verbose: Show a progress bar on a terminal.

    Attributes:
        history_: After each bit, as `loss`, ||H H' / n_bits - S||^2 as a mean over pairs.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> model = KSH(n_bits=16).fit(X[:500], y[:500])
        >>> model.encode(X[:3]).n_bits
        16
    """

    name = "ksh"

    def __init__(
        self,
        n_bits: int = 64,
        *,
        n_anchors: int = 300,
        ridge: float = 1e-4,
        max_steps: int = 100,
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        self.n_bits = n_bits
        self.n_anchors = n_anchors
        self.ridge = ridge
        self.max_steps = max_steps
        self.seed = seed
        self.verbose = verbose

    def fit(self, X: npt.ArrayLike, y: Labels | None = None) -> Self:
        """Learn from vectors and their labels; returns self.

        Args:
            X: `(n, n_features)` numbers; a memory-mapped array is read in pieces.
            y: `(n,)` class labels, or an `(n, n_tags)` 0/1 matrix (similar = share a tag).

        Raises:
            InvalidInputError: A parameter, the vectors or the labels cannot be used.
        """
        with self._unchanged_on_failure():
            self._fit(X, y)
        return self

    def _fit(self, X: npt.ArrayLike, y: Labels | None) -> None:
        check_integer("n_bits", self.n_bits, 1, MAX_BITS)
        check_integer("n_anchors", self.n_anchors, 1)
        check_number("ridge", self.ridge, 0, open_low=True)
        check_integer("max_steps", self.max_steps, 0)
        check_integer("seed", self.seed, 0)
        vectors = self._checked(X, reset=True)
        similarity = Similarity.of(label_source("KSH", y, len(vectors)))
        mean, scale, constant = standardisation(vectors)
        check_varies(constant)
        rng = np.random.default_rng(self.seed)
        rows = np.sort(rng.permutation(len(vectors))[: self.n_anchors])
        anchors = (as_float32(vectors[rows]) - mean) * scale
        K, gamma = _kernel(vectors, mean, scale, anchors)
        centre = K.mean(axis=0, dtype=np.float64)
        K -= centre.astype(np.float32)
        title = f"KSH, {self.n_bits} bits"
        with progress_bar(title, shown=self.verbose) as report:
            W, losses = learn_bits(
                K,
                similarity,
                self.n_bits,
                ridge=self.ridge,
                max_steps=self.max_steps,
                report=report,
            )
        bias = (-W.astype(np.float64) @ centre).astype(np.float32)
        self.encoder_ = KernelEncoder(mean, scale, anchors, W, bias, gamma)
        self.history_ = [
            {"step": step, "loss": loss, "kept": step == self.n_bits}
            for step, loss in enumerate(losses, start=1)
        ]


def _kernel(X: Array, mean: Array, scale: Array, anchors: Array) -> tuple[Array, float]:
    """Return the kernel of all rows with the anchors, `(n, n_anchors)`, and its gamma."""
    K = np.empty((len(X), len(anchors)), np.float32)
    for start in range(0, len(X), CHUNK_ROWS):
        part = (as_float32(X[start : start + CHUNK_ROWS]) - mean) * scale
        K[start : start + CHUNK_ROWS] = squared_distances(part, anchors)
    gamma = 1 / float(K.mean(dtype=np.float64))
    K *= -gamma
    return np.exp(K, out=K), gamma


@dataclasses.dataclass(frozen=True, eq=False)
class Similarity:
    """S without its n x n entries: the group of each row, and +1 or -1 per pair of groups."""

    groups: Array  # (n,) numbers from 0
    alike: Array  # (n_groups, n_groups) of 1 and -1

    @classmethod
    def of(cls, source: LabelSource | TagSource) -> Self:
        """Return S for classes, or for tags: there, rows with the same tags are a group."""
        if isinstance(source, LabelSource):
            return cls(source.labels, 2.0 * np.eye(source.labels.max() + 1) - 1)
        sets = np.packbits(source.tags.toarray() > 0, axis=1)
        _, first, groups = np.unique(sets, axis=0, return_index=True, return_inverse=True)
        tags = source.tags[first]
        return cls(groups.reshape(-1), np.where((tags @ tags.T).toarray() > 0, 1.0, -1.0))

    def times(self, v: Array) -> Array:
        """Return S v."""
        sums = np.bincount(self.groups, v, minlength=len(self.alike))
        product: Array = (self.alike @ sums)[self.groups]
        return product

    def between(self, K: Array) -> Array:
        """Return K' S K, float64."""
        sums = np.zeros((len(self.alike), K.shape[1]))
        np.add.at(sums, self.groups, K)
        return sums.T @ self.alike @ sums

    def squared_norm(self) -> float:
        """Return the sum of the squares of S."""
        return float(len(self.groups)) ** 2


def learn_bits(
    K: Array,
    similarity: Similarity,
    n_bits: int,
    *,
    ridge: float,
    max_steps: int,
    report: Report = silent,
) -> tuple[Array, list[float]]:
    """Return projections of the centred kernel `K`, `(n_bits, n_anchors)`, and the loss after each.

    The loss is ||R||^2 / (n n_bits)^2, which is ||H H' / n_bits - S||^2 as a mean over pairs.
    """
    n, n_anchors = K.shape
    W = np.empty((n_bits, n_anchors), np.float32)
    H = np.empty((n_bits, n), np.float32)  # bits so far, 1 and -1
    # With G = L L', the generalised eigenvectors of (K' R K, G) are those of C, times inv(L').
    G = K.T.astype(np.float64) @ K
    G[np.diag_indices_from(G)] += ridge * np.trace(G) / n_anchors
    L = np.linalg.cholesky(G)
    C = n_bits * similarity.between(K)
    C = _solve(L, _solve(L, C).T)
    losses: list[float] = []
    squares = n_bits**2 * similarity.squared_norm()
    for k in range(n_bits):
        done = H[:k]

        def residue_times(v: Array, done: Array = done) -> Array:
            product: Array = n_bits * similarity.times(v) - (done @ v) @ done
            return product

        _, top = scipy.linalg.eigh(C, subset_by_index=[n_anchors - 1, n_anchors - 1])
        start = _solve(L, top[:, 0], transposed=True)
        start = (start * math.sqrt(n) / np.linalg.norm(K @ start)).astype(np.float32)
        best = -math.inf
        for a in (start, ascend(K, residue_times, start, max_steps)):
            b = np.where(K @ a > 0, 1, -1).astype(np.float32)
            objective = float(b @ residue_times(b))
            if objective > best:
                best, W[k], H[k] = objective, a, b
        squares += float(n) ** 2 - 2 * best
        losses.append(squares / (float(n) * n_bits) ** 2)
        q = _solve(L, K.T @ H[k])
        C -= np.outer(q, q)
        report(k + 1, n_bits, f"loss {losses[-1]:.3f}")
    return W, losses


def ascend(K: Array, residue_times: Callable[[Array], Array], a: Array, max_steps: int) -> Array:
    """Return the best projection met on the way up t' R t, t = tanh(K a / 2), from `a`.

    Nesterov's steps with a line search. Since K is linear, a step costs one product with K and one
    with its transpose, however often the line search tries.
    """

    def objective(projected: Array) -> float:
        t = np.tanh(projected / 2)
        return float(t @ residue_times(t))

    point = last = np.concatenate([a, K @ a])  # a and K a move together
    best, best_a = objective(point[len(a) :]), a
    step, pace = 0.0, 1.0
    for _ in range(max_steps):
        next_pace = (1 + math.sqrt(1 + 4 * pace**2)) / 2
        ahead = point + np.float32((pace - 1) / next_pace) * (point - last)
        t = np.tanh(ahead[len(a) :] / 2)
        pull = residue_times(t)
        gradient = K.T @ (pull * (1 - t * t)).astype(np.float32)
        direction = np.concatenate([gradient, K @ gradient])
        size = float(gradient @ gradient)
        if size == 0:
            break
        # The first step moves the projections by about 1, where the tanh bends.
        step = step * 1.5 or math.sqrt(len(K)) / float(np.linalg.norm(direction[len(a) :]))
        for _ in range(30):
            tried = ahead + np.float32(step) * direction
            reached = objective(tried[len(a) :])
            if reached >= float(t @ pull) + step * size / 2:
                break
            step /= 2
        # Overshot: momentum starts anew.
        last, point, pace = point, tried, next_pace if reached > best else 1.0
        if reached > best:
            gain, best, best_a = reached - best, reached, tried[: len(a)]
            if gain < TOLERANCE * abs(best):
                break
    return best_a


def _solve(L: Array, right: Array, *, transposed: bool = False) -> Array:
    """Return inv(L) `right`, or inv(L') `right`, for a lower triangular L."""
    solution: Array = scipy.linalg.solve_triangular(
        L, right, lower=True, trans="T" if transposed else "N", check_finite=False
    )
    return solution
