"""`Schedule`: how long and how fast to train.

Needs no torch, so that parameters are checked before torch is asked for.
"""

import dataclasses


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
