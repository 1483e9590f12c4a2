import copy
import doctest
import gc
import itertools
import multiprocessing
import pickle
import re
import subprocess
import sys
import threading
import weakref
from functools import partial
from unittest import mock

import numpy as np
import pytest

from kinhash.codes import Codes
from kinhash.errors import InvalidInputError, LargeGroupWarning, SearchTimeout
from kinhash.index import hamming, reference
from kinhash.index import memory as memory_settings
from kinhash.index.hamming import HammingIndex
from kinhash.matches import Matches


def packed(dense, *, signed=False):
    return Codes.from_dense(np.asarray(dense), signed=signed)


def random_codes(n, n_bits=32, n_active=5, seed=0):
    rng = np.random.default_rng(seed)
    dense = np.zeros((n, n_bits), np.int8)
    np.put_along_axis(dense, rng.integers(0, n_bits, (n, n_active)), 1, axis=1)
    return packed(dense)


def as_lists(matches):
    return [(ids.tolist(), distances.tolist()) for ids, distances in matches]


def everything(index):
    """Return all that an index holds, in a form to compare."""
    origin = packed(np.zeros((1, index.n_bits)), signed=index.signed)
    buckets = sorted((code.words.tobytes(), ids.tolist()) for code, ids in index.iter_buckets())
    return as_lists(index.search_radius(origin, 10**6, sort=True)), buckets, index.ids.tolist()


# 000, 001, 011 and 111 under the ids 10, 20, 30 and 40
STAIRS = packed([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])


# Answers, by hand


def test_radius_is_inclusive(stairs):
    query = packed([[0, 0, 0]])
    assert as_lists(stairs.search_radius(query, 0)) == [([10], [0])]
    assert as_lists(stairs.search_radius(query, 2)) == [([10, 20, 30], [0, 1, 2])]
    assert as_lists(stairs.search_radius(query, 3)) == [([10, 20, 30, 40], [0, 1, 2, 3])]


def test_top_k_is_ordered_by_distance_then_id():
    index = HammingIndex(packed([[1, 1], [0, 0], [1, 1], [0, 1]]), ids=[9, 5, -4, 7])
    assert as_lists(index.search_top_k(packed([[1, 1]]), 3)) == [([-4, 9, 7], [0, 0, 1])]


def kinds_of_ids(n):
    """Return distinct ids of several kinds: all in a range or few, narrow, wide, negative."""
    rng = np.random.default_rng(0)
    order = rng.permutation(n)
    least = np.iinfo(np.int64).min
    return {
        "dense": order,
        "offset": order + 2**31 - n // 2,
        "sparse": order * 977,
        "multiples": order * 4096,
        "sorted": np.arange(n) * 5,
        "wide": order * 2**40 + rng.integers(0, 2**40, n),
        "signed": order - n // 2,
        "extreme": np.where(order % 2, order + least, ~(order + least)),
    }


@pytest.mark.parametrize("kind", kinds_of_ids(1))
@pytest.mark.parametrize("n_alike", [1, 16])
def test_ids_at_one_distance_are_in_order_and_the_lowest(kind, n_alike):
    # 256 codes of two bits, all at one distance from the first query, in buckets of one size: a
    # sample of every n-th id, as the core takes it, has nothing but the first ids of buckets.
    pairs = list(itertools.combinations(range(24), 2))[:256]
    dense = np.zeros((256, 24), np.int8)
    np.put_along_axis(dense, np.array(pairs), 1, axis=1)
    codes = packed(np.repeat(dense, n_alike, axis=0))
    ids = kinds_of_ids(len(codes))[kind]
    index = HammingIndex(codes, ids=ids)
    allowed = ids[::3]
    queries = packed(np.vstack([np.zeros((1, 24)), dense[:1], dense[-1:] ^ dense[:1]]))
    for k in [1, 10, 70, 250, 1000, 4000]:
        expected = reference.search_top_k(codes, queries, k, ids=ids)
        assert as_lists(index.search_top_k(queries, k)) == as_lists(expected)
        expected = reference.search_top_k(codes[::3], queries, k, ids=allowed)
        assert as_lists(index.search_top_k(queries, k, allowed=allowed)) == as_lists(expected)
    expected = reference.search_radius(codes, queries, 4, ids=ids)
    assert as_lists(index.search_radius(queries, 4, sort=True)) == as_lists(expected)


def test_a_flipped_sign_costs_two():
    index = HammingIndex(packed([[1, 0], [-1, 0], [0, 0]], signed=True))
    assert as_lists(index.search_radius(packed([[1, 0]], signed=True), 2)) == [
        ([0, 2, 1], [0, 1, 2])
    ]


def test_default_ids_are_row_numbers():
    assert HammingIndex(STAIRS).ids.tolist() == [0, 1, 2, 3]


def test_k_beyond_the_items_gives_all_of_them(stairs):
    assert stairs.search_top_k(STAIRS, 10**18).counts.tolist() == [4, 4, 4, 4]


def test_a_radius_beyond_every_distance_gives_all_items(stairs):
    assert stairs.search_radius(STAIRS, 10**18).counts.tolist() == [4, 4, 4, 4]


def test_counts_per_distance(stairs):
    assert stairs.count_radius(packed([[0, 0, 0], [0, 1, 0]]), 2).tolist() == [[1, 1, 1], [0, 2, 2]]


@pytest.mark.parametrize("radius", [3, 4, 2**31, 10**18])
def test_counts_end_at_the_farthest_distance(stairs, radius):
    assert stairs.count_radius(packed([[0, 0, 0]]), radius).tolist() == [[1, 1, 1, 1]]
    signed = HammingIndex(packed([[1, -1], [-1, 1]], signed=True))
    query = packed([[1, -1]], signed=True)
    assert signed.count_radius(query, 2**31).tolist() == [[1, 0, 0, 0, 1]]


def test_an_index_knows_which_ids_it_has(stairs):
    assert [i in stairs for i in (10, 20, 25, -10, np.int64(40), np.uint8(30))] == [
        True,
        True,
        False,
        False,
        True,
        True,
    ]
    for other in (2**63, -(2**63) - 1, 10.0, "10", None, True, [10], (10,), np.array(10)):
        assert other not in stairs
    assert 0 not in HammingIndex(STAIRS[:0])


def test_ids_at_the_ends_of_their_range_are_found():
    ids = [-(2**63), -1, 2**32, 2**63 - 1]
    index = HammingIndex(STAIRS, ids)
    assert all(i in index for i in ids)
    assert index.codes(ids) == STAIRS
    assert 0 not in index
    assert 2**32 not in HammingIndex(STAIRS, ids=[0, 1, 2, 3])  # stored in 32 bits each


