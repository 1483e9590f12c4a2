import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from sklearn.datasets import make_blobs
from sklearn.linear_model import Ridge as TheirRidge

from kinhash.encoders import (
    ClassLevelsEncoder,
    ClassRankEncoder,
    KernelClassLevelsEncoder,
    KernelClassRankEncoder,
)
from kinhash.methods.parts import class_probabilities
from kinhash.methods.parts.class_probabilities import (
    SHRINKAGE,
    USUAL_SLOPE,
    RankBits,
    calibration,
    fit_class_probabilities,
    losses,
)
from kinhash.methods.standardisation import standardisation


@pytest.fixture(autouse=True)
def few_units(monkeypatch):
    monkeypatch.setattr(class_probabilities, "N_UNITS", 150)


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(300, n_features=4, centers=4, cluster_std=3.0, random_state=1)
    return X.astype(np.float32), y


def one_hot(y):
    return np.eye(int(y.max()) + 1, dtype=np.uint8)[y]


def fitted(X, targets, **options):
    mean, scale, _ = standardisation(X)
    return fit_class_probabilities(
        X, mean, scale, targets, **({"exclusive": True, "gamma": 1.0, "seed": 0} | options)
    )


def with_inputs(monkeypatch, kind):
    """Let plain vectors, or units, be what is worth it."""
    monkeypatch.setattr(class_probabilities, "WORTH_LOSS", 0.0 if kind == "plain" else np.inf)
    monkeypatch.setattr(class_probabilities, "WORTH_SURE", np.inf)


@pytest.mark.parametrize("kind", ["plain", "units"])
def test_logits_are_those_of_regressions_without_the_row(blobs, kind, monkeypatch):
    with_inputs(monkeypatch, kind)
    X, y = blobs[0][:40], blobs[1][:40]
    Y = one_hot(y)
    found = fitted(X, Y)
    Z = found.inputs.astype(np.float64)
    said = np.zeros(Y.shape)
    for row in range(len(Z)):
        others = np.arange(len(Z)) != row
        theirs = TheirRidge(alpha=found.penalty).fit(Z[others], Y[others])
        said[row] = theirs.predict(Z[row : row + 1])[0]
    whole = TheirRidge(alpha=found.penalty).fit(Z, Y)
    loss, slope, shift = calibration(said, Y.astype(float), exclusive=True)
    np.testing.assert_allclose(found.logits, slope * said + shift, atol=0.02 * slope)
    np.testing.assert_allclose(found.loss, loss, atol=0.01)
    logits = Z @ found.W.T + found.bias
    np.testing.assert_allclose(logits, slope * whole.predict(Z) + shift, atol=0.02 * slope)
    assert found.rows.tolist() == list(range(40))


def test_inputs_and_penalty_have_the_least_loss_of_all(blobs):
    X, y = blobs
    Y = one_hot(y).astype(float)
    found = fitted(X, one_hot(y))
    tried = [
        calibration(found.ridge.left_out(Y, penalty), Y, exclusive=True)[0]
        for penalty in found.ridge.penalties
    ]
    assert found.loss == min(tried)
    assert found.penalty == found.ridge.penalties[np.argmin(tried)]
    assert found.loss == pytest.approx(losses(found.logits, Y, exclusive=True).mean())


def penalised(at, predicted, Y, *, exclusive):
    logits = at[0] * predicted + at[1:]
    return losses(logits, Y, exclusive=exclusive).mean() + SHRINKAGE * (at[1:] @ at[1:])


@pytest.mark.parametrize("exclusive", [True, False])
def test_the_calibration_has_the_least_loss(rng, exclusive):
    Y = one_hot(rng.integers(3, size=200)).astype(float)
    if not exclusive:
        Y = (rng.random((200, 3)) < (0.1, 0.4, 0.8)).astype(float)
    predicted = 0.3 * Y + 0.2 * rng.normal(size=Y.shape)
    loss, slope, shift = calibration(predicted, Y, exclusive=exclusive)
    at = np.append(slope, shift)
    best = penalised(at, predicted, Y, exclusive=exclusive)
    gradient = scipy.optimize.approx_fprime(
        at, lambda at: penalised(at, predicted, Y, exclusive=exclusive), 1e-6
    )
    np.testing.assert_allclose(gradient, 0, atol=2e-3)
    for _ in range(100):
        near = at + 0.2 * rng.normal(size=4)
        assert penalised(near, predicted, Y, exclusive=exclusive) >= best - 1e-6
    logits = slope * predicted + shift
    assert loss == pytest.approx(losses(logits, Y, exclusive=exclusive).mean())


