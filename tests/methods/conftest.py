"""Two modalities of digits, and how well one finds the other."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kinhash.metrics import evaluate_codes

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@pytest.fixture(scope="session")
def halves():
    X, y = load_digits(return_X_y=True)
    return {"upper": X[:, 1:32], "lower": X[:, 40:]}, y  # without the columns that are constant


@pytest.fixture(scope="session")
def described():
    """Pictures of digits, and texts with their names."""
    X, y = load_digits(return_X_y=True)
    parity = np.array(["even", "odd"])
    texts = [f"{WORDS[digit]} {parity[digit % 2]} number" for digit in y]
    return {"image": X[:, X.std(axis=0) > 0], "text": texts}, y


@pytest.fixture(scope="session")
def taken():
    """Return a function that gives some rows of each modality."""

    def take(X, rows):
        def some(values):
            return [values[row] for row in rows] if isinstance(values, list) else values[rows]

        return {name: some(values) for name, values in X.items()}

    return take


@pytest.fixture(scope="session")
def mean_precision(taken):
    """Return a function: the mAP of a modality's last rows as queries among another's first."""

    def measure(method, X, y, query, database, rows=slice(1400, None), found=slice(0, 1400)):
        everything = np.arange(len(y))
        q = method.encode(taken(X, everything[rows])[query], modality=query)
        d = method.encode(taken(X, everything[found])[database], modality=database)
        return evaluate_codes(q, y[rows], d, y[found], at=[10])["map"]

    return measure
