"""Class probabilities by logistic regression, over Gaussian units or the plain vectors."""

import dataclasses
import logging
from typing import Any

import numpy as np
import scipy.optimize

from kinhash.arrays import Array
from kinhash.encoders import (
    ClassLevelsEncoder,
    KernelClassLevelsEncoder,
    as_float32,
)
from kinhash.encoders.blocks import one_blas_thread
from kinhash.encoders.class_levels import probabilities
from kinhash.methods.parts.gaussian_units import GaussianUnits, units_at_rows

logger = logging.getLogger(__name__)

COSTS = (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)  # of a training error, as scikit-learn's C
USUAL_COST = 10.0  # where nothing can be held out
N_FOLDS = 3
N_UNITS = 2000
MAX_HELD_OUT = 4000  # rows that settings are chosen on, at most
MAX_ROWS = 20_000  # rows that the regression is fitted on, at most
MAX_ITERATIONS = 200


@dataclasses.dataclass(frozen=True, eq=False)
class ClassProbabilities:
    """A fitted regression: probabilities are softmax, or for tags logistic, of its logits.

    Attributes:
        mean: What is taken from a vector.
        scale: What it is multiplied by then.
        units: The fixed layer below; None for the plain vectors.
        W: `(n_classes, n_inputs)` float64.
        bias: `(n_classes,)` float64.
        exclusive: Whether a row has one class, or any number of tags.
        C: The cost of a training error that was chosen.
        loss: The mean held-out loss with it; NaN where nothing was held out.
        held_out: Rows of the training vectors that were held out in turns, ascending.
        logits: `(n_held_out, n_classes)`: what regressions that did not see them say of them.
    """

    mean: Array
    scale: Array
    units: GaussianUnits | None
    W: Array
    bias: Array
    exclusive: bool
    C: float
    loss: float
    held_out: Array
    logits: Array

    def encoder(self, class_codes: Array, temperature: float) -> ClassLevelsEncoder:
        """Return the encoder that sharpens the probabilities and writes them in levels.

        p^(1 / temperature), scaled to sum 1, has the logits divided by the temperature.

        Args:
            class_codes: `(n_levels, n_classes, n_bits)` uint8.
            temperature: Below 1, probabilities get nearer to 0 and 1.
        """
        W, bias = self.W / temperature, self.bias / temperature
        if self.units is None:
            return ClassLevelsEncoder(
                self.mean,
                self.scale,
                W=W.astype(np.float32),
                bias=bias.astype(np.float32),
                class_codes=class_codes,
                exclusive=self.exclusive,
            )
        # The whitening goes into the weights, so that nothing is left but the kernel.
        return KernelClassLevelsEncoder(
            self.mean,
            self.scale,
            W=(W @ self.units.whitening).astype(np.float32),
            bias=(bias - W @ self.units.mean).astype(np.float32),
            class_codes=class_codes,
            exclusive=self.exclusive,
            anchors=self.units.centres,
            gamma=self.units.gamma,
        )

    def held_out_probabilities(self, temperature: float) -> Array:
        """Return the sharpened probabilities of the rows that were held out."""
        return probabilities(self.logits / temperature, exclusive=self.exclusive)


def fit_class_probabilities(
    X: Array,
    mean: Array,
    scale: Array,
    targets: Array,
    *,
    exclusive: bool,
    gamma: float,
    seed: int,
) -> ClassProbabilities:
    """Return the regression, of the inputs and the cost with the least held-out loss.

    Args:
        X: The training vectors.
        mean: What is taken from them.
        scale: What they are multiplied by then.
        targets: `(n, n_classes)` of 0 and 1.
        exclusive: Whether each row has exactly one class.
        gamma: Sharpness of the Gaussian units: see `units_at_rows`.
        seed: Draws the units and the folds.
    """
    rng = np.random.default_rng(seed)
    if len(X) > MAX_ROWS:
        logger.info("Class probabilities are learned from %d of %d rows.", MAX_ROWS, len(X))
    chosen = np.sort(rng.permutation(len(X))[:MAX_ROWS])
    standard, Y = (as_float32(X[chosen]) - mean) * scale, targets[chosen].astype(np.float32)
    tried = np.sort(rng.permutation(len(Y))[:MAX_HELD_OUT])
    folds = _folds(Y[tried], rng, exclusive=exclusive)
    with one_blas_thread():
        units = units_at_rows(X, mean, scale, N_UNITS, gamma=gamma, seed=seed)
        # At the length that rows have in the space of a kernel, the same costs suit both.
        plain = standard / np.float32(np.sqrt(np.sum(scale > 0)))
        found = [
            (*_cross_validated(Z[tried], Y[tried], folds, exclusive=exclusive), layer, Z)
            for Z, layer in ((plain, None), (units(standard), units))
        ]
        # Of equals, as where nothing can be held out, the plain vectors.
        loss, C, logits, layer, Z = min(found, key=lambda one: np.nan_to_num(one[0]))
        M = _regression(Z, Y, C, np.zeros((Y.shape[1], Z.shape[1] + 1)), exclusive=exclusive)
    W = M[:, :-1] if layer is not None else M[:, :-1] / np.sqrt(np.sum(scale > 0))
    held = folds >= 0
    return ClassProbabilities(
        mean,
        scale,
        layer,
        W=W,
        bias=M[:, -1],
        exclusive=exclusive,
        C=C,
        loss=loss,
        held_out=chosen[tried[held]],
        logits=logits[held],
    )