def test_calibrated_probabilities_can_be_believed(rng):
    """Of the rows that are given 70 to 90 %, as many are of the class."""
    logits = 2 * rng.normal(size=(20_000, 3))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) > rng.random((20_000, 1))).argmax(axis=1)
    _, slope, shift = calibration(logits / 7, one_hot(y).astype(float), exclusive=True)
    assert slope == pytest.approx(7, rel=0.05)
    np.testing.assert_allclose(shift - shift.mean(), 0, atol=0.06)


def test_a_regression_that_is_worse_than_chance_is_not_turned_round(rng):
    Y = one_hot(np.arange(60) % 2).astype(float)
    _, slope, _ = calibration(-Y + 0.1 * rng.normal(size=Y.shape), Y, exclusive=True)
    assert slope == pytest.approx(0.1)


def test_of_few_rows_the_slope_is_the_usual_one(rng):
    X = rng.normal(size=(6, 3)).astype(np.float32)
    with pytest.warns(UserWarning, match="6 rows are too few to tell .* Add rows: 10 or more"):
        found = fitted(X, one_hot(np.arange(6) % 3))
    assert np.isfinite(found.loss)
    Y = np.eye(3)[np.arange(6) % 3]
    assert calibration(Y, Y, exclusive=True)[1] == USUAL_SLOPE
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(rng.normal(size=(10, 3)).astype(np.float32), one_hot(np.arange(10) % 3))


@pytest.mark.parametrize("exclusive", [True, False])
def test_losses_are_negative_logarithms_of_likelihoods(rng, exclusive):
    logits = 3 * rng.normal(size=(30, 4))
    Y = one_hot(rng.integers(4, size=30)) if exclusive else rng.integers(2, size=(30, 4))
    found = losses(logits, Y, exclusive=exclusive)
    for row in range(30):
        if exclusive:
            likely = np.exp(logits[row]) / np.exp(logits[row]).sum()
            expected = -np.log(likely[Y[row].argmax()])
        else:
            likely = 1 / (1 + np.exp(-logits[row]))
            expected = -np.log(np.where(Y[row], likely, 1 - likely)).sum()
        assert found[row] == pytest.approx(expected)
    assert np.isfinite(losses(np.array([[1e3, -1e3]]), np.eye(1, 2, 1), exclusive=exclusive)).all()


def test_units_are_used_where_they_are_worth_it(rng):
    """Two rings need the kernel; two half-spaces in many directions do not."""
    angles = rng.uniform(0, 2 * np.pi, 300)
    y = np.arange(300) % 2
    radii = np.where(y, 1.0, 3.0)[:, None]
    rings = radii * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rings += 0.1 * rng.normal(size=(300, 2))
    assert fitted(rings.astype(np.float32), one_hot(y)).units is not None
    far = rng.normal(size=(300, 30)).astype(np.float32)
    assert fitted(far, one_hot((far[:, 0] > 0).astype(int))).units is None


RANK = RankBits(
    np.zeros((0, 0)),
    np.array([[0.5, -1.0, 0.0, 0.2], [0.0, 0.3, 0.3, -1.0]]),
    np.array([0.1, -0.2]),
    np.array([[0.2, -0.1, 0.0, 0.4], [-0.3, 0.1, 0.5, 0.0]]),
    np.zeros((0, 2)),
)


@pytest.mark.parametrize("exclusive", [True, False])
@pytest.mark.parametrize("kind", ["plain", "units"])
def test_encoders_give_the_probabilities_of_the_regression(
    blobs, kind, exclusive, monkeypatch, rng
):
    with_inputs(monkeypatch, kind)
    X, y = blobs
    found = fitted(X, one_hot(y), exclusive=exclusive)
    # The whitening of units enlarges the rounding of a kernel value up to 32 times.
    np.testing.assert_allclose(found.seen(X), found.inputs, atol=1e-4)
    codes = np.eye(8, dtype=np.uint8).reshape(2, 4, 8)
    R = 0.3 * rng.normal(size=(2, found.inputs.shape[1]))
    levels = found.encoder(codes, 0.5)
    both = found.rank_encoder(codes, 0.5, RankBits(R, RANK.G, RANK.bias, RANK.A, RANK.own))
    plain = kind == "plain"
    assert type(levels) is (ClassLevelsEncoder if plain else KernelClassLevelsEncoder)
    assert type(both) is (ClassRankEncoder if plain else KernelClassRankEncoder)
    logits = found.inputs @ found.W.T + found.bias

    def probabilities(logits):
        if not exclusive:
            return 1 / (1 + np.exp(-logits))
        return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)

    for encoder in (levels, both):
        np.testing.assert_allclose(encoder.predict(X), probabilities(logits / 0.5), atol=5e-3)
    expected = found.inputs @ R.T + np.sqrt(probabilities(logits)) @ RANK.G.T + RANK.bias
    np.testing.assert_allclose(both.forward(X)[:, 8:], expected, atol=5e-3)
    assert np.array_equal(both.encode(X).to_dense(), levels.encode(X).to_dense())


