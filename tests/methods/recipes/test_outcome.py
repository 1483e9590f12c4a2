"""What a recipe leaves."""

import numpy as np
import pytest

from kinhash import Codes
from kinhash.methods import LSH
from kinhash.methods.recipes.outcome import calibrated
from kinhash.pairs import LabelSource, TagSource

ENCODER = LSH(2).fit(np.eye(4)).encoder_
CODES = Codes.from_dense([[0, 1], [0, 1], [1, 0], [1, 1]])


def test_rows_are_related_by_their_labels_or_tags():
    rows = np.array([1, 2, 4, 5])
    labels = LabelSource.from_labels(np.array([9, 0, 0, 9, 1, 1]))
    tags = TagSource.from_tags(np.eye(10)[[9, 0, 0, 9, 1, 1]])
    for source in (labels, tags):
        found = calibrated(CODES, source, rows, 0, ENCODER)
        assert (found.similar[-1], found.dissimilar[-1]) == (2, 4)
        assert found.made_by == ENCODER.fingerprint


@pytest.mark.parametrize("rows", [[0, 1, 2, 3], [0, 4, 8, 9]])
def test_where_all_pairs_or_none_are_similar_there_is_no_calibration(rows):
    labels = LabelSource.from_labels(np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 3]))
    assert calibrated(CODES, labels, np.array(rows), 0, ENCODER) is None
