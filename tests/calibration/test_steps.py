"""Steps of the order of pairs."""

import numpy as np

from kinhash import Codes
from kinhash.calibration.similar import related
from kinhash.calibration.steps import Steps, cells_of, errors


def sample(n=80, n_rank_bits=8):
    """Random codes and classes that the codes know a little of."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, n)
    bucket = np.eye(3, dtype=int)[np.where(rng.random(n) < 0.7, labels, (labels + 1) % 3)]
    rank = rng.integers(0, 2, (n, n_rank_bits))
    return Codes.from_dense(bucket, rank=rank), labels


def test_places_are_in_the_nested_order(monkeypatch):
    codes, _ = sample(20)
    monkeypatch.setattr("kinhash.calibration.steps.CHUNK_BYTES", 3 * 8 * 20)  # several chunks
    bucket, rank = codes.to_dense(), codes.rank_to_dense()
    starts = []
    for start, cells in cells_of(codes, codes):
        starts.append(start)
        for i, j in np.ndindex(cells.shape):
            a = start + i
            d, r = np.sum(bucket[a] != bucket[j]), np.sum(rank[a] != rank[j])
            assert cells[i, j] == 9 * d + r
    assert starts == list(range(0, 20, 3))


def test_steps_end_with_every_distance_and_at_the_farthest_place():
    codes, labels = sample()
    steps = Steps.of(codes, related(labels, len(codes), np.random.default_rng(0)))
    assert np.all(np.diff(steps.ends) > 0)
    assert steps.ends[-1] == 4 * 9 - 1
    assert 8 in steps.ends  # distance 2 has no pair beyond it, so its step goes to the end


def test_an_error_is_that_of_leaving_out_rows():
    """The closed form, against what one more copy of each row in turn changes."""
    codes, labels = sample(60)
    relation = related(labels, len(codes), np.random.default_rng(0))
    steps = Steps.of(codes, relation)
    found, ratio, _ = errors(codes, relation, steps)
    ((_, cells),) = cells_of(codes, codes)
    same, other = relation.relate(0, 60)

    def log_ratio(weights, end):
        pair = weights[:, None] * weights
        near = cells <= end
        counts = [np.sum(pair * mask * near) / np.sum(pair * mask) for mask in (same, other)]
        return np.log(counts[0] / counts[1])

    for step, end in enumerate(steps.ends[:-1].tolist()):
        changes = []
        for row in range(60):
            weights = np.ones(60)
            weights[row] += 1e-6
            changes.append((log_ratio(weights, end) - log_ratio(np.ones(60), end)) / 1e-6)
        least = 1 / (steps.similar[step] + 0.5) + 1 / (steps.dissimilar[step] + 0.5)
        expected = np.sqrt(max(np.sum(np.square(changes)), least))
        np.testing.assert_allclose(found[step], expected, rtol=1e-3)
    assert np.all(np.diff(ratio) <= 0)
