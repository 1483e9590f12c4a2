import numpy as np
import pytest

from kinhash.methods.parts.neighbour_bits import (
    BITS_WIDTH,
    COSINE_WIDTH,
    _softmax,
    _step,
    neighbour_bits,
)


def a_batch(rng):
    V = rng.normal(size=(7, 4))
    targets = V / np.linalg.norm(V, axis=1, keepdims=True)
    fixed = np.where(rng.random((7, 2)) < 0.5, -1.0, 1.0)
    parameters = rng.normal(size=(3, 4)), rng.normal(size=3), np.array([0.3])
    return V, targets, fixed, parameters


def test_the_loss_equals_a_loop_over_pairs(rng):
    V, targets, fixed, (W, bias, log_c) = a_batch(rng)
    H = np.tanh((V @ W.T + bias) / 1.7)
    total = 0.0
    for i in range(7):
        others = [j for j in range(7) if j != i]
        near = [
            np.exp(log_c[0]) * (H[i] @ H[j] + fixed[i] @ fixed[j]) / (2 * BITS_WIDTH)
            for j in others
        ]
        wanted = [np.exp(targets[i] @ targets[j] / COSINE_WIDTH) for j in others]
        for n, w in zip(near, wanted, strict=True):
            total -= w / sum(wanted) * (n - np.log(np.sum(np.exp(near))))
    assert _step(V, targets, fixed, (W, bias, log_c), 1.7)[0] == pytest.approx(total / 7)


def test_gradients_equal_differences(rng):
    V, targets, fixed, parameters = a_batch(rng)
    _, gradients = _step(V, targets, fixed, parameters, 1.7)
    for which, gradient in enumerate(gradients):
        for place in np.ndindex(gradient.shape):
            ends = []
            for change in (1e-5, -1e-5):
                moved = [one.copy() for one in parameters]
                moved[which][place] += change
                ends.append(_step(V, targets, fixed, tuple(moved), 1.7)[0])
            assert gradient[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=2e-4)


def test_a_row_is_not_its_own_neighbour(rng):
    likely = _softmax(rng.normal(size=(5, 5)))
    assert np.diag(likely).tolist() == [0] * 5
    assert np.allclose(likely.sum(axis=1), 1)


def test_bits_learned_beside_fixed_ones_fit_them_better(rng):
    """Learned beside the fixed bits, they lose less together than if learned without."""
    V = rng.normal(size=(300, 12)).astype(np.float32)
    fixed = np.where(V[:, :6] > 0, 1, -1).astype(np.float32)
    unit = V / np.linalg.norm(V, axis=1, keepdims=True)
    together = []
    for known in (fixed, np.ones_like(fixed)):
        W, bias, losses = neighbour_bits(V, known, 6, np.random.default_rng(0))
        assert np.mean(losses[-20:]) < np.mean(losses[:20])
        ends = [
            _step(V, unit, fixed, (W, bias, np.array([log_c])), 0.1)[0]
            for log_c in np.linspace(-2, 2, 41)
        ]
        together.append(min(ends))
    assert together[0] < together[1]


@pytest.mark.parametrize("V", [np.zeros((5, 3), np.float32), np.ones((1, 3), np.float32)])
def test_where_nothing_differs_nothing_is_learned(rng, V):
    W, bias, losses = neighbour_bits(V, np.ones((len(V), 2), np.float32), 4, rng)
    assert W.shape == (4, 3)
    assert np.isfinite(W).all()
    assert np.isfinite(bias).all()
    assert losses == []
