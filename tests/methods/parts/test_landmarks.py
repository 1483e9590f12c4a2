import numpy as np
import pytest
import scipy.sparse

from kinhash.encoders import unit_length
from kinhash.methods.parts.landmarks import (
    fit_vectors_alone,
    landmarks,
    n_nearest_of,
    usual_bucket_bits,
)
from kinhash.methods.rivals.itq import ITQ
from kinhash.methods.standardisation import standardisation
from kinhash.metrics import evaluate_neighbours, true_neighbours


def fitted(X, n_bits=32, n_rank_bits=None, seed=0):
    mean, scale, _ = standardisation(X)
    if n_rank_bits is None:
        n_rank_bits = n_bits - usual_bucket_bits(n_bits)
    return fit_vectors_alone(X, mean, scale, n_bits=n_bits, n_rank_bits=n_rank_bits, seed=seed)


def test_the_bucket_follows_the_length():
    assert [usual_bucket_bits(n) for n in (1, 2, 8, 64, 128)] == [1, 2, 2, 8, 16]
    assert [n_nearest_of(n) for n in (1, 2, 4, 7, 8, 16, 32)] == [1, 1, 1, 2, 2, 3, 4]


def test_landmarks_are_the_centres_of_clusters(rng):
    corners = np.eye(4, 6, dtype=np.float32)
    U = unit_length(np.repeat(corners, 25, axis=0) + 0.01 * rng.normal(size=(100, 6)))
    found = landmarks(U, 4, np.ones(6, bool), rng)
    assert np.allclose(np.sort((found @ corners.T).max(axis=0)), 1, atol=1e-2)


def test_random_directions_make_up_for_rows_that_are_all_alike(rng):
    varies = np.array([True, True, False])
    found = landmarks(np.tile(np.float32([[1, 0, 0]]), (9, 1)), 5, varies, rng)
    assert found.shape == (5, 3)
    assert np.allclose(np.linalg.norm(found, axis=1), 1)
    assert not found[:, 2].any()
    assert len(np.unique(found, axis=0)) == 5


@pytest.mark.filterwarnings("ignore::kinhash.errors.ConstantColumnWarning")
def test_true_neighbours_are_found_about_as_well_as_by_itq(digits):
    X = digits[0].astype(np.float32)[:900]
    queries, database = X[:200], X[200:]
    neighbours = true_neighbours(queries, database, 10)
    encoder, history = fitted(database)
    assert (encoder.n_bits, encoder.n_rank_bits) == (32, 28)
    assert history[-1]["loss"] < history[0]["loss"]
    ours = evaluate_neighbours(
        encoder.encode(queries), encoder.encode(database), neighbours, at=[50], order="total"
    )
    itq = ITQ(n_bits=32).fit(database)
    theirs = evaluate_neighbours(itq.encode(queries), itq.encode(database), neighbours, at=[50])
    assert ours["recall@50"] > theirs["recall@50"] - 0.03
    # A bucket holds more of the neighbours than its share of the rows.
    assert ours["recall@r0"] > 3 * ours["mean_matches@r0"] / len(database)


def test_the_seed_makes_it_repeatable(digits):
    X = digits[0][:120]
    first, again, other = (fitted(X, seed=seed)[0].encode(X) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_without_rank_bits_it_is_the_bucket_alone(digits):
    encoder, history = fitted(digits[0][:120], n_bits=16, n_rank_bits=0)
    assert encoder.kind == "landmarks"
    assert encoder.encode(digits[0][:9]).n_active.tolist() == [3] * 9
    assert history == []


CASES = {
    "20 rows": lambda rng: rng.normal(size=(20, 30)),
    "fewer rows than landmarks": lambda rng: rng.normal(size=(3, 30)),
    "fewer columns than bits": lambda rng: rng.normal(size=(50, 2)),
    "duplicates": lambda rng: np.repeat(rng.normal(size=(2, 30)), 20, axis=0),
    "a constant column": lambda rng: np.column_stack([rng.normal(size=(50, 9)), np.ones(50)]),
    "sparse": lambda rng: scipy.sparse.random_array((80, 40), density=0.1, rng=rng, format="csr"),
    "many sparse columns": lambda rng: scipy.sparse.random_array(
        (80, 3000), density=0.01, rng=rng, format="csr"
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_small_and_odd_data_give_codes_of_the_length_asked_for(rng, case):
    X = CASES[case](rng)
    encoder, _ = fitted(X, n_bits=64)
    codes = encoder.encode(X)
    assert (codes.n_bits, codes.n_rank_bits) == (64, 56)
    assert codes.n_active.tolist() == [2] * X.shape[0]
    if case != "duplicates":
        assert codes.n_unique > 1
