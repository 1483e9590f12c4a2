import math

import numpy as np
import pytest

from kinhash.encoders import KernelIstaEncoder


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("unit_rows", [False, True])
def test_outputs_equal_a_loop_over_rows_and_steps(rng, two_sided, unit_rows):
    mean, scale, bias = (rng.normal(size=n).astype(np.float32) for n in (3, 3, 4))
    anchors, W = (rng.normal(size=shape).astype(np.float32) for shape in ((5, 3), (4, 5)))
    S = 0.2 * rng.normal(size=(4, 4)).astype(np.float32)
    tau = np.full(4, 0.1, np.float32)
    encoder = KernelIstaEncoder(
        mean,
        scale,
        anchors=anchors,
        W=W,
        bias=bias,
        S=S,
        tau=tau,
        gamma=0.3,
        beta=4.0,
        n_steps=2,
        two_sided=two_sided,
        unit_rows=unit_rows,
    )
    X = rng.normal(size=(20, 3))
    expected = []
    for row in (X - mean) * scale:
        x = row / np.linalg.norm(row) if unit_rows else row
        v = bias + W @ [math.exp(-0.3 * float((x - a) @ (x - a))) for a in anchors]
        h = np.zeros(4)
        for step in range(3):  # the first shrinkage, and two steps
            u = v + S @ h if step else v
            above = np.maximum((np.abs(u) if two_sided else u) - tau, 0)
            h = np.sign(u) * above if two_sided else above
        expected.append(np.tanh(4.0 * h))
    assert np.allclose(encoder.forward(X), expected, atol=1e-4)
    clear = np.abs(np.abs(expected) - 0.5) > 1e-3  # rounding decides the others
    codes = encoder.encode(X)
    assert codes.signed == two_sided
    assert np.array_equal(codes.to_dense()[clear], np.rint(expected)[clear])
