import numpy as np
import pytest

from kinhash.encoders import ENCODERS, LandmarkEncoder, NestedEncoder, unit_length
from kinhash.encoders.landmarks import nearest_active
from kinhash.errors import FormatError


@pytest.fixture
def encoder(rng):
    mean, scale = rng.normal(size=5).astype(np.float32), np.ones(5, np.float32)
    landmarks = unit_length(rng.normal(size=(8, 5)).astype(np.float32))
    return LandmarkEncoder(mean, scale, landmarks, n_nearest=3)


def test_of_equal_cosines_the_first_landmarks_are_active():
    found = nearest_active(np.array([[0.5, 0.9, 0.5, 0.5], [0.1, 0.1, 0.1, 0.1]]), 2)
    assert found.tolist() == [[1, 1, 0, 0], [1, 1, 0, 0]]


def test_codes_equal_a_loop_over_rows_and_landmarks(rng, encoder):
    X = rng.normal(size=(300, 5)).astype(np.float32)  # more than a block
    codes = encoder.encode(X)
    assert codes.n_bits == 8
    for row, code in zip(X - encoder.mean, codes.to_dense(), strict=True):
        cosines = [float(row @ landmark) / np.linalg.norm(row) for landmark in encoder.landmarks]
        nearest = sorted(range(8), key=cosines.__getitem__)[-3:]
        assert sorted(np.flatnonzero(code)) == sorted(nearest)


def test_a_code_does_not_depend_on_the_rows_around_it(rng, encoder):
    X = rng.normal(size=(600, 5)).astype(np.float32)
    together = encoder.encode(X)
    for part in (slice(0, 1), slice(255, 258), slice(590, 600)):
        assert encoder.encode(X[part]) == together[part]


def test_a_row_of_zeros_still_has_its_number_of_active_bits(encoder):
    assert encoder.encode(encoder.mean[None]).n_active.tolist() == [3]


def test_arrays_and_settings_restore_it(rng, encoder):
    X = rng.normal(size=(20, 5))
    restored = ENCODERS["landmarks"].restore(encoder.arrays(), encoder.settings())
    assert restored.encode(X) == encoder.encode(X)
    assert restored.fingerprint == encoder.fingerprint


@pytest.mark.parametrize("n_nearest", [0, 9, 2.0])
def test_a_file_with_another_number_of_active_bits_is_refused(encoder, n_nearest):
    with pytest.raises(FormatError, match=r"`n_nearest` .* integer in \[1, 8\]"):
        LandmarkEncoder.restore(encoder.arrays(), {"n_nearest": n_nearest})


def test_a_file_with_landmarks_of_another_width_is_refused(encoder):
    arrays = encoder.arrays() | {"landmarks": encoder.landmarks[:, :4].copy()}
    with pytest.raises(FormatError, match=r"`mean` .* shape \(4,\)"):
        LandmarkEncoder.restore(arrays, encoder.settings())


def test_it_nests(rng, encoder):
    nested = NestedEncoder.of(encoder, encoder)
    codes = nested.encode(rng.normal(size=(4, 5)))
    assert (codes.n_bits, codes.n_rank_bits) == (16, 8)
    assert np.array_equal(codes.rank_to_dense(), codes.without_rank().to_dense())
