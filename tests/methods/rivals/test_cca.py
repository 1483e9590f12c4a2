import numpy as np
import pytest
import scipy.sparse
from sklearn.cross_decomposition import CCA

from kinhash.methods.rivals import cca
from kinhash.methods.rivals.cca import canonical_directions, mean_row, rotated_bits, whitening


def shared(rng, n=400, d1=7, d2=5, n_shared=3, noise=1.0):
    """Two modalities that have a few directions in common."""
    Z = rng.normal(size=(n, n_shared))
    X = Z @ rng.normal(size=(n_shared, d1)) + noise * rng.normal(size=(n, d1)) + 2
    Y = Z @ rng.normal(size=(n_shared, d2)) + noise * rng.normal(size=(n, d2)) - 1
    return X.astype(np.float32), Y.astype(np.float32)


def learned(X, Y, n_bits=4, **settings):
    settings = {"regularisation": 0.1, "power": 1, "n_iterations": 20} | settings
    return rotated_bits(X, Y, n_bits=n_bits, rng=np.random.default_rng(0), **settings)


def codes(X, Y, found):
    return X @ found.P.T + found.a > 0, Y @ found.Q.T + found.b > 0


def test_correlations_are_those_of_scikit_learn(rng):
    X, Y = shared(rng)
    found = canonical_directions(X, Y, 4, 0)
    A, B = CCA(4, max_iter=5000, tol=1e-12).fit_transform(X, Y)
    expected = [np.corrcoef(A[:, c], B[:, c])[0, 1] for c in range(4)]
    assert found.correlations == pytest.approx(expected, abs=1e-3)


def test_projections_have_variance_1_and_correlate_only_with_their_partner(rng):
    X, Y = shared(rng)
    found = canonical_directions(X, Y, 5, 0)
    A, B = (X - found.mean_x) @ found.Wx, (Y - found.mean_y) @ found.Wy
    n = len(X)
    assert np.allclose(A.T @ A / n, np.eye(5), atol=1e-3)
    assert np.allclose(B.T @ B / n, np.eye(5), atol=1e-3)
    assert np.allclose(A.T @ B / n, np.diag(found.correlations), atol=1e-3)


def test_regularisation_is_that_of_the_covariances(rng):
    X, Y = shared(rng)
    found = canonical_directions(X, Y, 5, 0.5)
    U, V = X - X.mean(axis=0), Y - Y.mean(axis=0)
    n = len(X)
    roots = []
    for C in (U.T @ U / n, V.T @ V / n):
        raised = C + 0.5 * np.trace(C) / len(C) * np.eye(len(C))
        roots.append(np.linalg.inv(np.linalg.cholesky(raised)))
    sizes = np.linalg.svd(roots[0] @ (U.T @ V / n) @ roots[1].T, compute_uv=False)
    assert found.correlations == pytest.approx(sizes, abs=1e-4)


@pytest.mark.parametrize("sparse", [(True, False), (False, True), (True, True)])
def test_sparse_rows_give_the_same_bits(rng, sparse):
    X, Y = shared(rng)
    X, Y = np.where(X > 2, X, 0), np.where(Y > -1, Y, 0)
    given = [
        scipy.sparse.csr_array(rows) if is_sparse else rows
        for rows, is_sparse in zip((X, Y), sparse, strict=True)
    ]
    found, expected = learned(*given), learned(X, Y)
    for one, other in zip(found[:4], expected[:4], strict=True):
        assert one == pytest.approx(other, abs=1e-3)


def test_pieces_give_the_same_directions(rng, monkeypatch):
    X, Y = shared(rng)
    expected = canonical_directions(X, Y, 3, 0.1)
    monkeypatch.setattr(cca, "CHUNK_ROWS", 33)
    found = canonical_directions(scipy.sparse.csr_array(X), Y, 3, 0.1)
    assert found.Wx == pytest.approx(expected.Wx, abs=1e-3)
    assert mean_row(X) == pytest.approx(X.mean(axis=0), abs=1e-5)


