import warnings

import numpy as np
import pytest

import kinhash
from kinhash import Pairs
from kinhash.encoders import KernelTopKEncoder, TopKEncoder
from kinhash.errors import CollapseWarning, InvalidInputError
from kinhash.methods import CSR, LSH
from kinhash.metrics import evaluate_codes

# Small parts of digits have columns that are constant.
pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.ConstantColumnWarning")


def measures(model, X, y):
    codes = model.encode(X)
    return evaluate_codes(codes[:200], y[:200], codes[200:], y[200:])


@pytest.mark.parametrize("parameters", [{}, {"n_anchors": 0}, {"n_active": 8}])
def test_it_ranks_better_than_random_projections(digits, parameters):
    X, y = digits
    learned = CSR(32, max_steps=300, **parameters).fit(X[600:1000], y[600:1000])
    kind = TopKEncoder if "n_anchors" in parameters else KernelTopKEncoder
    assert type(learned.encoder_) is kind
    found = measures(learned, X, y)
    assert found["map"] > measures(LSH(32).fit(X), X, y)["map"] + 0.2
    assert set(learned.encode(X).n_active.tolist()) == {parameters.get("n_active", 3)}


def test_looks_see_codes_as_they_will_be(digits):
    X, y = digits
    model = CSR(32, n_active=4, max_steps=60).fit(X[:300], y[:300])
    assert {look["active"] for look in model.history_} == {4}


def test_annealing_brings_more_bits_into_use(digits):
    X, y = digits
    X, y = X[:600], y[:600]
    used = [
        (CSR(64, n_active=2, n_start=n, max_steps=300).fit(X, y).encode(X).to_dense()).any(axis=0)
        for n in (2, 32)
    ]
    assert used[1].sum() != used[0].sum()
    assert used[1].sum() >= 10


def test_tags_pairs_and_vectors_alone_teach_too(digits):
    X, y = digits
    X, y = X[:600], y[:600]
    baseline = measures(LSH(32).fit(X), X, y)["map"]
    rng = np.random.default_rng(0)
    i, j = rng.integers(600, size=(2, 6000))
    keep = i != j
    pairs = Pairs(i[keep], j[keep], (y[i] == y[j])[keep])
    for model in (
        CSR(32, max_steps=200).fit(X, np.eye(10, dtype=int)[y]),
        CSR(32, max_steps=200).fit(X, pairs=pairs),
        CSR(32, max_steps=200).fit(X),
    ):
        assert measures(model, X, y)["map"] > baseline + 0.05


def test_defaults_do_not_warn(digits):
    X, y = digits
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n_bits in (16, 128):
            CSR(n_bits).fit(X[:300], y[:300])


@pytest.mark.filterwarnings("ignore:Dissimilar items start:kinhash.errors.CollapseWarning")
def test_a_collapse_is_told_with_what_to_change(rng):
    """Most rows are equal, whatever their class."""
    X = np.where(np.arange(200)[:, None] % 20 == 0, 1.0, 0.0) * np.ones(3)
    with pytest.warns(
        CollapseWarning, match=r"Lower `temperature` \(now 0.3\) or raise `n_active`"
    ):
        CSR(16, n_active=1, max_steps=40).fit(X, rng.integers(2, size=200))


def test_files_give_equal_codes(digits, tmp_path):
    X, y = digits
    model = CSR(70, max_steps=50).fit(X[:300], y[:300])
    model.save(tmp_path / "m.kinhash")
    assert kinhash.load(tmp_path / "m.kinhash").encode(X) == model.encode(X)


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({}, [3] * 100, "single class, 3; learning codes needs at least two"),
        ({"n_bits": 1}, [0, 1] * 50, r"`n_bits` must be an integer of at least 2, got 1"),
        ({"n_active": 64}, [0, 1] * 50, r"`n_active` must be an integer in \[1, 63\], got 64"),
        ({"n_start": 5}, [0, 1] * 50, r"`n_start` must be an integer in \[6, 64\], got 5"),
        ({"temperature": 0}, [0, 1] * 50, "`temperature` must be a number of at least 0.01, got 0"),
        ({"n_anchors": -1}, [0, 1] * 50, "`n_anchors` must be an integer of at least 0, got -1"),
        ({"gamma": 0}, [0, 1] * 50, "`gamma` must be a number greater than 0, got 0"),
        ({"weight_decay": -1}, [0, 1] * 50, "`weight_decay` must be a number of at least 0"),
    ],
)
def test_bad_labels_and_parameters_are_refused(digits, parameters, y, message):
    with pytest.raises(InvalidInputError, match=message):
        CSR(**parameters).fit(digits[0][:100], y)
