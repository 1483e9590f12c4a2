import numpy as np
import pytest

from kinhash.codes import Codes
from kinhash.dedup.coding import N_BITS, UnitCoder, all_words
from kinhash.errors import InvalidInputError


def test_codes_depend_on_directions_only():
    X = np.random.default_rng(0).normal(size=(900, 300))
    coder = UnitCoder(X, seed=0)
    codes = coder.encode(X)
    assert codes.n_bits == N_BITS
    assert coder.encode(X * np.linspace(0.01, 100, 900)[:, None], n_threads=1) == codes
    assert coder.encode(X[500:501]) == codes[500:501]


@pytest.mark.parametrize("shape", [(900, 300), (900, 40), (40, 300), (2, 3), (1, 1)])
def test_near_vectors_have_near_codes_whatever_the_shape(shape):
    rng = np.random.default_rng(1)
    X = rng.normal(size=shape)
    codes = [UnitCoder(X, seed=0).encode(Y) for Y in (X, X * (1 + 0.01 * rng.normal(size=shape)))]
    apart = np.bitwise_count(codes[0].words ^ codes[1].words).sum(axis=1)
    assert apart.max() < 30


def test_equal_seeds_give_equal_codes():
    X = np.random.default_rng(0).normal(size=(3000, 300))
    assert UnitCoder(X, seed=1).encode(X) == UnitCoder(X, seed=1).encode(X)
    assert UnitCoder(X, seed=1).encode(X) != UnitCoder(X, seed=2).encode(X)


def test_a_bad_row_is_named_by_its_place_in_the_table():
    X = np.random.default_rng(0).normal(size=(9000, 5))
    coder = UnitCoder(X, seed=0)
    X[8500, 2] = np.inf
    with pytest.raises(InvalidInputError, match="infinity in row 8500, column 2"):
        coder.encode(X)


def test_rank_bits_count_in_candidates():
    codes = Codes.from_dense([[1, 0]], rank=[[1, 1, 0]])
    assert all_words(codes).tolist() == [[1, 3]]
    assert all_words(codes.without_rank()).tolist() == [[1]]
