import dataclasses
import itertools

import numpy as np
import pytest

from kinhash import _native
from kinhash.codes import Codes
from kinhash.errors import InvalidInputError
from kinhash.index.hamming import HammingIndex
from kinhash.index.keys import deletion_keys
from kinhash.index.memory import structures


def packed(dense):
    return Codes.from_dense(np.asarray(dense))


def sparse(n, n_bits, n_active, seed=0):
    """Draw codes with just `n_active` active bits each, nearly all different."""
    rng = np.random.default_rng(seed)
    dense = np.zeros((n, n_bits), np.int8)
    np.put_along_axis(dense, np.argsort(rng.random((n, n_bits)), axis=1)[:, :n_active], 1, axis=1)
    return Codes.from_dense(dense)


def clustered(n_centres, n_each, n_bits=64):
    """Draw centres far apart, and around each codes that differ from it in one bit, twice."""
    rng = np.random.default_rng(1)
    centres = np.repeat((rng.random((n_centres, n_bits)) < 0.2).astype(np.int8), n_each, axis=0)
    for at, row in enumerate(centres):
        row[at % n_each] ^= 1
    return Codes.from_dense(np.repeat(centres, 2, axis=0))


def built(codes, **options):
    """Return what the compiled core built of what was asked for: its arrays and numbers."""
    none = {"levels": 0, "n_chunks": 0, "groups": False, "n_far": 0, "n_listed": 0, "budget": 1e9}
    return _native.build_segment(codes.words, np.arange(len(codes)), **none | options)


# Settings


def test_lean_takes_no_tables_and_fast_more_than_balanced():
    lean, balanced, fast = map(structures, ("lean", "balanced", "fast"))
    assert (lean.levels, lean.n_chunks, lean.budget) == (0, 0, 0)
    assert balanced.levels > 0
    assert lean.listed == 0 < balanced.listed < fast.listed == 1
    assert lean.far == 0 < balanced.far < fast.far
    assert fast == dataclasses.replace(
        balanced, far=fast.far, listed=1.0, budget=fast.budget, wide_chunks=True
    )
    assert [setting.n_chunks_of(1) for setting in (lean, balanced, fast)] == [0, 4, 4]
    assert [setting.n_chunks_of(2) for setting in (lean, balanced, fast)] == [0, 0, 4]
    assert fast.budget > balanced.budget > 0


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ("leen", r"Unknown memory 'leen'\. Did you mean 'lean'\? Known: balanced, fast, lean\."),
        ("huge", r"Unknown memory 'huge'\. Known: balanced, fast, lean\."),
        (None, r"Unknown memory 'None'\. Known: balanced, fast, lean\."),
    ],
)
def test_an_unknown_setting_is_refused_with_the_known_ones(memory, message):
    with pytest.raises(InvalidInputError, match=message):
        structures(memory)
    with pytest.raises(InvalidInputError, match=message):
        HammingIndex(sparse(3, 8, 2), memory=memory)


def test_more_memory_is_taken_only_where_it_is_given():
    codes = sparse(4000, 64, 6)
    sizes = {
        memory: HammingIndex(codes, memory=memory).n_bytes
        for memory in ("lean", "balanced", "fast")
    }
    # Beside code and id: one level has 6 keys, each with a start and a row of 4 bytes.
    assert sizes["lean"] < sizes["balanced"] <= sizes["lean"] + 48 * 4000 + 64
    assert sizes["balanced"] < sizes["fast"] <= sizes["lean"] + 512 * 4000 + 64


