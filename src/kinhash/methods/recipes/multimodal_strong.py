"""The strong recipe for several modalities: one set of class words, rank bits with shared maps."""

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from kinhash.arguments import check_integer
from kinhash.arrays import Array, Matrix
from kinhash.codes import MAX_BITS
from kinhash.encoders import Encoder
from kinhash.methods.modalities.modality import Modality
from kinhash.methods.networks.fit import Fitted
from kinhash.methods.networks.schedule import check_torch
from kinhash.methods.parts.arranged_words import affinity
from kinhash.methods.parts.class_probabilities import (
    ClassProbabilities,
    RankBits,
    fit_class_probabilities,
)
from kinhash.methods.parts.confusable_words import confusion
from kinhash.methods.parts.rank_bits import fit_shared_rank_bits
from kinhash.methods.recipes.buckets import (
    ONE_CLASS,
    class_bucket,
    n_bucket_bits,
    warn_of_shared_codes,
)
from kinhash.methods.recipes.parameters import MultimodalStrongParameters
from kinhash.methods.recipes.strong import GAMMA
from kinhash.pairs import LabelSource
from kinhash.progress import progress_bar


def check_multimodal_strong(settings: MultimodalStrongParameters) -> None:
    """Raise InvalidInputError if a parameter cannot be used."""
    check_integer("n_bits", settings.n_bits, 1, MAX_BITS)
    if settings.n_rank_bits is not None:
        check_integer("n_rank_bits", settings.n_rank_bits, 0, settings.n_bits - 1)
    check_integer("n_words", settings.n_words, 1)
    check_integer("seed", settings.seed, 0)


def fit_multimodal_strong(
    settings: MultimodalStrongParameters,
    modalities: Mapping[str, Modality],
    source: LabelSource,
    given: Matrix,
) -> Fitted:
    """Return what is learned from the classes of views.

    Each modality has probabilities of its own, calibrated on its own rows. The words of classes
    and the weights of probabilities in rank bits are the same in all.

    Args:
        settings: The parameters.
        modalities: The training rows, by name.
        source: The classes of all views: see `label_views`.
        given: What the user calls them.

    Warns:
        CollapseWarning: Classes share their commonest code in a modality.
        UserWarning: The bucket has no room for that many classes.
    """
    # Views that are not there may have labels that no other has: those are no classes.
    _, first, numbers = np.unique(
        source.labels[source.units], return_index=True, return_inverse=True
    )
    names = np.asarray(given).reshape(-1)[source.units[first]]
    targets = np.eye(len(names), dtype=np.uint8)[numbers]
    ends = np.cumsum([int(one.present.sum()) for one in modalities.values()])
    title = f"MultimodalSparseHash, {settings.n_bits} bits"
    with progress_bar(title, shown=settings.verbose) as report:
        learned = {
            name: _Learned(
                fit_class_probabilities(
                    one.there(),
                    one.mean,
                    one.scale,
                    part,
                    exclusive=True,
                    gamma=GAMMA,
                    seed=settings.seed,
                ),
                part,
            )
            for (name, one), part in zip(
                modalities.items(), np.split(targets, ends[:-1]), strict=True
            )
        }
        words = _class_words(settings, learned.values())
        fitted = [one.fitted for one in learned.values()]
        ranks = [RankBits.none(one.W.shape[1], len(one.W)) for one in fitted]
        n_rank_bits = settings.n_bits - words.shape[1]
        if n_rank_bits:
            check_torch("cpu")
            ranks = fit_shared_rank_bits(fitted, n_rank_bits, seed=settings.seed, report=report)
    for name, each in learned.items():
        warn_of_shared_codes(each.confusion(), names, where=f"In {name!r}: ")
    encoders: dict[str, Encoder] = {
        name: one.rank_encoder(words[None], ONE_CLASS, rank)
        for name, one, rank in zip(modalities, fitted, ranks, strict=True)
    }
    return Fitted(encoders, [_record(dict(zip(modalities, fitted, strict=True)))])


@dataclasses.dataclass(frozen=True, eq=False)
class _Learned:
    """The probabilities of a modality, and the 0/1 targets of its rows."""

    fitted: ClassProbabilities
    targets: Array

    def confusion(self) -> Array:
        """Return rows left out by true and predicted class."""
        labels = self.targets[self.fitted.rows].argmax(axis=1)
        return confusion(labels, self.fitted.logits.argmax(axis=1), self.targets.shape[1])


def _class_words(settings: MultimodalStrongParameters, learned: Collection[_Learned]) -> Array:
    """Return the words of classes, from what all modalities confuse."""
    counts = np.sum([one.confusion() for one in learned], axis=0)
    likely = np.concatenate([one.fitted.left_out_probabilities() for one in learned])
    return class_bucket(
        counts,
        n_bucket_bits(settings.n_bits, settings.n_rank_bits, len(counts)),
        settings.n_bits,
        np.random.default_rng(settings.seed),
        alike=affinity(likely),
    )


def _record(fitted: Mapping[str, ClassProbabilities]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name, one in fitted.items():
        record |= {
            f"{name} left_out_loss": one.loss,
            f"{name} penalty": one.penalty,
            f"{name} gaussian_units": one.units is not None,
        }
    return record | {"kept": True}
