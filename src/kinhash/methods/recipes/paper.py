"""The paper's recipe: its network and loss, trained over pairs by gradient descent."""

import itertools

import numpy as np

from kinhash.arguments import check_choice, check_integer, check_number
from kinhash.arrays import Array, Labels, Matrix
from kinhash.codes import Codes
from kinhash.errors import CollapseWarning, warn
from kinhash.labels import label_array
from kinhash.methods.modalities.modality import Modality
from kinhash.methods.networks.fit import Recipe, fit_networks
from kinhash.methods.networks.schedule import check_descent, check_torch, schedule_of
from kinhash.methods.networks.sparse import check_sparse, sparse_branch, sparse_health, sparse_loss
from kinhash.methods.recipes.buckets import class_texts, first_of
from kinhash.methods.recipes.outcome import Outcome, calibrated
from kinhash.methods.recipes.parameters import PaperParameters
from kinhash.methods.supervision.rows import pair_source
from kinhash.pairs import LabelSource, Pairs, TagSource
from kinhash.training.schedule import divided

USUAL_BETA = PaperParameters.beta
FEWEST_HELD_OUT = 5  # rows of a class, that its commonest code is no accident


def check_paper(settings: PaperParameters) -> None:
    """Raise InvalidInputError if a parameter cannot be used."""
    check_descent(settings)
    if settings.threshold is not None:
        check_number("threshold", settings.threshold, 0, open_low=True)
    check_integer("n_layers", settings.n_layers, 0, 100)
    check_choice("encoder", settings.encoder, ("cod", "ista"))
    check_sparse(settings, [settings.encoder])


def fit_paper(
    settings: PaperParameters, X: Matrix, y: Labels | None, pairs: Pairs | None
) -> Outcome:
    """Return the network learned from vectors and what is similar among them.

    It is calibrated on the rows that are held out to stop early, which have labels or tags.

    Warns:
        CollapseWarning: Codes have collapsed, or classes share their commonest one.
    """
    check_torch(settings.device)
    rows = Modality.only(X)
    source = pair_source(
        rows.vectors,
        y,
        pairs,
        n_neighbors=settings.n_neighbors,
        threshold=settings.threshold,
        seed=settings.seed,
    )
    schedule = schedule_of(settings)
    recipe = Recipe(
        title=f"SparseHash, {settings.n_bits} bits",
        n_bits=settings.n_bits,
        branch=lambda _, dictionary: sparse_branch(
            settings, dictionary, encoder=settings.encoder, n_layers=settings.n_layers
        ),
        loss=sparse_loss(settings),
        schedule=schedule,
        health=sparse_health(settings, [settings.encoder], USUAL_BETA),
        verbose=settings.verbose,
    )
    fitted = fit_networks(recipe, {rows.name: rows}, source)
    encoder = fitted.encoders[rows.name]
    calibration = None
    # The same draw that training began with.
    parts = divided(source, schedule, np.random.default_rng(schedule.seed))
    if parts is not None and isinstance(source, LabelSource | TagSource):
        held_out: Array = parts[1].units  # type: ignore[attr-defined]  # rows, of these two
        codes = encoder.encode(rows.vectors[held_out])
        calibration = calibrated(codes, source, held_out, settings.seed, encoder)
        if isinstance(source, LabelSource):
            first = np.unique(source.labels, return_index=True)[1]
            names = label_array("`y`", y).reshape(-1)[first]
            _warn_of_shared_codes(codes, source.labels[held_out], names, settings.lam)
    return Outcome(encoder, fitted.history, calibration)


def _warn_of_shared_codes(codes: Codes, labels: Array, names: Array, lam: float) -> None:
    """Warn of classes that have the same commonest code.

    Args:
        codes: Of rows that were held out.
        labels: Their classes, as numbers.
        names: What the user calls the classes.
        lam: The weight of the push.
    """
    different, number = np.unique(codes.words, axis=0, return_inverse=True)
    table = np.zeros((len(names), len(different)))
    np.add.at(table, (labels, number.ravel()), 1)
    sizes = table.sum(axis=1)
    known = np.flatnonzero(sizes >= FEWEST_HELD_OUT)
    commonest, texts = table.argmax(axis=1), class_texts(names)
    told = []
    for one, other in itertools.combinations(known.tolist(), 2):
        if commonest[one] == commonest[other]:
            both = np.minimum(table[one] / sizes[one], table[other] / sizes[other]).sum()
            told.append(f"{texts[one]} and {texts[other]} share {both:.0%} of their codes")
    # Where all classes share one, codes have collapsed, which is told already.
    if told and len(np.unique(commonest[known])) > 1:
        warn(
            f"{first_of(told)}. Raise `lam` (now {lam:g}) to {2 * lam:g}, or `margin`.",
            CollapseWarning,
        )