def test_the_codes_of_ids_come_in_the_order_asked_for(stairs):
    assert stairs.codes([40, 10, 40]) == STAIRS[[3, 0, 3]]
    assert stairs.codes(np.array([20], np.uint32)) == STAIRS[1]
    assert stairs.codes([]) == STAIRS[:0]
    assert stairs.codes(stairs.ids) == STAIRS
    signed = packed([[1, -1], [0, 1]], signed=True)
    assert HammingIndex(signed).codes([1, 0]) == signed[::-1]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([10, 7, 20], r"`ids` hold 7, which is not in the index\."),
        ([2**32 + 10], r"`ids` hold 4294967306, which is not in the index\."),
        ([1.5], "`ids` must be integers or strings, got 1.5 of type float in row 0"),
        (["10"], "`ids` must be integers, as those of the index are, got strings, such as '10'"),
        (10, r"`ids` must be integers or strings, one per item, got int64 of shape \(\)"),
        ([[10]], r"shape \(1, 1\)"),
        (np.array([2**63], np.uint64), "must fit into int64, got 9223372036854775808"),
    ],
)
def test_unknown_ids_have_no_codes(stairs, ids, message):
    with pytest.raises(InvalidInputError, match=message):
        stairs.codes(ids)


@pytest.mark.parametrize("mapped", [False, True])
def test_ids_and_codes_follow_every_change(tmp_path, mapped):
    rng, pool = np.random.default_rng(5), random_codes(4000)
    index = HammingIndex(pool[:2000], ids=np.arange(2000) * 3)
    if mapped:
        index.save(tmp_path / "items.kinhash")
        index = HammingIndex.load(tmp_path / "items.kinhash")
    stored = {3 * row: row for row in range(2000)}
    n_segments = 0
    for turn in range(30):
        new, rows = np.arange(6000 + 40 * turn, 6040 + 40 * turn), rng.integers(0, 4000, 40)
        index.add(pool[rows], new)
        stored |= dict(zip(new.tolist(), rows.tolist(), strict=True))
        gone = rng.permutation(sorted(stored))[:35]
        index.remove(gone)
        for i in gone.tolist():
            del stored[i]
        moved, rows = rng.permutation(sorted(stored))[:20], rng.integers(0, 4000, 20)
        index.update(pool[rows], moved)
        stored |= dict(zip(moved.tolist(), rows.tolist(), strict=True))
        n_segments = max(n_segments, len(index._state.segments))
        asked = rng.permutation(sorted(stored))
        assert index.codes(asked) == pool[[stored[i] for i in asked.tolist()]]
        assert not any(i in index for i in gone)
        assert all(i in index for i in asked[:50])
        with pytest.raises(InvalidInputError, match=f"`ids` hold {gone[0]}, which is not"):
            index.codes([asked[0], gone[0]])
    assert n_segments > 2


def test_numpy_integers_are_integers(stairs):
    assert stairs.search_radius(STAIRS, np.uint8(0)).counts.tolist() == [1, 1, 1, 1]
    assert stairs.search_top_k(STAIRS, np.int64(2)).counts.tolist() == [2, 2, 2, 2]
    assert stairs.count_radius(STAIRS, np.int32(0)).tolist() == [[1], [1], [1], [1]]


def test_no_queries_get_no_answers(stairs):
    none = STAIRS[:0]
    assert len(stairs.search_radius(none, 2)) == 0
    assert len(stairs.search_top_k(none, 2)) == 0
    assert stairs.count_radius(none, 2).shape == (0, 3)
    assert "for 0 queries" in stairs.explain(none, radius=2)


@pytest.mark.parametrize("memory", ["lean", "balanced", "fast"])
def test_an_empty_index_answers_and_can_be_filled(memory):
    index = HammingIndex(STAIRS[:0], memory=memory)
    assert (len(index), index.n_codes, index.ids.tolist()) == (0, 0, [])
    assert index.ids.dtype == np.int64
    assert index.search_radius(STAIRS, 3).counts.tolist() == [0, 0, 0, 0]
    assert index.search_top_k(STAIRS, 3).counts.tolist() == [0, 0, 0, 0]
    assert index.search_top_k(STAIRS, 3, allowed=[]).counts.tolist() == [0, 0, 0, 0]
    assert index.search_radius(STAIRS, 3, allowed=np.zeros(0, bool)).counts.tolist() == [0] * 4
    assert index.count_radius(STAIRS, 1).tolist() == [[0, 0]] * 4
    assert len(index.duplicates(3)) == 0
    assert list(index.iter_buckets()) == []
    assert "0 items" in index.explain(STAIRS, k=3)
    index.add(STAIRS, [1, 2, 3, 4])
    assert index.search_radius(STAIRS, 0).ids.tolist() == [1, 2, 3, 4]
    index.remove([1, 2, 3, 4])
    assert len(index) == 0
    assert index.search_radius(STAIRS, 3).counts.tolist() == [0, 0, 0, 0]
    index.add(STAIRS, [1, 2, 3, 4])
    assert index.search_radius(STAIRS, 0).ids.tolist() == [1, 2, 3, 4]


def test_codes_that_are_no_whole_blocks_of_memory_are_fine():
    codes = random_codes(50)
    index = HammingIndex(codes[::-2], ids=np.arange(50)[::-2])
    assert index.search_radius(codes[1::4], 0, sort=True).ids.tolist() == (
        reference.search_radius(codes[::-2], codes[1::4], 0, ids=np.arange(50)[::-2]).ids.tolist()
    )


def test_it_says_what_it_is(stairs):
    assert (stairs.n_bits, stairs.signed, stairs.memory) == (3, False, "balanced")
    assert repr(stairs) == "HammingIndex(n=4, n_bits=3, memory='balanced')"
    signed = HammingIndex(packed([[1, -1]], signed=True), memory="lean")
    assert repr(signed) == "HammingIndex(n=1, n_bits=2, signed, memory='lean')"
    assert signed.n_bytes > 0


def test_docstring_examples_run():
    result = doctest.testmod(hamming)
    assert result.attempted > 0
    assert result.failed == 0


# Explaining


def test_explain_names_structure_and_numbers(stairs):
    assert stairs.explain(STAIRS[:1], radius=1) == (
        "Radius 1 for 1 queries among 4 items with 4 different codes: "
        "1 time by scanning: comparing every different code. 4.0 codes were compared per query."
    )
    text = stairs.explain(STAIRS[:2], radius=0)
    assert "2 times by looking up the query's own code. 1.0 codes were compared" in text
    assert stairs.explain(STAIRS, k=2).startswith("The 2 nearest for 4 queries among 4 items")


def test_explain_counts_less_work_where_keys_are_looked_up():
    index = HammingIndex(random_codes(20000), memory="fast")
    text = index.explain(random_codes(10, seed=2), radius=1)
    assert "10 times by deletion keys" in text
    compared = float(re.search(r"([\d,.]+) codes were compared", text).group(1).replace(",", ""))
    assert 0 < compared < index.n_codes / 10


