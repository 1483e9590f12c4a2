import numpy as np
import pytest

from kinhash.encoders.class_levels import written
from kinhash.methods.parts.sharpening import TEMPERATURES, USUAL_TEMPERATURE, best_temperature


def f1(codes, targets, radius):
    """Return the F1 of mean precision and recall, each row searching all others."""
    shared = targets.astype(int) @ targets.T > 0
    D = (codes[:, None] != codes).sum(axis=2)
    precisions, recalls = [], []
    for row in range(len(codes)):
        others = np.arange(len(codes)) != row
        relevant, found = shared[row] & others, (D[row] <= radius) & others
        if not relevant.any():
            continue
        precisions.append((relevant & found).sum() / max(1, found.sum()))
        recalls.append((relevant & found).sum() / relevant.sum())
    p, r = np.mean(precisions), np.mean(recalls)
    return 2 * p * r / (p + r) if p + r else 0.0


@pytest.mark.parametrize("exclusive", [True, False])
def test_the_temperature_has_the_best_f1_of_rows_left_out(rng, exclusive):
    logits = rng.normal(size=(80, 4)) * 2
    targets = (logits + rng.normal(size=(80, 4)) > 1).astype(np.uint8)
    if exclusive:
        targets = np.eye(4, dtype=np.uint8)[(logits + rng.normal(size=(80, 4))).argmax(axis=1)]
    words = np.eye(12, dtype=np.uint8).reshape(3, 4, 12)

    def likely(temperature):
        if not exclusive:
            return 1 / (1 + np.exp(-logits / temperature))
        p = np.exp(logits / temperature - (logits / temperature).max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)

    scores = []
    for temperature in TEMPERATURES:
        codes = written(likely(temperature).astype(np.float32), words)
        scores.append(f1(codes, targets, 0) + f1(codes, targets, 2))
    chosen = best_temperature(likely, targets, words)
    assert scores[TEMPERATURES.index(chosen)] == pytest.approx(max(scores), abs=1e-6)


def test_where_no_row_has_anything_to_find_it_is_the_usual_one():
    words = np.eye(3, dtype=np.uint8)[None]
    targets = np.eye(3, dtype=np.uint8)

    def likely(_):
        pytest.fail("there is nothing to compare")

    assert best_temperature(likely, targets, words) == USUAL_TEMPERATURE
    assert best_temperature(likely, np.zeros((3, 3), np.uint8), words) == USUAL_TEMPERATURE
