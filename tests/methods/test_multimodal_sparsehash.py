import warnings

import numpy as np
import pytest
import scipy.sparse

import kinhash
from kinhash import MultimodalSparseHash, Pairs
from kinhash.errors import CollapseWarning, InvalidInputError
from kinhash.methods import CMSSH
from kinhash.metrics import evaluate_codes

# Small parts of digits have columns that are constant.
pytestmark = pytest.mark.filterwarnings("ignore:.*are constant:UserWarning")


def quick(**parameters):
    return MultimodalSparseHash(24, recipe="paper", max_steps=150, n_anchors=200, **parameters)


def test_words_find_pictures_and_pictures_words(described, taken, mean_precision):
    X, y = described
    model = quick().fit(taken(X, np.arange(1400)), y[:1400])
    assert mean_precision(model, X, y, "image", "text") > 0.8
    assert mean_precision(model, X, y, "text", "image") > 0.8
    three = model.encode(["three"], modality="text")
    pictures = kinhash.HammingIndex(model.encode(X["image"][1400:], modality="image"))
    nearest, _ = pictures.search_top_k(three, 5)[0]
    assert (y[1400:][nearest] == 3).mean() >= 0.6


def test_sparse_rows_are_what_texts_become(described):
    X, y = described
    model = quick().fit(X, y)
    bags = model.words_["text"].bags(X["text"])
    same = quick().fit({"image": X["image"], "text": bags}, y)
    texts, rows = model.encode(X["text"], modality="text"), same.encode(bags, modality="text")
    assert np.array_equal(texts.words, rows.words)
    assert same.words_ == {}


def test_texts_may_have_gaussian_units_too(described, mean_precision):
    X, y = described
    plain = MultimodalSparseHash(24, recipe="paper", max_steps=50).fit(X, y)
    assert [encoder.kind for encoder in plain.encoders_.values()] == ["kernel-ista", "ista"]
    model = MultimodalSparseHash(24, recipe="paper", max_steps=150, n_anchors=200).fit(X, y)
    assert [encoder.kind for encoder in model.encoders_.values()] == ["kernel-ista"] * 2
    assert mean_precision(model, X, y, "text", "image") > 0.8


def test_any_number_of_modalities(halves, taken, mean_precision):
    X, y = halves
    three = {**X, "columns": X["upper"][:, ::2]}
    model = quick(mu={"upper": 1.0}).fit(taken(three, np.arange(1400)), y[:1400])
    for query, database in (("upper", "columns"), ("columns", "lower"), ("lower", "upper")):
        assert mean_precision(model, three, y, query, database) > 0.4
    with pytest.raises(
        InvalidInputError, match="cmssh takes two modalities, got 'upper', 'lower', 'columns'"
    ):
        CMSSH().fit(three, y)


def test_each_modality_may_have_its_own_encoder(halves):
    X, y = halves
    model = quick(
        encoder={"lower": "cod"},
        n_active=5,
        n_layers={"upper": 3},
        alpha=0.0,
    ).fit(X, y)
    assert model.encoders_["upper"].kind == "kernel-ista"
    assert model.encoders_["upper"].n_steps == 3
    assert model.encoders_["lower"].kind == "cod"
    assert model.encode(X["lower"], modality="lower").n_active.max() <= 5


def test_the_cross_modal_regime_leaves_out_the_pairs_within(halves, taken, mean_precision):
    X, y = halves
    model = quick(mu=0.0).fit(taken(X, np.arange(1400)), y[:1400])
    assert "upper-lower" in model.history_[-1]
    assert "upper-upper" not in model.history_[-1]
    assert mean_precision(model, X, y, "upper", "lower") > 0.4


def fits(X, y=None, pairs=None):
    return quick().fit(X, y, pairs=pairs)


def test_labels_of_one_side_are_enough_where_rows_are_paired(halves):
    X, y = halves
    both, one = fits(X, y), fits(X, {"lower": y})
    codes = [model.encode(X["upper"], modality="upper").words for model in (both, one)]
    assert np.array_equal(*codes)


def test_rows_need_not_be_paired_when_each_side_has_labels(halves, mean_precision):
    X, y = halves
    part = {"upper": X["upper"][:900], "lower": X["lower"][900:1400]}
    model = fits(part, {"upper": y[:900], "lower": y[900:1400]})
    assert mean_precision(model, X, y, "upper", "lower") > 0.4


def test_tags_relate_items_that_share_one(halves, taken):
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


def test_pairs_of_items_teach_every_direction(halves, rng, taken, mean_precision):
    X, y = halves
    model = fits(taken(X, np.arange(1400)), pairs=Pairs(*pairs_of(y[:1400], rng)))
    assert mean_precision(model, X, y, "upper", "lower") > 0.25


def test_pairs_within_and_across_are_listed_by_name(halves, rng, taken, mean_precision):
    X, y = halves
    listed = {
        ("lower", "upper"): Pairs.across(*pairs_of(y[:1400], rng)),
        "upper": Pairs(*pairs_of(y[:1400], rng)),
    }
    model = fits(taken(X, np.arange(1400)), pairs=listed)
    assert mean_precision(model, X, y, "upper", "lower") > 0.25


def test_paired_rows_alone_teach_something(halves, taken, mean_precision):
    X, y = halves
    model = fits(taken(X, np.arange(1400)))
    assert mean_precision(model, X, y, "upper", "lower") > 0.15  # guessing gets 0.1


def test_items_may_lack_a_modality(described, mean_precision):
    X, y = described
    image = X["image"].astype(float)
    image[::7] = np.nan
    texts = [text if row % 5 else "" for row, text in enumerate(X["text"])]
    model = fits({"image": image[:1400], "text": texts[:1400]}, y[:1400])
    assert mean_precision(model, X, y, "image", "text") > 0.7
    for name in ("image", "text"):
        assert np.isfinite(model.encoders_[name].W).all()


def test_a_side_whose_codes_are_empty_is_named(halves):
    X, y = halves
    with pytest.warns(CollapseWarning) as caught:
        quick(alpha=30.0).fit(X, y)
    messages = [str(warning.message) for warning in caught]
    named = (
        "The codes of 'upper' have collapsed: 100% of its rows have the empty code. Lower `alpha`"
    )
    assert any(message.startswith(named) for message in messages)


def test_good_codes_give_no_warning(described):
    X, y = described
    with warnings.catch_warnings():
        warnings.simplefilter("error", CollapseWarning)
        quick().fit(X, y)


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
        MultimodalSparseHash(recipe="paper", **parameters).fit(X, y)
