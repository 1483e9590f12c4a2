import re
import sys
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from kinhash import Codes, Pairs, SparseHash
from kinhash.errors import CollapseWarning, InvalidInputError, MissingExtraError
from kinhash.methods.recipes.paper import _warn_of_shared_codes
from kinhash.metrics import evaluate_codes
from kinhash.training import loop


def paper(n_bits=64, **given):
    return SparseHash(n_bits, recipe="paper", **given)


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(1200, n_features=20, centers=6, cluster_std=3.0, random_state=0)
    return X, y


def useful(model, X, y):
    """Much better than chance at radius 2, with codes that differ."""
    codes = model.encode(X)
    found = evaluate_codes(codes[:200], y[:200], codes[200:], y[200:])
    return (
        found["map"] > 0.8 and found["f1@r2"] > 0.6 and found["unique_codes"] >= len(np.unique(y))
    )


def test_one_hundred_rows_suffice(blobs):
    X, y = blobs
    assert useful(paper().fit(X[:100], y[:100]), X, y)


@pytest.mark.parametrize(
    "parameters", [{"signed": True}, {"encoder": "cod"}, {"optimizer": "sgd"}, {"n_layers": 0}]
)
def test_every_variant_learns(blobs, parameters):
    X, y = blobs
    assert useful(paper(**parameters).fit(X[:600], y[:600]), X, y)


@pytest.mark.parametrize("only_similar", [False, True])
def test_pairs_teach_too(blobs, only_similar):
    X, y = blobs
    rng = np.random.default_rng(0)
    i, j = rng.integers(600, size=(2, 6000))
    keep = (i != j) & ((y[i] == y[j]) | (not only_similar))
    pairs = Pairs(i[keep], j[keep], (y[i] == y[j])[keep])
    assert useful(paper().fit(X[:600], pairs=pairs), X, y)


@pytest.mark.parametrize("parameters", [{"n_neighbors": 20}, {"threshold": 15.0}])
def test_vectors_alone_teach_their_own_neighbourhoods(blobs, parameters):
    X, y = blobs
    assert useful(paper(**parameters).fit(X[:600]), X, y)


def test_coordinate_descent_keeps_its_promise(blobs):
    X, y = blobs
    for n_active in (1, 3):
        model = paper(encoder="cod", n_active=n_active, max_steps=200).fit(X, y)
        assert model.encode(X).n_active.max() <= n_active


def test_larger_alpha_gives_sparser_codes(digits):
    active = [
        paper(alpha=alpha, max_steps=400).fit(*digits).encode(digits[0]).n_active.mean()
        for alpha in (0.0, 0.1)
    ]
    assert active[1] < 0.8 * active[0]


def test_larger_margins_give_finer_codes(digits):
    unique = [
        paper(margin=margin, max_steps=400).fit(*digits).encode(digits[0]).n_unique
        for margin in (7, 21)
    ]
    assert unique[1] > 1.5 * unique[0]


def test_training_stops_early_and_keeps_the_best(digits):
    model = paper(max_steps=3000, max_epochs=1000, patience=3, n_bits=32).fit(*digits)
    losses = [record["loss"] for record in model.history_]
    assert len(losses) < 50
    assert min(losses) == losses[-4]


def test_the_history_can_be_plotted(tiny_model):
    assert len(tiny_model.history_) == 50
    assert {
        "step",
        "epoch",
        "loss",
        "pull",
        "push",
        "sparsity",
        "active",
        "unique",
        "empty",
    } <= set(tiny_model.history_[0])
    steps = [record["step"] for record in tiny_model.history_]
    assert steps == sorted(steps)
    assert steps[-1] == 150


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lam": 0.005}, r"raise `lam` \(now 0.005\)"),
        ({"similar_share": 0.8}, r"raise `lam` \(now 0.1\)"),
        ({"alpha": 1.0}, r"Lower `alpha` \(now 1\)"),
    ],
)
def test_a_collapse_is_announced_early_and_confirmed_at_the_end(rng, parameters, message):
    X = rng.normal(size=(2000, 30))
    # Classes that are hard to tell apart, so that merging them pays.
    y = (X[:, :2] + 0.5 * rng.normal(size=(2000, 2)) > 0) @ [1, 2]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        paper(**parameters).fit(X, y)
    texts = [str(w.message) for w in caught if issubclass(w.category, CollapseWarning)]
    assert any("After 50 steps" in text for text in texts)
    assert any("different code" in text for text in texts)
    for text in texts:
        assert re.search(message, text)


def test_outputs_that_stay_soft_are_noticed(digits):
    with pytest.warns(CollapseWarning, match=r"far from binary: Raise `beta` \(now 0.1\)"):
        paper(beta=0.1, max_steps=200).fit(*digits)