@pytest.mark.parametrize("asked", [{}, {"radius": 1, "k": 1}])
def test_explain_wants_a_radius_or_a_k(stairs, asked):
    with pytest.raises(InvalidInputError, match="Give either `radius` or `k` to explain"):
        stairs.explain(STAIRS, **asked)


# Refusals: one sentence, and the index as it was


def each_use(index, codes):
    """Yield every call that takes codes."""
    yield lambda: index.search_radius(codes, 1)
    yield lambda: index.search_top_k(codes, 1)
    yield lambda: index.count_radius(codes, 1)
    yield lambda: index.explain(codes, radius=1)
    yield lambda: index.add(codes, [99])
    yield lambda: index.update(codes, [10])


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (packed([[1] * 4]), r"have 4 bits but the index has 3-bit codes"),
        (packed([[1] * 64]), r"have 64 bits but the index has 3-bit codes"),
        (packed([[1] * 3], signed=True), r"are signed but the index has unsigned codes"),
        (np.ones((1, 3)), r"must be kinhash.Codes, got ndarray"),
        ([[1, 1, 1]], r"must be kinhash.Codes, got list"),
        (None, r"must be kinhash.Codes, got NoneType"),
    ],
)
def test_codes_that_do_not_fit_are_refused_with_both(stairs, codes, message):
    before = everything(stairs)
    for use in each_use(stairs, codes):
        with pytest.raises(InvalidInputError, match=f"`(queries|codes)` {message}"):
            use()
    assert everything(stairs) == before


def test_unsigned_queries_do_not_fit_a_signed_index():
    index = HammingIndex(packed([[1, 0, -1]], signed=True))
    with pytest.raises(InvalidInputError, match="are unsigned but the index has signed codes"):
        index.search_radius(STAIRS, 1)


@pytest.mark.parametrize("codes", [np.ones((1, 3)), [[1, 1, 1]], None])
def test_an_index_is_made_of_codes_only(codes):
    message = f"`codes` must be kinhash.Codes, got {type(codes).__name__}"
    with pytest.raises(InvalidInputError, match=message):
        HammingIndex(codes)


@pytest.mark.parametrize("shift", [0, 2**40])
def test_so_many_items_that_threads_share_them_are_all_in_their_buckets(shift):
    rng = np.random.default_rng(5)
    n = 70_001
    words = rng.integers(0, 2000, n).astype(np.uint64)
    words[-1] = 5000  # only in the last share
    ids = rng.permutation(n) + shift
    index = HammingIndex(Codes(words[:, None], 64), ids)
    stored = index._state.segments[0]
    offsets, codes = stored.arrays["offsets"], stored.arrays["codes"]
    assert sorted(codes.tolist()) == np.unique(words).tolist()
    of_item = np.repeat(codes, np.diff(offsets))
    assert np.array_equal(of_item, words[np.argsort(ids)][stored.ids - shift])
    for row in range(len(codes)):
        assert np.all(np.diff(stored.ids[offsets[row] : offsets[row + 1]].astype(np.int64)) > 0)


# The method's face


def test_derived_classes_and_numpy_numbers_find_the_same(stairs):
    class Index(HammingIndex):
        pass

    class Queries(Codes):
        pass

    expected = as_lists(stairs.search_radius(STAIRS, 1))
    like = Queries.from_dense(STAIRS.to_dense())
    derived = Index(STAIRS, ids=[10, 20, 30, 40])
    for found in (
        stairs.search_radius(like, 1),
        derived.search_radius(STAIRS, 1),
        stairs.search_radius(STAIRS, np.int8(1), n_threads=np.int64(2)),
        stairs.search_radius(STAIRS, 1, sort=np.True_),
        HammingIndex.search_radius(stairs, STAIRS, 1),
    ):
        assert as_lists(found) == expected


def test_searches_leave_no_references_behind(stairs):
    query = STAIRS[:1]
    held = [stairs, query, query.words, stairs._state, stairs._state.searcher, Matches]
    stairs.search_radius(query, 1)
    before = [sys.getrefcount(one) for one in held]
    for _ in range(1000):
        found = stairs.search_radius(query, 1)
        for _ in range(2):
            assert len(found.ids) == len(found.distances) == 2
        stairs.search_top_k(query, 2, out=found)
        stairs.search_radius(query, 0).offsets.sum()
        del found
    assert [sys.getrefcount(one) for one in held] == before


def test_each_array_of_an_answer_is_made_once(stairs):
    found = stairs.search_radius(STAIRS, 1)
    assert found.ids is found.ids
    assert found.offsets is found.offsets
    assert found.distances is found.distances
    ids = found.ids
    del found
    gc.collect()
    assert ids.tolist() == [10, 20, 20, 10, 30, 30, 20, 40, 40, 30]


# Results


def test_results_are_read_only_matches(stairs):
    for found in (stairs.search_radius(STAIRS, 1), stairs.search_top_k(STAIRS, 2)):
        assert isinstance(found, Matches)
        for array, dtype in ((found.offsets, "i8"), (found.ids, "i8"), (found.distances, "i4")):
            assert array.dtype == dtype
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0


@pytest.mark.parametrize("n", [1, 40, 3000])
def test_out_is_given_up_and_the_answer_is_the_same(n):
    codes = random_codes(n)
    index = HammingIndex(codes)
    for search, number in ((index.search_radius, 3), (index.search_top_k, 7)):
        fresh = as_lists(search(codes[:50], number))
        old = index.search_radius(codes, 2)
        for _ in range(3):
            found = search(codes[:50], number, out=old)
            assert as_lists(found) == fresh
            assert len(old) == len(old.ids) == len(old.distances) == 0
            assert as_lists(old) == []
            old = found


def test_out_lends_its_memory_to_answers_of_about_its_size():
    codes = Codes(np.zeros((3000, 1), np.uint64), 64)
    index = HammingIndex(codes)
    out = index.search_radius(codes[:200], 0)
    place = out.ids.ctypes.data
    for n in (150, 200, 90, 180):
        out = index.search_radius(codes[:n], 0, out=out)
        assert len(out.ids) == 3000 * n
        assert out.ids.ctypes.data == place


def test_what_was_taken_from_out_before_stays_valid():
    codes = random_codes(3000)
    index = HammingIndex(codes)
    old = index.search_radius(codes, 4)
    ids, copy = old.ids, old.ids.copy()
    for _ in range(3):
        index.search_radius(codes[::-1], 4, out=index.search_radius(codes, 4, out=old))
    np.testing.assert_array_equal(ids, copy)


def changing_callback(index, codes, answers):
    """Return a weak reference's callback that replaces every code and searches again."""

    def callback(_):
        index.update(codes, np.arange(len(codes)))
        answers.extend(index.search_radius(codes, 2) for _ in range(3))
        gc.collect()

    return callback


