"""The strong recipe: calibrated probabilities as buckets, and rank bits that order by them."""

import logging
from typing import Any

import numpy as np

from kinhash.arguments import check_integer, check_number
from kinhash.arrays import Array, Labels, Matrix
from kinhash.codes import MAX_BITS
from kinhash.errors import InvalidInputError
from kinhash.labels import label_array
from kinhash.methods.networks.schedule import check_torch
from kinhash.methods.parts.arranged_words import affinity
from kinhash.methods.parts.class_probabilities import (
    ClassProbabilities,
    RankBits,
    fit_class_probabilities,
)
from kinhash.methods.parts.class_words import sparse_words
from kinhash.methods.parts.confusable_words import confusion
from kinhash.methods.parts.landmarks import fit_vectors_alone, usual_bucket_bits
from kinhash.methods.parts.rank_bits import fit_rank_bits
from kinhash.methods.parts.sharpening import best_temperature
from kinhash.methods.parts.whitened_pairs import fit_pairs_alone
from kinhash.methods.recipes.buckets import (
    ONE_CLASS,
    class_bucket,
    n_bucket_bits,
    warn_of_shared_codes,
)
from kinhash.methods.recipes.outcome import Outcome, calibrated
from kinhash.methods.recipes.parameters import StrongParameters
from kinhash.methods.standardisation import check_varies, standardisation
from kinhash.methods.supervision.rows import from_labels, membership
from kinhash.pairs import LabelSource, Pairs, TagSource
from kinhash.progress import progress_bar

logger = logging.getLogger(__name__)

GAMMA = 1.0  # sharpness of Gaussian units, as ClassCode has it
MAX_UNLABELLED = 20_000  # rows that are looked at
TAG_BITS = 2  # active bits of a tag's word


def check_strong(settings: StrongParameters) -> None:
    """Raise InvalidInputError if a parameter cannot be used."""
    check_integer("n_bits", settings.n_bits, 1, MAX_BITS)
    if settings.n_rank_bits is not None:
        check_integer("n_rank_bits", settings.n_rank_bits, 0, settings.n_bits - 1)
    check_number("transfer", settings.transfer, 0, 1)
    check_integer("seed", settings.seed, 0)


def fit_strong(
    settings: StrongParameters,
    X: Matrix,
    y: Labels | None,
    pairs: Pairs | None,
    unlabelled: Matrix | None,
) -> Outcome:
    """Return what is learned from labels or tags, from pairs, or from vectors alone.

    Raises:
        InvalidInputError: The vectors, or what is said of them, cannot be used.

    Warns:
        CollapseWarning: Classes share their commonest code.
    """
    if y is not None and pairs is not None:
        raise InvalidInputError("Give either `y` or `pairs`, got both.")
    if unlabelled is not None and y is None:
        raise InvalidInputError(
            "`unlabelled` goes with `y`, which is None. Add these rows to `X` instead."
        )
    mean, scale, constant = standardisation(X)
    check_varies(constant)
    if pairs is not None:
        return _from_pairs(settings, X, pairs, mean, scale)
    if y is None:
        return _from_vectors(settings, X, mean, scale)
    source = from_labels(y, X.shape[0])
    targets = membership(source)
    length = n_bucket_bits(settings.n_bits, settings.n_rank_bits, targets.shape[1])
    n_rank_bits = settings.n_bits - length
    if n_rank_bits and settings.transfer < 1:
        check_torch("cpu")
    with progress_bar(f"SparseHash, {settings.n_bits} bits", shown=settings.verbose) as report:
        fitted = fit_class_probabilities(
            X,
            mean,
            scale,
            targets,
            exclusive=isinstance(source, LabelSource),
            gamma=GAMMA,
            seed=settings.seed,
        )
        words, temperature = _words(settings, length, fitted, source)
        rank = RankBits.none(fitted.W.shape[1], len(fitted.W))
        if n_rank_bits:
            rank = fit_rank_bits(
                fitted,
                n_rank_bits,
                transfer=settings.transfer,
                unlabelled=None if unlabelled is None else _seen(fitted, unlabelled, settings),
                seed=settings.seed,
                report=report,
            )
    encoder = fitted.rank_encoder(words, temperature, rank)
    if isinstance(source, LabelSource):
        first = np.unique(source.labels, return_index=True)[1]
        names = label_array("`y`", y).reshape(-1)[first]
        warn_of_shared_codes(_counts(fitted, source), names)
    left_out = fitted.left_out_codes(words, temperature, rank)
    calibration = calibrated(left_out, source, fitted.rows, settings.seed, encoder)
    return Outcome(encoder, [_record(fitted, temperature)], calibration)


def _record(fitted: ClassProbabilities, temperature: float) -> dict[str, Any]:
    return {
        "left_out_loss": fitted.loss,
        "penalty": fitted.penalty,
        "temperature": temperature,
        "gaussian_units": fitted.units is not None,
        "kept": True,
    }


def _words(
    settings: StrongParameters,
    length: int,
    fitted: ClassProbabilities,
    source: LabelSource | TagSource,
) -> tuple[Array, float]:
    """Return the bits of each class, and how sharp the probabilities behind them are.

    The bits are `(1, n_classes, length)`: of one level.
    """
    rng = np.random.default_rng(settings.seed)
    n_classes = len(fitted.W)
    if isinstance(source, TagSource):
        n_active = min(TAG_BITS, length)
        words = sparse_words(n_classes, length, n_active, rng)[None]
        targets = membership(source)[fitted.rows]
        return words, best_temperature(fitted.left_out_probabilities, targets, words)
    alike = affinity(fitted.left_out_probabilities())
    words = class_bucket(_counts(fitted, source), length, settings.n_bits, rng, alike=alike)
    return words[None], ONE_CLASS


def _counts(fitted: ClassProbabilities, source: LabelSource) -> Array:
    predicted = fitted.logits.argmax(axis=1)
    return confusion(source.labels[fitted.rows], predicted, len(fitted.W))


def _seen(fitted: ClassProbabilities, unlabelled: Matrix, settings: StrongParameters) -> Array:
    """Return the inputs of rows without labels, of a random part where they are many."""
    rng = np.random.default_rng(settings.seed)
    rows = np.sort(rng.permutation(unlabelled.shape[0])[:MAX_UNLABELLED])
    return fitted.seen(unlabelled[rows])


def _from_vectors(settings: StrongParameters, X: Matrix, mean: Array, scale: Array) -> Outcome:
    n_rank_bits = settings.n_rank_bits
    if n_rank_bits is None:
        n_rank_bits = settings.n_bits - usual_bucket_bits(settings.n_bits)
    encoder, history = fit_vectors_alone(
        X, mean, scale, n_bits=settings.n_bits, n_rank_bits=n_rank_bits, seed=settings.seed
    )
    return Outcome(encoder, list(history))


def _from_pairs(
    settings: StrongParameters, X: Matrix, pairs: Pairs, mean: Array, scale: Array
) -> Outcome:
    if not isinstance(pairs, Pairs):
        raise InvalidInputError(f"`pairs` must be kinhash.Pairs, got {type(pairs).__name__}.")
    pairs.check_rows(X.shape[0])
    if settings.n_rank_bits:
        raise InvalidInputError(
            f"Codes learned from pairs have no rank bits, got {settings.n_rank_bits} as "
            "`n_rank_bits`. Leave it out."
        )
    encoder, facts = fit_pairs_alone(
        X, pairs, mean, scale, n_bits=settings.n_bits, seed=settings.seed
    )
    logger.info(facts.message())
    return Outcome(encoder, [facts.record() | {"kept": True}])
