import numpy as np
import pytest

from kinhash.engines.spark import top_k_join
from kinhash.errors import InvalidInputError
from kinhash.index import reference


def expected_of(left, right, k):
    """Return the answers by comparing every two items."""
    matches = reference.search_top_k(right[0], left[0], k, ids=right[1])
    rows = np.repeat(left[1], matches.counts)
    columns = [rows, matches.ids, matches.distances]
    if matches.rank_distances is not None:
        columns.append(matches.rank_distances)
    found = zip(*(column.tolist() for column in columns), strict=True)
    return sorted(found, key=lambda row: (row[0], *row[2:], row[1]))


@pytest.mark.parametrize("n_rank_bits", [0, 9])
def test_the_first_k_come_in_the_order_of_distance_rank_distance_and_id(
    frame, clustered, n_rank_bits
):
    left = clustered(60, 70, seed=1, n_rank_bits=n_rank_bits), np.arange(60) * 7 % 60 - 9
    right = clustered(300, 70, seed=2, n_rank_bits=n_rank_bits), np.arange(300)[::-1] + 5
    found = top_k_join(frame(*left), frame(*right, other=["x"] * 300), 5)
    assert found.columns[:3] == ["left_id", "right_id", "distance"]
    assert [tuple(row) for row in found.collect()] == expected_of(left, right, 5)


def test_parts_of_what_does_not_fit_a_worker_give_the_same(frame, clustered, monkeypatch):
    left, right = clustered(30, 20, seed=1), clustered(90, 20, seed=2, signed=False)
    monkeypatch.setattr("kinhash.engines.spark.top_k.MOST_SENT", 40)
    found = top_k_join(frame(left, np.arange(30)), frame(right, np.arange(90)), 7)
    expected = expected_of((left, np.arange(30)), (right, np.arange(90)), 7)
    assert found._jdf.queryExecution().simpleString().count("MapInArrow") >= 3
    assert [tuple(row) for row in found.collect()] == expected


def test_fewer_than_k_items_are_all_returned_and_texts_are_ids(frame, clustered):
    left, right = clustered(4, 20, seed=1), clustered(3, 20, seed=2)
    found = top_k_join(frame(left, list("badc")), frame(right, ["y", "z", "x"]), 10).collect()
    near = reference.distances(left, right)
    expected = sorted(
        (name, int(near[i, j]), other)
        for i, name in enumerate("badc")
        for j, other in enumerate(["y", "z", "x"])
    )
    assert [(row.left_id, row.distance, row.right_id) for row in found] == expected


def test_k_must_be_at_least_1(frame, clustered):
    df = frame(clustered(4, 20), np.arange(4))
    with pytest.raises(InvalidInputError, match="`k` must be an integer of at least 1, got 0"):
        top_k_join(df, df, 0)