@pytest.mark.parametrize("search", ["search_radius", "search_top_k"])
def test_a_weak_reference_to_an_array_of_out_may_change_the_index(search, request):
    """Dropping `out` runs any Python code; the answer is that of the moment of the call."""
    codes, other = random_codes(600), random_codes(600, seed=1)
    gc.freeze()  # what is there already is not looked at in each collection
    request.addfinalizer(gc.unfreeze)
    for _ in range(30):
        index, answers = HammingIndex(codes), []
        expected = as_lists(getattr(index, search)(codes[:40], 2))
        old = index.search_radius(codes, 2)
        references = [
            weakref.ref(array, changing_callback(index, other, answers))
            for array in (old.offsets, old.ids, old.distances)
        ]
        assert as_lists(getattr(index, search)(codes[:40], 2, out=old)) == expected
        assert all(reference() is None for reference in references)
        after = HammingIndex(other).search_radius(other, 2)
        assert all(found.counts.tolist() == after.counts.tolist() for found in answers)


def test_out_and_weak_references_are_safe_beside_a_thread_that_changes_the_index():
    codes, other = random_codes(400), random_codes(400, seed=1)
    index = HammingIndex(codes)
    possible = [
        as_lists(HammingIndex(c).search_radius(codes, 2, sort=True)) for c in (codes, other)
    ]
    stop = threading.Event()

    def change():
        for turn in itertools.cycle((other, codes)):
            if stop.is_set():
                return
            index.update(turn, np.arange(400))

    changing = threading.Thread(target=change)
    changing.start()
    try:
        old = index.search_radius(codes, 2)
        for turn in range(200):
            kept, copy = old.distances, old.distances.copy()
            weakref.finalize(old.ids, index.update, (codes, other)[turn % 2], np.arange(400))
            old = index.search_radius(codes, 2, sort=True, out=old)
            assert as_lists(old) in possible
            np.testing.assert_array_equal(kept, copy)
    finally:
        stop.set()
        changing.join()


def test_a_refused_search_leaves_out_alone(stairs):
    old = stairs.search_radius(STAIRS, 1)
    before = as_lists(old)
    with pytest.raises(InvalidInputError):
        stairs.search_radius(STAIRS, -1, out=old)
    with pytest.raises(InvalidInputError):
        stairs.search_radius(STAIRS, 1, allowed=[1.5], out=old)
    with pytest.raises(InvalidInputError):
        stairs.search_top_k(STAIRS, 0, out=old)
    assert as_lists(old) == before


def test_results_outlive_changes_and_the_index_itself():
    codes = random_codes(2000)
    index = HammingIndex(codes)
    found = [index.search_radius(codes, 3), index.search_top_k(codes, 20)]
    views = [(m.ids[5:], m.distances[5:]) for m in found]
    copies = [(ids.copy(), distances.copy()) for ids, distances in views]
    rows = [as_lists(m) for m in found]
    buckets = index.iter_buckets()
    first = next(buckets)
    index.remove(np.arange(1999))
    index.add(random_codes(3000, seed=4), np.arange(5000, 8000))
    for _ in range(5):
        index.search_radius(codes, 3)  # takes memory that was given back, if any was
    assert first[1].tolist() + [i for _, ids in buckets for i in ids.tolist()] != []
    del index, buckets
    gc.collect()
    assert [as_lists(m) for m in found] == rows
    del found
    gc.collect()
    HammingIndex(codes).search_radius(codes, 3)
    for (ids, distances), (ids_before, distances_before) in zip(views, copies, strict=True):
        np.testing.assert_array_equal(ids, ids_before)
        np.testing.assert_array_equal(distances, distances_before)


def test_buckets_are_those_of_the_moment_they_were_asked_for():
    codes = random_codes(500)
    index = HammingIndex(codes)
    buckets = index.iter_buckets()
    ids = next(buckets)[1].tolist()
    index.remove(np.arange(500))
    ids += [i for _, more in buckets for i in more.tolist()]
    assert sorted(ids) == list(range(500))


def test_duplicates_are_direct_neighbours_of_their_representative(stairs):
    assert len(stairs.duplicates()) == 0
    # 20 and 30 have two neighbours each.
    found = stairs.duplicates(1)
    assert [group.tolist() for group in found] == [[20, 10, 30]]
    assert found.distance.tolist() == [0, 1, 1]
    assert [group.tolist() for group in stairs.duplicates(2)] == [[20, 10, 30, 40]]


def test_connected_duplicates_are_linked_over_steps(stairs):
    def groups(radius=0):
        return [sorted(group.tolist()) for group in stairs.duplicates(radius, linkage="connected")]

    assert groups(1) == [[10, 20, 30, 40]]
    stairs.remove([20])  # 10 is two steps from 30 now
    stairs.add(packed([[0, 0, 0]]), [-7])
    assert groups() == [[-7, 10]]
    assert groups(1) == [[-7, 10], [30, 40]]
    assert groups(2) == [[-7, 10, 30, 40]]


def test_one_group_of_everything_is_warned_about():
    index = HammingIndex(packed([[0, 1]] * 20 + [[1, 0]]))
    message = "One group holds 20 of 21 items (95.2%)."
    with pytest.warns(LargeGroupWarning, match=re.escape(message)):
        assert len(index.duplicates()) == 1


# Size


@pytest.mark.parametrize("memory", ["lean", "balanced", "fast"])
@pytest.mark.parametrize("n_active", [100, 500])
def test_dense_codes_that_repeat_are_built_in_reasonable_memory(memory, n_active):
    """Leaders are found by removing two bits: that is for sparse codes only."""
    rng = np.random.default_rng(0)
    dense = (rng.random((700, 1024)) < n_active / 1024).astype(np.int8)
    codes = packed(np.repeat(dense, 2, axis=0))
    index = HammingIndex(codes, memory=memory)
    assert index.n_codes == 700
    assert as_lists(index.search_radius(codes[:2], 3)) == [([0, 1], [0, 0])] * 2


# Threads


@pytest.fixture
def busy_switching():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def run_together(*works):
    """Run each in a thread of its own; re-raise what any of them raised."""
    failures = []

    def guarded(work):
        try:
            work()
        except BaseException as failure:  # noqa: BLE001 - raised again below
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def drawn_edits(codes, queries):
    """Return 150 edits of an index of the first 40 codes, and the right answers after each."""
    rng = np.random.default_rng(9)
    stored = {i: i for i in range(40)}  # id to row of `codes`

    def answers():
        ids = np.array(list(stored), np.int64)
        rows = codes[np.array(list(stored.values()), np.int64)]
        within = reference.search_radius(rows, queries, 6, ids=ids)
        top = reference.search_top_k(rows, queries, 9, ids=ids)
        return as_lists(within), as_lists(top), len(stored)

    edits, states = [], [answers()]
    for step in range(150):
        kind = ("add", "remove", "update")[rng.integers(3)]
        if kind == "add" or len(stored) < 20:
            kind, ids = "add", np.arange(30) + 1000 * (step + 1)
        else:
            ids = rng.permutation(list(stored))[: rng.integers(1, len(stored))]
        rows = rng.integers(0, len(codes), len(ids))
        for one, row in zip(ids.tolist(), rows.tolist(), strict=True):
            stored[one] = row
            if kind == "remove":
                del stored[one]
        edits.append((kind, (ids,) if kind == "remove" else (codes[rows], ids)))
        states.append(answers())
    return edits, states


