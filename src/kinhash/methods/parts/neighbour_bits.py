"""Dense bits that keep neighbours: a linear map whose distances follow the cosines of rows."""

import numpy as np

from kinhash.arrays import Array
from kinhash.methods.parts.descent import Adam
from kinhash.methods.parts.rotation import MAX_ROTATION_ROWS, rotation

MAX_DIRECTIONS = 128
N_STEPS = 400
BATCH_ROWS = 512
LEARNING_RATE = 0.005
# Of the softmax over a batch: how sharply near rows stand out, by cosine and by differing bits.
COSINE_WIDTH = 0.025
BITS_WIDTH = 4.0
N_TURNS = 30  # of the rotation that the descent starts from


def neighbour_bits(
    V: Array, fixed: Array, n_bits: int, rng: np.random.Generator
) -> tuple[Array, Array, list[float]]:
    """Return W and bias of `n_bits` bits, set where W v + bias > 0, and the loss of each step.

    v are the first columns of a row, as many as W has.

    Each row i of a batch has two distributions over the others: softmax(cosines / COSINE_WIDTH),
    and softmax(- c * differing bits / BITS_WIDTH) with c learned; the loss is their cross-entropy.
    Bits are relaxed to tanh. The fixed bits count as the learned ones do, so that these complement
    them. It starts from principal components, rotated as in iterative quantisation.

    Args:
        V: `(n, d)` centred rows, widest columns first. Cosines are of all columns, bits of the
            first `MAX_DIRECTIONS`: along more they learn what only the training rows have.
        fixed: `(n, n_fixed)` bits of -1 and 1 that are stored beside, float32.
        n_bits: How many to learn.
        rng: Draws batches and the first rotation.
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", V, V))[:, None]
    targets = np.divide(V, lengths, out=np.zeros_like(V), where=lengths > 0)
    V = np.ascontiguousarray(V[:, :MAX_DIRECTIONS])
    n, d = V.shape
    W = _rotated_components(V, n_bits, rng)
    bias, log_c = np.zeros(n_bits, np.float32), np.zeros(1, np.float32)
    spread = float(np.abs(V @ W.T).mean())
    if n < 2 or d == 0 or spread == 0:
        return W, bias, []
    descent = Adam((W, bias, log_c), LEARNING_RATE, N_STEPS)
    losses, order = [], np.arange(0)
    size = min(BATCH_ROWS, n)
    for _ in range(N_STEPS):
        if len(order) < size:
            order = rng.permutation(n)
        rows, order = order[:size], order[size:]
        loss, gradients = _step(V[rows], targets[rows], fixed[rows], (W, bias, log_c), spread)
        descent.step(gradients)
        losses.append(loss)
    return W, bias, losses


def _rotated_components(V: Array, n_bits: int, rng: np.random.Generator) -> Array:
    k = min(n_bits, V.shape[1])
    sample = V[np.sort(rng.permutation(len(V))[:MAX_ROTATION_ROWS]), :k]
    W = np.zeros((n_bits, V.shape[1]), np.float32)
    W[:k, :k] = rotation(sample, N_TURNS, rng)[0].T
    # More bits than directions: the rest starts at random.
    W[k:] = rng.standard_normal((n_bits - k, V.shape[1])) / np.sqrt(max(1, V.shape[1]))
    return W


def _step(
    V: Array, targets: Array, fixed: Array, parameters: tuple[Array, Array, Array], spread: float
) -> tuple[float, tuple[Array, Array, Array]]:
    """Return the loss of a batch, and its gradients by W, bias and log c."""
    W, bias, log_c = parameters
    H = np.tanh((V @ W.T + bias) / spread)
    # Of -1 and 1: an inner product is the bits less twice the differing ones.
    near = (H @ H.T + fixed @ fixed.T) / (2 * BITS_WIDTH)
    c = np.exp(log_c[0])
    P, Q = _softmax(targets @ targets.T / COSINE_WIDTH), _softmax(c * near)
    loss = float(-(P * np.log(np.maximum(Q, np.finfo(np.float32).tiny))).sum() / len(V))
    by_near = (Q - P) / len(V)
    by_H = ((by_near + by_near.T) @ H) * (c / (2 * BITS_WIDTH))
    by_Z = by_H * (1 - H * H) / spread
    by_log_c = np.array([(by_near * near).sum() * c], np.float32)
    return loss, (by_Z.T @ V, by_Z.sum(axis=0), by_log_c)


def _softmax(values: Array) -> Array:
    """Return exp(values), rows scaled to sum 1, without the diagonal: no row is its neighbour."""
    np.fill_diagonal(values, -np.inf)
    values = values - values.max(axis=1, keepdims=True)
    likely: Array = np.exp(values)
    likely /= likely.sum(axis=1, keepdims=True)
    return likely
