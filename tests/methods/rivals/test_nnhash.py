import warnings

import numpy as np
import pytest
import torch

import kinhash
from kinhash import Pairs
from kinhash.encoders import KernelEncoder, LinearEncoder
from kinhash.errors import InvalidInputError
from kinhash.methods import LSH, NNHash
from kinhash.metrics import evaluate_codes
from kinhash.training.losses import ContrastiveLoss

# Small parts of digits have columns that are constant.
pytestmark = pytest.mark.filterwarnings("ignore:.*columns of `X` are constant:UserWarning")


def measures(model, X, y):
    codes = model.encode(X)
    return evaluate_codes(codes[:200], y[:200], codes[200:], y[200:])


@pytest.mark.parametrize("parameters", [{}, {"n_anchors": 0}, {"n_anchors": 50}])
def test_it_ranks_better_than_random_projections(digits, parameters):
    X, y = digits
    learned = NNHash(32, max_steps=300, **parameters).fit(X[600:1000], y[600:1000])
    found = measures(learned, X, y)
    assert found["map"] > measures(LSH(32).fit(X), X, y)["map"] + 0.2
    assert found["unique_codes"] > 100


def test_the_encoder_is_the_network_on_top_of_the_units(digits):
    X, y = digits
    model = NNHash(24, n_anchors=40, max_steps=30)
    seen = {}

    def kept(network, mean, scale, lift):
        encoder = NNHash._encoder(model, network, mean, scale, lift)
        standard = (X[:500] - mean) * scale
        with torch.no_grad():
            seen["outputs"] = network(torch.from_numpy(lift(standard))).numpy()
        return encoder

    model._encoder = kept
    model.fit(X[:300], y[:300])
    encoder = model.encoder_
    assert isinstance(encoder, KernelEncoder)
    assert np.allclose(np.tanh(model.beta * encoder.forward(X[:500])), seen["outputs"], atol=1e-2)
    bits = model.encode(X[:500]).to_dense() > 0
    clear = np.abs(seen["outputs"]) > 0.05
    assert np.array_equal(bits[clear], (seen["outputs"] > 0)[clear])


def test_without_units_it_is_the_paper_s_single_layer(digits):
    X, y = digits
    model = NNHash(16, n_anchors=0, max_steps=20).fit(X[:300], y[:300])
    assert isinstance(model.encoder_, LinearEncoder)
    assert model.encoder_.W.shape == (16, X.shape[1])


def test_with_a_share_of_a_half_the_loss_is_the_printed_one(rng):
    A = rng.normal(size=(6, 3)).astype(np.float32)
    labels = np.array([0, 0, 1, 1, 2, 2])
    similar = labels[:, None] == labels
    known = ~np.eye(6, dtype=bool)
    pull, push = [], []
    for i in range(6):
        for j in range(6):
            distance = np.linalg.norm(A[i] - A[j])
            if i != j:
                (pull if similar[i, j] else push).append(
                    distance**2 if similar[i, j] else max(0, 2.0 - distance) ** 2
                )
    arguments = torch.from_numpy(A), torch.from_numpy(A), torch.tensor(similar), torch.tensor(known)
    printed = np.sum(pull) / (2 * len(pull)) + np.sum(push) / (2 * len(push))
    assert float(ContrastiveLoss(2.0)(*arguments).total) == pytest.approx(printed, rel=1e-5)
    weighted = 0.1 * np.mean(pull) + 0.9 * np.mean(push)
    assert float(ContrastiveLoss(2.0, 0.1)(*arguments).total) == pytest.approx(weighted, rel=1e-5)


def test_weight_decay_makes_weights_smaller(digits):
    X, y = digits
    norms = [
        np.linalg.norm(
            NNHash(16, n_anchors=0, weight_decay=decay, max_steps=100)
            .fit(X[:300], y[:300])
            .encoder_.W
        )
        for decay in (0.0, 3.0)
    ]
    assert norms[1] < 0.8 * norms[0]


def test_tags_pairs_and_vectors_alone_teach_too(digits):
    X, y = digits
    X, y = X[:600], y[:600]
    baseline = measures(LSH(32).fit(X), X, y)["map"]
    rng = np.random.default_rng(0)
    i, j = rng.integers(600, size=(2, 6000))
    keep = i != j
    pairs = Pairs(i[keep], j[keep], (y[i] == y[j])[keep])
    for model in (
        NNHash(32, max_steps=200).fit(X, np.eye(10, dtype=int)[y]),
        NNHash(32, max_steps=200).fit(X, pairs=pairs),
        NNHash(32, max_steps=200).fit(X),
    ):
        assert measures(model, X, y)["map"] > baseline + 0.05


def test_defaults_do_not_warn(digits):
    X, y = digits
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n_bits in (16, 128):
            NNHash(n_bits).fit(X[:300], y[:300])


def test_files_give_equal_codes(digits, tmp_path):
    X, y = digits
    model = NNHash(70, max_steps=50).fit(X[:300], y[:300])
    model.save(tmp_path / "m.kinhash")
    assert kinhash.load(tmp_path / "m.kinhash").encode(X) == model.encode(X)


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({}, [3] * 100, "single class, 3; learning codes needs at least two"),
        ({"margin": 0}, [0, 1] * 50, "`margin` must be a number greater than 0, got 0"),
        ({"similar_share": 0}, [0, 1] * 50, "`similar_share` must be .* greater than 0"),
        ({"n_anchors": -1}, [0, 1] * 50, "`n_anchors` must be an integer of at least 0, got -1"),
        ({"gamma": 0}, [0, 1] * 50, "`gamma` must be a number greater than 0, got 0"),
        ({"weight_decay": -1}, [0, 1] * 50, "`weight_decay` must be a number of at least 0"),
    ],
)
def test_bad_labels_and_parameters_are_refused(digits, parameters, y, message):
    with pytest.raises(InvalidInputError, match=message):
        NNHash(**parameters).fit(digits[0][:100], y)


def test_nothing_but_constant_columns_is_refused():
    with pytest.raises(InvalidInputError, match="All columns of `X` are constant"):
        NNHash().fit(np.ones((50, 3)), [0, 1] * 25)
