import numpy as np
import pytest

from kinhash.errors import InvalidInputError
from kinhash.methods.parts.boosting import balanced, best_threshold, draw_pairs, moments
from kinhash.pairs import LabelSource, Pairs, PairSource, TagSource


def correlation(a, b, weights, t):
    """The sum that `best_threshold` maximises, pair by pair."""
    total = 0.0
    for x, y, weight in zip(a, b, weights, strict=True):
        total += weight if (x > t) == (y > t) else -weight
    return total


@pytest.mark.parametrize("decimals", [0, 1, 6])
def test_the_threshold_is_the_best_of_all(rng, decimals):
    """Also with many equal values, as few decimals give."""
    for _ in range(20):
        a, b = rng.normal(size=(2, 30)).round(decimals)
        weights = rng.normal(size=30)
        t, r = best_threshold(a, b, weights)
        assert r == pytest.approx(correlation(a, b, weights, t))
        values = np.unique(np.concatenate([a, b]))
        middles = (values[1:] + values[:-1]) / 2
        assert r == pytest.approx(max(correlation(a, b, weights, m) for m in middles))


def test_the_threshold_of_a_hand_made_case():
    """Similar: 0 and 1, 4 and 5. Dissimilar: 1 and 4. Only thresholds in [1, 4) agree with all."""
    found = best_threshold(np.array([0, 5, 1]), np.array([1, 4, 4]), np.array([1.0, 1.0, -1.0]))
    assert found == (2.5, 3.0)


def test_equal_values_leave_all_pairs_agreeing():
    assert best_threshold(np.ones(2), np.ones(2), np.array([0.5, -0.25])) == (1.0, 0.25)


def test_weights_balance_both_kinds():
    assert balanced(np.array([True, False, False])).tolist() == [0.5, -0.25, -0.25]


def test_moments_equal_a_loop_over_pairs(rng):
    U, weights = rng.normal(size=(8, 3)), rng.normal(size=40)
    i, j = rng.integers(8, size=(2, 40))
    expected = sum(
        w * (np.outer(U[a], U[b]) + np.outer(U[b], U[a])) / 2
        for a, b, w in zip(i, j, weights, strict=True)
    )
    assert np.allclose(moments(U, i, j, weights), expected)


def test_drawn_pairs_are_of_both_kinds_and_true(rng):
    labels = rng.integers(3, size=5000)
    i, j, similar = draw_pairs(LabelSource.from_labels(labels), 400, rng)
    assert np.array_equal(labels[i] == labels[j], similar)
    assert np.all(i != j)
    assert similar.sum() == (~similar).sum() == 400
    tags = np.eye(3, dtype=int)[labels]
    i, j, similar = draw_pairs(TagSource.from_tags(tags), 400, rng)
    assert np.array_equal(labels[i] == labels[j], similar)


def test_few_pairs_are_all_drawn(rng):
    i, j, similar = draw_pairs(LabelSource.from_labels(np.array([0, 0, 1])), 100, rng)
    assert sorted(zip(i, j, similar, strict=True)) == [(0, 1, True), (0, 2, False), (1, 2, False)]
    listed = PairSource.from_pairs(Pairs([4, 0], [2, 1], [True, False]), 5)
    i, j, similar = draw_pairs(listed, 100, rng)
    assert sorted(zip(i, j, similar, strict=True)) == [(0, 1, False), (2, 4, True)]


def test_pairs_of_one_kind_are_refused(rng):
    with pytest.raises(InvalidInputError, match=r"All 3 pairs .* similar; .* needs dissimilar"):
        draw_pairs(TagSource.from_tags(np.ones((3, 2))), 100, rng)
