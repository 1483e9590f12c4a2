import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs
from sklearn.svm import SVC

import kinhash
from kinhash.errors import InvalidInputError
from kinhash.methods import LSH, ClassCode
from kinhash.methods.parts import sharpening
from kinhash.methods.rivals.classcode import class_codes, level_codes
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
        (X, np.arange(180) // 2, "`n_bits` must be at least 7 to tell 90 classes apart, got 6"),
        (bad, y, "contains NaN in row 7"),
        (np.ones((180, 3)), y, "All columns of `X` are constant"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            model.fit(given, labels)
    assert model.encode(X) == before
    assert model.n_features_in_ == 5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0}, "`C` must be a number greater than 0"),
        ({"gamma": -1.0}, "`gamma` must be a number greater than 0"),
        ({"levels": 0}, "`levels` must be an integer in"),
        ({"temperature": 0}, "`temperature` must be a number of at least 0.001"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        ClassCode(**parameters).fit(*crowd(2))


@pytest.mark.parametrize("n_classes", [50, 94])
def test_many_classes_share_bits_and_are_still_far_apart(n_classes, rng):
    """One bit of its own each would put all classes within radius 2."""
    codes = class_codes(n_classes, 64, rng).astype(int)
    distances = (codes[:, None] != codes).sum(axis=2)[~np.eye(n_classes, dtype=bool)]
    assert len(set(codes.sum(axis=1))) == 1
    assert codes.sum(axis=1).max() <= 8
    assert distances.min() >= 8


def test_each_level_of_each_class_has_bits_of_its_own(rng):
    codes = level_codes(3, 10, 64, rng)
    assert codes.shape == (3, 10, 64)
    assert codes.sum(axis=2).tolist() == [[2] * 10] * 3  # 64 // 30
    assert codes.sum(axis=(0, 1)).max() == 1


def test_with_few_bits_the_first_level_is_a_word(rng):
    codes = level_codes(3, 50, 64, rng)
    assert codes[1:].sum() == 0
    assert len(np.unique(codes[0], axis=0)) == 50
    assert len(set(codes[0].sum(axis=1))) == 1


def test_the_code_is_the_thermometer_of_sharpened_probabilities():
    X, y = crowd(4)
    model = ClassCode(n_bits=26, levels=3, temperature=0.5).fit(X, y)
    usual = ClassCode(n_bits=26, levels=3, temperature=1.0).fit(X, y)
    p = usual.encoder_.predict(X).astype(np.float64) ** 2
    level = np.floor(3 * p / p.sum(axis=1, keepdims=True) + 0.5).astype(int)
    bits = model.encoder_.class_codes  # 26 // 12 = 2 bits for each level of each class
    expected = np.zeros((len(X), 26), int)
    for row, levels in enumerate(level):
        for c, height in enumerate(levels):
            expected[row] |= bits[:height, c].any(axis=0)
    agree = (model.encode(X).to_dense() == expected).all(axis=1)
    assert agree.mean() > 0.99  # but for probabilities within rounding of a level
    assert bits.sum() == 24


def test_the_temperature_has_the_best_f1_of_rows_left_out(monkeypatch):
    X, y = crowd(4)
    chosen = ClassCode(n_bits=24, levels=3).fit(X, y).history_[0]
    scores = {}
    for temperature in sharpening.TEMPERATURES:
        monkeypatch.setattr(sharpening, "TEMPERATURES", (temperature,))
        kept = []
        inner = sharpening.evaluate_codes

        def spy(*given, inner=inner, kept=kept, **named):
            kept.append(inner(*given, **named))
            return kept[-1]

        monkeypatch.setattr(sharpening, "evaluate_codes", spy)
        ClassCode(n_bits=24, levels=3).fit(X, y)
        monkeypatch.setattr(sharpening, "evaluate_codes", inner)
        scores[temperature] = kept[0]["f1@r0"] + kept[0]["f1@r2"]
    assert chosen["temperature"] == max(scores, key=scores.get)
    assert chosen["kept"]


def test_a_lower_temperature_gives_coarser_codes():
    X, y = crowd(4)
    n_unique = [
        ClassCode(n_bits=24, levels=3, temperature=t).fit(X, y).encode(X).n_unique
        for t in (1.0, 0.3, 0.01)
    ]
    assert n_unique == sorted(n_unique, reverse=True)
    assert n_unique[0] > n_unique[-1]


@pytest.mark.parametrize("levels", [1, 2])
def test_tags_have_probabilities_of_their_own(levels):
    X, y = crowd(3)
    tags = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1]])[y]
    model = ClassCode(n_bits=12, levels=levels).fit(X, tags)
    assert not model.encoder_.exclusive
    likely = model.encoder_.predict(X)
    assert np.mean((likely > 0.5) == tags) > 0.7
    assert (model.encode(X).n_active > 0).all()
    if levels == 1:  # all bits of a tag are set where it is likelier than not
        words = model.encoder_.class_codes[0]
        certain = (likely > 0.5).any(axis=1)
        expected = (likely[certain] >= 0.5).astype(int) @ words > 0
        assert np.array_equal(model.encode(X[certain]).to_dense(), expected)


def test_small_classes_are_learned_with_a_warning():
    X, y = crowd(3)
    rows = np.concatenate([np.flatnonzero(y == c)[:2] for c in range(3)])
    with pytest.warns(UserWarning, match="6 rows are too few to tell how sure class probabilities"):
        model = ClassCode(n_bits=12, levels=2).fit(X[rows], y[rows])
    assert model.history_[0]["temperature"] in sharpening.TEMPERATURES
    assert model.encode(X).n_bits == 12
