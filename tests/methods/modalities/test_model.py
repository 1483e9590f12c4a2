"""What every method of several modalities promises."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

import kinhash
from kinhash.errors import ConstantColumnWarning, InvalidInputError, NotFittedError
from kinhash.methods import CCAITQ, CMSSH, MULTIMODAL_METHODS, MultimodalSparseHash

# Small parts of digits have columns that are constant.
pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.ConstantColumnWarning")

QUICK = {"multimodal-sparsehash": {"recipe": "paper", "max_steps": 150, "n_anchors": 200}}


def quick(name, **parameters):
    return MULTIMODAL_METHODS[name](n_bits=24, **QUICK.get(name, {}), **parameters)


@pytest.fixture(params=[*MULTIMODAL_METHODS, "strong"])
def method(request):
    if request.param == "strong":
        return MultimodalSparseHash(n_bits=56)
    return quick(request.param)


def test_every_direction_finds_its_class(method, halves, taken, mean_precision):
    X, y = halves
    method.fit(taken(X, np.arange(1400)), y[:1400])
    assert method.modalities == ("upper", "lower")
    for query in X:
        for database in X:
            assert mean_precision(method, X, y, query, database) > 0.3


def test_a_fit_is_repeatable_and_leaves_its_input_alone(method, halves):
    X, y = halves
    before = {name: values.copy() for name, values in X.items()}
    first = clone(method).fit(X, y).encode(X["lower"], modality="lower")
    second = clone(method).fit(X, y).encode(X["lower"], modality="lower")
    assert np.array_equal(first.words, second.words)
    for name, values in before.items():
        assert np.array_equal(X[name], values)


def test_a_model_is_the_same_from_its_file(method, described, tmp_path):
    X, y = described
    method.fit(X, y)
    method.save(tmp_path / "model.kinhash")
    loaded = kinhash.load(tmp_path / "model.kinhash")
    assert type(loaded) is type(method)
    assert loaded.get_params() == method.get_params()
    assert loaded.modalities == method.modalities
    assert loaded.words_ == method.words_
    assert len(loaded.history_) == len(method.history_)
    for name, values in X.items():
        ours, theirs = (one.encode(values, modality=name) for one in (method, loaded))
        assert np.array_equal(ours.words, theirs.words)


def test_a_text_without_a_known_word_has_the_empty_code(described, method):
    X, y = described
    method.fit(X, y)
    texts = ["three", "unheard of", ""]
    assert method.has_content(texts, modality="text").tolist() == [True, False, False]
    assert (method.encode(texts, modality="text").n_active > 0).tolist() == [True, False, False]
    assert method.has_content(X["image"][:2], modality="image").all()


BAD = [
    (lambda _: np.eye(3), "must be a dict with the vectors of each modality, .* got ndarray"),
    (lambda _: {}, "at least one modality, got none"),
    (lambda X: {"a/b": X["image"], "text": X["text"]}, "text without a slash, got 'a/b'"),
    (
        lambda X: {"image": X["image"][:9], "text": X["text"]},
        "'image' has 9 rows and 'text' has 1797",
    ),
    (lambda X: {**X, "image": X["image"] * np.nan}, "All 1797 rows of 'image' are empty"),
    (lambda X: {**X, "text": [""] * 1797}, "None of the 1797 texts has a word"),
    (
        lambda X: {**X, "text": scipy.sparse.csr_array((1797, 5))},
        "All 1797 rows of 'text' are empty",
    ),
    (lambda X: {**X, "image": np.ones((1797, 3))}, "All columns of 'image' are constant"),
    (lambda X: {**X, "image": [["a", "b"]] * 1797}, "Modality 'image' cannot be used"),
    (lambda X: {**X, "image": with_one_nan(X["image"])}, "'image' contains NaN in row 5"),
]


def with_one_nan(X):
    X = X.astype(float)
    X[5, 3] = np.nan
    return X


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_modalities_are_refused_in_one_sentence(described, method, change, message):
    X, y = described
    with pytest.raises(InvalidInputError, match=message):
        method.fit(change(X), y)
    assert not hasattr(method, "encoders_")
    assert not hasattr(method, "words_")


def test_bad_rows_to_encode_are_refused_in_one_sentence(described):
    X, y = described
    model = quick("cmssh")
    with pytest.raises(NotFittedError):
        model.encode(X["text"], modality="text")
    model.fit(X, y)
    for rows, modality, message in (
        (X["image"], "sound", "Unknown modality 'sound'. Known: image, text"),
        (X["text"], "image", "fitted on vectors of 61 numbers, not on texts"),
        (np.eye(3), "text", "'text' has 3 columns, but the encoder takes"),
        (scipy.sparse.csr_array((2, 7)), "text", "'text' has 7 columns, but the encoder takes"),
        (np.full((2, 61), np.nan), "image", "NaN in row 0"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            model.encode(rows, modality=modality)


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (CMSSH, {"n_pairs": 0}, "`n_pairs` must be an integer"),
        (CMSSH, {"n_thresholds": 0}, "`n_thresholds` must be an integer"),
        (CMSSH, {"learning_rate": 2}, "`learning_rate` must be a number"),
        (CCAITQ, {"regularisation": -1}, "`regularisation` must be a number"),
        (CCAITQ, {"power": -1}, "`power` must be a number"),
        (CCAITQ, {"n_iterations": -1}, "`n_iterations` must be an integer"),
    ],
)
def test_bad_parameters_of_the_rivals_are_refused(described, kind, parameters, message):
    X, y = described
    with pytest.raises(InvalidInputError, match=message):
        kind(**parameters).fit(X, y)


def test_a_failed_fit_leaves_a_fitted_model_as_it_was(described):
    X, y = described
    model = quick("cmssh").fit(X, y)
    before = model.encode(X["image"][:9], modality="image")
    with pytest.raises(InvalidInputError):
        model.fit({"photo": X["image"], "title": X["text"]}, y[:5])
    assert model.modalities == ("image", "text")
    assert np.array_equal(before.words, model.encode(X["image"][:9], modality="image").words)


def test_columns_that_are_constant_are_named_with_their_modality(halves):
    X, y = halves
    X = {name: np.c_[values, np.ones(len(y))] for name, values in X.items()}
    with pytest.warns(ConstantColumnWarning, match="1 of 32 columns of 'upper' are constant"):
        quick("cca-itq").fit(X, y)
