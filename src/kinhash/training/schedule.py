"""`Schedule`: how long and how fast to train, and on what part.

Needs no torch, so that parameters are checked before torch is asked for.
"""

import dataclasses

import numpy as np

from kinhash.pairs import Source

FEWEST_HELD_OUT = 20  # with fewer units than this held out, their loss is noise: train to the end


@dataclasses.dataclass(frozen=True)
class Schedule:
    """How long and how fast to train."""

    optimizer: str
    learning_rate: float
    momentum: float
    batch_size: int
    max_epochs: int
    max_steps: int
    patience: int
    validation_share: float
    seed: int
    device: str
    warm_up: float = 0.0  # share of the steps over which the rate rises, before it falls
    clip: float | None = None  # longest step, as the norm of the gradient


def divided(
    source: Source, schedule: Schedule, rng: np.random.Generator
) -> tuple[Source, Source] | None:
    """Return what is learned from and what is held out; None if too little would be held out."""
    learned, held_out = source.split(rng, schedule.validation_share)
    return (learned, held_out) if held_out.n_units >= FEWEST_HELD_OUT else None
