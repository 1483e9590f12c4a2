import numpy as np
import pytest

from kinhash.methods.parts.descent import Adam


def test_the_first_step_has_the_length_of_the_rate_whatever_the_gradient():
    """By hand: both moments are corrected, so m / sqrt(v) is the gradient's sign."""
    x = np.array([1.0, -2.0])
    Adam((x,), 0.1, 2).step((np.array([1e-3, -50.0]),))
    rate = 0.1 * (1 + np.cos(np.pi / 2)) / 2
    assert x == pytest.approx([1 - rate, -2 + rate], rel=1e-4)


def test_it_finds_the_least_of_a_parabola():
    x = np.array([4.0])
    descent = Adam((x,), 0.5, 200)
    for _ in range(200):
        descent.step((2 * (x - 1),))
    assert x[0] == pytest.approx(1, abs=1e-2)
