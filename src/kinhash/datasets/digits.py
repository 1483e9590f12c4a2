"""Digits: 1,797 grey images of 8 x 8 pixels in ten classes, which come with scikit-learn."""

from pathlib import Path

import numpy as np
import sklearn.datasets

from kinhash.datasets.dataset import Dataset
from kinhash.errors import unknown_name
from kinhash.progress import Progress


def load_digits(
    _root: Path, features: str | None = None, _progress: Progress | None = None
) -> Dataset:
    """Return all images; the vectors are their 64 pixels, in [0, 16].

    Args:
        features: "pixels", the default.

    Raises:
        InvalidInputError: `features` is unknown.
    """
    if features not in (None, "pixels"):
        raise unknown_name("kind of features for digits", features, ("pixels",))
    digits = sklearn.datasets.load_digits()
    return Dataset(
        "digits",
        digits.data.astype(np.float32),
        labels=digits.target.astype(np.int64),
        images=np.rint(digits.images * (255 / 16)).astype(np.uint8),
        names=tuple(str(digit) for digit in digits.target_names),
    )
