import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression

from kinhash.encoders import ClassLevelsEncoder, KernelClassLevelsEncoder
from kinhash.methods.parts import class_probabilities
from kinhash.methods.parts.class_probabilities import _folds, _regression, fit_class_probabilities
from kinhash.methods.standardisation import standardisation


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(300, n_features=4, centers=4, cluster_std=3.0, random_state=1)
    return X.astype(np.float32), y


def fitted(X, targets, **options):
    mean, scale, _ = standardisation(X)
    return fit_class_probabilities(
        X, mean, scale, targets, **({"exclusive": True, "gamma": 1.0, "seed": 0} | options)
    )


def test_the_regression_is_that_of_scikit_learn(blobs):
    X, y = blobs
    M = _regression(X, np.eye(4, dtype=np.float32)[y], 0.5, np.zeros((4, 5)), exclusive=True)
    theirs = LogisticRegression(C=0.5, max_iter=1000, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(M[:, :-1], theirs.coef_, atol=0.02)
    logits = X @ M[:, :-1].T + M[:, -1]
    assert np.array_equal(logits.argmax(axis=1), theirs.predict(X))


def test_tags_have_a_regression_each(blobs):
    X, y = blobs
    tags = np.stack([y % 2, y > 1], axis=1).astype(np.float32)
    M = _regression(X, tags, 0.5, np.zeros((2, 5)), exclusive=False)
    for tag, row in zip(tags.T, M, strict=True):
        theirs = LogisticRegression(C=0.5, max_iter=1000, tol=1e-8).fit(X, tag)
        np.testing.assert_allclose(row[:-1], theirs.coef_[0], atol=0.02)


def test_inputs_are_those_with_the_smaller_held_out_loss(rng):
    """Two rings need the kernel; two half-spaces in many directions do not."""
    angles = rng.uniform(0, 2 * np.pi, 300)
    y = np.arange(300) % 2
    radii = np.where(y, 1.0, 3.0)[:, None]
    rings = radii * np.stack([np.cos(angles), np.sin(angles)], axis=1) + 0.1 * rng.normal(
        size=(300, 2)
    )
    targets = np.eye(2, dtype=np.uint8)[y]
    assert fitted(rings.astype(np.float32), targets).units is not None
    far = rng.normal(size=(300, 30)).astype(np.float32)
    y = (far[:, 0] > 0).astype(int)
    assert fitted(far, np.eye(2, dtype=np.uint8)[y]).units is None


@pytest.mark.parametrize("kind", ["plain", "units"])
def test_the_encoder_gives_the_probabilities_of_the_regression(blobs, kind, monkeypatch):
    X, y = blobs
    losses = iter([1.0, 2.0] if kind == "plain" else [2.0, 1.0])
    inner = class_probabilities._cross_validated
    monkeypatch.setattr(
        class_probabilities,
        "_cross_validated",
        lambda *given, **named: (next(losses), *inner(*given, **named)[1:]),
    )
    found = fitted(X, np.eye(4, dtype=np.uint8)[y])
    codes = np.zeros((2, 4, 8), np.uint8)
    encoder = found.encoder(codes, 0.5)
    assert type(encoder) is (ClassLevelsEncoder if kind == "plain" else KernelClassLevelsEncoder)
    inputs = encoder.standardise(X)
    if found.units is not None:
        inputs = found.units(inputs)
    logits = (inputs @ found.W.T + found.bias) / 0.5
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(encoder.predict(X), expected, atol=2e-3)


def test_sharpened_probabilities_are_powers_scaled_to_sum_one(blobs):
    X, y = blobs
    found = fitted(X, np.eye(4, dtype=np.uint8)[y])
    usual, sharp = found.held_out_probabilities(1.0), found.held_out_probabilities(0.25)
    np.testing.assert_allclose(sharp, usual**4 / (usual**4).sum(axis=1, keepdims=True), atol=1e-6)
    assert len(found.held_out) == len(X)


def test_classes_are_dealt_evenly_and_small_ones_are_always_used(rng):
    Y = np.eye(3, dtype=np.float32)[[0] * 9 + [1] * 6 + [2] * 2]
    folds = _folds(Y, rng, exclusive=True)
    assert np.bincount(folds[:9]).tolist() == [3, 3, 3]
    assert np.bincount(folds[9:15]).tolist() == [2, 2, 2]
    assert folds[15:].tolist() == [-1, -1]


def test_with_nothing_to_hold_out_the_plain_vectors_are_used(rng):
    X = rng.normal(size=(6, 3)).astype(np.float32)
    found = fitted(X, np.eye(3, dtype=np.uint8)[[0, 0, 1, 1, 2, 2]])
    assert found.units is None
    assert np.isnan(found.loss)
    assert found.C == class_probabilities.USUAL_COST
    assert len(found.held_out) == 0


def test_of_many_rows_some_are_used(blobs, monkeypatch):
    X, y = blobs
    monkeypatch.setattr(class_probabilities, "MAX_ROWS", 90)
    monkeypatch.setattr(class_probabilities, "MAX_HELD_OUT", 60)
    found = fitted(X, np.eye(4, dtype=np.uint8)[y])
    assert len(found.held_out) == 60
