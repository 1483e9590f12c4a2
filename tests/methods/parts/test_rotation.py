import itertools

import numpy as np
import pytest

from kinhash.methods.parts.rotation import rotation


def test_the_loss_never_rises_and_equals_a_loop(rng):
    V = rng.normal(size=(50, 4)) * [4, 3, 2, 1]
    R, losses = rotation(V, 20, np.random.default_rng(1))
    assert np.allclose(R @ R.T, np.eye(4))
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise(losses))
    before, _ = rotation(V, 19, np.random.default_rng(1))
    total = 0.0
    for v in V:
        for b in range(4):
            sign = 1 if v @ before[:, b] > 0 else -1
            total += (sign - v @ R[:, b]) ** 2
    assert losses[-1] == pytest.approx(total / len(V))


def test_corners_of_a_turned_square_are_found(rng):
    """Points at 0, 90, 180 and 270 degrees lose nothing once they are turned by 45."""
    V = np.sqrt(2) * np.array([[1, 0], [0, 1], [-1, 0], [0, -1]]).repeat(5, axis=0)
    _, losses = rotation(V, 30, rng)
    assert losses[-1] == pytest.approx(0, abs=1e-9)


def test_without_a_turn_it_is_the_random_rotation_of_the_seed(rng):
    V = rng.normal(size=(50, 4))
    (R, losses), (same, _) = (rotation(V, 0, np.random.default_rng(5)) for _ in range(2))
    assert losses == []
    assert np.allclose(R @ R.T, np.eye(4))
    assert np.array_equal(R, same)
