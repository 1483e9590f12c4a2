import numpy as np
import pytest

from kinhash.encoders import LinearEncoder, NestedEncoder
from kinhash.errors import InvalidInputError


@pytest.fixture
def linear(rng):
    def make(n_bits):
        return LinearEncoder(
            rng.normal(size=5).astype(np.float32),
            np.ones(5, np.float32),
            rng.normal(size=(n_bits, 5)).astype(np.float32),
            np.zeros(n_bits, np.float32),
        )

    return make


def test_codes_have_the_parts_of_both(linear, rng):
    bucket, rank = linear(70), linear(9)
    encoder = NestedEncoder.of(bucket, rank)
    X = rng.normal(size=(300, 5)).astype(np.float32)
    codes = encoder.encode(X)
    assert (codes.n_bits, codes.n_rank_bits, encoder.n_bits) == (79, 9, 79)
    assert codes.without_rank() == bucket.encode(X)
    assert np.array_equal(codes.rank_to_dense(), rank.encode(X).to_dense())
    assert encoder.forward(X).shape == (300, 79)
    assert (encoder.n_features, encoder.signed) == (5, False)
    assert (encoder.n_rank_bits, bucket.n_rank_bits) == (9, 0)


def test_the_fingerprint_is_of_both(linear):
    first, second, third = linear(8), linear(8), linear(8)
    marks = {
        NestedEncoder.of(bucket, rank).fingerprint
        for bucket, rank in ((first, second), (second, first), (first, third), (third, second))
    }
    assert len(marks) == 4
    assert NestedEncoder.of(first, second).fingerprint in marks


def test_arrays_have_the_name_of_their_part(linear):
    encoder = NestedEncoder.of(linear(8), linear(3))
    assert set(encoder.arrays()) == {
        f"{part}/{name}" for part in ("bucket", "rank") for name in ("mean", "scale", "W", "bias")
    }
    assert encoder.settings()["rank"] == {"encoder": "linear", "settings": {}}


def test_bad_vectors_are_refused(linear):
    encoder = NestedEncoder.of(linear(8), linear(3))
    with pytest.raises(InvalidInputError, match="takes vectors of 5 numbers"):
        encoder.encode(np.zeros((2, 4), np.float32))
    with pytest.raises(InvalidInputError, match="NaN in row 1"):
        encoder.encode(np.array([[0] * 5, [np.nan] * 5], np.float32))