@pytest.mark.parametrize("small", [8, 256])
def test_every_search_beside_a_writer_sees_one_whole_state(busy_switching, small):
    """No half of a change: each answer is that of a state that existed during the search."""
    codes = random_codes(200, n_bits=24, seed=9)
    queries = codes[:3]
    edits, states = drawn_edits(codes, queries)
    n_done, n_seen, answered = 0, set(), threading.Event()

    def write():
        nonlocal n_done
        try:
            for kind, arguments in edits:
                getattr(index, kind)(*arguments)
                n_done += 1
                if n_done % 10 == 0:  # on a busy machine all edits might be done before a search
                    answered.clear()
                    answered.wait(10)
        finally:
            n_done = max(n_done, len(edits))  # so that the others end whatever happens

    def read(part, search):
        def run():
            while n_done < len(edits):
                first = n_done
                found = search()
                last = n_done + 1  # an edit may be visible just before it is counted
                assert found in [state[part] for state in states[first : last + 1]]
                n_seen.add(last)
                answered.set()

        return run

    with mock.patch.object(memory_settings, "SMALL", small):
        index = HammingIndex(codes[:40])
        run_together(
            write,
            read(0, lambda: as_lists(index.search_radius(queries, 6, sort=True))),
            read(0, lambda: as_lists(index.search_radius(queries, 6, sort=True, n_threads=1))),
            read(1, lambda: as_lists(index.search_top_k(queries, 9))),
            read(2, lambda: len(index)),
            read(2, lambda: sum(len(ids) for _, ids in index.iter_buckets())),
        )
        assert len(n_seen) > 3
        assert as_lists(index.search_radius(queries, 6, sort=True)) == states[-1][0]


def test_writers_take_turns(busy_switching):
    codes = random_codes(400)
    index = HammingIndex(codes[:0])

    def adder(part):
        def run():
            for i in range(part, 400, 4):
                index.add(codes[i], [i])

        return run

    run_together(*(adder(part) for part in range(4)))
    assert everything(index) == everything(HammingIndex(codes))


def test_many_searches_at_once_do_not_disturb_each_other(busy_switching):
    codes = random_codes(3000)
    index = HammingIndex(codes, memory="fast")
    parts = [codes[i * 300 : (i + 1) * 300] for i in range(6)]
    within = [as_lists(reference.search_radius(codes, part, 2)) for part in parts]
    top = [as_lists(reference.search_top_k(codes, part, 12)) for part in parts]

    def searcher(i):
        def run():
            old = None
            for n_threads in (1, 2, 5):
                old = index.search_radius(parts[i], 2, sort=True, n_threads=n_threads, out=old)
                assert as_lists(old) == within[i]
                assert as_lists(index.search_top_k(parts[i], 12, n_threads=n_threads)) == top[i]

        return run

    run_together(*(searcher(i) for i in range(6)))


FORK = """
import os
import numpy as np
from kinhash import Codes, HammingIndex

codes = Codes.from_dense(np.random.default_rng(0).integers(0, 2, (600, 16), np.int8))
index = HammingIndex(codes)
found = index.search_radius(codes, 2, sort=True, n_threads=3)
child = os.fork()
again = index.search_radius(codes, 2, sort=True, n_threads=3)
same = np.array_equal(found.ids, again.ids)
if child == 0:
    os._exit(0 if same else 1)
assert same and os.waitpid(child, 0)[1] == 0
"""


def test_a_forked_process_searches_with_threads_of_its_own():
    """Threads that wait for work do not come along; a search must not wait for them."""
    subprocess.run([sys.executable, "-c", FORK], check=True, timeout=60)


FORK_DURING_A_WRITE = """
import os, threading
import numpy as np
from kinhash import Codes, HammingIndex
from kinhash.index.segments import Segment

codes = Codes.from_dense(np.random.default_rng(0).integers(0, 2, (600, 16), np.int8))
index, other = HammingIndex(codes), HammingIndex(codes)
build, building, forked = Segment.build, threading.Event(), threading.Event()

def slow_build(*arguments):
    building.set()
    forked.wait()
    return build(*arguments)

Segment.build = slow_build
writer = threading.Thread(target=index.add, args=(codes[:1], [1000]))
writer.start()
building.wait()
child = os.fork()
if child == 0:
    Segment.build = build
    for one in (index, other):
        one.add(codes[:2], [2000, 3000])
        one.remove([0])
    os._exit(0 if len(index) == len(other) == 601 and 1000 not in index.ids else 1)
forked.set()
writer.join()
assert os.waitpid(child, 0)[1] == 0
assert len(index) == 601 and 1000 in index.ids
index.remove([1000])
"""

FORKS_BESIDE_A_WRITER = """
import os, threading
import numpy as np
from kinhash import Codes, HammingIndex

codes = Codes.from_dense(np.random.default_rng(0).integers(0, 2, (5000, 16), np.int8))
index, stop = HammingIndex(codes), threading.Event()

def write():
    while not stop.is_set():
        index.update(codes[::-1], np.arange(5000))

writer = threading.Thread(target=write)
writer.start()
for _ in range(30):
    child = os.fork()
    if child == 0:
        index.add(codes[:1], [7000])
        os._exit(0 if 7000 in index.search_radius(codes[:1], 0).ids else 1)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
writer.join()
"""


@pytest.mark.parametrize("program", [FORK_DURING_A_WRITE, FORKS_BESIDE_A_WRITER])
def test_a_fork_during_a_write_leaves_an_index_that_can_be_changed(program):
    """The thread that held the lock does not exist in the child: nobody would release it there."""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


# Copies


def used_index(memory, *, signed=False):
    """Return an index of several segments, with removed items."""
    codes = packed(random_codes(900).to_dense(), signed=signed)
    index = HammingIndex(codes, ids=np.arange(900) * 7 - 50, memory=memory, made_by="some encoder")
    index.remove(np.arange(50) * 7 - 50)
    index.add(codes[:100], np.arange(100) + 2**40)
    index.remove([2**40 + 5])
    assert len(index._state.segments) > 1
    return index


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda index: pickle.loads(pickle.dumps(index)),  # noqa: S301 - its own
    "pickle, protocol 2": lambda index: pickle.loads(pickle.dumps(index, 2)),  # noqa: S301
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize(("memory", "signed"), [("lean", False), ("fast", False), ("fast", True)])
def test_a_copy_is_equal_and_changes_on_its_own(how, memory, signed):
    index = used_index(memory, signed=signed)
    copied = COPIES[how](index)
    assert type(copied) is HammingIndex
    for name in ("n_bits", "signed", "memory", "made_by", "n_bytes", "n_codes"):
        assert getattr(copied, name) == getattr(index, name)
    before = everything(index)
    assert everything(copied) == before
    copied.remove(copied.ids[:500])
    copied.add(packed(np.ones((1, 32)), signed=signed), [-1])
    assert everything(index) == before
    index.remove(index.ids)
    assert len(copied) == len(before[2]) - 499


