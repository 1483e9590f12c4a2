"""Rank bits above class probabilities: which order items by how likely they are similar."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from kinhash.arrays import Array
from kinhash.encoders.class_levels import probabilities
from kinhash.methods.parts.class_probabilities import ClassProbabilities, RankBits
from kinhash.methods.parts.ridge import Ridge
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
) -> RankBits:
    """Return the bits that order items best by the probability that they are similar.

    A bit is the sign of a sum: of logits and of roots of probabilities, weighed by training with
    the probabilities that two rows are similar, each row's predicted by the others; and of a
    principal direction of the inputs, rotated as in iterative quantisation.

    Args:
        fitted: Probabilities of classes or tags.
        n_bits: How many bits.
        transfer: Weight of the directions against the rest, 0 to 1: at 0 they only scatter unsure
            items, at 1 nothing else is left.
        unlabelled: `(n, n_inputs)` inputs of further rows, or None. The directions are theirs,
            unless they are few.
        seed: Draws signs, rotations, batches.
        report: Told of progress.
    """
    inputs, logits = fitted.inputs, fitted.logits
    if unlabelled is not None:
        inputs = np.concatenate([inputs, unlabelled])
        logits = np.concatenate([logits, unlabelled @ fitted.W.T + fitted.bias])
    rng = np.random.default_rng(seed)
    only = _only_directions(fitted, n_bits, rng, unlabelled)
    if transfer == 1:
        return only
    rows = [_Rows(fitted, inputs, logits, only)]
    (found,) = _trained(rows, n_bits, rng, seed=seed, report=report)
    if transfer == 0:
        return found
    # Both vary by 1 before they are weighed.
    likely = probabilities(logits, exclusive=fitted.exclusive)
    outputs = inputs @ found.R.T + np.sqrt(likely) @ found.G.T + found.bias
    share = (1 - transfer) / np.maximum(outputs.std(axis=0), np.finfo(np.float32).tiny)
    return RankBits(
        share[:, None] * found.R + transfer * only.R,
        share[:, None] * found.G,
        share * found.bias + transfer * only.bias,
        share[:, None] * found.A,
        share * found.own + transfer * only.own,
    )


def fit_shared_rank_bits(
    fitted: Sequence[ClassProbabilities], n_bits: int, *, seed: int, report: Report
) -> list[RankBits]:
    """Return bits that order items of several modalities, whichever finds whichever.

    Logits and roots of probabilities weigh the same in all of them; each has directions of its own.

    Args:
        fitted: Probabilities of the same classes or tags, of each modality.
        n_bits: How many bits.
        seed: Draws signs, rotations, batches.
        report: Told of progress.
    """
    rng = np.random.default_rng(seed)
    rows = [
        _Rows(one, one.inputs, one.logits, _only_directions(one, n_bits, rng)) for one in fitted
    ]
    return _trained(rows, n_bits, rng, seed=seed, report=report)


@dataclasses.dataclass(frozen=True, eq=False)
class _Rows:
    """What is trained with, of one modality."""

    fitted: ClassProbabilities
    inputs: Array
    logits: Array
    only: RankBits  # the directions, without classes


def _trained(
    modalities: Sequence[_Rows],
    n_bits: int,
    rng: np.random.Generator,
    *,
    seed: int,
    report: Report,
) -> list[RankBits]:
    from kinhash.training.rank_bits import train_rank_bits  # noqa: PLC0415 - torch

    exclusive = modalities[0].fitted.exclusive
    logits = np.concatenate([one.logits for one in modalities])
    n_classes = logits.shape[1]
    likely = probabilities(logits, exclusive=exclusive)
    # What all logits of a row have in common says nothing about classes.
    contrasts = np.eye(n_classes) - (1 / n_classes if exclusive else 0)
    sides = [_spread(logits @ contrasts), _spread(np.sqrt(likely))]
    scattered = np.concatenate([one.inputs @ one.only.R.T + one.only.bias for one in modalities])
    signs = _signs(n_bits, n_classes, rng) / (len(sides) * np.sqrt(n_classes))
    trained, shift = train_rank_bits(
        np.concatenate([*(side.rows for side in sides), scattered], axis=1).astype(np.float32),
        likely,
        logits.argmax(axis=1),
        np.concatenate([signs, signs, SCATTER * np.eye(n_bits)], axis=1),
        exclusive=exclusive,
        seed=seed,
        report=report,
    )
    A, G, D = np.split(trained.astype(np.float64), [n_classes, 2 * n_classes], axis=1)
    A, G = A / sides[0].size, G / sides[1].size
    return [
        RankBits(
            A @ contrasts @ one.fitted.W + D @ one.only.R,
            G,
            shift
            + A @ (contrasts @ one.fitted.bias - sides[0].middle)
            - G @ sides[1].middle
            + D @ one.only.bias,
            A @ contrasts,
            one.only.own @ D.T,
        )
        for one in modalities
    ]


@dataclasses.dataclass(frozen=True, eq=False)
class _Spread:
    """Rows with mean 0 in each column, and spread 1 in all."""

    rows: Array
    middle: Array
    size: float


def _spread(values: Array) -> _Spread:
    middle = values.mean(axis=0)
    size = max(float((values - middle).std()), float(np.finfo(np.float32).tiny))
    return _Spread((values - middle) / size, middle, size)


def _only_directions(
    fitted: ClassProbabilities,
    n_bits: int,
    rng: np.random.Generator,
    unlabelled: Array | None = None,
) -> RankBits:
    """Return bits of directions alone: those along which the rows vary that will be searched.

    Rows without labels stand for these, if they are not fewer than the others: what sets learned
    classes apart says little about other classes.
    """
    if unlabelled is None or len(unlabelled) < len(fitted.inputs):
        varied = fitted.ridge
    else:
        varied = Ridge(unlabelled)
    directions, own = _directions(varied, n_bits, rng)
    bias = -(directions @ varied.mean)
    nothing = np.zeros((n_bits, len(fitted.W)))
    if varied is not fitted.ridge:  # they taught nothing
        own = np.zeros((len(fitted.inputs), n_bits))
    return RankBits(directions, nothing, bias, nothing, own)


def _directions(varied: Ridge, n_bits: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return directions along which the inputs vary by 1, `(n_bits, n_inputs)`.

    Where there are fewer principal directions than bits, they are rotated several times. With them
    come what rows have taught of their parts along them, `(n_rows, n_bits)`.
    """
    principal, taught = varied.principal(n_bits), varied.taught(n_bits)
    rows = rng.permutation(len(varied.Z))[:MAX_ROTATION_ROWS]
    projected = varied.Z[np.sort(rows)] @ principal
    turned, own = [], []
    n_turned = 0
    while n_turned < n_bits:
        R, _ = rotation(projected, N_TURNS, rng)
        turn = R / np.maximum((projected @ R).std(axis=0), np.finfo(np.float32).tiny)
        turned.append((principal @ turn).T)
        own.append(taught @ turn)
        n_turned += len(turned[-1])
    return np.concatenate(turned)[:n_bits], np.concatenate(own, axis=1)[:, :n_bits]


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
