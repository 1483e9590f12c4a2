"""The rotation of iterative quantisation: projections turned towards the corners of a cube."""

import numpy as np

from kinhash.arrays import Array

MAX_ROTATION_ROWS = 20_000  # the rotation is learned from this many random rows at most


def rotation(V: Array, n_iterations: int, rng: np.random.Generator) -> tuple[Array, list[float]]:
    """Return the rotation R that brings the rows of `V` near to their signs, and the loss per turn.

    Args:
        V: `(n, n_bits)` centred projections.
        n_iterations: Turns.
        rng: Draws the first rotation.
    """
    n_bits = V.shape[1]
    R = np.linalg.qr(rng.standard_normal((n_bits, n_bits)))[0]
    losses = []
    for _ in range(n_iterations):
        B = np.where(V @ R > 0, 1.0, -1.0)
        left, _, right = np.linalg.svd(V.T @ B)
        R = left @ right
        losses.append(float(np.square(B - V @ R).sum() / len(V)))
    return R, losses