def test_copies_in_memory_share_the_arrays():
    index = used_index("fast")
    for copied in (copy.copy(index), copy.deepcopy(index)):
        assert copied._state.segments == index._state.segments
        assert copied._lock is not index._lock
    both = copy.deepcopy([index, index])
    assert both[0] is both[1] is not index


def test_a_mapped_index_is_pickled_with_its_content(tmp_path):
    path = tmp_path / "index.kinhash"
    used_index("fast").save(path)
    index = HammingIndex.load(path, mmap=True)
    before, pickled = everything(index), pickle.dumps(index)
    del index
    path.unlink()
    copied = pickle.loads(pickled)  # noqa: S301 - its own
    assert everything(copied) == before
    copied.save(path)
    assert everything(HammingIndex.load(path, verify=True)) == before


def test_a_derived_class_keeps_its_kind():
    for how in COPIES.values():
        assert type(how(Derived(STAIRS))) is Derived


class Derived(HammingIndex):
    """For pickles, which look classes up by name."""


def test_a_process_pool_searches_a_pickled_index():
    index = used_index("balanced")
    queries = random_codes(20)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(index.search_radius, (queries, 3), {"sort": True})
    assert as_lists(found) == as_lists(index.search_radius(queries, 3, sort=True))


@pytest.mark.parametrize("made_by", [5, b"encoder", ["encoder"]])
def test_the_encoder_is_named_by_a_string(made_by):
    message = f"`made_by` must be a string or None, got {type(made_by).__name__}."
    with pytest.raises(InvalidInputError, match=message):
        HammingIndex(STAIRS, made_by=made_by)


# Rank bits

NESTED = Codes.from_dense(
    [[1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]],
    rank=[[1, 1, 1], [0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0]],
)


@pytest.fixture
def nested():
    return HammingIndex(NESTED, [5, 4, 3, 2, 1])


def test_rank_bits_order_what_the_bucket_finds(nested):
    query = NESTED[2]
    assert (nested.n_bits, nested.n_rank_bits, nested.n_codes) == (7, 3, 3)
    found = nested.search_top_k(query, 4)
    assert found.ids.tolist() == [3, 4, 5, 2]
    assert found.distances.tolist() == [0, 0, 0, 1]
    assert found.rank_distances.tolist() == [0, 1, 3, 0]
    assert found.rank_distances.dtype == np.int32
    total = nested.search_top_k(query, 4, order="total")
    assert total.ids.tolist() == [3, 2, 4, 1]
    assert total.distances.tolist() == [0, 1, 0, 3]
    assert total.rank_distances.tolist() == [0, 0, 1, 0]
    within = nested.search_radius(query, 1, sort=True)
    assert within.ids.tolist() == [3, 4, 5, 2]
    within = nested.search_radius(query, 1, sort=True, order="total")
    assert within.ids.tolist() == [3, 2, 4, 5]
    assert within.rank_distances.tolist() == [0, 0, 1, 3]


def test_without_sort_no_rank_distance_is_computed(nested):
    found = nested.search_radius(NESTED[2], 1)
    assert found.rank_distances is None
    assert found.distances.tolist() == [0, 0, 0, 1]
    assert sorted(found.ids.tolist()) == [2, 3, 4, 5]
    assert nested.count_radius(NESTED[2], 3).tolist() == [[3, 1, 0, 1]]


def test_rank_bits_take_part_in_nothing_else(nested):
    assert [group.tolist() for group in nested.duplicates()] == [[3, 4, 5]]
    buckets = {ids[0]: code for code, ids in nested.iter_buckets()}
    assert buckets[3] == NESTED[:1].without_rank()
    flat = HammingIndex(NESTED.without_rank(), [5, 4, 3, 2, 1])
    assert flat.search_top_k(NESTED.without_rank(), 3).rank_distances is None
    assert nested.n_bytes == flat.n_bytes + 5


@pytest.mark.parametrize(("n_rank_bits", "n_bytes"), [(8, 1), (9, 2), (32, 4), (33, 8), (65, 16)])
def test_rank_bits_take_as_few_bytes_as_they_can(rng, n_rank_bits, n_bytes):
    bucket, rank = rng.random((500, 32)) < 0.1, rng.random((500, n_rank_bits)) < 0.5
    flat, index = (HammingIndex(Codes.from_dense(bucket, rank=r)) for r in (None, rank))
    assert index.n_bytes - flat.n_bytes == 500 * n_bytes
    assert index.codes(np.arange(500)).rank_to_dense().tolist() == rank.astype(int).tolist()


def test_without_rank_bits_both_orders_are_by_distance_and_id(stairs):
    for k in (1, 3):
        nested, total = (stairs.search_top_k(STAIRS, k, order=o) for o in ("nested", "total"))
        assert as_lists(nested) == as_lists(total)
        assert total.rank_distances is None
    total = stairs.search_radius(STAIRS, 2, sort=True, order="total")
    assert as_lists(total) == as_lists(stairs.search_radius(STAIRS, 2, sort=True))


def test_rank_bits_survive_copies_pickles_and_changes(nested):
    pickled = pickle.loads(pickle.dumps(nested))  # noqa: S301 - our own
    for same in (copy.copy(nested), copy.deepcopy(nested), pickled):
        assert same.codes([1, 2, 3, 4, 5]) == NESTED[::-1]
        same.add(NESTED[:1], [0])
        same.update(NESTED[:1], [3])
        same.remove([5])
        assert same.codes([0, 3, 4]) == NESTED[[0, 0, 1]]
        found = same.search_top_k(NESTED[0], 3)
        assert found.ids.tolist() == [0, 3, 4]
        assert found.rank_distances.tolist() == [0, 0, 2]
    assert nested.codes([3]) == NESTED[2]
    assert "n_bits=7, n_rank_bits=3" in repr(nested)