@pytest.mark.parametrize("n_bits", [96, 128, 256, 1000])
@pytest.mark.parametrize("n", [3000, 3641, 3700, 4096])
def test_wide_dense_codes_take_17_bytes_beside_the_code_at_most(n, n_bits):
    """Four for an id, four for an offset, and at most 2.25 slots of four."""
    rng = np.random.default_rng(n)
    codes = Codes.from_dense(rng.integers(0, 2, (n, n_bits)))
    index = HammingIndex(codes)
    assert index.n_bytes / n <= 8 * -(-n_bits // 64) + 17.1
    found = index.search_radius(codes[:50], 0)
    np.testing.assert_array_equal(found.ids, np.arange(50))
    assert "50 times by looking up the query's own code" in index.explain(codes[:50], radius=0)


# What the budget has room for


@pytest.mark.parametrize(
    ("budget", "levels"), [(0, 0), (39, 0), (40, 1), (40 + 79, 1), (40 + 80, 2), (1e9, 2)]
)
def test_levels_of_keys_are_built_as_long_as_the_budget_lasts(budget, levels):
    """Five active bits: 5 keys with one removed, 10 with two, of 8 bytes each."""
    codes = sparse(300, 400, 5)
    assert codes.n_unique == 300
    assert built(codes, levels=2, budget=budget)[1]["levels"] == levels


@pytest.mark.parametrize("level", [1, 2])
def test_a_level_files_each_code_once_for_each_of_its_deletion_keys(level):
    arrays, _ = built(sparse(300, 400, 5), levels=2)
    codes = Codes(arrays["codes"].reshape(300, -1), 400)
    found = deletion_keys(codes, level)
    expected = np.bincount(found.rows[found.n_removed == level])
    np.testing.assert_array_equal(np.bincount(arrays[f"key{level}_rows"]), expected)


@pytest.mark.parametrize(
    ("levels", "budget", "n_slots"), [(0, 1e9, 512), (2, 40 + 80, 512), (2, 40 + 80 + 69, 1024)]
)
def test_slots_are_doubled_where_keys_leave_ten_times_the_room(levels, budget, n_slots):
    """512 slots of 4 bytes for 300 codes: 6.8 bytes per item more."""
    codes = sparse(300, 400, 5)
    assert len(built(codes, levels=levels, budget=budget)[0]["slots"]) == n_slots


def test_codes_too_dense_for_keys_are_cut_into_chunks():
    codes = sparse(1000, 64, 32)
    for levels, budget, expected in ((2, 48, (0, 4)), (2, 1e9, (2, 0)), (0, 10, (0, 0))):
        numbers = built(codes, levels=levels, n_chunks=4, budget=budget)[1]
        assert (numbers["levels"], numbers["n_chunks"]) == expected


def test_items_that_share_a_code_pay_for_its_keys_together():
    one = Codes.from_dense(np.ones((1, 20), int))
    thousand = Codes.concatenate([one] * 1000)
    assert built(one, levels=2, budget=48)[1]["levels"] == 0
    assert built(thousand, levels=2, budget=48)[1]["levels"] == 2


def test_groups_are_made_where_codes_crowd_around_leaders():
    arrays, numbers = built(clustered(30, 12), groups=True)
    assert numbers["group_radius"] == 2
    assert len(arrays["group_starts"]) - 1 == 30
    assert arrays["group_starts"][-1] == len(arrays["offsets"]) - 1
    codes, leaders, starts = arrays["codes"], arrays["leaders"], arrays["group_starts"]
    leader_of = np.repeat(leaders, np.diff(starts))
    assert np.bitwise_count(codes ^ leader_of).max() <= 2


@pytest.mark.parametrize("repeats", [1, 2])
def test_no_groups_are_made_of_codes_that_are_far_apart(repeats):
    codes = Codes.concatenate([sparse(600, 256, 20)] * repeats)
    arrays, numbers = built(codes, groups=True)
    assert numbers["group_radius"] == 0
    assert len(arrays["leaders"]) == 0


@pytest.mark.parametrize("memory", ["lean", "balanced", "fast"])
def test_small_indexes_have_no_tables(memory):
    index = HammingIndex(sparse(256, 64, 5), memory=memory)
    assert index._state.segments[0].numbers["levels"] == 0
    assert len(index._state.segments[0].arrays["group_starts"]) == 0


def lists(arrays):
    """Return the rows in each list of neighbours: three lists per code."""
    starts, rows = arrays["near_starts"].tolist(), arrays["near_rows"].tolist()
    return [rows[a:b] for a, b in itertools.pairwise(starts)]


def test_neighbours_within_two_bits_are_listed_where_the_budget_has_room():
    codes = packed([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])
    arrays, _ = built(codes, levels=2, n_listed=4)
    # The own row and rows one bit away, then rows two bits away, of 000, 001, 011 and 111 in turn.
    near = [[[0, 1], [2]], [[1, 0, 2], [3]], [[2, 1, 3], [0]], [[3, 2], [1]]]
    assert lists(arrays) == [rows for two in near for rows in (*two, [])]
    # And three bits away, of the first one.
    arrays, _ = built(codes, levels=2, n_listed=4, n_far=1)
    assert lists(arrays)[:6] == [[0, 1], [2], [3], [1, 0, 2], [3], []]
    assert lists(arrays)[-3:] == [[3, 2], [1], []]
    # Keys take 8 bytes: 6 with one bit removed and 4 with two; and 8 bytes more for two ends. The
    # lists take 52 bytes for where they start, and 4 for each row.
    least = (8 * (6 + 4) + 8 + 52) / 4
    for budget, n_rows in ((0, 0), (least, 0), (least + 3, 3), (least + 6, 3), (least + 7, 7)):
        arrays, _ = built(codes, levels=2, n_listed=4, budget=budget)
        assert len(arrays["near_rows"]) == n_rows
    assert len(built(codes, levels=1, n_listed=4)[0]["near_starts"]) == 0
    # Of 16 rows, 8 are for codes with lists to three bits; the rest is for lists to two.
    arrays, _ = built(codes, levels=2, n_listed=4, n_far=4, budget=least + 16)
    assert lists(arrays)[:3] == [[0, 1], [2], [3]]
    assert lists(arrays)[-3:] == [[3, 2], [1], []]


def test_the_codes_with_most_items_are_listed_first():
    codes = packed([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])[[0, 1, 2, 3, 2, 2, 1]]
    arrays, _ = built(codes, levels=2, n_listed=2)
    assert lists(arrays)[:6] == [[], [], [], [1, 0, 2], [3], []]
    assert lists(arrays)[6:] == [[2, 1, 3], [0], [], [], [], []]
    # Where they have few of the items, hardly a query would be one of them.
    assert len(built(sparse(100, 64, 6), levels=2, n_listed=24)[0]["near_starts"]) == 0
    assert len(built(sparse(100, 64, 6), levels=2, n_listed=25)[0]["near_starts"]) == 301


def test_codes_far_from_all_others_are_listed_too():
    arrays, _ = built(packed([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]]), levels=2, n_listed=2)
    assert lists(arrays) == [[0], [], [], [1], [], []]
