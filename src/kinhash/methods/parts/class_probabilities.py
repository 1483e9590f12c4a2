"""Class probabilities that can be believed: ridge regression, calibrated on rows left out."""

import dataclasses
import logging
from typing import Any, Self

import numpy as np
import scipy.optimize

from kinhash.arrays import Array, Matrix
from kinhash.codes import Codes
from kinhash.encoders import (
    ClassLevelsEncoder,
    ClassRankEncoder,
    KernelClassLevelsEncoder,
    KernelClassRankEncoder,
    as_float32,
    is_sparse,
    unit_length,
)
from kinhash.encoders.blocks import one_blas_thread
from kinhash.encoders.class_levels import probabilities, written
from kinhash.errors import warn
from kinhash.methods.parts.gaussian_units import GaussianUnits, units_at_rows
from kinhash.methods.parts.ridge import MAX_ROWS, Ridge

logger = logging.getLogger(__name__)

N_UNITS = 2000
MAX_VALUES = 2**28  # numbers in them, at most: sparse rows are dense while they are learned from
FEWEST_ROWS = 10  # with fewer, what is left out says little about how sure to be
USUAL_SLOPE = 5.0  # of logits over predictions, where it cannot be found
# Units make encoding many times slower than the plain vectors, so they must be worth it: by their
# loss, or by the mean probability of the right class, as shares of the plain vectors'. Counting
# rows that are classed rightly instead would depend on which units were drawn.
WORTH_LOSS, WORTH_SURE = 0.95, 1.035
SHRINKAGE = 1e-3  # of the biases of the calibration towards 0


@dataclasses.dataclass(frozen=True, eq=False)
class RankBits:
    """Bits that are the signs of R z + G sqrt(p) + bias, z the inputs, p the probabilities."""

    R: Array  # (n_rank_bits, n_inputs)
    G: Array  # (n_rank_bits, n_classes)
    bias: Array  # (n_rank_bits,)
    A: Array  # (n_rank_bits, n_classes): weights of logits, which are within R and the bias
    # (n_rows, n_rank_bits): what of a training row's outputs is there because it was learned from,
    # beside what its logits say.
    own: Array

    @classmethod
    def none(cls, n_inputs: int, n_classes: int) -> Self:
        """Return that there are none."""
        nothing = np.zeros((0, n_classes))
        return cls(np.zeros((0, n_inputs)), nothing, np.zeros(0), nothing, np.zeros((0, 0)))


