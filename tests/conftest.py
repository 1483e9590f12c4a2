"""Small data and a tiny trained model for the tests; and no silent skips in continuous checks."""

import os
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kinhash import SparseHash, datasets
from kinhash.errors import InvalidInputError

BUILT_IN = {"digits", "digits-words"}  # data sets that every machine has


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """With KINHASH_NO_SKIPS set, a skipped test is a failed one."""
    outcome = yield
    report = outcome.get_result()
    if os.environ.get("KINHASH_NO_SKIPS") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and nothing may be skipped here: {report.longrepr}"


@pytest.fixture(autouse=True)
def no_data_set_without_marker(request, monkeypatch, tmp_path_factory):
    """Fail a test that asks for a data set of this machine and is not marked `data`."""
    if request.node.get_closest_marker("data"):
        return
    nowhere = tmp_path_factory.getbasetemp() / "no-data-sets"
    monkeypatch.setenv("KINHASH_DATA", str(nowhere))

    def guarded(name, loader):
        def load(root, *options):
            if root == nowhere:
                pytest.fail(f"This test asks for {name!r}: mark it with `pytest.mark.data`.")
            return loader(root, *options)

        return load

    for name, loader in list(datasets.DATASETS.items()):
        if name not in BUILT_IN:
            monkeypatch.setitem(datasets.DATASETS, name, guarded(name, loader))


@pytest.fixture(scope="session")
def real_data():
    """Return a data set of this machine, or skip the test and say what was looked for and where."""

    def load(name, features=None):
        try:
            return datasets.load(name, features=features)
        except InvalidInputError as error:
            if " was not found: looked for " not in str(error):
                raise
            pytest.skip(str(error))

    return load


@pytest.fixture(scope="session")
def digits():
    X, y = load_digits(return_X_y=True)
    varying = (X[:200].std(axis=0) > 0) & (X[:300].std(axis=0) > 0)
    return X[:, varying].astype(np.float32), y


@pytest.fixture(scope="session")
def tiny_model(digits):
    pytest.importorskip("torch")  # all but .ci/floors have it
    X, y = digits
    return SparseHash(n_bits=24, recipe="paper", max_steps=150, seed=1).fit(X[:600], y[:600])


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def ignore_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
