import numpy as np
import pytest

from kinhash.codes import Codes
from kinhash.dedup import limits
from kinhash.dedup.code_table import CodeTable
from kinhash.dedup.content import Content
from kinhash.dedup.limits import elbow, grid_of


def test_a_limit_lies_in_the_middle_of_a_gap():
    grid = [0.98, 0.96, 0.94, 0.92, 0.9, 0.88, 0.86, 0.84]
    place, reason = elbow(grid, [100, 200, 290, 292, 293, 295, 400, 900], "similarity")
    # Small steps lead to 0.92, 0.9 and 0.88: the gap is from 0.94 to 0.88.
    assert grid[place] == 0.92
    assert reason == (
        "Between similarity 0.94 and 0.88, looser limits drop only 5 more rows, after up to 100 at "
        "a step before: copies seem to end there."
    )


def test_without_a_gap_the_reason_says_so():
    place, reason = elbow([2, 4, 6, 8, 10], [50, 120, 180, 240, 330], "radius")
    assert place in (2, 3)
    assert reason.startswith("No gap parts copies from rows that are merely similar")


@pytest.mark.parametrize("dropped", [[0, 0, 0, 0], [0, 0, 0, 5], [0, 0, 7, 80]])
def test_without_copies_there_is_no_proposal(dropped):
    place, reason = elbow([0.9, 0.8, 0.7, 0.6], dropped, "similarity")
    assert place is None
    assert reason.startswith("No limit ")


def test_two_limits_are_enough():
    assert elbow([0.99, 0.98], [5, 5], "similarity")[0] is not None


def codes(n, n_bits=128, seed=0):
    dense = np.random.default_rng(seed).integers(0, 2, (n, n_bits))
    made = Codes.from_dense(dense)
    return CodeTable.of(Content(made, None, "codes"), made)


def test_radii_end_where_rows_have_many_neighbours():
    table = codes(300)
    assert grid_of(table, table, 0) == list(range(0, 39, 2))
    near = np.zeros((300, 128), int)
    near[np.arange(300), np.arange(300) % 128] = 1  # all within 2 of each other
    made = Codes.from_dense(near)
    table = CodeTable.of(Content(made, None, "codes"), made)
    assert grid_of(table, table, 0) == [0, 2]  # at least two


def vectors(X):
    from kinhash.dedup.coding import UnitCoder
    from kinhash.dedup.vector_table import VectorTable

    X = np.asarray(X, np.float32)
    return VectorTable.of(Content(X, None, "vectors"), UnitCoder(X, seed=0), 1)


def test_similarities_end_where_rows_have_many_neighbours(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 300))
    table = vectors(X)
    assert grid_of(table, table, 0) == [round(0.98 - 0.02 * i, 2) for i in range(25)]
    # 50 rows around each of 8 centres, at cosines near 0.8 of each other.
    centres = np.repeat(rng.normal(size=(8, 300)), 50, axis=0)
    table = vectors(2 * centres + X)
    grid = grid_of(table, table, 0)
    assert grid[-1] in (0.82, 0.84, 0.86)
    monkeypatch.setattr(limits, "MOST_NEIGHBOURS", 0.0)
    finer = grid_of(table, table, 0)
    assert len(finer) >= limits.ENOUGH
    assert finer[-1] >= grid[-1]


def test_neighbours_are_counted_as_a_loop_counts_them():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 5)).astype(np.float32)
    table = vectors(X)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    grid = [0.9, 0.8, 0.5]
    rows = np.arange(0, 80, 3)
    expected = [(unit[rows] @ unit.T >= limit).sum() for limit in grid]
    found = limits._similar(table, table, rows, grid)
    assert found.tolist() == expected


def test_tables_of_two_kinds_have_no_limits():
    with pytest.raises(TypeError, match="another kind"):
        grid_of(codes(3), vectors(np.eye(3)), 0)