@dataclasses.dataclass(frozen=True, eq=False)
class ClassProbabilities:
    """A fitted regression: probabilities are softmax, or for tags logistic, of its logits.

    Attributes:
        mean: What is taken from a vector.
        scale: What it is multiplied by then.
        units: The fixed layer below; None for the plain vectors.
        unit_rows: Whether vectors are brought to unit length, as sparse ones are.
        W: `(n_classes, n_inputs)` float64, from inputs to logits.
        bias: `(n_classes,)` float64.
        exclusive: Whether a row has one class, or any number of tags.
        penalty: Of the regression, the one that was chosen.
        loss: The mean negative log-likelihood of rows left out, with it.
        rows: Which rows of the training vectors it was learned from, ascending.
        logits: `(n_rows, n_classes)`: what it says of each of them when that one is left out.
        inputs: `(n_rows, n_inputs)` float32, of the same rows.
        ridge: The regression itself.
    """

    mean: Array
    scale: Array
    units: GaussianUnits | None
    unit_rows: bool
    W: Array
    bias: Array
    exclusive: bool
    penalty: float
    loss: float
    rows: Array
    logits: Array
    inputs: Array
    ridge: Ridge

    def encoder(self, class_codes: Array, temperature: float) -> ClassLevelsEncoder:
        """Return the encoder that sharpens the probabilities and writes them in levels.

        p^(1 / temperature), scaled to sum 1, has the logits divided by the temperature.

        Args:
            class_codes: `(n_levels, n_classes, n_bits)` uint8.
            temperature: Below 1, probabilities get nearer to 0 and 1.
        """
        arguments = self._arguments(self.W / temperature, self.bias / temperature, class_codes)
        if self.units is None:
            return ClassLevelsEncoder(**arguments)
        return KernelClassLevelsEncoder(**arguments)

    def rank_encoder(
        self, class_codes: Array, temperature: float, rank: RankBits
    ) -> ClassRankEncoder:
        """Return the encoder with rank bits, too.

        Args:
            class_codes: `(n_levels, n_classes, n_bits)` uint8, of the bucket.
            temperature: Of the probabilities in it.
            rank: The maps behind the rank bits.
        """
        arguments = self._arguments(
            np.concatenate([self.W, rank.R]), np.concatenate([self.bias, rank.bias]), class_codes
        ) | {
            "G": rank.G.astype(np.float32),
            "temperature": temperature,
            "unit_rows": self.unit_rows,
        }
        if self.units is None:
            return ClassRankEncoder(**arguments)
        return KernelClassRankEncoder(**arguments)

    def _arguments(self, W: Array, bias: Array, class_codes: Array) -> dict[str, Any]:
        """Return what all encoders take, with weights over what they compute.

        That is standardised rows, or a kernel.
        """
        made: dict[str, Any] = {
            "mean": self.mean,
            "scale": self.scale,
            "class_codes": class_codes,
            "exclusive": self.exclusive,
        }
        if self.units is None:
            W = W * _plain_scale(self.scale, unit_rows=self.unit_rows)
        else:
            # The whitening goes into the weights, so that nothing is left but the kernel.
            bias = bias - W @ self.units.mean
            W = W @ self.units.whitening
            made |= {"anchors": self.units.centres, "gamma": self.units.gamma}
        return made | {"W": W.astype(np.float32), "bias": bias.astype(np.float32)}

    def seen(self, X: Matrix) -> Array:
        """Return the inputs of rows of vectors, float32 `(n, n_inputs)`."""
        standard = _standard(X, self.mean, self.scale, unit_rows=self.unit_rows)
        if self.units is not None:
            return self.units(standard)
        return standard * np.float32(_plain_scale(self.scale, unit_rows=self.unit_rows))

    def left_out_codes(self, class_codes: Array, temperature: float, rank: RankBits) -> Codes:
        """Return the codes of the rows, each as the regression on all others would write it.

        Args:
            class_codes: As `rank_encoder` takes them.
            temperature: Of the probabilities in the bucket.
            rank: The maps behind the rank bits.
        """
        likely = self.left_out_probabilities(temperature).astype(np.float32)
        bucket = written(likely, class_codes)
        if not len(rank.R):
            return Codes.from_dense(bucket)
        with one_blas_thread():
            outputs = self.inputs @ rank.R.T.astype(np.float32) + rank.bias
            # What the row itself taught goes: the directions, and the regression.
            outputs -= rank.own
            learned = self.inputs @ self.W.T.astype(np.float32) + self.bias
            outputs += (self.logits - learned) @ rank.A.T
            outputs += np.sqrt(self.left_out_probabilities()) @ rank.G.T
        return Codes.from_dense(bucket, rank=(outputs > 0).astype(np.int8))

    def left_out_probabilities(self, temperature: float = 1.0) -> Array:
        """Return the sharpened probabilities of the rows, each when it is left out."""
        return probabilities(self.logits / temperature, exclusive=self.exclusive)


