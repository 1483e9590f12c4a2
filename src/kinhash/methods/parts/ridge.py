"""Ridge regression whose inputs and penalty are those with the least leave-one-out error."""

import dataclasses

import numpy as np

from kinhash.arrays import Array
from kinhash.encoders import as_float32, unit_length
from kinhash.methods.parts.gaussian_units import GaussianUnits, units_at_rows

MAX_ROWS = 20_000  # rows that a regression is fitted on, at most
PENALTIES = np.geomspace(1e-4, 1e2, 13)  # times the mean eigenvalue of Z' Z
SMALLEST = 1e-6  # eigenvalues below this share of the largest are rounding


class Ridge:
    """The regression on some inputs, for any targets: min ||T - Z W' - b||^2 + penalty ||W||^2.

    One decomposition serves all targets and penalties, and gives each row's error when that row
    is left out: (t - t') / (1 - h), t' the prediction of the whole and h the row's leverage.

    Args:
        Z: `(n, n_inputs)` float32.

    Attributes:
        mean: Of the inputs, float64.
        Z: The inputs less their mean.
    """

    def __init__(self, Z: Array) -> None:
        self.mean: Array = Z.mean(axis=0, dtype=np.float64)
        self.Z: Array = Z - self.mean.astype(np.float32)
        n, n_inputs = Z.shape
        wide = n_inputs > n
        gram = self.Z @ self.Z.T if wide else self.Z.T @ self.Z
        values, vectors = np.linalg.eigh(gram.astype(np.float64))
        kept = values > SMALLEST * max(values[-1], np.finfo(np.float32).tiny)
        self._values, vectors = values[kept], vectors[:, kept].astype(np.float32)
        # The left singular vectors of the centred inputs, float32: there may be many rows.
        roots = np.sqrt(self._values).astype(np.float32)
        self._left: Array = vectors if wide else (self.Z @ vectors) / roots

    @property
    def penalties(self) -> Array:
        """The penalties worth trying."""
        typical: float = float(self._values.mean()) if len(self._values) else 1.0
        return PENALTIES * typical

    def predicted(self, T: Array, penalty: float) -> Array:
        """Return what the regression on all rows says of each, `(n, n_targets)`."""
        mean = T.mean(axis=0)
        shares = self._values / (self._values + penalty)
        inner = shares[:, None] * (self._left.T @ (T - mean).astype(np.float32))
        fitted: Array = self._left @ inner.astype(np.float32) + mean
        return fitted

    def left_out(self, T: Array, penalty: float) -> Array:
        """Return what the regression on all other rows says of each, `(n, n_targets)`."""
        shares = self._values / (self._values + penalty)
        leverage = np.einsum("ij,ij,j->i", self._left, self._left, shares) + 1 / len(T)
        left = np.maximum(1 - leverage, 1e-6)[:, None]
        said: Array = T - (T - self.predicted(T, penalty)) / left
        return said

    def left_out_error(self, T: Array, penalty: float) -> float:
        """Return the mean squared error of rows that were left out, one at a time."""
        return float(np.square(T - self.left_out(T, penalty)).mean())

    def principal(self, n: int) -> Array:
        """Return the `n` or fewer directions along which inputs vary most, `(n_inputs, k)`."""
        most = np.argsort(-self._values, kind="stable")[:n]
        roots = np.sqrt(self._values[most]).astype(np.float32)
        directions: Array = self.Z.T @ (self._left[:, most] / roots)
        return directions

    def taught(self, n: int) -> Array:
        """Return what of each row's part along these directions is there because of that row.

        A direction leans towards each row by its part that no other direction has. Without the
        row the part along it is smaller, to first order by this much: `(n_rows, k)`.
        """
        most = np.argsort(-self._values, kind="stable")[:n]
        roots = np.sqrt(self._values[most]).astype(np.float32)
        parts = self._left[:, most] * roots
        beside = np.square(self.Z).sum(axis=1) - np.square(parts).sum(axis=1)
        taught: Array = np.maximum(beside, 0)[:, None] * self._left[:, most] / roots
        return taught

    def weights(self, T: Array, penalty: float) -> tuple[Array, Array]:
        """Return W `(n_targets, n_inputs)` and b `(n_targets,)`, float64."""
        mean = T.mean(axis=0)
        inner = self._left.T @ (T - mean).astype(np.float32) / (self._values + penalty)[:, None]
        W = (self.Z.T @ (self._left @ inner.astype(np.float32))).T.astype(np.float64)
        return W, mean - W @ self.mean


@dataclasses.dataclass(frozen=True, eq=False)
class RidgeInputs:
    """The inputs that were chosen, and the penalty.

    Attributes:
        rows: Rows of the training vectors that are used, ascending.
        units: The fixed layer; None for plain vectors of unit length.
        ridge: The regression on them.
        penalty: With the least leave-one-out error.
        error: That error.
    """

    rows: Array
    units: GaussianUnits | None
    ridge: Ridge
    penalty: float
    error: float


def chosen_inputs(
    X: Array,
    mean: Array,
    scale: Array,
    targets: Array,
    *,
    n_units: int,
    gamma: float,
    seed: int,
) -> RidgeInputs:
    """Return Gaussian units or the plain vectors, whichever foretells the targets better.

    Args:
        X: The training vectors.
        mean: What is taken from them.
        scale: What they are multiplied by then.
        targets: `(n, n_targets)`.
        n_units: How many units; with 0, only plain vectors are tried.
        gamma: Sharpness of the units: see `units_at_rows`.
        seed: Draws the units, and the rows if there are too many.
    """
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(X))[:MAX_ROWS])
    standard, T = (as_float32(X[rows]) - mean) * scale, targets[rows].astype(np.float64)

    def on(units: GaussianUnits | None) -> RidgeInputs:
        ridge = Ridge(unit_length(standard) if units is None else units(standard))
        error, penalty = min((ridge.left_out_error(T, one), one) for one in ridge.penalties)
        return RidgeInputs(rows, units, ridge, float(penalty), error)

    plain = on(None)
    if not n_units:
        return plain
    lifted = on(units_at_rows(X, mean, scale, n_units, gamma=gamma, seed=seed))
    return lifted if lifted.error < plain.error else plain