def _folds(Y: Array, rng: np.random.Generator, *, exclusive: bool) -> Array:
    """Return in which fold each row is held out, classes dealt evenly; -1: it is always used.

    Rows of a class with fewer rows than folds are: some fold would not know the class.
    """
    order = rng.permutation(len(Y))
    folds = np.full(len(Y), -1)
    if not exclusive:
        folds[order] = np.arange(len(Y)) % N_FOLDS
        return folds
    labels = Y[order].argmax(axis=1)
    order, labels = order[np.argsort(labels, kind="stable")], np.sort(labels)
    enough = np.bincount(labels)[labels] >= N_FOLDS
    folds[order[enough]] = np.arange(np.sum(enough)) % N_FOLDS
    return folds


def _cross_validated(
    Z: Array, Y: Array, folds: Array, *, exclusive: bool
) -> tuple[float, float, Array]:
    """Return the least mean held-out loss, its cost, and the logits of all rows held out."""
    n_outputs, n_inputs = Y.shape[1], Z.shape[1]
    best = (float("nan"), USUAL_COST, np.zeros((len(Y), n_outputs)))
    if not (folds >= 0).any():
        return best
    maps = [np.zeros((n_outputs, n_inputs + 1)) for _ in range(N_FOLDS)]
    for C in COSTS:
        logits = np.zeros((len(Y), n_outputs))
        for fold in range(N_FOLDS):
            used, held = folds != fold, folds == fold
            # A cost's solution is near to that of the cost before.
            maps[fold] = _regression(Z[used], Y[used], C, maps[fold], exclusive=exclusive)
            logits[held] = _logits(Z[held], maps[fold])
        out = folds >= 0
        loss = float(_losses(logits[out], Y[out], exclusive=exclusive).mean())
        if loss >= best[0]:
            break
        best = (loss, C, logits)
    return best


def _regression(Z: Array, Y: Array, C: float, start: Array, *, exclusive: bool) -> Array:
    """Return weights, and in the last column biases, that minimise C losses + |W|^2 / 2.

    Args:
        Z: `(n, n_inputs)` float32.
        Y: `(n, n_outputs)` of 0 and 1.
        C: The cost of a loss.
        start: Where the descent starts, `(n_outputs, n_inputs + 1)`.
        exclusive: Whether the outputs are the classes of one softmax.
    """
    n = len(Z)

    def objective(flat: Array) -> tuple[float, Array]:
        M = flat.reshape(start.shape)
        logits = _logits(Z, M)
        residuals = probabilities(logits, exclusive=exclusive) - Y
        value = _losses(logits, Y, exclusive=exclusive).sum() + (M[:, :-1] ** 2).sum() / (2 * C)
        gradient = np.empty_like(M)
        gradient[:, :-1] = residuals.astype(np.float32).T @ Z + M[:, :-1] / C
        gradient[:, -1] = residuals.sum(axis=0)
        return float(value) / n, gradient.ravel() / n

    options: Any = {"maxiter": MAX_ITERATIONS, "ftol": 1e-7, "gtol": 1e-6}
    found = scipy.optimize.minimize(
        objective, start.ravel(), jac=True, method="L-BFGS-B", options=options
    )
    solution: Array = found.x.reshape(start.shape)
    return solution


def _logits(Z: Array, M: Array) -> Array:
    logits: Array = Z @ M[:, :-1].T.astype(np.float32) + M[:, -1]
    return logits


def _losses(logits: Array, Y: Array, *, exclusive: bool) -> Array:
    """Return the negative log-likelihood of each row."""
    if exclusive:
        total = np.logaddexp.reduce(logits, axis=1)
    else:
        total = np.logaddexp(0, logits).sum(axis=1)
    losses: Array = total - (Y * logits).sum(axis=1)
    return losses
