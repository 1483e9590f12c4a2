import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs
from sklearn.svm import SVC

import kinhash
from kinhash.errors import InvalidInputError
from kinhash.methods import LSH, ClassCode
from kinhash.methods.rivals.classcode import class_codes
from kinhash.metrics import evaluate_codes


def crowd(n_classes):
    """Classes that overlap, so that votes are close."""
    return make_blobs(
        60 * n_classes, n_features=5, centers=n_classes, cluster_std=6.0, random_state=n_classes
    )


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_it_predicts_what_scikit_learn_predicts(n_classes, rng):
    X, y = crowd(n_classes)
    model = ClassCode(n_bits=20).fit(X, y)
    encoder = model.encoder_
    machine = SVC(C=3.0, gamma=1 / 5).fit(encoder.standardise(X), y)
    others = rng.normal(scale=8.0, size=(3000, 5))
    for vectors in (X, others):
        expected = machine.predict(encoder.standardise(vectors))
        assert np.array_equal(encoder.predict(vectors), expected)
        assert np.array_equal(model.encode(vectors).to_dense(), encoder.class_codes[expected])


@pytest.mark.parametrize(
    ("n_classes", "n_bits", "apart"), [(10, 48, 8), (10, 10, 2), (3, 64, 42), (2, 2, 2), (10, 8, 3)]
)
def test_class_codes_are_far_apart(n_classes, n_bits, apart, rng):
    """Disjoint sets of n_bits // n_classes bits are twice that apart; with 8 bits, 3 or more."""
    codes = class_codes(n_classes, n_bits, rng).astype(int)
    distances = (codes[:, None] != codes).sum(axis=2)[~np.eye(n_classes, dtype=bool)]
    assert codes.shape == (n_classes, n_bits)
    assert distances.min() >= apart


@pytest.mark.parametrize(("n_classes", "n_bits"), [(2, 1), (16, 4), (5, 3), (3000, 16)])
def test_every_class_has_a_code_of_its_own(n_classes, n_bits, rng):
    codes = class_codes(n_classes, n_bits, rng)
    assert len(np.unique(codes, axis=0)) == n_classes


def test_labels_of_any_type_will_do():
    X, y = crowd(3)
    names = np.array(["cat", "dog", "emu"])[y]
    assert ClassCode(n_bits=9).fit(X, names).encode(X) == ClassCode(n_bits=9).fit(X, y).encode(X)


@pytest.mark.filterwarnings("ignore::kinhash.errors.ConstantColumnWarning")
def test_it_beats_random_projections_on_digits():
    X, y = load_digits(return_X_y=True)
    found = {}
    for model in (ClassCode(n_bits=20), LSH(n_bits=20)):
        codes = model.fit(X[:800], y[:800]).encode(X[800:])
        found[model.name] = evaluate_codes(codes[:300], y[800:1100], codes[300:], y[1100:])
    assert found["classcode"]["unique_codes"] == 10
    assert found["classcode"]["f1@r0"] > 0.85
    assert found["classcode"]["map"] > found["lsh"]["map"] + 0.3


def test_files_give_equal_codes(tmp_path):
    X, y = crowd(10)
    model = ClassCode(n_bits=30).fit(X, y)
    model.save(tmp_path / "class.kinhash")
    loaded = kinhash.load(tmp_path / "class.kinhash")
    assert loaded.encode(X) == model.encode(X)
    assert loaded.get_params() == model.get_params()


def test_unusable_data_is_refused_and_changes_nothing():
    X, y = crowd(3)
    model = ClassCode(n_bits=6).fit(X, y)
    before = model.encode(X)
    bad = X[:, :4].copy()
    bad[7, 2] = np.nan
    for given, labels, message in [
        (X, None, "ClassCode requires y to be passed"),
        (X, np.zeros(180), r"single class, 0\.0; .* Add rows of other classes\.$"),
        (X, np.eye(3, dtype=int)[y], "one class per row for ClassCode, got a matrix of 3 tags"),
        (X, np.arange(180) // 2, "`n_bits` must be at least 7 to tell 90 classes apart, got 6"),
        (bad, y, "contains NaN in row 7"),
        (np.ones((180, 3)), y, "All columns of `X` are constant"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            model.fit(given, labels)
    assert model.encode(X) == before
    assert model.n_features_in_ == 5


@pytest.mark.parametrize("parameters", [{"C": 0}, {"gamma": -1.0}])
def test_bad_parameters_are_refused(parameters):
    with pytest.raises(InvalidInputError, match="must be a number greater than 0"):
        ClassCode(**parameters).fit(*crowd(2))
