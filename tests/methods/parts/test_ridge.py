import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge as TheirRidge

from kinhash.methods.parts import ridge
from kinhash.methods.parts.ridge import Ridge, chosen_inputs
from kinhash.methods.standardisation import standardisation


@pytest.fixture(params=[(40, 6), (12, 30)], ids=["tall", "wide"])
def problem(request, rng):
    n, d = request.param
    Z = rng.normal(size=(n, d)).astype(np.float32) + 2
    return Z, rng.normal(size=(n, 3)) + np.array([1, -5, 0])


@pytest.mark.parametrize("penalty", [0.1, 10.0])
def test_the_closed_form_is_the_regression_of_scikit_learn(problem, penalty):
    Z, T = problem
    theirs = TheirRidge(alpha=penalty).fit(Z.astype(np.float64), T)
    W, b = Ridge(Z).weights(T, penalty)
    np.testing.assert_allclose(W, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(b, theirs.intercept_, atol=1e-3)
    np.testing.assert_allclose(Ridge(Z).predicted(T, penalty), theirs.predict(Z), atol=1e-4)


@pytest.mark.parametrize("penalty", [0.1, 10.0])
def test_what_is_said_of_rows_left_out_is_said_by_regressions_without_them(problem, penalty):
    Z, T = problem
    said = np.zeros(T.shape)
    for row in range(len(Z)):
        others = np.arange(len(Z)) != row
        theirs = TheirRidge(alpha=penalty).fit(Z[others].astype(np.float64), T[others])
        said[row] = theirs.predict(Z[row : row + 1])[0]
    np.testing.assert_allclose(Ridge(Z).left_out(T, penalty), said, atol=2e-3)
    expected = np.square(said - T).mean()
    assert Ridge(Z).left_out_error(T, penalty) == pytest.approx(expected, rel=1e-3)


def test_principal_directions_are_those_of_scikit_learn(problem):
    Z, _ = problem
    theirs = PCA(4).fit(Z.astype(np.float64)).components_.T
    ours = Ridge(Z).principal(4)
    np.testing.assert_allclose(np.abs(np.diag(ours.T @ theirs)), 1, atol=1e-4)
    assert Ridge(Z).principal(100).shape[1] == min(Z.shape[1], len(Z) - 1)


def test_parts_of_rows_along_directions_that_others_gave_are_smaller(rng):
    """In many columns, each row draws the directions of all towards itself."""
    n, k = 120, 3
    Z = rng.normal(size=(n, k)) * [6, 5, 4] @ rng.normal(size=(k, 200)) / 28
    Z = (Z + 0.5 * rng.normal(size=Z.shape)).astype(np.float32)
    found = Ridge(Z)
    parts = found.Z @ found.principal(k)
    left_out = np.zeros((n, k))
    for row in range(n):
        others = np.delete(Z, row, axis=0).astype(np.float64)
        left_out[row] = (Z[row] - others.mean(axis=0)) @ PCA(k).fit(others).components_.T
    lengths = [np.linalg.norm(one) for one in (parts, left_out, parts - found.taught(k))]
    assert lengths[0] > 1.03 * lengths[1]
    assert lengths[2] == pytest.approx(lengths[1], rel=0.01)
    square = rng.normal(size=(50, 4)).astype(np.float32)  # directions in which all of a row lies
    np.testing.assert_allclose(Ridge(square).taught(4), 0, atol=1e-5)


def chosen(X, T, n_units=50):
    mean, scale, _ = standardisation(X)
    return chosen_inputs(X, mean, scale, T, n_units=n_units, gamma=1.0, seed=0)


def test_inputs_and_penalty_have_the_least_error_of_all(rng):
    """Two rings need the kernel; two half-spaces in many directions do not."""
    y = np.arange(200) % 2
    angles = rng.uniform(0, 2 * np.pi, 200)
    rings = np.where(y, 1.0, 3.0)[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    T = np.eye(2)[y]
    found = chosen(rings.astype(np.float32), T)
    assert found.units is not None
    assert chosen(rings.astype(np.float32), T, n_units=0).units is None
    errors = [found.ridge.left_out_error(T, penalty) for penalty in found.ridge.penalties]
    assert found.error == min(errors) == found.ridge.left_out_error(T, found.penalty)
    far = rng.normal(size=(200, 30)).astype(np.float32)
    assert chosen(far, np.eye(2)[(far[:, 0] > 0).astype(int)]).units is None


def test_of_many_rows_only_some_are_used(rng, monkeypatch):
    monkeypatch.setattr(ridge, "MAX_ROWS", 60)
    X = rng.normal(size=(100, 4)).astype(np.float32)
    found = chosen(X, np.eye(2)[(X[:, 0] > 0).astype(int)])
    assert len(found.rows) == len(found.ridge.Z) == 60
    assert np.array_equal(found.rows, np.unique(found.rows))


def test_inputs_that_do_not_vary_foretell_the_mean():
    T = np.array([[0.0], [1.0], [5.0]])
    constant = Ridge(np.ones((3, 2), np.float32))
    assert constant.predicted(T, constant.penalties[0]).ravel().tolist() == [2, 2, 2]
