"""Rank bits above class probabilities: which order items by how likely they are similar."""

import numpy as np

from kinhash.arrays import Array
from kinhash.encoders.class_levels import probabilities
from kinhash.methods.parts.class_probabilities import ClassProbabilities
from kinhash.methods.parts.rotation import MAX_ROTATION_ROWS, rotation
from kinhash.progress import Report

# Bits of sharp class boundaries would put unsure items next to each other, though they are rarely
# similar; a share of the vectors themselves in every bit scatters them.
SCATTER = 0.3
N_TURNS = 50  # of a rotation
N_DRAWS = 50  # sets of random signs, of which the least alike are taken


def fit_rank_bits(
    fitted: ClassProbabilities,
    n_bits: int,
    *,
    transfer: float,
    unlabelled: Array | None,
    seed: int,
    report: Report,
) -> tuple[Array, Array]:
    """Return weights `(n_bits, n_inputs)` over the inputs of `fitted`, and biases.

    A bit is the sign of a sum: of logits, weighed by training with the probabilities that two rows
    are similar, each row's predicted by the others; and of a principal direction of the inputs,
    rotated as in iterative quantisation.

    Args:
        fitted: Probabilities of classes or tags.
        n_bits: How many bits.
        transfer: Weight of the directions against the logits, 0 to 1: at 0 they only scatter
            unsure items, at 1 nothing is left of the logits.
        unlabelled: `(n, n_inputs)` inputs of further rows, or None.
        seed: Draws signs, rotations, batches.
        report: Told of progress.
    """
    from kinhash.training.rank_bits import train_rank_bits  # noqa: PLC0415 - torch

    rng = np.random.default_rng(seed)
    inputs, logits = fitted.inputs, fitted.logits
    if unlabelled is not None:
        inputs = np.concatenate([inputs, unlabelled])
        logits = np.concatenate([logits, unlabelled @ fitted.W.T + fitted.bias])
    directions = _directions(fitted, n_bits, rng)
    if transfer == 1:
        return _with_bias(directions, fitted.ridge.centre)
    contrasts, middle, spread = _contrasts(logits, exclusive=fitted.exclusive)
    scattered = (inputs - fitted.ridge.centre) @ directions.T
    seen = np.concatenate([(logits @ contrasts - middle) / spread, scattered], axis=1)
    n_classes = logits.shape[1]
    start = np.concatenate(
        [_signs(n_bits, n_classes, rng) / np.sqrt(n_classes), SCATTER * np.eye(n_bits)], axis=1
    )
    trained, bias = train_rank_bits(
        seen.astype(np.float32),
        probabilities(logits, exclusive=fitted.exclusive),
        logits.argmax(axis=1),
        start,
        exclusive=fitted.exclusive,
        seed=seed,
        report=report,
    )
    # Over the inputs: the logits are linear in them, and so are the directions.
    above = trained[:, :n_classes].astype(np.float64) @ (contrasts.T / spread)
    R = above @ fitted.W + trained[:, n_classes:] @ directions
    shift = (
        bias
        + above @ fitted.bias
        - trained[:, :n_classes] @ (middle / spread)
        - trained[:, n_classes:] @ (directions @ fitted.ridge.centre)
    )
    if transfer == 0:
        return R, shift
    # Both sides vary by 1 before they are weighed.
    size = np.maximum((inputs @ R.T + shift).std(axis=0), np.finfo(np.float32).tiny)
    R, shift = R / size[:, None], shift / size
    other, other_shift = _with_bias(directions, fitted.ridge.centre)
    return (1 - transfer) * R + transfer * other, (1 - transfer) * shift + transfer * other_shift


def _with_bias(directions: Array, centre: Array) -> tuple[Array, Array]:
    return directions, -(directions @ centre)


def _directions(fitted: ClassProbabilities, n_bits: int, rng: np.random.Generator) -> Array:
    """Return directions along which the inputs vary by 1, `(n_bits, n_inputs)`.

    Where there are fewer principal directions than bits, they are rotated several times.
    """
    principal = fitted.ridge.principal(n_bits)
    rows = rng.permutation(len(fitted.inputs))[:MAX_ROTATION_ROWS]
    projected = (fitted.inputs[np.sort(rows)] - fitted.ridge.centre) @ principal
    turned = []
    n_turned = 0
    while n_turned < n_bits:
        R, _ = rotation(projected, N_TURNS, rng)
        spread = np.maximum((projected @ R).std(axis=0), np.finfo(np.float32).tiny)
        turned.append((principal @ (R / spread)).T)
        n_turned += len(turned[-1])
    return np.concatenate(turned)[:n_bits]


def _contrasts(logits: Array, *, exclusive: bool) -> tuple[Array, Array, float]:
    """Return C, middle and spread such that (logits C - middle) / spread has mean 0 and spread 1.

    What all logits of a row have in common says nothing about classes.
    """
    n_classes = logits.shape[1]
    C = np.eye(n_classes) - (1 / n_classes if exclusive else 0)
    contrasts = logits @ C
    middle = contrasts.mean(axis=0)
    return C, middle, max(float((contrasts - middle).std()), float(np.finfo(np.float32).tiny))


def _signs(n_bits: int, n_classes: int, rng: np.random.Generator) -> Array:
    """Return random signs, `(n_bits, n_classes)`, whose columns are little alike."""
    best, least = np.ones((n_bits, n_classes)), np.inf
    for _ in range(N_DRAWS):
        signs = np.where(rng.random((n_bits, n_classes)) < 0.5, -1.0, 1.0)
        alike = signs.T @ signs
        np.fill_diagonal(alike, -n_bits)
        if alike.max() < least:
            best, least = signs, float(alike.max())
    return best
