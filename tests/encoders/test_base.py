import dataclasses

import numpy as np
import pytest
import scipy.sparse

from kinhash.encoders import IstaEncoder, LinearEncoder, base
from kinhash.encoders.base import shape_of
from kinhash.errors import FormatError, InvalidInputError


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32, np.uint8, bool])
def test_other_types_are_converted_in_pieces(rng, dtype, monkeypatch, random_encoder):
    monkeypatch.setattr("kinhash.encoders.base.CHUNK_BYTES", 10 * 4 * 8)
    encoder = random_encoder(rng, IstaEncoder, 33, 8)
    X = (rng.normal(size=(55, 8)) > 0).astype(dtype)
    assert encoder.encode(X) == encoder.encode(X.astype(np.float32))


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_the_first_row_that_is_not_finite_is_named(rng, monkeypatch, value, name, random_encoder):
    monkeypatch.setattr("kinhash.encoders.base.CHUNK_BYTES", 1000 * 4 * 8)
    encoder = random_encoder(rng, IstaEncoder, 33, 8)
    X = rng.normal(size=(3000, 8))
    X[2750, 1] = X[2222, 3] = value
    with pytest.raises(InvalidInputError, match=rf"contains {name} in row 2222, column 3\."):
        encoder.encode(X)


def test_a_value_that_overflows_is_named_with_its_row(rng, random_encoder):
    encoder = random_encoder(rng, IstaEncoder, 33, 8)
    X = rng.normal(size=(30, 8)).astype(np.float32)
    X[17, 1] = 3e38
    with pytest.raises(InvalidInputError, match="too large for this encoder in row 17"):
        encoder.encode(X)


def test_another_width_is_refused_with_both_widths(rng, random_encoder):
    encoder = random_encoder(rng, IstaEncoder, 33, 8)
    with pytest.raises(InvalidInputError, match="9 columns, but the encoder takes vectors of 8"):
        encoder.encode(np.zeros((2, 9)))


def test_sparse_rows_are_encoded_in_pieces(rng, monkeypatch, random_encoder):
    encoder = random_encoder(rng, IstaEncoder, 20, 30)
    X = scipy.sparse.random_array((50, 30), density=0.2, rng=rng).tocsr()
    whole = encoder.encode(X).words
    monkeypatch.setattr(base, "CHUNK_BYTES", 4 * 30 * 7)
    assert np.array_equal(encoder.encode(X).words, whole)


def test_a_sparse_entry_that_is_not_finite_is_named_with_its_row(rng, random_encoder):
    X = scipy.sparse.csr_array(np.eye(30))
    X.data[17] = np.nan
    with pytest.raises(InvalidInputError, match="NaN in row 17"):
        random_encoder(rng, IstaEncoder, 20, 30).encode(X)


def test_vectors_are_standardised_by_hand():
    mean, scale = np.array([1, 2], np.float32), np.array([2, 0.5], np.float32)
    encoder = base.Encoder(mean, scale)
    assert encoder.n_features == 2
    assert encoder.standardise(np.array([[3, 4], [1, 2]])).tolist() == [[4, 1], [0, 0]]


def test_a_single_vector_is_refused_with_its_shape(rng, random_encoder):
    encoder = random_encoder(rng, IstaEncoder, 33, 8)
    with pytest.raises(
        InvalidInputError, match=r"shape \(8,\), but the encoder takes .* 8 numbers"
    ):
        encoder.encode(np.zeros(8))


def test_arrays_and_settings_are_all_that_an_encoder_is(rng, random_encoder):
    encoder = random_encoder(rng, IstaEncoder, 33, 8)
    assert encoder.arrays().keys() == {"mean", "scale", "W", "S", "tau"}
    assert encoder.settings() == {"beta": 3.0, "n_steps": 1, "two_sided": False}
    restored = IstaEncoder.restore(encoder.arrays(), encoder.settings())
    X = rng.normal(size=(50, 8))
    assert restored.encode(X) == encoder.encode(X)


def test_a_fingerprint_tells_any_change(rng, random_encoder):
    encoder = random_encoder(rng, IstaEncoder, 33, 8)
    other = encoder.S.copy()
    other[3, 4] += 1
    changed = [
        dataclasses.replace(encoder, S=other),
        dataclasses.replace(encoder, beta=2.0),
        LinearEncoder(encoder.mean, encoder.scale, encoder.W, bias=encoder.tau),
    ]
    prints = {one.fingerprint for one in (encoder, *changed)}
    assert len(prints) == 4
    assert dataclasses.replace(encoder).fingerprint == encoder.fingerprint
    assert all(len(one) == 16 for one in prints)


def test_a_file_with_other_arrays_is_refused_with_both_lists(rng, random_encoder):
    encoder = random_encoder(rng, LinearEncoder, 4, 3)
    arrays = {"mean": encoder.mean, "scale": encoder.scale, "weights": encoder.W}
    with pytest.raises(
        FormatError, match="has W, bias, mean, scale with no settings; the file has mean, scale, we"
    ):
        LinearEncoder.restore(arrays, {})
    with pytest.raises(FormatError, match=r"`bias` .* float32 of shape \(4,\), .* of shape \(3,\)"):
        LinearEncoder.restore(encoder.arrays() | {"bias": encoder.mean}, {})


def test_the_shape_of_what_is_no_matrix_fits_nothing():
    assert shape_of(np.zeros((3, 4))) == (3, 4)
    assert shape_of(np.zeros(3)) == (0, 0)
