"""No collapse is silent: what healthy codes look like, and the warnings when they do not."""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping

import numpy as np

from kinhash.codes import Codes
from kinhash.errors import CollapseWarning, warn

# At margin 7, runs that are nearer than this after 50 steps tend to end in a single code.
EARLY_DISTANCE = 3.0
SATURATED_DISTANCE = 1.0  # below this before the first step, the tanh is flat
COLLAPSED_DISTANCE = 1.0  # codes nearer than this at the end: most dissimilar items share one
MOSTLY_EMPTY = 0.5  # share of empty codes from which a modality has collapsed
MOSTLY_SAME = 0.9  # share of equal codes, likewise: a class may well have most of the rows
RARELY = 0.01  # a bit that fewer rows have is not in use
LEAST_SHARED = 0.1  # share of the bits in use that two modalities should both use


@dataclasses.dataclass(frozen=True)
class Health:
    """What a healthy run looks like, and what to change in another one."""

    distance: float  # how far apart the loss wants the outputs of dissimilar items
    beta: float  # slope of the tanh
    usual_beta: float  # the slope that suits most data
    remedy: str  # one sentence: which parameter to change, and how


def warn_early(health: Health, initial: float, early: float) -> None:
    """Warn if a run is about to collapse.

    Args:
        health: What it should look like.
        initial: Mean distance of dissimilar outputs before the first step.
        early: The same after a few steps.
    """
    if initial < min(SATURATED_DISTANCE, health.distance / 7):
        cause, advice = "saturate", _lower_beta(health)
        if health.beta < 1:
            cause, advice = "hardly move", _raise_beta(health)
        warn(
            f"Dissimilar items start {initial:.2g} bits apart: the inputs {cause} the network's "
            f"outputs. {advice}",
            CollapseWarning,
        )
    elif early < min(EARLY_DISTANCE, health.distance * 3 / 7):
        warn(
            f"After 50 steps dissimilar items are {early:.2g} bits apart, and codes tend to "
            f"collapse from there. {health.remedy}",
            CollapseWarning,
        )


def warn_after(health: Health, codes: Mapping[str, Codes], kept: Mapping[str, float]) -> None:
    """Warn of each way in which the codes of a finished run have collapsed.

    Args:
        health: What they should look like.
        codes: Of training rows, for each modality.
        kept: The record of the network that was kept: see `kinhash.training.loop.train`.
    """
    for problem in _problems(health, codes, kept):
        warn(problem, CollapseWarning)


def _problems(
    health: Health, codes: Mapping[str, Codes], kept: Mapping[str, float]
) -> Iterator[str]:
    least = min(COLLAPSED_DISTANCE, health.distance / 7)
    if len(codes) == 1:
        if kept["code_distance"] < least:
            (only,) = codes.values()
            # Outputs that differ, but do not round to different codes, want another slope.
            soft = kept["dissimilar_distance"] >= 2 * least
            advice = (
                f"Outputs are far from binary: {_raise_beta(health)}" if soft else health.remedy
            )
            yield f"{_shared_codes(only)} {advice}"
        return
    # In the mean over all pairs, one modality that collapses would hide behind the others.
    for name, own in codes.items():
        problem = _collapse(own)
        if problem:
            yield f"The codes of {name!r} have collapsed: {problem}. {health.remedy}"
    in_use = {name: np.abs(own.to_dense()).mean(axis=0) > RARELY for name, own in codes.items()}
    for left, right in itertools.combinations(in_use, 2):
        both = int((in_use[left] & in_use[right]).sum())
        either = int((in_use[left] | in_use[right]).sum())
        if both < LEAST_SHARED * either:
            yield (
                f"{left!r} and {right!r} use different bits ({both} of {either} in common), so "
                f"that neither finds the other. {health.remedy}"
            )


def _shared_codes(codes: Codes) -> str:
    empty = float((codes.n_active == 0).mean())
    return (
        f"Dissimilar items share codes: {len(codes)} training rows have {codes.n_unique} "
        f"different code{'s' * (codes.n_unique > 1)}, {empty:.0%} of them the empty one."
    )


def _collapse(codes: Codes) -> str | None:
    """Return what is wrong with the codes of one modality, or None."""
    empty = float((codes.n_active == 0).mean())
    if empty > MOSTLY_EMPTY:
        return f"{empty:.0%} of its rows have the empty code"
    _, counts = np.unique(codes.words, axis=0, return_counts=True)
    same = float(counts.max() / len(codes))
    if same > MOSTLY_SAME and len(codes) > 2:
        return f"{same:.0%} of its rows have the same code"
    return None


def _raise_beta(health: Health) -> str:
    wanted = health.usual_beta if health.beta < health.usual_beta else 3 * health.beta
    return f"Raise `beta` (now {health.beta:g}) to {wanted:g}."


def _lower_beta(health: Health) -> str:
    wanted = health.usual_beta if health.beta > health.usual_beta else health.beta / 3
    return f"Lower `beta` (now {health.beta:g}) to {wanted:g}."
