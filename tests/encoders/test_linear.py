import numpy as np

from kinhash.encoders import LinearEncoder


def encoder(**changes):
    arrays = {
        "mean": np.array([1, 1], np.float32),
        "scale": np.array([2, 1], np.float32),
        "W": np.array([[1, 0], [0, 1], [1, -1]], np.float32),
        "bias": np.array([0, -0.5, 0], np.float32),
    }
    return LinearEncoder(**arrays | changes)


def test_outputs_are_projections_of_unit_vectors_by_hand():
    """(2.5, 5) is (3, 4) once standardised, and (0.6, 0.8) at unit length."""
    found = encoder().forward(np.array([[2.5, 5.0]]))
    assert np.allclose(found, [[0.6, 0.3, -0.2]])


def test_a_bit_is_set_where_its_output_is_positive():
    codes = encoder().encode(np.array([[2.5, 5.0], [1.0, 1.0]]))
    assert codes.to_dense().tolist() == [[1, 1, 0], [0, 0, 0]]  # the mean has no direction
    assert not codes.signed


def test_the_bias_alone_decides_for_a_row_of_the_mean():
    codes = encoder(bias=np.array([1, -1, 0], np.float32)).encode(np.array([[1.0, 1.0]]))
    assert codes.to_dense().tolist() == [[1, 0, 0]]
