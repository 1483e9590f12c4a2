import numpy as np
import pytest

from kinhash import _native
from kinhash.codes import Codes
from kinhash.index.explain import in_words
from kinhash.index.hamming import HammingIndex
from kinhash.index.memory import structures

NAMES = ("lookup", "deletions", "chunks", "groups", "neighbours", "scan")
WORK = dict.fromkeys((*NAMES, "compared"), 0)


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


def who_answers(index, queries, radius):
    counts = np.zeros((len(queries), radius + 1), np.int64)
    work = index._state.searcher.count(queries.words, counts, 1)
    return {name for name, n in work.items() if n and name != "compared"}


# Who answers


def test_the_own_code_is_looked_up_for_radius_0():
    for codes in (sparse(5000, 64, 6), sparse(5000, 64, 32), clustered(100, 20), sparse(9, 64, 5)):
        for memory in ("lean", "balanced", "fast"):
            assert who_answers(HammingIndex(codes, memory=memory), codes[:20], 0) == {"lookup"}


@pytest.mark.parametrize("memory", ["lean", "balanced", "fast"])
def test_small_indexes_are_scanned(memory):
    index = HammingIndex(sparse(256, 64, 5), memory=memory)
    assert who_answers(index, sparse(20, 64, 5, seed=2), 2) == {"scan"}


def test_sparse_codes_are_found_by_deletion_keys():
    index = HammingIndex(sparse(20000, 64, 6), memory="fast")
    assert who_answers(index, sparse(20, 64, 6, seed=2), 1) == {"deletions"}
    assert who_answers(index, sparse(20, 64, 6, seed=2), 20) == {"scan"}


def test_stored_codes_have_their_neighbours_listed():
    codes = sparse(3000, 64, 6)
    index = HammingIndex(codes, memory="fast")
    assert who_answers(index, codes[:20], 2) == {"neighbours"}
    strange = packed(np.ones((3, 64), int))
    assert "neighbours" not in who_answers(index, strange, 2)


def test_heavy_codes_have_their_neighbours_listed_in_balanced_memory_too():
    rng = np.random.default_rng(0)
    codes = sparse(9000, 64, 6)
    index = HammingIndex(Codes.concatenate([codes, codes[rng.integers(0, 20, 40000)]]))
    assert who_answers(index, codes[:20], 2) == {"neighbours"}
    assert "neighbours" not in who_answers(index, codes[-20:], 2)
    assert structures("balanced").n_listed(49000) < len(codes)


def test_clustered_codes_are_found_by_groups_at_larger_radii():
    codes = clustered(2000, 40)
    assert who_answers(HammingIndex(codes), codes[:20], 4) == {"groups"}
    few = clustered(20, 40)  # where comparing all takes no longer than starting on a group
    assert who_answers(HammingIndex(few), few[:20], 4) == {"scan"}


def test_dense_codes_are_found_by_chunks():
    index = HammingIndex(sparse(20000, 64, 32), memory="balanced")
    assert index._state.segments[0].numbers["n_chunks"] == 4
    assert who_answers(index, sparse(20, 64, 32, seed=2), 3) == {"chunks"}


def test_a_structure_that_cannot_answer_is_not_forced():
    """Deletion keys of two levels reach radius 3, four chunks radius 7; the rest is scanned."""
    codes = sparse(40, 64, 6)
    for options, name, most in (({"levels": 2}, "deletions", 3), ({"n_chunks": 4}, "chunks", 7)):
        searcher = _native.Searcher([_native.Segment(*built(codes, **options))])
        for radius, expected in ((most, name), (most + 1, "scan")):
            counts = np.zeros((40, radius + 1), np.int64)
            work = searcher.count(codes.words, counts, 1, structure=name)
            assert {key for key, n in work.items() if n and key != "compared"} == {expected}


# In words


def test_words_name_each_structure_that_was_used():
    work = WORK | {"lookup": 1, "deletions": 1234, "compared": 25}
    assert in_words(work, what="Radius 2", n_queries=10, n_codes=700, n_items=1000) == (
        "Radius 2 for 10 queries among 1,000 items with 700 different codes: "
        "1 time by looking up the query's own code; "
        "1,234 times by deletion keys: looking up the query without some of its active bits. "
        "2.5 codes were compared per query."
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_structure_of_the_core_has_words(name):
    text = in_words(WORK | {name: 3}, what="", n_queries=3, n_codes=1, n_items=1)
    assert ": 3 times by " in text


def test_the_core_knows_no_structure_without_words():
    searcher = HammingIndex(sparse(3, 8, 2))._state.searcher
    assert set(searcher.count(sparse(3, 8, 2).words, np.zeros((3, 1), np.int64), 1)) == set(WORK)


def test_no_queries_compare_nothing():
    text = in_words(WORK, what="Radius 0", n_queries=0, n_codes=0, n_items=0)
    assert text == (
        "Radius 0 for 0 queries among 0 items with 0 different codes: nothing to compare. "
        "0.0 codes were compared per query."
    )
