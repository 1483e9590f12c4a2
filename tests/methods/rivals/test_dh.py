import numpy as np
import pytest

import kinhash
from kinhash.encoders import unit_length
from kinhash.errors import InvalidInputError
from kinhash.methods import DH, LSH
from kinhash.methods.parts.boosting import balanced, best_threshold, draw_pairs
from kinhash.methods.standardisation import standardisation
from kinhash.metrics import evaluate_codes
from kinhash.pairs import LabelSource

# Small parts of digits have columns that are constant.
pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.ConstantColumnWarning")


def drawn(X, y, seed=0):
    """The vectors as the method sees them, and the pairs that it draws."""
    mean, scale, _ = standardisation(X)
    pairs = draw_pairs(LabelSource.from_labels(y), 10_000, np.random.default_rng(seed))
    return unit_length((X.astype(np.float32) - mean) * scale), *pairs


def mean_ap(model, X, y):
    codes = model.encode(X)
    return evaluate_codes(codes[:200], y[:200], codes[200:], y[200:])["map"]


@pytest.mark.parametrize("alpha", [1.0, 3.0])
def test_projections_minimise_the_difference_of_covariances(rng, alpha):
    X, y = rng.normal(size=(60, 5)).astype(np.float32), np.arange(60) % 3
    U, i, j, similar = drawn(X, y)
    difference = np.zeros((5, 5))
    for a, b, alike in zip(i, j, similar, strict=True):
        gap = U[a].astype(float) - U[b]
        share = alpha / similar.sum() if alike else -1 / (~similar).sum()
        difference += share * np.outer(gap, gap)
    W = DH(2, alpha=alpha).fit(X, y).encoder_.W
    smallest = np.linalg.eigvalsh(difference)[:2]
    assert np.allclose(W @ W.T, np.eye(2), atol=1e-5)
    assert np.allclose(W @ difference @ W.T, np.diag(smallest), atol=1e-5)


def test_thresholds_minimise_false_positives_plus_false_negatives(rng):
    X, y = rng.normal(size=(60, 5)).astype(np.float32), np.arange(60) % 3
    U, i, j, similar = drawn(X, y)
    encoder = DH(3).fit(X, y).encoder_
    for w, bias in zip(encoder.W, encoder.bias, strict=True):
        z = U @ w

        def errors(t, z=z):
            same = (z[i] > t) == (z[j] > t)
            return np.mean(~same[similar]) + np.mean(same[~similar])

        least = min(errors(t) for t in (np.sort(z)[1:] + np.sort(z)[:-1]) / 2)
        assert errors(-bias) == pytest.approx(least, abs=2e-3)  # a pair may lie within rounding
        assert best_threshold(z[i], z[j], balanced(similar))[1] == pytest.approx(1 - least)


def test_the_direction_that_tells_classes_apart_comes_first(rng):
    """Class means differ along the second column only."""
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 3))
    X[:, 1] += 6 * y
    W = DH(1).fit(X, y).encoder_.W[0]
    assert abs(W[1]) > 0.95


def test_short_codes_rank_better_than_random_projections(digits):
    """Ten classes have nine directions between them; bits beyond those are noise."""
    X, y = digits
    for n_bits in (8, 16):
        learned = mean_ap(DH(n_bits).fit(X[600:], y[600:]), X, y)
        assert learned > mean_ap(LSH(n_bits).fit(X[600:]), X, y) + 0.03


def test_more_bits_than_varying_columns_are_refused(digits):
    X, y = digits[0][:, :30].copy(), digits[1]
    X[:, 3] = 5
    assert DH(29).fit(X, y).encode(X).n_bits == 29
    with pytest.raises(InvalidInputError, match=r"at most 29, the columns .* got 30: .* Lower"):
        DH(30).fit(X, y)


def test_fewer_rows_than_bits_are_refused(digits):
    X, y = digits
    with pytest.raises(InvalidInputError, match="more rows than the 32 bits, got 32"):
        DH(32).fit(X[:32], y[:32])


def test_files_give_equal_codes(digits, tmp_path):
    X, y = digits
    model = DH(40).fit(X[:300], y[:300])
    model.save(tmp_path / "m.kinhash")
    assert kinhash.load(tmp_path / "m.kinhash").encode(X) == model.encode(X)


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({}, [3] * 100, "single class, 3; learning codes needs at least two"),
        ({"alpha": -1}, [0, 1] * 50, "`alpha` must be a number of at least 0, got -1"),
    ],
)
def test_bad_labels_and_parameters_are_refused(digits, parameters, y, message):
    with pytest.raises(InvalidInputError, match=message):
        DH(**parameters).fit(digits[0][:100], y)


def test_nothing_but_constant_columns_is_refused():
    with pytest.raises(InvalidInputError, match="All columns of `X` are constant"):
        DH(2).fit(np.ones((50, 3)), [0, 1] * 25)
