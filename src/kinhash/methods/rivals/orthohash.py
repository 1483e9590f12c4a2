"""`OrthoHash`: outputs turned towards the central codes of the classes, by one cosine loss."""

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.optimize

from kinhash.arguments import check_integer, check_number
from kinhash.arrays import Array, Labels
from kinhash.codes import MAX_BITS
from kinhash.encoders import TopKEncoder
from kinhash.encoders.blocks import one_blas_thread
from kinhash.errors import InvalidInputError
from kinhash.methods.model import HashMethod
from kinhash.methods.parts.class_words import sparse_words
from kinhash.methods.parts.gaussian_units import with_units
from kinhash.methods.parts.ridge import RidgeInputs, chosen_inputs
from kinhash.methods.standardisation import check_varies, standardisation
from kinhash.methods.supervision.rows import label_source, membership

TINY = 1e-9  # added to squared lengths
SMALLEST = 1e-6  # singular values below it are rounding


class OrthoHash(HashMethod):
    """Learns sparse codes of constant weight, each near to the central code of its class.

    Hoe et al., *One loss for all: deep hashing with a single cosine similarity based learning
    objective* (NeurIPS 2021), with the idea of central codes from Yuan et al., *Central similarity
    quantization* (CVPR 2020). Each class is given a code; of the outputs z for a row, cos(z, c)
    with the code of each class c goes into a softmax, scale * (cos - margin for the row's own
    class), and its cross-entropy is the only loss. With several tags, the target is shared out
    evenly among them.

    Both papers have dense codes, about half ones. Here class codes have `n_active` active bits and
    lie far apart; cosines are taken with their mean subtracted, which for half ones is the cosine
    with 1 and -1. The `n_active` largest outputs of an item are its code, so that all codes have
    the same number of active bits. An item between two classes gets bits of both.

    Vectors are taken as they are, without a deep network below: z is linear in Gaussian units or
    in the plain vectors, whichever gives the smaller squared error when ridge regression foretells
    the labels of training rows left out one at a time. That regression is also where the descent
    starts, by L-BFGS over all rows, without torch.

    `scale` and `margin` are the authors'; 4 to 16, and no margin, were no better on training rows
    held out. A tenth of the bits active has the best mean of mAP and F1 within radius 2 there. With
    a quarter, codes are finer: on CIFAR-10, mAP rises by 5 points and that F1 falls by 24.

    Args:
        n_bits: Length of the codes, 2 to 4,096.
        n_active: Active bits of each code, less than `n_bits`; if left at None, a tenth of them,
            or as many more as there must be for every class to have a code of its own.
        scale: What cosines are multiplied by.
        margin: What the cosine with a row's own class is reduced by while learning.
        n_anchors: Gaussian units, at random training rows; all of them when there are fewer. 0:
            the plain vectors.
        gamma: Sharpness of the units: their width is the mean squared distance of two rows, over
            `gamma`.
        max_steps: Most steps of the descent.
        seed: Chooses the class codes and the anchors.

    Attributes:
        history_: What was chosen: whether there are `gaussian_units`, the `penalty` and
            `left_out_error` of the regression; and the `loss` at the end, a mean over rows.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> codes = OrthoHash(n_bits=32, n_active=6).fit(X[:500], y[:500]).encode(X)
        >>> set(codes.n_active.tolist())
        {6}
    """

    name = "orthohash"

    def __init__(
        self,
        n_bits: int = 64,
        *,
        n_active: int | None = None,
        scale: float = 8.0,
        margin: float = 0.2,
        n_anchors: int = 2000,
        gamma: float = 2.0,
        max_steps: int = 200,
        seed: int = 0,
    ) -> None:
        self.n_bits = n_bits
        self.n_active = n_active
        self.scale = scale
        self.margin = margin
        self.n_anchors = n_anchors
        self.gamma = gamma
        self.max_steps = max_steps
        self.seed = seed

    def fit(self, X: npt.ArrayLike, y: Labels | None = None) -> Self:
        """Learn from vectors and their labels; returns self.

        Of more than 20,000 rows, that many random ones are used.

        Args:
            X: `(n, n_features)` numbers; a memory-mapped array is read in pieces.
            y: `(n,)` class labels, or an `(n, n_tags)` 0/1 matrix (similar = share a tag).

        Raises:
            InvalidInputError: A parameter, the vectors or the labels cannot be used, or there are
                more classes than codes.
        """
        with self._unchanged_on_failure(), one_blas_thread():
            self._fit(X, y)
        return self

    def _fit(self, X: npt.ArrayLike, y: Labels | None) -> None:
        check_integer("n_bits", self.n_bits, 2, MAX_BITS)
        if self.n_active is not None:
            check_integer("n_active", self.n_active, 1, self.n_bits - 1)
        check_number("scale", self.scale, 0, open_low=True)
        check_number("margin", self.margin, 0)
        check_integer("n_anchors", self.n_anchors, 0)
        check_number("gamma", self.gamma, 0, open_low=True)
        check_integer("max_steps", self.max_steps, 1)
        check_integer("seed", self.seed, 0)
        vectors = self._checked(X, reset=True)
        Y = membership(label_source("OrthoHash", y, len(vectors)))
        n_active = self._active(Y.shape[1])
        mean, scale, constant = standardisation(vectors)
        check_varies(constant)
        rng = np.random.default_rng(self.seed)
        words = sparse_words(Y.shape[1], self.n_bits, n_active, rng) - n_active / self.n_bits
        words /= np.linalg.norm(words, axis=1, keepdims=True)
        # Outputs of least loss are sums of class codes: fewer numbers, where classes are few.
        _, sizes, directions = np.linalg.svd(words, full_matrices=False)
        basis = directions[sizes > SMALLEST]
        found = chosen_inputs(
            vectors, mean, scale, Y, n_units=self.n_anchors, gamma=self.gamma, seed=self.seed
        )
        targets = Y[found.rows].astype(np.float64)
        W, bias, loss = self._descended(found, targets, words @ basis.T)
        top = TopKEncoder(
            mean,
            scale,
            W=(basis.T @ W).astype(np.float32),
            bias=(basis.T @ bias).astype(np.float32),
            n_active=n_active,
        )
        self.encoder_ = with_units(top, found.units)
        self.history_ = [
            {
                "gaussian_units": found.units is not None,
                "penalty": found.penalty,
                "left_out_error": found.error,
                "loss": loss,
                "kept": True,
            }
        ]

    def _active(self, n_classes: int) -> int:
        """Return the number of active bits, enough for each class to have a code of its own."""
        n_active = self.n_active or max(1, self.n_bits // 10)
        most = self.n_bits // 2 if self.n_active is None else n_active
        while n_active < most and math.comb(self.n_bits, n_active) < n_classes:
            n_active += 1
        n_codes = math.comb(self.n_bits, n_active)
        if n_codes < n_classes:
            raise InvalidInputError(
                f"`n_bits` {self.n_bits} with `n_active` {n_active} give {n_codes} different "
                f"codes, too few for {n_classes} classes. Raise `n_bits`."
            )
        return n_active

    def _descended(self, found: RidgeInputs, Y: Array, words: Array) -> tuple[Array, Array, float]:
        """Return weights `(n_outputs, n_inputs)` and biases of the least loss met, and that loss.

        Args:
            found: The inputs, and the regression to start from.
            Y: `(n, n_classes)` of 0 and 1.
            words: `(n_classes, n_outputs)` codes of the classes, of length 1.
        """
        W = words.T @ found.ridge.weights(Y, found.penalty)[0]
        tagged = Y.any(axis=1)  # a row without a tag has no code to be near to
        Z, shares = found.ridge.Z[tagged], Y[tagged] / Y[tagged].sum(axis=1, keepdims=True)

        def objective(flat: Array) -> tuple[float, Array]:
            M = flat.reshape(len(W), -1)
            outputs = Z @ M[:, :-1].T.astype(np.float32) + M[:, -1]
            losses, slopes = cosine_loss(outputs, words, shares, self.scale, self.margin)
            gradient = np.empty_like(M)
            gradient[:, :-1] = slopes.astype(np.float32).T @ Z
            gradient[:, -1] = slopes.sum(axis=0)
            return float(losses.mean()), gradient.ravel() / len(Z)

        start = np.concatenate([W, np.zeros((len(W), 1))], axis=1)
        options: Any = {"maxiter": self.max_steps, "ftol": 1e-7, "gtol": 1e-6}
        end = scipy.optimize.minimize(
            objective, start.ravel(), jac=True, method="L-BFGS-B", options=options
        )
        M = end.x.reshape(start.shape)
        return M[:, :-1], M[:, -1] - M[:, :-1] @ found.ridge.mean, float(end.fun)


def cosine_loss(
    outputs: Array, words: Array, shares: Array, scale: float, margin: float
) -> tuple[Array, Array]:
    """Return the loss of each row, and its gradient by the outputs.

    Args:
        outputs: `(n, n_outputs)`.
        words: `(n_classes, n_outputs)` codes of the classes, of length 1.
        shares: `(n, n_classes)`: what of a row belongs to each class, 1 in all.
        scale: What cosines are multiplied by.
        margin: What a cosine is reduced by before, where a row has a share in the class.
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", outputs, outputs) + TINY)[:, None]
    cosines = outputs @ words.T / lengths
    logits = scale * (cosines - margin * (shares > 0))
    logits -= logits.max(axis=1, keepdims=True)
    likely = np.exp(logits)
    sums = likely.sum(axis=1, keepdims=True)
    losses = np.log(sums[:, 0]) - (shares * logits).sum(axis=1)
    pull = scale * (likely / sums - shares)  # by the cosines
    along = (pull * cosines).sum(axis=1, keepdims=True)
    slopes: Array = (pull @ words - outputs * (along / lengths)) / lengths
    return losses, slopes