def test_dependent_and_constant_columns_take_directions_away(rng):
    """Shares that sum to 1 vary in one direction fewer than they have columns."""
    X, Y = shared(rng)
    Y = np.exp(Y) / np.exp(Y).sum(axis=1, keepdims=True)
    X[:, 2] = 5
    for regularisation in (0, 1e-3):
        found = canonical_directions(X, Y, 10, regularisation)
        assert found.Wx.shape == (7, 4)
        assert found.Wx[2] == pytest.approx(0, abs=1e-6)
        assert np.isfinite(found.Wy).all()
        assert np.all(found.correlations <= 1)


def test_whitening_of_a_diagonal_covariance():
    W = whitening(np.diag([4.0, 0.0, 2.0]), 0.5)  # of the mean variance, 2: 1 is added
    assert np.abs(W) == pytest.approx(np.array([[0, 5**-0.5], [0, 0], [3**-0.5, 0]]))


def test_bits_of_an_item_agree_across_modalities(rng):
    X, Y = shared(rng, noise=0.3)
    A, B = codes(X, Y, learned(X, Y, 3))
    assert (A == B).mean() > 0.8
    assert np.mean(rng.permutation(A) == B) < 0.6


def test_bits_are_the_signs_of_rotated_projections(rng):
    X, Y = shared(rng)
    found = learned(X, Y, 4, power=2)
    directions = canonical_directions(X, Y, 4, 0.1)
    W = directions.Wx * directions.correlations**2
    R = np.linalg.lstsq(W, found.P.T, rcond=None)[0]
    assert np.allclose(R @ R.T, np.eye(4), atol=1e-3)
    assert np.allclose(directions.Wy * directions.correlations**2 @ R, found.Q.T, atol=1e-3)
    assert found.a == pytest.approx(-found.P @ X.mean(axis=0), abs=1e-3)
    assert found.correlations == pytest.approx(directions.correlations)


def test_more_bits_than_directions_are_made_of_all_of_them(rng):
    X, Y = shared(rng)
    found = learned(X, Y, 30)
    W = canonical_directions(X, Y, 30, 0.1)
    assert len(found.correlations) == 5
    R = np.linalg.lstsq(W.Wx * W.correlations, found.P.T, rcond=None)[0]
    assert R.shape == (5, 30)
    assert np.allclose(R @ R.T, np.eye(5), atol=1e-3)
    assert np.all(np.linalg.norm(found.P, axis=1) > 0)
    assert len(np.unique(codes(X, Y, found)[0], axis=1).T) > 20


def test_power_prefers_the_correlated_directions(rng):
    X, Y = shared(rng)
    first = canonical_directions(X, Y, 5, 0.1)

    def share(power):
        W = np.linalg.lstsq(first.Wx, learned(X, Y, 5, power=power).P.T, rcond=None)[0]
        return np.square(W[0]).sum() / np.square(W).sum()

    assert share(0) == pytest.approx(0.2, abs=0.01)
    assert share(0) < share(1) < share(3)


def test_the_loss_falls_with_the_turns(rng):
    X, Y = shared(rng)
    losses = [record["loss"] for record in learned(X, Y).history]
    assert len(losses) == 20
    assert losses[-1] < losses[0]
    assert learned(X, Y, n_iterations=0).history == []


def test_it_is_deterministic_and_leaves_its_input_alone(rng):
    X, Y = shared(rng)
    before = X.copy(), Y.copy()
    one, other = learned(X, Y), learned(X, Y)
    assert all(np.array_equal(a, b) for a, b in zip(one[:4], other[:4], strict=True))
    assert np.array_equal(X, before[0])
    assert np.array_equal(Y, before[1])


def test_many_rows_are_sampled_for_the_rotation(rng, monkeypatch):
    X, Y = shared(rng, noise=0.3)
    monkeypatch.setattr(cca, "MAX_ROTATION_ROWS", 100)
    A, B = codes(X, Y, learned(X, Y, 3))
    assert (A == B).mean() > 0.8