def fit_class_probabilities(
    X: Matrix,
    mean: Array,
    scale: Array,
    targets: Array,
    *,
    exclusive: bool,
    gamma: float,
    seed: int,
) -> ClassProbabilities:
    """Return the regression, of the inputs and the penalty with the least loss on rows left out.

    Args:
        X: The training vectors.
        mean: What is taken from them.
        scale: What they are multiplied by then.
        targets: `(n, n_classes)` of 0 and 1.
        exclusive: Whether each row has exactly one class.
        gamma: Sharpness of the Gaussian units: see `units_at_rows`.
        seed: Draws the units, and the rows where there are too many.

    Warns:
        UserWarning: There are too few rows to tell how sure to be.
    """
    n_rows = X.shape[0]
    most = max(2, min(MAX_ROWS, MAX_VALUES // X.shape[1]))
    rows = np.arange(n_rows)
    if n_rows > most:
        logger.info("Class probabilities are learned from %d of %d rows.", most, n_rows)
        rows = np.sort(np.random.default_rng(seed).permutation(n_rows)[:most])
    if n_rows < FEWEST_ROWS:
        warn(
            f"{n_rows} rows are too few to tell how sure class probabilities are; a usual value "
            f"is taken. Add rows: {FEWEST_ROWS} or more.",
            UserWarning,
        )
    unit_rows = is_sparse(X)
    Y = targets[rows].astype(np.float64)
    with one_blas_thread():
        standard = _standard(X[rows], mean, scale, unit_rows=unit_rows)
        plain = standard * np.float32(_plain_scale(scale, unit_rows=unit_rows))
        best = _regression(plain, Y, exclusive=exclusive)
        units, inputs = None, plain
        layer = units_at_rows(X, mean, scale, N_UNITS, gamma=gamma, seed=seed)
        lifted = layer(standard)
        found = _regression(lifted, Y, exclusive=exclusive)
        sure = found.sure(Y) if exclusive else 0.0
        if found.loss < WORTH_LOSS * best.loss or sure > WORTH_SURE * best.sure(Y):
            best, units, inputs = found, layer, lifted
        ridge = best.ridge
        W, bias = ridge.weights(Y, best.penalty)
    return ClassProbabilities(
        mean,
        scale,
        units,
        unit_rows,
        W=best.slope * W,
        bias=best.slope * bias + best.shift,
        exclusive=exclusive,
        penalty=best.penalty,
        loss=best.loss,
        rows=rows,
        logits=best.logits,
        inputs=inputs,
        ridge=ridge,
    )


def _standard(X: Matrix, mean: Array, scale: Array, *, unit_rows: bool) -> Array:
    dense = X.toarray() if is_sparse(X) else X
    standard: Array = (as_float32(dense) - mean) * scale
    return unit_length(standard) if unit_rows else standard


def _plain_scale(scale: Array, *, unit_rows: bool) -> float:
    """Return what brings rows to length about 1, that of rows in the space of a kernel.

    The same penalties then suit both.
    """
    return 1.0 if unit_rows else float(1 / np.sqrt(max(1, int(np.sum(scale > 0)))))


@dataclasses.dataclass(frozen=True, eq=False)
class _Regression:
    """The best regression on some inputs: logits are slope * prediction + shift."""

    loss: float
    penalty: float
    ridge: Ridge
    slope: float
    shift: Array
    logits: Array  # of rows left out

    def sure(self, Y: Array) -> float:
        """Return the mean probability of the rows' own classes, each row's when it is left out."""
        return float((probabilities(self.logits, exclusive=True) * Y).sum(axis=1).mean())


def _regression(Z: Array, Y: Array, *, exclusive: bool) -> _Regression:
    """Return the regression, of all penalties, with the least loss on rows left out."""
    ridge = Ridge(Z)
    found = [
        (penalty, *calibration(ridge.left_out(Y, penalty), Y, exclusive=exclusive))
        for penalty in ridge.penalties[::-1]
    ]
    # Of equals the largest penalty, which comes first.
    penalty, loss, slope, shift = min(found, key=lambda one: one[1])
    logits = slope * ridge.left_out(Y, penalty) + shift
    return _Regression(loss, float(penalty), ridge, slope, shift, logits)


def calibration(predicted: Array, Y: Array, *, exclusive: bool) -> tuple[float, float, Array]:
    """Return the mean loss of logits slope * predicted + shift, and the best slope and shifts.

    Args:
        predicted: `(n, n_classes)`, of rows that were left out.
        Y: `(n, n_classes)` of 0 and 1.
        exclusive: Whether the outputs are the classes of one softmax.
    """
    n, n_classes = Y.shape
    if n < FEWEST_ROWS:
        logits = USUAL_SLOPE * predicted
        loss = float(losses(logits, Y, exclusive=exclusive).mean())
        return loss, USUAL_SLOPE, np.zeros(n_classes)

    def objective(at: Array) -> tuple[float, Array]:
        slope, shift = at[0], at[1:]
        logits = slope * predicted + shift
        residuals = (probabilities(logits, exclusive=exclusive) - Y) / n
        value = losses(logits, Y, exclusive=exclusive).mean() + SHRINKAGE * (shift @ shift)
        gradient = np.append((residuals * predicted).sum(), residuals.sum(axis=0))
        gradient[1:] += 2 * SHRINKAGE * shift
        return float(value), gradient

    start = np.append(USUAL_SLOPE, np.zeros(n_classes))
    # A negative slope would call the likeliest class the least likely one.
    bounds = [(0.1, None), *[(None, None)] * n_classes]
    at = scipy.optimize.minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    loss = float(losses(at[0] * predicted + at[1:], Y, exclusive=exclusive).mean())
    return loss, float(at[0]), at[1:]


def losses(logits: Array, Y: Array, *, exclusive: bool) -> Array:
    """Return the negative log-likelihood of each row."""
    if exclusive:
        most = logits.max(axis=1)  # `logaddexp.reduce` takes several times as long
        total = most + np.log(np.exp(logits - most[:, None]).sum(axis=1))
    else:
        total = np.logaddexp(0, logits).sum(axis=1)
    each: Array = total - (Y * logits).sum(axis=1)
    return each
