import numpy as np
import pytest
from sklearn.linear_model import Ridge as TheirRidge

import kinhash
from kinhash.encoders import KernelEncoder, LinearEncoder
from kinhash.errors import InvalidInputError
from kinhash.methods import FSDH, LSH
from kinhash.methods.parts.ridge import Ridge
from kinhash.methods.rivals.fsdh import discrete_codes, first_codes
from kinhash.metrics import evaluate_codes

# Small parts of digits have columns that are constant.
pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.ConstantColumnWarning")


def measures(model, X, y):
    codes = model.encode(X)
    return evaluate_codes(codes[:200], y[:200], codes[200:], y[200:])


@pytest.mark.parametrize("nu", [0.0, 0.3])
def test_turns_equal_loops_over_rows_and_bits(rng, nu):
    n, n_bits, n_classes = 30, 7, 3
    Y = np.eye(n_classes)[rng.integers(n_classes, size=n)]
    Z = rng.normal(size=(n, 5)).astype(np.float32)
    B = rng.choice([-1.0, 1.0], (n, n_bits))
    found, losses = discrete_codes(Y, B, Ridge(Z), 0.5, nu=nu, ridge=2.0, max_turns=4)
    expected = []
    for _ in range(4):
        W = np.zeros((n_classes, n_bits))
        for c in range(n_classes):  # least squares: a class's mean code, shrunk
            rows = np.flatnonzero(Y[:, c])
            W[c] = sum(B[row] for row in rows) / (len(rows) + 2.0)
        F = TheirRidge(alpha=0.5).fit(Z, B).predict(Z)
        signs, loss = np.zeros_like(B), 2.0 * np.sum(W**2)
        for row in range(n):
            for bit in range(n_bits):
                said = W[Y[row].argmax(), bit]
                signs[row, bit] = 1 if said + nu * F[row, bit] > 0 else -1
                loss += (signs[row, bit] - said) ** 2 + nu * (signs[row, bit] - F[row, bit]) ** 2
        expected.append(loss / (n * n_bits))
        if (signs == B).all():
            break
        B = signs
    assert np.array_equal(found, B)
    assert losses == pytest.approx(expected, rel=1e-4)
    assert len(losses) > 1


def test_rows_of_a_class_get_one_code_far_from_those_of_others(rng):
    Y = np.eye(10)[rng.integers(10, size=100)]
    codes = np.unique(first_codes(Y, 64, rng), axis=0)
    assert len(codes) == 10
    distances = (codes[:, None] != codes).sum(axis=2)
    assert distances[~np.eye(10, dtype=bool)].min() >= 26


def test_rows_with_tags_start_from_the_signs_of_the_sum(rng):
    tags = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0]])
    codes = first_codes(tags, 64, rng)
    assert set(np.unique(codes)) == {-1, 1}
    assert np.array_equal(codes[3], np.sign(codes[:3].sum(axis=0)))
    agree = codes[0] == codes[1]
    assert np.array_equal(codes[4, agree], codes[0, agree])


def test_outputs_are_a_regression_on_the_codes_of_the_classes(digits):
    X, y = digits
    X, y = X[:400], y[:400]
    model = FSDH(24, n_anchors=0).fit(X, y)
    assert isinstance(model.encoder_, LinearEncoder)
    U = model.encoder_.standardise(X).astype(np.float64)
    outputs = model.encoder_.forward(X)
    signs = np.array([np.where(outputs[y == c].mean(axis=0) > 0, 1.0, -1.0) for c in range(10)])
    gaps = [
        np.abs(TheirRidge(alpha=penalty).fit(U, signs[y]).predict(U) - outputs).max()
        for penalty in Ridge(U.astype(np.float32)).penalties
    ]
    assert min(gaps) < 1e-3


def test_it_ranks_far_better_than_random_projections(digits):
    X, y = digits
    learned = FSDH(32).fit(X[600:1000], y[600:1000])
    assert isinstance(learned.encoder_, KernelEncoder)
    found = measures(learned, X, y)
    assert found["map"] > measures(LSH(32).fit(X), X, y)["map"] + 0.3
    assert found["unique_codes"] > 30
    assert len(learned.history_) <= 3
    assert [look["kept"] for look in learned.history_][-1]


def test_nu_lets_the_vectors_move_codes_away_from_those_of_the_classes(rng):
    Y = np.eye(2)[np.arange(40) % 2]
    start, Z = rng.choice([-1.0, 1.0], (40, 8)), Ridge(rng.normal(size=(40, 6)).astype(np.float32))
    codes = [
        discrete_codes(Y, start, Z, 0.1, nu=nu, ridge=1.0, max_turns=1)[0] for nu in (1e-5, 1.0)
    ]
    assert [len(np.unique(each, axis=0)) == 2 for each in codes] == [True, False]


def test_tags_teach_too(digits):
    X, y = digits
    X, y = X[:600], y[:600]
    tags = np.stack([y % 2 == 0, y % 3 == 0, y >= 5, y == 9], axis=1).astype(int)
    codes, plain = (model.encode(X) for model in (FSDH(32).fit(X, tags), LSH(32).fit(X)))
    some = np.flatnonzero(tags.any(axis=1))
    found = [
        evaluate_codes(c[some[:100]], tags[some[:100]], c[some[100:]], tags[some[100:]])["map"]
        for c in (codes, plain)
    ]
    assert found[0] > found[1] + 0.2


def test_one_bit_can_be_learned(digits):
    X, y = digits
    assert FSDH(1).fit(X[:300], y[:300] % 2).encode(X).n_unique == 2


def test_files_give_equal_codes(digits, tmp_path):
    X, y = digits
    model = FSDH(70).fit(X[:300], y[:300])
    model.save(tmp_path / "m.kinhash")
    loaded = kinhash.load(tmp_path / "m.kinhash")
    assert loaded.encode(X) == model.encode(X)
    assert loaded.history_ == model.history_


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({}, None, "FSDH requires y to be passed"),
        ({}, [3] * 100, "single class, 3; learning codes needs at least two"),
        ({"nu": -1}, [0, 1] * 50, "`nu` must be a number of at least 0, got -1"),
        ({"ridge": 0}, [0, 1] * 50, "`ridge` must be a number greater than 0, got 0"),
        ({"n_anchors": -1}, [0, 1] * 50, "`n_anchors` must be an integer of at least 0, got -1"),
        ({"gamma": 0}, [0, 1] * 50, "`gamma` must be a number greater than 0, got 0"),
        ({"max_turns": 0}, [0, 1] * 50, "`max_turns` must be an integer of at least 1, got 0"),
    ],
)
def test_bad_labels_and_parameters_are_refused(digits, parameters, y, message):
    with pytest.raises(InvalidInputError, match=message):
        FSDH(**parameters).fit(digits[0][:100], y)
