import doctest
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinhash.codes import Codes
from kinhash.errors import InvalidInputError
from kinhash.metrics import evaluate_neighbours, neighbours, retrieval


def random_codes(rng, n, n_bits, n_rank_bits, signed):
    rank = rng.integers(0, 2, (n, n_rank_bits)) if n_rank_bits else None
    low = -1 if signed else 0
    return Codes.from_dense(rng.integers(low, 2, (n, n_bits)), signed=signed, rank=rank)


def places(query, database, order):
    """Return where each item stands, as plain loops find it, and its distance."""
    bucket, rank = query.to_dense()[0], query.rank_to_dense()[0]
    found = []
    for other, other_rank in zip(database.to_dense(), database.rank_to_dense(), strict=True):
        distance = sum(abs(int(a) - int(b)) for a, b in zip(bucket, other, strict=True))
        rank_distance = sum(a != b for a, b in zip(rank, other_rank, strict=True))
        place = (distance, rank_distance) if order == "nested" else distance + rank_distance
        found.append((place, distance))
    return found


@pytest.mark.parametrize("order", ["nested", "total"])
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    k=st.integers(1, 7),
    n_rank_bits=st.sampled_from([0, 2, 70]),
    signed=st.booleans(),
    leave_out=st.booleans(),
)
def test_shares_are_means_over_all_tie_orders(order, seed, k, n_rank_bits, signed, leave_out):
    rng = np.random.default_rng(seed)
    queries, database = (random_codes(rng, n, 2, n_rank_bits, signed) for n in (3, 6))
    own = rng.integers(0, 6, 3) if leave_out else None
    rows, expected, within, retrieved = [], [], [], []
    for at in range(3):
        items = [j for j in range(6) if own is None or j != own[at]]
        wanted = rng.permutation(items)[:2].tolist()
        rows.append(wanted)
        found = places(queries[[at]], database, order)
        shares = []
        for shuffled in itertools.permutations(items):
            ranked = sorted(shuffled, key=lambda j: found[j][0])
            shares.append(len(set(ranked[:k]) & set(wanted)) / 2)
        expected.append(math.fsum(shares) / len(shares))
        within.append(sum(found[j][1] <= 1 for j in wanted) / 2)
        retrieved.append(sum(found[j][1] <= 1 for j in items))
    result = evaluate_neighbours(queries, database, rows, radii=[1], at=[k], own=own, order=order)
    assert result[f"recall@{k}"] == pytest.approx(np.mean(expected))
    assert result["recall@r1"] == pytest.approx(np.mean(within))
    assert result["mean_matches@r1"] == pytest.approx(np.mean(retrieved))
    assert result["empty@r1"] == pytest.approx(retrieved.count(0) / 3)


@pytest.mark.parametrize("order", ["nested", "total"])
def test_queries_are_taken_a_few_at_a_time(order, monkeypatch):
    rng = np.random.default_rng(2)
    queries, database = (random_codes(rng, n, 70, 130, signed=False) for n in (40, 300))
    rows = np.argsort(rng.random((40, 300)), axis=1)[:, :10]
    whole = evaluate_neighbours(queries, database, rows, order=order)
    monkeypatch.setattr(retrieval, "CHUNK_BYTES", 20 * 300 * 3)
    assert evaluate_neighbours(queries, database, rows, order=order) == whole
    # With so many bits there are hardly any ties, so a plain ranking finds the same.
    shares = []
    for at in range(40):
        found = [place for place, _ in places(queries[[at]], database, order)]
        ranked = sorted(range(300), key=lambda j: found[j])
        shares.append(len(set(ranked[:100]) & set(rows[at].tolist())) / 10)
    assert whole["recall@100"] == pytest.approx(np.mean(shares), abs=0.02)


def test_a_ranking_as_long_as_the_database_finds_all():
    rng = np.random.default_rng(3)
    codes = random_codes(rng, 20, 3, 2, signed=False)
    found = evaluate_neighbours(codes[:5], codes, np.arange(10).reshape(5, 2), at=[20, 10**6])
    assert (found["recall@20"], found["recall@1000000"]) == (1, 1)
    assert list(found) == [
        *("recall@20", "recall@1000000", "recall@r0", "empty@r0", "mean_matches@r0"),
        *("recall@r2", "empty@r2", "mean_matches@r2"),
        *("unique_codes", "mean_active", "sd_active"),
    ]
    assert all(type(value) is float for value in found.values())


def test_no_radii_and_no_lengths_leave_the_rest():
    codes = Codes.from_dense([[0, 1], [1, 1]])
    found = evaluate_neighbours(codes, codes, [[0], [1]], radii=[], at=[])
    assert list(found) == ["unique_codes", "mean_active", "sd_active"]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([[0], [1], [2]], {}, r"`neighbours` must hold .* each of the 2 queries, got .*\(3, 1\)"),
        ([0, 1], {}, r"`neighbours` must hold .* got int64 of shape \(2,\)"),
        ([[0.0], [1.0]], {}, "`neighbours` must hold .* got float64"),
        ([[0], [3]], {}, "`neighbours` must hold rows of the database, 0 to 2, got 0 to 3"),
        ([[0, 1], [2, 2]], {}, "different rows for each query, but query 1 has one of them twice"),
        ([[0], [1]], {"own": [2, 1]}, "must not hold the items that `own` leaves out"),
        ([[0], [1]], {"at": [0]}, "`at` must be a sequence of integers of at least 1"),
        ([[0], [1]], {"order": "sum"}, "Unknown order 'sum'. Known: nested, total"),
    ],
)
def test_what_cannot_be_found_is_refused(rows, options, message):
    codes = Codes.from_dense([[0, 1], [1, 1], [1, 0]])
    with pytest.raises(InvalidInputError, match=message):
        evaluate_neighbours(codes[:2], codes, rows, **options)


def test_codes_of_other_lengths_are_refused():
    with pytest.raises(InvalidInputError, match=r"2 bits .* 3"):
        evaluate_neighbours(Codes.from_dense([[0, 1]]), Codes.from_dense([[0, 1, 1]]), [[0]])


def test_docstring_examples_run():
    assert doctest.testmod(neighbours).failed == 0
