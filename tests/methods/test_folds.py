"""Calibrations from rows that a method has learned from."""

import numpy as np
import pytest

from kinhash import Pairs
from kinhash.errors import InvalidInputError
from kinhash.methods import LSH, ClassCode

ROWS = np.random.default_rng(0).normal(size=(60, 2))
KINDS = np.where(ROWS[:, 0] > 0, "right", "left")


def test_folds_calibrate_with_rows_that_the_method_has_seen():
    model = LSH(n_bits=1, seed=3).fit(ROWS)
    encoder = model.encoder_
    assert model.calibrate(ROWS, KINDS, n_folds=5) is model
    assert model.encoder_ is encoder
    found = model.calibration_
    assert (found.n_rows, found.made_by) == (60, encoder.fingerprint)
    # Pairs are those within five parts of 12 rows.
    assert found.similar[-1] + found.dissimilar[-1] == 5 * 66
    tags = np.stack([KINDS == "left", KINDS == "right"], axis=1).astype(int)
    by_tags = model.calibrate(ROWS, tags, n_folds=2).calibration_
    assert by_tags.similar[-1] + by_tags.dissimilar[-1] == 2 * 435


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": KINDS, "n_folds": 1}, "`n_folds` must be an integer of at least 2, got 1"),
        ({"y": KINDS, "n_folds": 31}, "two rows or more for each of 31 folds, got 60 rows"),
        ({"y": KINDS[:3], "n_folds": 2}, "for each of 60 rows"),
        ({"pairs": Pairs([0], [1]), "n_folds": 2}, "`n_folds` goes with `y`"),
    ],
)
def test_folds_that_cannot_be_are_refused(options, message):
    model = LSH(n_bits=1, seed=3).fit(ROWS)
    with pytest.raises(InvalidInputError, match=message):
        model.calibrate(ROWS, **options)
    assert model.calibration_ is None


def test_each_row_is_encoded_by_what_has_not_seen_it():
    """Labels by chance: a model remembers those of its own rows, and foretells no others."""
    rng = np.random.default_rng(1)
    rows, chance = rng.normal(size=(120, 40)), rng.integers(0, 2, 120)
    model = ClassCode(n_bits=8).fit(rows, chance)
    own = model.calibrate(rows, chance).calibration_.highest()
    left_out = model.calibrate(rows, chance, n_folds=4).calibration_.highest()
    assert left_out < 0.65
    assert own > 0.9
