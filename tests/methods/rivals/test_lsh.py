import numpy as np
import pytest

import kinhash
from kinhash.errors import InvalidInputError
from kinhash.methods import LSH


def test_a_bit_is_the_sign_of_a_random_projection(rng):
    X = rng.normal(loc=5, scale=3, size=(200, 6))
    model = LSH(16, seed=4).fit(X)
    W = np.random.default_rng(4).standard_normal((16, 6))
    outputs = (X - X.mean(axis=0)) / X.std(axis=0) @ W.T
    clear = np.abs(outputs) > 1e-4  # rounding decides the others
    assert np.array_equal(model.encode(X).to_dense()[clear], (outputs > 0)[clear])


def test_differing_bits_count_the_angle(rng):
    """The share of differing bits is the angle over pi (Charikar)."""
    X = rng.normal(size=(400, 2))
    model = LSH(1024).fit(X)
    standard = model.encoder_.standardise(X)
    codes = model.encode(X).to_dense()
    angles = np.arccos(np.clip(standard[:50] @ standard[50:100].T, -1, 1))
    shares = (codes[:50, None] != codes[None, 50:100]).mean(axis=2)
    assert np.abs(shares - angles / np.pi).max() < 0.08


def test_labels_are_ignored_and_nothing_is_measured(rng):
    X = rng.normal(size=(40, 3))
    assert LSH(8).fit(X, np.arange(40)).encode(X) == LSH(8).fit(X).encode(X)
    assert LSH(8).fit(X).history_ == []


def test_files_give_equal_codes(rng, tmp_path):
    X = rng.normal(size=(40, 3))
    model = LSH(8).fit(X)
    model.save(tmp_path / "m.kinhash")
    assert kinhash.load(tmp_path / "m.kinhash").encode(X) == model.encode(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_bits": 0}, r"`n_bits` must be an integer in \[1, 4096\], got 0"),
        ({"seed": -1}, "`seed` must be an integer of at least 0, got -1"),
    ],
)
def test_bad_parameters_are_refused(rng, parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        LSH(**parameters).fit(rng.normal(size=(40, 3)))
