import math

import numpy as np
import pytest
import scipy.stats

from kinhash.dedup import recall
from kinhash.dedup.recall import EXACT, Recall, nearly_similar


def test_the_interval_of_single_pairs_is_that_of_clopper_and_pearson():
    found = np.arange(50) % 10 > 0
    estimate = Recall.of(found, np.arange(50), n_rows=80)
    expected = scipy.stats.binomtest(45, 50).proportion_ci(0.95, "exact")
    assert estimate.share == pytest.approx(0.9)
    assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high))
    assert str(estimate) == "recall 90.0 % (78.2 to 96.7), from 50 pairs of 80 random rows"
    assert not estimate.is_exact


def test_pairs_of_one_row_are_worth_less():
    found = np.ones(40, bool)
    single, many = (
        Recall.of(found, rows, n_rows=40) for rows in (np.arange(40), np.arange(40) // 10)
    )
    assert single.share == many.share == single.high == many.high == 1
    # Four rows: as many pairs, of which none was missed.
    assert many.low == pytest.approx(scipy.stats.binomtest(4, 4).proportion_ci().low)
    assert single.low > many.low


def test_nothing_found_is_an_estimate_too():
    estimate = Recall.of(np.zeros(3, bool), np.arange(3), n_rows=9)
    assert (estimate.share, estimate.low) == (0, 0)
    assert 0 < estimate.high < 1


def test_without_pairs_nothing_is_known():
    estimate = Recall.of(np.zeros(0, bool), np.zeros(0, np.int64), n_rows=9)
    assert math.isnan(estimate.share)
    assert (estimate.low, estimate.high) == (0, 1)
    assert str(estimate) == "recall unknown: 9 random rows have no similar pair"
    assert str(EXACT) == "recall 100 %: all pairs were compared"


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Rows have 1 to 8 pairs, found or missed together."""
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(300):
        rows = np.repeat(np.arange(60), rng.integers(1, 9, 60))
        estimate = Recall.of((rng.random(60) < 0.9)[rows], rows, n_rows=60)
        hits += estimate.low <= 0.9 <= estimate.high
    assert hits / 300 >= 0.93


@pytest.mark.parametrize("block", [3, 4096])
def test_all_pairs_that_are_nearly_similar_enough_are_found(block, monkeypatch):
    monkeypatch.setattr(recall, "BLOCK_ROWS", block)
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 4)), rng.normal(size=(30, 4)) * 50
    rows = np.array([2, 3, 11])
    cosines = X @ Y.T / np.linalg.norm(X, axis=1)[:, None] / np.linalg.norm(Y, axis=1)
    expected = [(i, j) for i in rows.tolist() for j in range(30) if cosines[i, j] >= 0.7]
    left, right = nearly_similar(X, rows, Y, 0.7 + recall.ROUNDING / 2)
    assert [*zip(left.tolist(), right.tolist(), strict=True)] == expected
