"""How sharp the probabilities are that codes are written from."""

from collections.abc import Callable

import numpy as np

from kinhash.arrays import Array
from kinhash.codes import Codes
from kinhash.encoders.class_levels import written
from kinhash.metrics import evaluate_codes

TEMPERATURES = (1.0, 0.7, 0.5, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02)
USUAL_TEMPERATURE = 0.1  # where nothing can be held out
NEAR = 2  # the usual radius


def best_temperature(likely: Callable[[float], Array], targets: Array, class_codes: Array) -> float:
    """Return the temperature with the best mean of F1 at r = 0 and F1 at r <= 2.

    Args:
        likely: Gives the probabilities of rows at a temperature, each row's when it is left out.
        targets: `(n, n_classes)` of 0 and 1, of the same rows, which are searched with one another.
        class_codes: `(n_levels, n_classes, n_bits)`, from which their codes are written.
    """
    # A row without a tag, or whose tags no other row has, has nothing to find.
    findable = (targets & (targets.sum(axis=0, dtype=np.int64) > 1)).any(axis=1)
    if not findable.any():
        return USUAL_TEMPERATURE
    scores = []
    for temperature in TEMPERATURES:
        rows = Codes.from_dense(written(likely(temperature).astype(np.float32), class_codes))
        found = evaluate_codes(
            rows[findable],
            targets[findable],
            rows,
            targets,
            radii=(0, NEAR),
            at=(),
            own=np.flatnonzero(findable),
        )
        scores.append(found["f1@r0"] + found[f"f1@r{NEAR}"])
    return TEMPERATURES[int(np.argmax(scores))]
