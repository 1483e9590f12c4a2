import math

import numpy as np
import pytest

from kinhash.encoders import KernelTopKEncoder, TopKEncoder
from kinhash.encoders.top_k import winners
from kinhash.errors import FormatError


def test_winners_by_hand():
    outputs = np.array([[0.1, 3.0, 2.0, -1.0], [-5.0, -1.0, -2.0, -3.0]])
    assert winners(outputs, 2).tolist() == [[0, 1, 1, 0], [0, 1, 1, 0]]
    assert winners(outputs, 4).tolist() == [[1, 1, 1, 1], [1, 1, 1, 1]]
    assert winners(outputs, 2).dtype == np.int8


def test_the_first_of_equal_outputs_win():
    assert winners(np.array([[1.0, 2.0, 1.0, 1.0]]), 3).tolist() == [[1, 1, 1, 0]]
    assert winners(np.zeros((1, 100)), 7).sum() == 7


@pytest.fixture
def arrays(rng):
    shapes = {"mean": (3,), "scale": (3,), "bias": (6,)}
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def test_outputs_equal_a_loop_over_bits_and_columns(rng, arrays):
    W = rng.normal(size=(6, 3)).astype(np.float32)
    encoder = TopKEncoder(**arrays, W=W, n_active=2)
    X = rng.normal(size=(300, 3))
    expected = np.zeros((300, 6))
    for row in range(300):
        x = (X[row] - arrays["mean"]) * arrays["scale"]
        for bit in range(6):
            expected[row, bit] = arrays["bias"][bit]
            for column in range(3):
                expected[row, bit] += W[bit, column] * x[column] / np.linalg.norm(x)
    assert np.allclose(encoder.forward(X), expected, atol=1e-5)
    codes = encoder.encode(X)
    assert codes.n_active.tolist() == [2] * 300
    for row, code in zip(expected, codes.to_dense(), strict=True):
        second, third = np.sort(row)[[-2, -3]]
        if second - third > 1e-4:  # rounding decides the others
            assert set(np.flatnonzero(code)) == set(np.argsort(row)[-2:])


def test_the_kernel_kind_equals_a_loop_over_bits_and_anchors(rng, arrays):
    W, anchors = (rng.normal(size=shape).astype(np.float32) for shape in ((6, 5), (5, 3)))
    encoder = KernelTopKEncoder(**arrays, W=W, n_active=3, anchors=anchors, gamma=0.3)
    X = rng.normal(size=(20, 3))
    expected = np.zeros((20, 6))
    for row in range(20):
        x = (X[row] - arrays["mean"]) * arrays["scale"]
        for bit in range(6):
            expected[row, bit] = arrays["bias"][bit]
            for anchor in range(5):
                gap = x - anchors[anchor]
                expected[row, bit] += W[bit, anchor] * math.exp(-0.3 * float(gap @ gap))
    assert np.allclose(encoder.forward(X), expected, atol=1e-5)
    assert encoder.encode(X).n_active.tolist() == [3] * 20


@pytest.mark.parametrize("n_active", [0, 7, True, 2.0])
def test_a_stored_number_of_active_bits_is_checked(rng, arrays, n_active):
    encoder = TopKEncoder(**arrays, W=rng.normal(size=(6, 3)).astype(np.float32), n_active=2)
    assert TopKEncoder.restore(encoder.arrays(), encoder.settings()).n_active == 2
    with pytest.raises(
        FormatError, match=r"`n_active` of the encoder must be an integer in \[1, 6"
    ):
        TopKEncoder.restore(encoder.arrays(), {"n_active": n_active})
