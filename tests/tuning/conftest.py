import numpy as np
import pytest

from kinhash.tuning.trials import Rows


@pytest.fixture(scope="session")
def train(digits):
    """600 rows of digits, and their labels."""
    X, y = digits
    return X[:600], y[:600]


@pytest.fixture
def rows(train):
    return Rows(*train, seed=0)


@pytest.fixture
def bare(train):
    """The same without labels."""
    return Rows(train[0], None, seed=0)


@pytest.fixture
def blobs(rng):
    """90 rows of three classes of different sizes, and their labels."""
    labels = np.repeat([0, 1, 2], [12, 48, 30])
    return (rng.normal(size=(3, 5)) * 4)[labels] + rng.normal(size=(90, 5)), labels
