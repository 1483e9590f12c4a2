import numpy as np
import pytest

from kinhash.errors import InvalidInputError
from kinhash.methods import ITQ
from kinhash.tuning.trials import (
    Rows,
    check_rows,
    is_trial,
    measured,
    point_measures,
    trial,
    trial_key,
)

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.ConstantColumnWarning")

ITQ16 = {"method": "itq", "n_bits": 16}


def test_each_row_is_left_out_once_and_classes_are_dealt_evenly(blobs):
    X, labels = blobs
    rows, seen = Rows(X, labels, seed=3), []
    for fit, left_out in rows.folds():
        assert sorted([*fit, *left_out]) == list(range(90))
        assert np.bincount(labels[left_out]).tolist() == [4, 16, 10]
        seen += left_out.tolist()
    assert sorted(seen) == list(range(90))
    half = rows.part(0.5)
    assert np.bincount(half.labels).tolist() == [6, 24, 15]
    assert rows.part(1.0) is rows
    tags = Rows(X, np.eye(3, dtype=np.uint8)[labels], seed=3)
    assert sorted(row for _, left_out in tags.folds() for row in left_out) == list(range(90))


def test_a_key_is_of_the_rows_their_labels_and_the_settings(blobs):
    X, labels = blobs
    keys = {
        trial_key(rows, share, settings)
        for rows in (Rows(X, labels, 0), Rows(X, None, 0), Rows(X, labels, 1), Rows(X + 1, None, 0))
        for share in (0.5, 1.0)
        for settings in (ITQ16, ITQ16 | {"n_bits": 8})
    }
    assert len(keys) == 16
    assert trial_key(Rows(X.copy(), labels.copy(), 0), 1.0, dict(ITQ16)) in keys


def by_hand(codes, relevant, radius):
    """Measures of searching all with one another, pair by pair."""
    dense = codes.to_dense()
    found = (dense[:, None] != dense[None]).sum(axis=2) <= radius
    np.fill_diagonal(found, val=False)
    n_found, n_right = found.sum(axis=1), (found & relevant).sum(axis=1)
    return {
        "precision": np.mean([r / n if n else 0 for r, n in zip(n_right, n_found, strict=True)]),
        "recall": np.mean(n_right / relevant.sum(axis=1)),
        "empty": np.mean(n_found == 0),
        "share": n_found.mean() / (len(dense) - 1),
    }


def test_measures_are_those_of_rows_that_were_left_out(rows):
    found = trial(rows, 1.0, ITQ16, [0, 2])
    expected = {0: [], 2: []}
    for fit, left_out in rows.folds():
        method = ITQ(16, seed=0).fit(rows.vectors[fit])
        relevant = rows.labels[left_out][:, None] == rows.labels[left_out]
        np.fill_diagonal(relevant, val=False)
        for radius, parts in expected.items():
            parts.append(by_hand(method.encode(rows.vectors[left_out]), relevant, radius))
    for radius, parts in expected.items():
        for name in parts[0]:
            mean = np.mean([part[name] for part in parts])
            assert found["measures"][f"{name}@r{radius}"] == pytest.approx(mean)
    assert found["measures"]["bytes"] == 2
    assert (found["rows"], found["share"], found["settings"]) == (600, 1.0, ITQ16)
    assert found["key"] == trial_key(rows, 1.0, ITQ16)
    assert trial(rows, 1.0, ITQ16, [0, 2])["measures"] == found["measures"]


def test_without_labels_the_10_nearest_vectors_are_similar(bare):
    _, left_out = next(bare.folds())
    vectors = bare.vectors[left_out].astype(float)
    method = ITQ(16, seed=0).fit(bare.vectors)
    near = vectors @ vectors.T
    near /= np.linalg.norm(vectors, axis=1) * np.linalg.norm(vectors, axis=1)[:, None]
    np.fill_diagonal(near, -np.inf)
    relevant = np.zeros(near.shape, bool)
    np.put_along_axis(relevant, np.argsort(-near, axis=1)[:, :10], values=True, axis=1)
    expected = by_hand(method.encode(bare.vectors[left_out]), relevant, 3)
    found = measured(method, bare.vectors[left_out], None, [])
    for name in ("recall", "empty", "share"):
        assert found[f"{name}@r3"] == pytest.approx(expected[name])
    assert "map" not in found
    assert "precision@r3" not in found


def test_answers_grow_with_the_collection_and_precision_falls_without_labels():
    record = {"measures": {"recall@r1": 0.5, "share@r1": 0.1, "empty@r1": 0.0, "bytes": 4.0}}
    small, large = (point_measures(record, 1, n) for n in (100, 1000))
    assert (small["answers"], large["answers"]) == (10, 100)
    assert (small["precision"], large["precision"]) == (0.5, 0.05)
    assert small["f1"] == 0.5
    record["measures"]["precision@r1"] = 0.25
    assert point_measures(record, 1, 1000)["precision"] == 0.25
    assert point_measures(record, 77, 1000)["precision"] == 0


def test_a_record_that_is_no_trial_is_not_taken_for_one(rows):
    record = trial(rows, 0.5, ITQ16, [])
    assert is_trial(record, [0, 3])
    assert is_trial(record, [0, 400])  # farther than codes can be apart
    assert not is_trial(record, [15])
    for damage in ({"measures": None}, {"seconds": "long"}, {"settings": 3}, {"measures": {}}):
        assert not is_trial(record | damage, [])
    assert not is_trial(record | {"measures": record["measures"] | {"map": "high"}}, [])


def test_too_few_rows_are_refused(blobs):
    X, labels = blobs
    with pytest.raises(InvalidInputError, match=r"at least 60 rows .* got shape \(59, 5\)"):
        check_rows(Rows(X[:59], labels[:59], 0))
    with pytest.raises(InvalidInputError, match="a label for each of 90 rows, got 89"):
        check_rows(Rows(X, labels[:89], 0))
