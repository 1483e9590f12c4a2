import numpy as np
import pytest
from sklearn.datasets import make_blobs

import kinhash
from kinhash import Pairs
from kinhash.errors import ConstantColumnWarning, InvalidInputError
from kinhash.methods import LSH, SSH
from kinhash.methods.parts.boosting import reweighted
from kinhash.metrics import evaluate_codes

# Small parts of digits have columns that are constant.
pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.ConstantColumnWarning")


def mean_ap(model, X, y):
    codes = model.encode(X)
    return evaluate_codes(codes[:200], y[:200], codes[200:], y[200:])["map"]


def test_it_ranks_better_than_random_projections(digits):
    X, y = digits
    learned = SSH(32).fit(X[600:1200], y[600:1200])
    assert mean_ap(learned, X, y) > mean_ap(LSH(32).fit(X), X, y) + 0.05


def test_boosting_multiplies_the_weight_of_errors():
    """r = 1/2 gives alpha = log(3) / 2: errors times sqrt(3), the rest divided by it."""
    weights = np.array([0.25, 0.25, -0.25, -0.25])
    after, _, _ = reweighted(weights, np.array([True, False, False, False]), 0.5)
    assert after == pytest.approx([1 / 6, 1 / 2, -1 / 6, -1 / 6])


def test_the_last_bit_is_no_better_than_a_coin_on_the_new_weights(rng):
    """AdaBoost's property: after re-weighting, the bit's correlation is 0."""
    weights = rng.normal(size=50)
    weights /= np.abs(weights).sum()
    same = weights > 0
    same[:10] ^= True
    agreement = np.where(same, 1, -1)
    after, _, _ = reweighted(weights, same, float(weights @ agreement))
    assert np.abs(after).sum() == pytest.approx(1)
    assert after @ agreement == pytest.approx(0)


def test_a_perfect_bit_leaves_weights_to_go_on_with():
    after, _, _ = reweighted(np.array([0.5, -0.5]), np.array([True, False]), 1.0)
    assert after == pytest.approx([0.5, -0.5])


def test_the_first_bit_separates_two_far_classes():
    X, y = make_blobs(200, centers=[[-9, 0], [9, 0]], random_state=0)
    model = SSH(1).fit(X, y)
    bits = model.encode(X).to_dense()[:, 0]
    assert len(set(bits[y == 0])) == len(set(bits[y == 1])) == 1
    assert model.encode(X).n_unique == 2
    assert model.history_ == [{"step": 1, "correlation": pytest.approx(1)}]


def test_there_may_be_more_bits_than_features(digits):
    X, y = digits[0][:, 20:24], digits[1]
    assert SSH(40).fit(X, y).encode(X).n_bits == 40


def test_tags_pairs_and_vectors_alone_teach_too(digits):
    X, y = digits
    X, y = X[:900], y[:900]
    baseline = mean_ap(LSH(32).fit(X), X, y)
    rng = np.random.default_rng(0)
    i, j = rng.integers(900, size=(2, 9000))
    keep = i != j
    pairs = Pairs(i[keep], j[keep], (y[i] == y[j])[keep])
    assert mean_ap(SSH(32).fit(X, np.eye(10, dtype=int)[y]), X, y) > baseline
    assert mean_ap(SSH(32).fit(X, pairs=pairs), X, y) > baseline
    assert SSH(32).fit(X).encode(X).n_unique > 100


def test_constant_columns_have_no_say(digits):
    X, y = digits
    wide = np.hstack([X, np.full((len(X), 1), 7.0)])
    with pytest.warns(ConstantColumnWarning, match="1 of 54 columns of `X` are constant"):
        model = SSH(8).fit(wide, y)
    codes = model.encode(wide)
    wide[:, -1] = -3
    assert model.encode(wide) == codes


def test_files_give_equal_codes(digits, tmp_path):
    X, y = digits
    model = SSH(70).fit(X[:300], y[:300])
    model.save(tmp_path / "m.kinhash")
    loaded = kinhash.load(tmp_path / "m.kinhash")
    assert loaded.encode(X) == model.encode(X)
    assert loaded.history_ == model.history_


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({}, [3] * 100, "single class, 3; learning codes needs at least two"),
        ({}, range(100), "100 classes of one row each"),
        ({"n_pairs": 0}, [0, 1] * 50, "`n_pairs` must be an integer of at least 1, got 0"),
        ({"threshold": -1}, None, "`threshold` must be a number greater than 0, got -1"),
    ],
)
def test_bad_labels_and_parameters_are_refused(digits, parameters, y, message):
    with pytest.raises(InvalidInputError, match=message):
        SSH(**parameters).fit(digits[0][:100], y)


def test_nothing_but_constant_columns_is_refused():
    with pytest.raises(InvalidInputError, match="All columns of `X` are constant"):
        SSH().fit(np.ones((50, 3)), [0, 1] * 25)
