"""The methods of several modalities: supervision, missing views, files, bad input."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_digits

import kinhash
from kinhash import MultimodalSparseHash, Pairs
from kinhash.errors import CollapseWarning, ConstantColumnWarning, InvalidInputError, NotFittedError
from kinhash.methods import CCAITQ, CMSSH, MULTIMODAL_METHODS
from kinhash.metrics import evaluate_codes

# Small parts of digits have columns that are constant.
pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.ConstantColumnWarning")

QUICK = {"multimodal-sparsehash": {"max_steps": 150, "n_anchors": 200}}
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def quick(name, **parameters):
    return MULTIMODAL_METHODS[name](n_bits=24, **QUICK.get(name, {}), **parameters)


@pytest.fixture(scope="module")
def halves():
    X, y = load_digits(return_X_y=True)
    return {"upper": X[:, 1:32], "lower": X[:, 40:]}, y  # without the columns that are constant


@pytest.fixture(scope="module")
def described():
    """Pictures of digits, and texts with their names."""
    X, y = load_digits(return_X_y=True)
    parity = np.array(["even", "odd"])
    texts = [f"{WORDS[digit]} {parity[digit % 2]} number" for digit in y]
    return {"image": X[:, X.std(axis=0) > 0], "text": texts}, y


def taken(X, rows):
    def some(values):
        return [values[row] for row in rows] if isinstance(values, list) else values[rows]

    return {name: some(values) for name, values in X.items()}


def mean_precision(method, X, y, query, database, rows=slice(1400, None), found=slice(0, 1400)):
    everything = np.arange(len(y))
    q = method.encode(taken(X, everything[rows])[query], modality=query)
    d = method.encode(taken(X, everything[found])[database], modality=database)
    return evaluate_codes(q, y[rows], d, y[found], at=[10])["map"]


@pytest.fixture(params=MULTIMODAL_METHODS)
def method(request):
    return quick(request.param)


def test_every_direction_finds_its_class(method, halves):
    X, y = halves
    method.fit(taken(X, np.arange(1400)), y[:1400])
    assert method.modalities == ("upper", "lower")
    for query in X:
        for database in X:
            assert mean_precision(method, X, y, query, database) > 0.3


def test_words_find_pictures_and_pictures_words(described):
    X, y = described
    model = quick("multimodal-sparsehash").fit(taken(X, np.arange(1400)), y[:1400])
    assert mean_precision(model, X, y, "image", "text") > 0.8
    assert mean_precision(model, X, y, "text", "image") > 0.8
    three = model.encode(["three"], modality="text")
    pictures = kinhash.HammingIndex(model.encode(X["image"][1400:], modality="image"))
    nearest, _ = pictures.search_top_k(three, 5)[0]
    assert (y[1400:][nearest] == 3).mean() >= 0.6


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


def test_sparse_rows_are_what_texts_become(described):
    X, y = described
    model = quick("multimodal-sparsehash").fit(X, y)
    bags = model.words_["text"].bags(X["text"])
    same = quick("multimodal-sparsehash").fit({"image": X["image"], "text": bags}, y)
    texts, rows = model.encode(X["text"], modality="text"), same.encode(bags, modality="text")
    assert np.array_equal(texts.words, rows.words)
    assert same.words_ == {}


def test_texts_may_have_gaussian_units_too(described):
    X, y = described
    plain = MultimodalSparseHash(n_bits=24, max_steps=50).fit(X, y)
    assert [encoder.kind for encoder in plain.encoders_.values()] == ["kernel-ista", "ista"]
    model = MultimodalSparseHash(n_bits=24, max_steps=150, n_anchors=200).fit(X, y)
    assert [encoder.kind for encoder in model.encoders_.values()] == ["kernel-ista"] * 2
    assert mean_precision(model, X, y, "text", "image") > 0.8


def test_any_number_of_modalities(halves):
    X, y = halves
    three = {**X, "columns": X["upper"][:, ::2]}
    model = quick("multimodal-sparsehash", mu={"upper": 1.0}).fit(
        taken(three, np.arange(1400)), y[:1400]
    )
    for query, database in (("upper", "columns"), ("columns", "lower"), ("lower", "upper")):
        assert mean_precision(model, three, y, query, database) > 0.4
    with pytest.raises(
        InvalidInputError, match="cmssh takes two modalities, got 'upper', 'lower', 'columns'"
    ):
        quick("cmssh").fit(three, y)


def test_each_modality_may_have_its_own_encoder(halves):
    X, y = halves
    model = quick(
        "multimodal-sparsehash",
        encoder={"lower": "cod"},
        n_active=5,
        n_layers={"upper": 3},
        alpha=0.0,
    ).fit(X, y)
    assert model.encoders_["upper"].kind == "kernel-ista"
    assert model.encoders_["upper"].n_steps == 3
    assert model.encoders_["lower"].kind == "cod"
    assert model.encode(X["lower"], modality="lower").n_active.max() <= 5


def test_the_cross_modal_regime_leaves_out_the_pairs_within(halves):
    X, y = halves
    model = quick("multimodal-sparsehash", mu=0.0).fit(taken(X, np.arange(1400)), y[:1400])
    assert "upper-lower" in model.history_[-1]
    assert "upper-upper" not in model.history_[-1]
    assert mean_precision(model, X, y, "upper", "lower") > 0.4


# Supervision


def fits(X, y=None, pairs=None):
    return quick("multimodal-sparsehash").fit(X, y, pairs=pairs)


def test_labels_of_one_side_are_enough_where_rows_are_paired(halves):
    X, y = halves
    both, one = fits(X, y), fits(X, {"lower": y})
    codes = [model.encode(X["upper"], modality="upper").words for model in (both, one)]
    assert np.array_equal(*codes)


def test_rows_need_not_be_paired_when_each_side_has_labels(halves):
    X, y = halves
    part = {"upper": X["upper"][:900], "lower": X["lower"][900:1400]}
    model = fits(part, {"upper": y[:900], "lower": y[900:1400]})
    assert mean_precision(model, X, y, "upper", "lower") > 0.4


def test_tags_relate_items_that_share_one(halves):
    X, y = halves
    tags = np.zeros((len(y), 12), int)
    tags[np.arange(len(y)), y] = 1
    tags[np.arange(len(y)), 10 + y % 2] = 1
    model = fits(taken(X, np.arange(1400)), scipy.sparse.csr_array(tags[:1400]))
    q = model.encode(X["upper"][1400:], modality="upper")
    d = model.encode(X["lower"][:1400], modality="lower")
    assert evaluate_codes(q, tags[1400:], d, tags[:1400], at=[10])["map"] > 0.6


def pairs_of(y, rng, n=6000):
    i, j = rng.integers(len(y), size=(2, n))
    different = i != j
    return i[different], j[different], (y[i] == y[j])[different]


def test_pairs_of_items_teach_every_direction(halves, rng):
    X, y = halves
    model = fits(taken(X, np.arange(1400)), pairs=Pairs(*pairs_of(y[:1400], rng)))
    assert mean_precision(model, X, y, "upper", "lower") > 0.25


def test_pairs_within_and_across_are_listed_by_name(halves, rng):
    X, y = halves
    listed = {
        ("lower", "upper"): Pairs.across(*pairs_of(y[:1400], rng)),
        "upper": Pairs(*pairs_of(y[:1400], rng)),
    }
    model = fits(taken(X, np.arange(1400)), pairs=listed)
    assert mean_precision(model, X, y, "upper", "lower") > 0.25


def test_paired_rows_alone_teach_something(halves):
    X, y = halves
    model = fits(taken(X, np.arange(1400)))
    assert mean_precision(model, X, y, "upper", "lower") > 0.15  # guessing gets 0.1


def test_items_may_lack_a_modality(described):
    X, y = described
    image = X["image"].astype(float)
    image[::7] = np.nan
    texts = [text if row % 5 else "" for row, text in enumerate(X["text"])]
    model = fits({"image": image[:1400], "text": texts[:1400]}, y[:1400])
    assert mean_precision(model, X, y, "image", "text") > 0.7
    for name in ("image", "text"):
        assert np.isfinite(model.encoders_[name].W).all()


# What is noticed


def test_a_side_whose_codes_are_empty_is_named(halves):
    X, y = halves
    with pytest.warns(CollapseWarning) as caught:
        quick("multimodal-sparsehash", alpha=30.0).fit(X, y)
    messages = [str(warning.message) for warning in caught]
    named = (
        "The codes of 'upper' have collapsed: 100% of its rows have the empty code. Lower `alpha`"
    )
    assert any(message.startswith(named) for message in messages)


def test_good_codes_give_no_warning(described):
    X, y = described
    with warnings.catch_warnings():
        warnings.simplefilter("error", CollapseWarning)
        quick("multimodal-sparsehash").fit(X, y)


# Texts without a known word, and bad input


def test_a_text_without_a_known_word_has_the_empty_code(described, method):
    X, y = described
    method.fit(X, y)
    texts = ["three", "unheard of", ""]
    assert method.has_content(texts, modality="text").tolist() == [True, False, False]
    assert (method.encode(texts, modality="text").n_active > 0).tolist() == [True, False, False]
    assert method.has_content(X["image"][:2], modality="image").all()


BAD = [
    (lambda _: np.eye(3), "must be a dict with the vectors of each modality, .* got ndarray"),
    (lambda X: {"image": X["image"]}, "at least two modalities, got 'image'"),
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


@pytest.mark.parametrize(
    ("y", "pairs", "message"),
    [
        (np.zeros(1797), Pairs([0], [1]), "either `y` or `pairs`"),
        (np.zeros(5), None, "`y` has 5 labels but 'image' has 1797 rows"),
        (np.zeros(1797), None, "`y` has a single class"),
        ({"sound": np.zeros(3)}, None, "Unknown modality in `y` 'sound'. Known: image, text"),
        (None, {"sound": Pairs([0], [1])}, "Unknown modality in `pairs` 'sound'"),
        (None, {("image", "text"): [(0, 1)]}, "must hold kinhash.Pairs, got list"),
        (None, {("image",): Pairs([0], [1])}, "must be a modality or two of them"),
        (None, [(0, 1)], "must be kinhash.Pairs, or a dict of them, got list"),
        (None, Pairs([0], [9999]), "name row 9999, but `X` has 1797 rows"),
        (None, {"image": Pairs([0], [1], [False])}, "No two views are similar"),
    ],
)
def test_bad_supervision_is_refused_in_one_sentence(described, y, pairs, message):
    X, _ = described
    with pytest.raises(InvalidInputError, match=message):
        fits(X, y, pairs)


def test_labels_that_do_not_say_whose_they_are_are_refused(halves):
    X, y = halves
    part = {"upper": X["upper"][:900], "lower": X["lower"]}
    with pytest.raises(
        InvalidInputError, match="no labels for 'lower', whose 1797 rows are not paired"
    ):
        fits(part, {"upper": y[:900]})


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
    ("parameters", "message"),
    [
        ({"mu": -1}, "`mu` must be a number of at least 0"),
        ({"mu": {"image": "x"}}, r"`mu\['image'\]` must be a number"),
        ({"mu": {"sound": 1}}, "Unknown modality in `mu` 'sound'"),
        ({"n_layers": {"image": -1}}, r"`n_layers\['image'\]` must be an integer"),
        ({"encoder": "wrong"}, "Unknown encoder 'wrong'. Known: cod, ista"),
        ({"n_anchors": 1.5}, "`n_anchors` must be an integer"),
        ({"gamma": 0}, "`gamma` must be a number greater than 0"),
        ({"weight_decay": -1}, "`weight_decay` must be"),
        ({"n_words": 0}, "`n_words` must be an integer"),
        ({"n_active": 3}, "`n_active` is guaranteed only by encoder='cod'"),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(described, parameters, message):
    X, y = described
    with pytest.raises(InvalidInputError, match=message):
        MultimodalSparseHash(**parameters).fit(X, y)


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
