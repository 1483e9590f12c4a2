"""Settings for a wish: which method, how long its codes, which radius, from training data alone."""

from kinhash.tuning.goal import Goal, Wish
from kinhash.tuning.search import Tuned, tune

__all__ = ["Goal", "Tuned", "Wish", "tune"]
