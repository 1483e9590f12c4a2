import math
import pickle

import numpy as np
import pytest

from kinhash.encoders import ClassEncoder

# Three classes with one support vector each, at 0, 4 and 9 on a line; in each duel the nearer wins.
CODES = np.array([[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 0]], np.uint8)


@pytest.fixture
def encoder():
    return ClassEncoder(
        np.zeros(1, np.float32),
        np.ones(1, np.float32),
        support=np.array([[0], [4], [9]], np.float32),
        # Row r of class c: its say against the r-th other class. The first of a duel is positive.
        coefficients=np.array([[1.0, -1.0, -1.0], [1.0, 1.0, -1.0]]),
        intercepts=np.zeros(3),
        n_support=np.array([1, 1, 1]),
        class_codes=CODES,
        gamma=0.1,
    )


def test_the_class_of_the_nearest_support_vector_wins(encoder):
    X = np.array([[-1.0], [1.9], [2.1], [6.4], [6.6], [12.0]])
    assert encoder.predict(X).tolist() == [0, 0, 1, 1, 2, 2]
    assert np.array_equal(encoder.encode(X).to_dense(), CODES[[0, 0, 1, 1, 2, 2]])


def test_outputs_are_the_codes_with_minus_one_for_zero(encoder):
    assert encoder.n_bits == 4
    assert encoder.forward(np.array([[4.0]])).tolist() == [[-1, 1, -1, 1]]


def test_the_first_of_equal_classes_wins(encoder):
    """Each class wins one duel: 0 beats 1, 1 beats 2, and 2 beats 0."""
    object.__setattr__(encoder, "intercepts", np.array([9.0, -9.0, 9.0]))
    assert encoder.predict(np.array([[4.0]])).tolist() == [0]


def test_an_intercept_moves_the_border_of_a_duel(encoder):
    """Where class 0 says exp(-0.1 x^2) and class 1 exp(-0.1 (x - 4)^2), b shifts the sum."""
    x = 2.5
    said = math.exp(-0.1 * x**2) - math.exp(-0.1 * (x - 4) ** 2)
    for b, winner in ((-said - 0.01, 1), (-said + 0.01, 0)):
        object.__setattr__(encoder, "intercepts", np.array([b, 9.0, 9.0]))
        assert encoder.predict(np.array([[x]])).tolist() == [winner]


def test_a_pickle_holds_the_support_vectors_once(encoder):
    encoder.encode(np.zeros((1, 1)))
    assert "_support" in vars(encoder)
    copied = pickle.loads(pickle.dumps(encoder))  # noqa: S301 - our own
    assert "_support" not in vars(copied)
    assert copied.fingerprint == encoder.fingerprint
