"""Small data and a tiny trained model for the tests; and no silent skips in continuous checks."""

import os
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kinhash import SparseHash


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """With KINHASH_NO_SKIPS set, a skipped test is a failed one."""
    outcome = yield
    report = outcome.get_result()
    if os.environ.get("KINHASH_NO_SKIPS") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and nothing may be skipped here: {report.longrepr}"


@pytest.fixture(scope="session")
def digits():
    X, y = load_digits(return_X_y=True)
    varying = (X[:200].std(axis=0) > 0) & (X[:300].std(axis=0) > 0)
    return X[:, varying].astype(np.float32), y


@pytest.fixture(scope="session")
def tiny_model(digits):
    X, y = digits
    return SparseHash(n_bits=24, max_steps=150, seed=1).fit(X[:600], y[:600])


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def ignore_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
