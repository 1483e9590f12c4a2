"""A small index."""

import pytest

from kinhash.codes import Codes
from kinhash.index.hamming import HammingIndex


@pytest.fixture
def stairs():
    """Return the index of 000, 001, 011 and 111 under the ids 10, 20, 30 and 40."""
    codes = Codes.from_dense([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])
    return HammingIndex(codes, ids=[10, 20, 30, 40])
