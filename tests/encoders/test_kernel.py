import math

import numpy as np
import pytest

from kinhash.encoders import KernelEncoder
from kinhash.encoders.kernel import rbf


def test_the_kernel_by_hand():
    """Squared distances 0, 1 and 25 with gamma 2."""
    found = rbf(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 4.0]]), 2.0)
    assert found[0].tolist() == pytest.approx([1, math.exp(-2), math.exp(-50)])


def test_outputs_equal_a_loop_over_bits_and_anchors(rng):
    mean, scale, bias = (rng.normal(size=n).astype(np.float32) for n in (3, 3, 4))
    anchors, W = (rng.normal(size=shape).astype(np.float32) for shape in ((5, 3), (4, 5)))
    encoder = KernelEncoder(mean, scale, anchors=anchors, W=W, bias=bias, gamma=0.3)
    X = rng.normal(size=(20, 3))
    expected = np.zeros((20, 4))
    for row in range(20):
        for bit in range(4):
            expected[row, bit] = bias[bit]
            for anchor in range(5):
                gap = (X[row] - mean) * scale - anchors[anchor]
                expected[row, bit] += W[bit, anchor] * math.exp(-0.3 * float(gap @ gap))
    assert np.allclose(encoder.forward(X), expected, atol=1e-5)
    clear = np.abs(expected) > 1e-4  # rounding decides the others
    assert np.array_equal(encoder.encode(X).to_dense()[clear], (expected > 0)[clear])