def test_memory_of_an_answer_with_rank_distances_is_reused(nested):
    found = nested.search_top_k(NESTED, 2)
    expected = [part.tolist() for part in found._arrays()]
    for _ in range(3):
        found = nested.search_top_k(NESTED, 2, out=found)
        assert [part.tolist() for part in found._arrays()] == expected
    assert nested.search_radius(NESTED, 0, out=found).rank_distances is None


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (NESTED.without_rank(), r"`queries` have 0 rank bits but the index .* 3.*without_rank\(\)"),
        (Codes.from_dense(np.eye(4), rank=np.eye(4)), r"`queries` have 4 rank bits but .* with 3"),
        (
            Codes.from_dense(np.eye(5), rank=np.ones((5, 3))),
            r"`queries` have 5 bucket bits but the index has 4-bit buckets",
        ),
        (
            Codes.from_dense(np.eye(5), rank=np.ones((5, 2))),
            r"`queries` have 5 bucket bits but the index has 4-bit buckets",
        ),
    ],
)
def test_queries_with_other_rank_bits_are_refused(nested, queries, message):
    for search in (nested.search_radius, nested.search_top_k, nested.count_radius):
        with pytest.raises(InvalidInputError, match=message):
            search(queries, 1)
    with pytest.raises(InvalidInputError, match=message.replace("queries", "codes")):
        nested.add(queries, np.arange(len(queries)) + 10)


def test_queries_with_rank_bits_are_refused_by_an_index_without_them(stairs):
    queries = Codes.from_dense(STAIRS.to_dense(), rank=np.ones((len(STAIRS), 2)))
    with pytest.raises(
        InvalidInputError, match=r"have 2 rank bits but .* with 0.*without_rank\(\)"
    ):
        stairs.search_top_k(queries, 1)


def test_an_order_of_another_name_is_refused(nested):
    for search in (nested.search_top_k, partial(nested.search_radius, sort=True)):
        with pytest.raises(InvalidInputError, match="'sum'"):
            search(NESTED, 1, order="sum")
    with pytest.raises(InvalidInputError, match=r"`order` 'total' .* sort=True"):
        nested.search_radius(NESTED, 1, order="total")
    with pytest.raises(InvalidInputError, match="'sum'"):
        nested.explain(NESTED, k=1, order="sum")


@pytest.mark.parametrize("order", ["nested", "total"])
def test_an_order_by_rank_is_explained_and_gives_up_in_time(rng, order):
    bucket, rank = rng.random((60_000, 30)) < 0.3, rng.random((60_000, 32)) < 0.5
    index = HammingIndex(codes := Codes.from_dense(bucket, rank=rank))
    assert "The 3 nearest for 5 queries" in index.explain(codes[:5], k=3, order=order)
    with pytest.raises(SearchTimeout):
        index.search_top_k(codes, 100, order=order, timeout=0.01)
    with pytest.raises(SearchTimeout):
        index.search_radius(codes, 15, sort=True, order=order, timeout=0.01)


# Strings as ids


@pytest.fixture
def named():
    """The stairs under "d", "b", "ä" and "a"."""
    return HammingIndex(STAIRS, ids=["d", "b", "ä", "a"])


def test_strings_are_found_as_they_were_given(named):
    found = named.search_radius(packed([[0, 0, 0]]), 2, sort=True)
    assert as_lists(found) == [(["d", "b", "ä"], [0, 1, 2])]
    assert found.ids.dtype == object
    assert {type(item) for item in found.ids} == {str}
    assert found.ids is found.ids
    assert found[0][0].tolist() == ["d", "b", "ä"]
    with pytest.raises(ValueError, match="read-only"):
        found.ids[0] = "x"
    assert (type(found).__mro__[1], repr(found)) == (Matches, "Matches(n_queries=1, n_matches=3)")
    assert named.ids.tolist() == ["d", "b", "ä", "a"]
    assert repr(named) == "HammingIndex(n=4, n_bits=3, memory='balanced')"


def test_ties_between_strings_go_by_the_order_of_adding():
    index = HammingIndex(STAIRS[[0, 0, 0]], ids=["c", "a", "b"])
    index.add(STAIRS[[0, 0]], ["0", "z"])
    assert index.search_top_k(STAIRS[0], 4).ids.tolist() == ["c", "a", "b", "0"]
    index.update(STAIRS[[3, 3]], ["a", "c"])
    index.update(STAIRS[[0, 0]], ["a", "c"])  # keep their places
    assert index.search_radius(STAIRS[0], 0, sort=True).ids.tolist() == ["c", "a", "b", "0", "z"]
    index.remove(["c"])
    index.add(STAIRS[0], ["c"])  # as if it had never been there
    assert index.search_radius(STAIRS[0], 0, sort=True).ids.tolist() == ["a", "b", "0", "z", "c"]
    assert index.ids.tolist() == ["a", "b", "0", "z", "c"]


def test_everything_speaks_of_strings(named):
    assert [item in named for item in ("a", "ä", "x", "", "\ud800", 0, None, b"a")] == [
        *(True, True),
        *[False] * 6,
    ]
    assert named.codes(["a", "d", "a"]) == STAIRS[[3, 0, 3]]
    assert named.codes(np.array(["b"])) == STAIRS[1]
    assert named.codes([]) == STAIRS[:0]
    named.add(STAIRS[[0, 3]], ["x", "y"])
    assert [group.tolist() for group in named.duplicates()] == [["d", "x"], ["a", "y"]]
    groups = named.duplicates(1, linkage="connected")
    assert sorted(groups.id) == ["a", "b", "d", "x", "y", "ä"]
    assert set(groups.representative) == {"b"}  # of most neighbours, the first that was added
    assert groups.to_arrow()["id"].to_pylist() == groups.id.tolist()
    buckets = {tuple(ids.tolist()): code for code, ids in named.iter_buckets()}
    assert buckets[("a", "y")] == STAIRS[3]
    assert named.count_radius(STAIRS[0], 0).tolist() == [[2]]
    assert "6 items" in named.explain(STAIRS, k=3)


def test_strings_restrict_a_search(named):
    query = STAIRS[0]
    mask = np.array([False, True, False, True])
    for allowed in (["a", "b", "x"], ("a", "b", "b"), np.array(["b", "a"]), mask, mask.tolist()):
        assert as_lists(named.search_radius(query, 3, allowed=allowed)) == [(["b", "a"], [1, 3])]
        assert named.search_top_k(query, 1, allowed=allowed).ids.tolist() == ["b"]
    assert named.search_top_k(query, 1, allowed=["x", ""]).ids.tolist() == []
    large = HammingIndex(random_codes(3000), [f"id {i}" for i in range(3000)])
    for n in (10, 2000):  # searched on their own, or among all
        allowed = [f"id {i}" for i in range(n)]
        found = large.search_top_k(random_codes(5), 7, allowed=allowed)
        expected = HammingIndex(random_codes(3000)[:n]).search_top_k(random_codes(5), 7)
        assert found.ids.tolist() == [f"id {i}" for i in expected.ids]


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda index: index.add(STAIRS[0], [7]), "strings, as those of the index are, got integ"),
        (lambda index: index.codes([7, 8]), "be strings, as .* are, got integers, such as 7"),
        (lambda index: index.remove([7]), "must be strings, as those of the index are"),
        (lambda index: index.update(STAIRS[0], [7]), "must be strings, as those of the index are"),
        (
            lambda index: index.search_radius(STAIRS, 1, allowed=[7]),
            "`allowed` must be strings, as those of the index are, got integers, such as 7",
        ),
        (lambda index: index.codes(["a", "x"]), r"`ids` hold 'x', which is not in the index\.$"),
        (
            lambda index: index.remove(["a", "x"]),
            r"hold 'x', .* in the index\. Nothing was changed",
        ),
        (lambda index: index.update(STAIRS[:2], ["a", "x"]), "hold 'x', which is not in the index"),
        (
            lambda index: index.add(STAIRS[:2], ["x", "a"]),
            "hold 'a', which is in the index already",
        ),
        (lambda index: index.add(STAIRS[:2], ["x", "x"]), "hold 'x' twice, in rows 0 and 1"),
        (lambda index: index.remove(["a", "b", "a"]), "hold 'a' twice, in rows 0 and 2"),
        (lambda index: index.add(STAIRS[0], [""]), "must not be empty strings, got one in row 0"),
        (lambda index: index.add(STAIRS[0], [None]), "must have an id in each row, got None"),
        (lambda index: index.merge(HammingIndex(STAIRS)), "must be strings, as those of the index"),
    ],
)
def test_a_refused_string_changes_nothing(named, use, message):
    before = everything(named)
    with pytest.raises(InvalidInputError, match=message):
        use(named)
    assert everything(named) == before


