"""What is promised beside what is got."""

import numpy as np
import pytest

from kinhash import Codes
from kinhash.calibration import Calibration
from kinhash.evaluation.reliability import N_POINTS, reliability
from kinhash.index.reference import distances, rank_distances

WORDS = np.random.default_rng(5).integers(0, 2, (4, 18))


def drawn(seed, n, noise=0.12):
    """Codes of 6 bucket bits and 12 rank bits, of four classes; and the classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, n)
    bits = WORDS[labels] ^ (rng.random((n, 18)) < noise)
    return Codes.from_dense(bits[:, :6], rank=bits[:, 6:]), labels


@pytest.fixture(scope="module")
def calibration():
    return Calibration.from_codes(*drawn(0, 400))


@pytest.mark.parametrize("is_own", [False, True])
def test_what_is_got_is_what_a_naive_loop_counts(calibration, is_own):
    (codes, labels), (asked, asked_labels) = drawn(1, 90), drawn(2, 30)
    own = None
    if is_own:
        asked, asked_labels, own = codes[:30], labels[:30], np.arange(30)
    rows = reliability(calibration, asked, asked_labels, codes, labels, own=own)
    assert 10 < len(rows) <= N_POINTS
    near, rank = distances(asked, codes), rank_distances(asked, codes)
    promised = calibration.within(calibration.observe(codes).similar_share)[0]
    for row in rows:
        step = int(np.flatnonzero(promised == row["promised"])[0])
        cut = (calibration.distances[step], calibration.rank_distances[step])
        answers = [
            labels[i] == asked_labels[q]
            for q in range(30)
            for i in range(90)
            if (near[q, i], rank[q, i]) <= cut and not (is_own and q == i)
        ]
        assert (row["n_answers"], row["got"]) == (len(answers), np.mean(answers))
        assert row["low"] <= row["promised"] <= row["high"]


def test_promises_are_kept_on_rows_of_the_same_kind(calibration):
    rows = reliability(calibration, *drawn(3, 600), *drawn(4, 2000))
    sure = [row for row in rows if row["n_answers"] > 5000]
    assert len(sure) > 5
    for row in sure:
        assert abs(row["got"] - row["promised"]) < 0.05


def test_tags_are_similar_where_they_share_one(calibration):
    (codes, labels), (asked, asked_labels) = drawn(1, 90), drawn(2, 30)
    by_labels = reliability(calibration, asked, asked_labels, codes, labels)
    tags = reliability(
        calibration,
        asked,
        np.eye(4, dtype=np.uint8)[asked_labels],
        codes,
        np.eye(4, dtype=np.uint8)[labels],
    )
    assert tags == by_labels