def test_defaults_do_not_warn(digits, blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paper().fit(*digits)
        paper().fit(*blobs)


def test_labels_and_pairs_together_are_refused(blobs):
    X, y = blobs
    with pytest.raises(InvalidInputError, match="either `y` or `pairs`, got both"):
        paper().fit(X, y, pairs=Pairs([0], [1]))
    with pytest.raises(InvalidInputError, match="row 5000, but `X` has 1200 rows"):
        paper().fit(X, pairs=Pairs([0], [5000]))
    with pytest.raises(InvalidInputError, match=r"must be kinhash\.Pairs, got list"):
        paper().fit(X, pairs=[(0, 1)])
    with pytest.raises(InvalidInputError, match="no similar pair"):
        paper().fit(X, pairs=Pairs([0], [1], similar=False))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"margin": 0}, "`margin` must be a number greater than 0, got 0"),
        ({"alpha": -1}, "`alpha` must be a number of at least 0, got -1"),
        ({"lam": np.nan}, "`lam` must be a number greater than 0, got nan"),
        ({"similar_share": 1.5}, "`similar_share` must be .* at most 1, got 1.5"),
        ({"n_layers": -1}, r"`n_layers` must be an integer in \[0, 100\], got -1"),
        ({"encoder": "itsa"}, "Unknown encoder 'itsa'. Did you mean 'ista'?"),
        ({"optimizer": "adma"}, "Unknown optimizer 'adma'. Did you mean 'adam'?"),
        ({"n_active": 5}, "`n_active` is guaranteed only by encoder='cod'"),
        ({"encoder": "cod", "n_active": 99}, r"`n_active` must be an integer in \[1, 64\], got 99"),
        ({"batch_size": 2}, "`batch_size` must be an integer of at least 4, got 2"),
        ({"threshold": -2.0}, "`threshold` must be a number greater than 0, got -2.0"),
        ({"device": "abacus"}, "`device` 'abacus'"),
    ],
)
def test_bad_parameters_are_refused(blobs, parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        paper(**parameters).fit(*blobs)


@pytest.mark.parametrize(
    ("threshold", "message"), [(1e-6, "the nearest two are"), (1e6, "the farthest two are")]
)
def test_thresholds_that_tell_nothing_apart_are_refused(blobs, threshold, message):
    with pytest.raises(InvalidInputError, match=message):
        paper(threshold=threshold, n_neighbors=1200).fit(blobs[0])


def test_fewer_rows_than_bits_work_with_a_warning(blobs):
    X, y = blobs
    with pytest.warns(UserWarning, match="40 rows, fewer than the 64 bits"):
        model = paper(max_steps=100).fit(X[:40], y[:40])
    assert model.encode(X).n_bits == 64


def test_training_without_torch_names_the_pip_line(blobs, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kinhash\[train\]'"):
        paper().fit(*blobs)


def test_an_interrupted_fit_leaves_the_model_as_it_was(tiny_model, digits, monkeypatch):
    X, y = digits
    before = tiny_model.encode(X)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("kinhash.training.loop.train", interrupt)
    with pytest.raises(KeyboardInterrupt):
        tiny_model.fit(X[:, :10], y)
    assert tiny_model.encode(X) == before


def test_rows_held_out_to_stop_early_calibrate(blobs):
    X, y = blobs
    model = paper(24, max_steps=60).fit(X[:400], y[:400])
    assert model.calibration_.n_rows == 40  # a tenth
    assert paper(24, max_steps=60).fit(X[:100], y[:100]).calibration_ is None  # too few
    none = paper(24, max_steps=60, validation_share=0).fit(X[:400], y[:400])
    assert none.calibration_ is None
    assert paper(24, max_steps=60).fit(X[:400]).calibration_ is None


def test_calibration_rows_were_not_learned_from(blobs, monkeypatch):
    """What the loop holds out and what calibrates are the same rows."""
    X, y = blobs
    seen = []

    def spy(codes, source, rows, *_):
        seen.append(rows)

    dealt = []
    deal = loop._deal

    def dealing(source, *rest):
        for rows in deal(source, *rest):
            dealt.append(rows)
            yield rows

    monkeypatch.setattr("kinhash.methods.recipes.paper.calibrated", spy)
    monkeypatch.setattr(loop, "_deal", dealing)
    paper(24, max_steps=60, seed=3).fit(X[:400], y[:400])
    (held_out,) = seen
    assert len(held_out) == 40
    assert not np.isin(np.concatenate(dealt), held_out).any()


def test_classes_that_share_their_commonest_code_are_named(rng):
    X = rng.normal(size=(900, 20))
    y = np.repeat(["bird", "car", "truck"], 300)
    X[y == "bird", 0] += 12
    with pytest.warns(CollapseWarning) as caught:
        paper(validation_share=0.3).fit(X, y)  # nothing tells cars from trucks
    texts = [str(warning.message) for warning in caught]
    told = [re.fullmatch(r"car and truck share (\d+)% of their codes\. (.*)", t) for t in texts]
    (found,) = [one for one in told if one]
    assert int(found[1]) > 50
    assert found[2] == "Raise `lam` (now 0.1) to 0.2, or `margin`."


def test_the_share_of_common_codes_is_counted_by_hand():
    codes = Codes.from_dense([[1, 0]] * 5 + [[0, 1]] * 3 + [[1, 0]] * 6 + [[0, 1]] * 9)
    labels = np.array([0] * 8 + [1] * 6 + [2] * 9)
    names = np.array(["a", "b", "c"])
    with pytest.warns(CollapseWarning, match=r"^a and b share 62% of their codes\. Raise"):
        _warn_of_shared_codes(codes, labels, names, 0.1)


def test_few_held_out_rows_name_no_class():
    codes = Codes.from_dense([[1, 0]] * 8 + [[0, 1]] * 9)
    labels = np.array([0] * 4 + [1] * 4 + [2] * 9)
    _warn_of_shared_codes(codes, labels, np.array(["a", "b", "c"]), 0.1)