@pytest.mark.parametrize(
    "use",
    [
        lambda index: index.add(STAIRS[0], ["x"]),
        lambda index: index.codes(["x"]),
        lambda index: index.remove(["x"]),
        lambda index: index.update(STAIRS[0], ["x"]),
        lambda index: index.search_top_k(STAIRS, 1, allowed=["x"]),
        lambda index: index.merge(HammingIndex(STAIRS[0], ["x"])),
    ],
)
def test_an_index_of_integers_takes_no_strings(stairs, use):
    before = everything(stairs)
    with pytest.raises(InvalidInputError, match="must be integers, as those of the index are, got"):
        use(stairs)
    assert everything(stairs) == before
    assert "10" not in stairs


def test_an_empty_index_takes_either_kind(named):
    index = HammingIndex(STAIRS[:0])
    assert "a" not in index
    index.add(STAIRS[:0], [])
    index.add(STAIRS[0], ["a"])
    assert (index.ids.tolist(), "a" in index) == (["a"], True)
    index.remove(["a"])
    assert (index.ids.tolist(), len(index)) == ([], 0)
    index.add(STAIRS, [4, 3, 2, 1])
    assert as_lists(index.search_radius(STAIRS[0], 1, sort=True)) == [([4, 3], [0, 1])]
    index.remove([1, 2, 3, 4])
    index.add(STAIRS[:2], ["b", "a"])
    assert as_lists(index.search_radius(STAIRS[0], 1, sort=True)) == [(["b", "a"], [0, 1])]
    assert HammingIndex(STAIRS[:0], []).ids.tolist() == []


def test_strings_of_removed_items_are_given_up():
    codes, names = random_codes(4000), [f"id {i}" for i in range(4000)]
    index = HammingIndex(codes, names)
    index.remove(names[:900])
    assert len(index._state.names) == 4000
    index.remove(names[900:1100])
    assert len(index._state.names) == len(index) == 2900
    for _ in range(20):  # nor do they pile up
        index.remove(names[1100:1400])
        index.add(codes[1100:1400], names[1100:1400])
    assert len(index._state.names) < 2900 / 0.75 + 300
    rest = [*names[1400:], *names[1100:1400]]
    assert index.ids.tolist() == rest
    rows = [int(name[3:]) for name in rest]
    expected = reference.search_top_k(codes[rows], codes[:20], 30, ids=rest)
    assert as_lists(index.search_top_k(codes[:20], 30)) == as_lists(expected)


@pytest.mark.parametrize("how", COPIES)
def test_copies_of_named_items_change_on_their_own(named, how):
    named.add(STAIRS[:1], ["x"])
    named.remove(["b"])
    before, copied = everything(named), COPIES[how](named)
    assert everything(copied) == before
    assert copied.n_bytes == named.n_bytes
    copied.remove(["d"])
    copied.add(STAIRS[:2], ["d", "b"])
    assert everything(named) == before
    assert copied.ids.tolist() == ["ä", "a", "x", "d", "b"]


def test_matches_keep_their_strings_when_the_index_changes(named):
    found = named.search_radius(STAIRS, 3)
    named.remove(["d", "b", "ä"])
    named.add(STAIRS[:3], ["1", "2", "3"])
    assert set(found.ids) == {"d", "b", "ä", "a"}
    pickled = pickle.loads(pickle.dumps(found))  # noqa: S301 - our own
    assert type(pickled) is Matches
    assert as_lists(pickled) == as_lists(copy.copy(found)) == as_lists(found)


def test_memory_of_an_answer_with_strings_is_reused(named):
    found = named.search_top_k(STAIRS, 2)
    expected = as_lists(found)
    for _ in range(3):
        old, found = found, named.search_top_k(STAIRS, 2, out=found)
        assert as_lists(found) == expected
        assert (old.ids.tolist(), len(old)) == ([], 0)
    assert as_lists(HammingIndex(STAIRS).search_top_k(STAIRS[0], 1, out=found)) == [([0], [0])]


# Two indexes


def test_merging_stores_the_items_of_another_index_after_its_own(stairs, named):
    other = HammingIndex(random_codes(40, 3, 2), np.arange(40) + 100)
    other.remove([105])
    before = everything(other)
    stairs.merge(other)
    assert stairs.ids.tolist() == [10, 20, 30, 40, *other.ids]
    assert stairs.codes(other.ids) == other.codes(other.ids)
    assert everything(other) == before
    named.merge(HammingIndex(STAIRS[[0, 1]], ["y", "x"]))
    assert named.ids.tolist() == ["d", "b", "ä", "a", "y", "x"]
    assert named.search_radius(STAIRS[0], 0, sort=True).ids.tolist() == ["d", "y"]
    named.merge(HammingIndex(STAIRS[:0]))
    assert len(named) == 6
    empty = HammingIndex(STAIRS[:0])
    empty.merge(named)
    assert everything(empty) == everything(named)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            lambda: HammingIndex(STAIRS, [1, 2, 30, 4]),
            "`ids` hold 30, which is in the index already",
        ),
        (
            lambda: HammingIndex(packed([[1] * 4])),
            "the codes of `other` have 4 bits but the index has 3-",
        ),
        (
            lambda: HammingIndex(STAIRS, made_by="b"),
            "`other` was made by encoder b, but this index by a",
        ),
        (lambda: STAIRS, "`other` must be a HammingIndex, got Codes"),
    ],
)
def test_an_index_that_does_not_fit_is_not_merged(other, message):
    index = HammingIndex(STAIRS, [10, 20, 30, 40], made_by="a")
    before = everything(index)
    with pytest.raises(InvalidInputError, match=message):
        index.merge(other())
    assert everything(index) == before
