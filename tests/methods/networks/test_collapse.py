import warnings

import numpy as np
import pytest

from kinhash import Codes
from kinhash.errors import CollapseWarning
from kinhash.methods.networks.collapse import Health, warn_after, warn_early

HEALTHY = {"code_distance": 7.0, "dissimilar_distance": 7.0}


def health(beta=3.0, distance=7.0):
    return Health(distance=distance, beta=beta, usual_beta=3.0, remedy="Raise `lam`.")


def random_codes(rng, n_bits=24, own=slice(None)):
    bits = np.zeros((200, n_bits), np.int8)
    bits[:, own] = rng.integers(2, size=bits[:, own].shape)
    return Codes.from_dense(bits)


def test_healthy_runs_are_not_warned_of(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_early(health(), 3.0, 5.0)
        warn_after(health(), {"X": random_codes(rng)}, HEALTHY)
        warn_after(health(), {"a": random_codes(rng), "b": random_codes(rng)}, HEALTHY)


def test_pairs_that_stay_near_are_announced_early():
    with pytest.warns(CollapseWarning, match=r"After 50 steps .* are 2 bits apart.*Raise `lam`"):
        warn_early(health(), 4.0, 2.0)


@pytest.mark.parametrize(
    ("beta", "message"),
    [
        (30.0, r"saturate .* Lower `beta` \(now 30\) to 3\."),
        (3.0, r"saturate .* Lower `beta` \(now 3\) to 1\."),
        (0.1, r"hardly move .* Raise `beta` \(now 0.1\) to 3\."),
    ],
)
def test_outputs_that_start_alike_blame_beta_and_advise_another_value(beta, message):
    with pytest.warns(CollapseWarning, match=message):
        warn_early(health(beta), 0.1, 0.1)


@pytest.mark.parametrize(
    ("beta", "message"), [(0.1, r"\(now 0.1\) to 3\."), (3.0, r"\(now 3\) to 9\.")]
)
def test_soft_outputs_are_told_from_shared_ones(rng, beta, message):
    """The advice never is to change a value to itself."""
    soft = {"code_distance": 0.1, "dissimilar_distance": 6.0}
    with pytest.warns(CollapseWarning, match="far from binary: Raise `beta` " + message):
        warn_after(health(beta), {"X": random_codes(rng)}, soft)


def test_shared_codes_are_counted(rng):
    same = Codes.from_dense(np.zeros((50, 8), np.int8))
    with pytest.warns(CollapseWarning) as caught:
        warn_after(health(), {"X": same}, {"code_distance": 0.0, "dissimilar_distance": 0.0})
    assert str(caught[0].message) == (
        "Dissimilar items share codes: 50 training rows have 1 different code, 100% of them the "
        "empty one. Raise `lam`."
    )


def test_a_modality_that_collapses_beside_a_healthy_one_is_named(rng):
    empty, same = np.zeros((100, 24), np.int8), np.ones((100, 24), np.int8)
    empty[:40], same[:4] = 1, 0
    for bits, problem in ((empty, "60% of its rows have the empty"), (same, "96% .* the same")):
        message = f"The codes of 'b' have collapsed: {problem} code. Raise `lam`"
        with pytest.warns(CollapseWarning, match=message):
            warn_after(health(), {"a": random_codes(rng), "b": Codes.from_dense(bits)}, HEALTHY)


def test_modalities_that_use_different_bits_are_named(rng):
    codes = {"a": random_codes(rng, own=slice(12)), "b": random_codes(rng, own=slice(12, 24))}
    with pytest.warns(CollapseWarning, match=r"'a' and 'b' use different bits \(0 of 24 in common"):
        warn_after(health(), codes, HEALTHY)
