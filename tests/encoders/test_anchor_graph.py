import math

import numpy as np
import pytest

from kinhash.encoders import AnchorGraphEncoder
from kinhash.encoders.anchor_graph import nearest_anchors, second_layer, weights


def test_weights_are_those_of_the_nearest_anchors():
    """By hand: squared distances 1 and 4 from 0, width 3."""
    nearest, squared = nearest_anchors(
        np.zeros((1, 1), np.float32), np.array([[9], [-1], [2]], np.float32), 2
    )
    assert sorted(nearest[0].tolist()) == [1, 2]
    found = dict(zip(nearest[0].tolist(), weights(squared, 3.0)[0].tolist(), strict=True))
    total = np.exp(-1 / 3) + np.exp(-4 / 3)
    assert found[1] == pytest.approx(np.exp(-1 / 3) / total)
    assert found[2] == pytest.approx(np.exp(-4 / 3) / total)


def test_weights_far_from_all_anchors_still_sum_to_one():
    assert weights(np.array([[1e6, 1e6 + 1]], np.float32), 1.0).sum() == pytest.approx(1)


def test_the_threshold_of_the_second_layer_is_that_of_the_sign():
    Y = np.array([[2.0, -2.0], [-1.0, 0.5]])
    thresholds = np.array([[1.5, 0.25], [0.5, 3.0]])  # of positive and of other outputs
    assert second_layer(Y, thresholds).tolist() == [[0.5, -1.0], [0.5, 0.25]]


def test_outputs_equal_a_loop_over_rows_and_anchors(rng):
    mean, scale = (rng.normal(size=3).astype(np.float32) for _ in range(2))
    anchors, W = (rng.normal(size=shape).astype(np.float32) for shape in ((6, 3), (4, 6)))
    thresholds = np.array([[0.1, 0.2], [0.3, 0.4]], np.float32)
    encoder = AnchorGraphEncoder(
        mean, scale, anchors=anchors, W=W, thresholds=thresholds, n_nearest=2, width=1.5
    )
    assert encoder.n_bits == 4 + 2
    X = rng.normal(size=(20, 3))
    for row, found in zip((X - mean) * scale, encoder.forward(X), strict=True):
        squared = [float((row - anchor) @ (row - anchor)) for anchor in anchors]
        near = sorted(range(6), key=squared.__getitem__)[:2]
        parts = [math.exp(-squared[k] / 1.5) for k in near]
        y = sum(part / sum(parts) * W[:, k] for part, k in zip(parts, near, strict=True))
        second = [abs(y[b]) - thresholds[0 if y[b] > 0 else 1, b] for b in range(2)]
        assert np.allclose(found, [*y, *second], atol=1e-4)
