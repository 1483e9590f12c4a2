import numpy as np
import pytest

import kinhash
from kinhash.errors import InvalidInputError
from kinhash.methods import FlyHash
from kinhash.metrics import evaluate_codes

# Small parts of digits have columns that are constant.
pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.ConstantColumnWarning")


def test_codes_equal_a_loop_over_bits_and_columns(digits):
    """The paper's steps: subtract the row's mean, add up some columns, and the largest win."""
    X, _ = digits
    model = FlyHash(24, n_active=5, share=0.2).fit(X)
    mean, deviation, W = X.mean(axis=0), X.std(axis=0), model.encoder_.W
    for row, code in zip(X[:100].astype(np.float64), model.encode(X[:100]).to_dense(), strict=True):
        standard = (row - mean) / deviation
        centred = standard - standard.mean()
        sums = [sum(centred[column] for column in np.flatnonzero(W[bit])) for bit in range(24)]
        assert sorted(np.flatnonzero(code)) == sorted(np.argsort(sums)[-5:])


def test_each_bit_adds_up_the_same_number_of_columns_that_vary(digits):
    X = digits[0].copy()
    X[:, 3] = 7
    W = FlyHash(32, share=0.25).fit(X).encoder_.W
    assert set(np.unique(W)) == {0, 1}
    assert set(W.sum(axis=1)) == {round(0.25 * (X.shape[1] - 1))}
    assert not W[:, 3].any()


def test_codes_have_the_active_bits_that_were_asked_for(digits):
    X, y = digits
    for model, expected in (
        (FlyHash(64), 16),
        (FlyHash(3), 1),
        (FlyHash(64, n_active=3), 3),
        (FlyHash(8, n_active=8), 8),
    ):
        assert set(model.fit(X, y).encode(X).n_active.tolist()) == {expected}


def test_more_bits_rank_better_and_far_better_than_chance(digits):
    X, y = digits
    found = []
    for n_bits in (16, 512):
        codes = FlyHash(n_bits).fit(X).encode(X)
        found.append(evaluate_codes(codes[:200], y[:200], codes[200:], y[200:])["map"])
    assert found[1] > found[0] + 0.1
    assert found[1] > 0.5


def test_labels_are_ignored(digits):
    X, y = digits
    assert FlyHash(8).fit(X, y).encode(X) == FlyHash(8).fit(X).encode(X)


def test_files_give_equal_codes(digits, tmp_path):
    X, _ = digits
    model = FlyHash(70).fit(X)
    model.save(tmp_path / "m.kinhash")
    assert kinhash.load(tmp_path / "m.kinhash").encode(X) == model.encode(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_active": 65}, r"`n_active` must be an integer in \[1, 64\], got 65"),
        ({"n_active": 0}, r"`n_active` must be an integer in \[1, 64\], got 0"),
        ({"share": 0}, "`share` must be a number greater than 0"),
        ({"share": 1.5}, "`share` must be .* got 1.5"),
    ],
)
def test_bad_parameters_are_refused(digits, parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        FlyHash(**parameters).fit(digits[0])


def test_nothing_but_constant_columns_is_refused():
    with pytest.raises(InvalidInputError, match="All columns of `X` are constant"):
        FlyHash(8).fit(np.ones((50, 3)))