@pytest.mark.parametrize("exclusive", [True, False])
def test_units_are_also_used_where_rows_are_surer_of_their_class(rng, exclusive, monkeypatch):
    """A ring within a ring: no half-space tells them apart. Of tags, only the loss counts."""
    angles, y = rng.uniform(0, 2 * np.pi, 300), rng.integers(2, size=300)
    X = ((1 + 2 * y)[:, None] * np.stack([np.cos(angles), np.sin(angles)], 1)).astype(np.float32)
    monkeypatch.setattr(class_probabilities, "WORTH_LOSS", 0.0)
    assert (fitted(X, one_hot(y), exclusive=exclusive).units is not None) == exclusive
    # Without units each row is sure of its class by half.
    monkeypatch.setattr(class_probabilities, "WORTH_SURE", 3.0)
    assert fitted(X, one_hot(y), exclusive=exclusive).units is None


def test_sparse_rows_are_of_unit_length(rng):
    X = scipy.sparse.random_array((120, 50), density=0.2, rng=rng, format="csr")
    y = np.asarray(X.toarray()[:, :25].sum(axis=1) > X.toarray()[:, 25:].sum(axis=1)).astype(int)
    found = fitted(X, one_hot(y))
    assert found.unit_rows
    if found.units is None:
        np.testing.assert_allclose(np.linalg.norm(found.inputs, axis=1), 1, atol=1e-5)
    encoder = found.rank_encoder(
        np.eye(2, dtype=np.uint8)[None],
        1.0,
        RankBits.none(found.W.shape[1], 2),
    )
    logits = found.seen(X) @ found.W.T + found.bias
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(encoder.predict(X.toarray()), expected, atol=5e-3)


def test_sharpened_probabilities_are_powers_scaled_to_sum_one(blobs):
    X, y = blobs
    found = fitted(X, one_hot(y))
    usual, sharp = found.left_out_probabilities(), found.left_out_probabilities(0.25)
    np.testing.assert_allclose(sharp, usual**4 / (usual**4).sum(axis=1, keepdims=True), atol=1e-6)


def test_of_many_rows_some_are_used(blobs, monkeypatch):
    X, y = blobs
    monkeypatch.setattr(class_probabilities, "MAX_ROWS", 90)
    found = fitted(X, one_hot(y))
    assert len(found.rows) == len(found.logits) == len(found.inputs) == 90
    assert np.array_equal(found.rows, np.unique(found.rows))
    monkeypatch.setattr(class_probabilities, "MAX_VALUES", 4 * 50)
    assert len(fitted(X, one_hot(y)).rows) == 50


@pytest.mark.parametrize("exclusive", [True, False])
def test_codes_of_rows_left_out_see_nothing_of_their_own(blobs, exclusive, rng):
    """Logits of the others take the place of the fitted ones; what directions learned goes."""
    X, y = blobs
    found = fitted(X, one_hot(y), exclusive=exclusive)
    codes = rng.integers(0, 2, (1, 4, 9)).astype(np.uint8)
    R, bias = rng.normal(size=(2, found.inputs.shape[1])), RANK.bias
    own = rng.normal(size=(len(X), 2))
    rank = RankBits(R + RANK.A @ found.W, RANK.G, bias + RANK.A @ found.bias, RANK.A, own)
    left_out = found.left_out_codes(codes, 0.5, rank)
    likely = found.left_out_probabilities()
    outputs = found.inputs @ R.T + bias + found.logits @ RANK.A.T + np.sqrt(likely) @ RANK.G.T - own
    sure = np.abs(outputs) > 1e-3
    assert sure.mean() > 0.9
    assert np.array_equal(left_out.rank_to_dense()[sure], (outputs > 0)[sure])
    if exclusive:  # at least half of the probability, or the likeliest class
        sharp = found.left_out_probabilities(0.5)
        assert np.array_equal(left_out.to_dense(), codes[0][sharp.argmax(axis=1)])
    encoded = found.rank_encoder(codes, 0.5, rank).encode(X)
    same = left_out.rank_to_dense() == encoded.rank_to_dense()
    assert 0.5 < same.mean() < 1
    assert found.left_out_codes(codes, 0.5, RankBits.none(R.shape[1], 4)).n_rank_bits == 0
