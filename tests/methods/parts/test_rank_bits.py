import numpy as np
import pytest
from sklearn.datasets import make_blobs

from kinhash.encoders.class_levels import probabilities
from kinhash.methods.parts import class_probabilities, rank_bits
from kinhash.methods.parts.class_probabilities import fit_class_probabilities
from kinhash.methods.parts.rank_bits import _signs, fit_rank_bits
from kinhash.methods.standardisation import standardisation
from kinhash.progress import silent


@pytest.fixture(params=[True, False], ids=["classes", "tags"])
def fitted(request, monkeypatch):
    monkeypatch.setattr(class_probabilities, "N_UNITS", 60)
    monkeypatch.setattr("kinhash.training.rank_bits.N_STEPS", 30)
    X, y = make_blobs(200, n_features=6, centers=4, cluster_std=3.0, random_state=1)
    X = X.astype(np.float32)
    mean, scale, _ = standardisation(X)
    return fit_class_probabilities(
        X, mean, scale, np.eye(4, dtype=np.uint8)[y], exclusive=request.param, gamma=1.0, seed=0
    )


def bits_of(fitted, n_bits, **options):
    given = {"transfer": 0.0, "unlabelled": None, "seed": 0, "report": silent} | options
    return fit_rank_bits(fitted, n_bits, **given)


def outputs(fitted, rank):
    likely = probabilities(fitted.logits, exclusive=fitted.exclusive)
    # Of rows that are left out: their logits are not W z + bias, so R is used with care below.
    return fitted.inputs @ rank.R.T + np.sqrt(likely) @ rank.G.T + rank.bias


def test_the_maps_are_those_that_were_trained(fitted, monkeypatch):
    """What is learned of logits, of roots and of directions is folded into R, G and a bias."""
    seen = {}

    def train(inputs, likely, cells, start, **_):
        seen.update(inputs=inputs, likely=likely, cells=cells, start=start)
        rng = np.random.default_rng(3)
        seen["W"], seen["bias"] = start + rng.normal(size=start.shape), rng.normal(size=len(start))
        return seen["W"], seen["bias"]

    monkeypatch.setattr("kinhash.training.rank_bits.train_rank_bits", train)
    rank = bits_of(fitted, 7)
    trained = seen["inputs"] @ seen["W"].T + seen["bias"]
    # Logits of rows left out stand in the place of those that an encoder will have.
    said = fitted.inputs @ fitted.W.T + fitted.bias
    contrasts = np.eye(4) - (1 / 4 if fitted.exclusive else 0)
    size = (fitted.logits @ contrasts - (fitted.logits @ contrasts).mean(axis=0)).std()
    swapped = ((fitted.logits - said) @ contrasts) @ seen["W"][:, :4].T / size
    np.testing.assert_allclose(outputs(fitted, rank) + swapped, trained, atol=2e-3)
    assert seen["inputs"].shape == (200, 4 + 4 + 7)
    assert np.array_equal(seen["cells"], fitted.logits.argmax(axis=1))
    np.testing.assert_allclose(
        seen["likely"], probabilities(fitted.logits, exclusive=fitted.exclusive)
    )
    sides = seen["inputs"][:, :4], seen["inputs"][:, 4:8]
    for side in sides:
        np.testing.assert_allclose(side.mean(axis=0), 0, atol=1e-5)
        assert side.std() == pytest.approx(1, abs=1e-4)


def test_directions_alone_vary_by_one_and_ask_nothing_of_classes(fitted, monkeypatch):
    def train(*_, **__):
        pytest.fail("nothing is to be trained")

    monkeypatch.setattr("kinhash.training.rank_bits.train_rank_bits", train)
    rank = bits_of(fitted, 20, transfer=1)  # more bits than there may be directions
    assert not rank.G.any()
    np.testing.assert_allclose(outputs(fitted, rank).mean(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(outputs(fitted, rank).std(axis=0), 1, atol=2e-2)
    assert len(np.unique(rank.R.round(6), axis=0)) == 20


def test_transfer_weighs_the_directions_against_the_rest(fitted):
    none, half, all_ = (outputs(fitted, bits_of(fitted, 6, transfer=t)) for t in (0, 0.5, 1))
    expected = 0.5 * none / none.std(axis=0) + 0.5 * all_
    np.testing.assert_allclose(half, expected, atol=1e-3)


def test_rows_without_labels_are_trained_on_too(fitted, monkeypatch):
    seen = []

    def train(inputs, likely, cells, start, **_):
        seen.append((len(inputs), len(likely), len(cells)))
        return start, np.zeros(len(start))

    monkeypatch.setattr("kinhash.training.rank_bits.train_rank_bits", train)
    bits_of(fitted, 6, unlabelled=fitted.inputs[:50])
    assert seen == [(250, 250, 250)]


def test_directions_are_of_the_rows_without_labels_unless_they_are_few(fitted):
    """Rows that vary along one input alone, far from the labelled ones."""
    rows = np.tile(fitted.inputs[:1], (200, 1)) + 5
    rows[:, 0] += np.linspace(-1, 1, 200, dtype=np.float32)
    rank = bits_of(fitted, 1, transfer=1, unlabelled=rows)
    along = np.abs(rank.R[0]) / np.linalg.norm(rank.R)
    assert along[0] == pytest.approx(1, abs=1e-4)
    assert (rows @ rank.R.T + rank.bias).mean() == pytest.approx(0, abs=1e-2)
    few = bits_of(fitted, 1, transfer=1, unlabelled=rows[:199])
    assert np.array_equal(few.R, bits_of(fitted, 1, transfer=1).R)


def test_it_is_repeatable_by_seed(fitted):
    first, again, other = (bits_of(fitted, 6, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(first.R, again.R)
    assert np.array_equal(first.G, again.G)
    assert not np.array_equal(first.R, other.R)


def test_signs_of_classes_are_little_alike(rng, monkeypatch):
    signs = _signs(32, 10, rng)
    assert set(np.unique(signs)) == {-1, 1}
    alike = signs.T @ signs - 32 * np.eye(10)
    monkeypatch.setattr(rank_bits, "N_DRAWS", 1)
    drawn = [_signs(32, 10, rng) for _ in range(20)]
    usual = np.mean([(one.T @ one - 32 * np.eye(10)).max() for one in drawn])
    assert alike.max() < usual
