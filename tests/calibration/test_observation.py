"""The share of similar pairs that explains distances."""

import warnings

import numpy as np
import pytest

from kinhash.calibration.observation import Observation, mixture
from kinhash.errors import DriftWarning


def test_the_share_of_a_mixture_is_found():
    similar, dissimilar = np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.2, 0.7])
    for share in (0.02, 0.5, 0.9):
        counts = np.rint(1e7 * (share * similar + (1 - share) * dissimilar)).astype(int)
        found = mixture(counts, similar, dissimilar)
        assert found.similar_share == pytest.approx(share, abs=1e-5)
        np.testing.assert_allclose(found.expected, found.seen, atol=1e-5)


def test_a_share_is_the_most_likely_one():
    rng = np.random.default_rng(0)
    similar, dissimilar = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
    counts = rng.integers(1, 50, 6)
    grid = np.linspace(0.001, 0.999, 999)
    likely = [np.sum(counts * np.log(g * similar + (1 - g) * dissimilar)) for g in grid]
    found = mixture(counts, similar, dissimilar).similar_share
    assert found == pytest.approx(np.clip(grid[int(np.argmax(likely))], 0, 1), abs=0.002)


def test_extremes_stay_within_half_a_pair():
    similar, dissimilar = np.array([0.9, 0.1]), np.array([0.1, 0.9])
    assert mixture(np.array([0, 50]), similar, dissimilar).similar_share == 0.01
    assert mixture(np.array([50, 0]), similar, dissimilar).similar_share == 0.99


def test_small_differences_are_no_drift():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Observation(0.1, 0.01, 2, 0, 0.2, 0.21, 1000).warn_of_drift("It")
    with pytest.warns(DriftWarning, match=r"^It has other .*: 70\.0% of its pairs lie within dist"):
        Observation(0.1, 0.5, 2, 3, 0.2, 0.7, 1000).warn_of_drift("It")
