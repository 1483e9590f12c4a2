import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinhash.codes import Codes
from kinhash.errors import InvalidInputError
from kinhash.index import reference
from kinhash.index.reference import distances, rank_distances, search_radius, search_top_k


@st.composite
def searches(draw):
    """Draw few, short, clashing codes: dense items and queries, signed, and unordered ids."""
    signed = draw(st.booleans())
    n_bits = draw(st.sampled_from([1, 3, 5, 64, 70]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pool = rng.integers(-1 if signed else 0, 2, (4, n_bits))
    items = pool[rng.integers(0, 4, draw(st.integers(0, 12)))]
    queries = pool[rng.integers(0, 4, draw(st.integers(0, 4)))]
    ids = rng.choice(np.arange(-50, 50), len(items), replace=False)
    return items, queries, signed, ids


@st.composite
def nested_searches(draw):
    """Draw the same with rank bits: items and queries as Codes, unordered ids, and an order."""
    items, queries, signed, ids = draw(searches())
    n_rank_bits = draw(st.sampled_from([1, 2, 3, 70]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pool = rng.integers(0, 2, (3, n_rank_bits))
    made = [
        Codes.from_dense(dense, signed=signed, rank=pool[rng.integers(0, 3, len(dense))])
        for dense in (items, queries)
    ]
    return *made, ids, draw(st.sampled_from(["nested", "total"]))


def naive_nested_ranking(items, query, ids, order):
    """Return all `(distance, rank distance, id)` in order, with plain sums."""
    found = []
    for item, name in zip(items, ids, strict=True):
        distance, rank = (
            sum(abs(int(a) - int(b)) for a, b in zip(one[0], other[0], strict=True))
            for one, other in (
                (item.to_dense(), query.to_dense()),
                (item.rank_to_dense(), query.rank_to_dense()),
            )
        )
        found.append((distance, rank, int(name)))
    if order == "total":
        return sorted(found, key=lambda match: (match[0] + match[1], match[2]))
    return sorted(found)


def as_triples(matches):
    found = zip(
        matches.distances.tolist(),
        matches.rank_distances.tolist(),
        matches.ids.tolist(),
        strict=True,
    )
    triples = list(found)
    return [
        triples[start:end]
        for start, end in zip(matches.offsets[:-1], matches.offsets[1:], strict=True)
    ]


def naive_ranking(items, query, ids):
    """Return all `(distance, id)` in order, with one plain sum per item."""
    return sorted(
        (sum(abs(int(a) - int(b)) for a, b in zip(item, query, strict=True)), int(name))
        for item, name in zip(items, ids, strict=True)
    )


def as_pairs(matches):
    return [list(zip(d.tolist(), ids.tolist(), strict=True)) for ids, d in matches]


def packed(dense, *, signed=False):
    return Codes.from_dense(np.asarray(dense), signed=signed)


@settings(deadline=None)
@given(searches())
def test_distances_are_l1_on_the_entries(drawn):
    items, queries, signed, _ = drawn
    found = distances(packed(queries, signed=signed), packed(items, signed=signed))
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, np.abs(queries[:, None] - items).sum(axis=2))


@settings(deadline=None)
@given(searches(), st.integers(0, 150))
def test_radius_search_equals_a_sorted_filter(drawn, radius):
    items, queries, signed, ids = drawn
    found = search_radius(
        packed(items, signed=signed), packed(queries, signed=signed), radius, ids=ids
    )
    expected = [
        [pair for pair in naive_ranking(items, query, ids) if pair[0] <= radius]
        for query in queries
    ]
    assert as_pairs(found) == expected


@settings(deadline=None)
@given(searches(), st.integers(1, 15))
def test_top_k_equals_the_head_of_a_sort(drawn, k):
    items, queries, signed, ids = drawn
    found = search_top_k(packed(items, signed=signed), packed(queries, signed=signed), k, ids=ids)
    assert as_pairs(found) == [naive_ranking(items, query, ids)[:k] for query in queries]


@settings(deadline=None)
@given(nested_searches(), st.integers(0, 150))
def test_radius_search_takes_both_orders_and_the_radius_of_the_bucket(drawn, radius):
    items, queries, ids, order = drawn
    found = search_radius(items, queries, radius, ids=ids, order=order)
    assert found.rank_distances.dtype == np.int32
    assert as_triples(found) == [
        [match for match in naive_nested_ranking(items, query, ids, order) if match[0] <= radius]
        for query in queries
    ]


@settings(deadline=None)
@given(nested_searches(), st.integers(1, 15))
def test_top_k_takes_both_orders(drawn, k):
    items, queries, ids, order = drawn
    found = search_top_k(items, queries, k, ids=ids, order=order)
    assert as_triples(found) == [
        naive_nested_ranking(items, query, ids, order)[:k] for query in queries
    ]


def test_the_orders_differ_where_a_near_bucket_has_a_far_rank():
    items = Codes.from_dense([[0, 0], [0, 1]], rank=[[1, 1, 1], [0, 0, 0]])
    query = Codes.from_dense([[0, 0]], rank=[[0, 0, 0]])
    assert as_triples(search_top_k(items, query, 2)) == [[(0, 3, 0), (1, 0, 1)]]
    assert as_triples(search_top_k(items, query, 2, order="total")) == [[(1, 0, 1), (0, 3, 0)]]
    assert distances(query, items).tolist() == [[0, 1]]
    assert rank_distances(query, items).tolist() == [[3, 0]]


def test_codes_without_rank_bits_have_no_rank_distances():
    items = packed(np.eye(3, dtype=int))
    for order in ("nested", "total"):
        for found in (search_radius(items, items, 2, order=order), search_top_k(items, items, 2)):
            assert found.rank_distances is None
    assert as_pairs(search_top_k(items, items, 2, order="total")) == as_pairs(
        search_top_k(items, items, 2)
    )
    assert rank_distances(items, items).tolist() == np.zeros((3, 3), int).tolist()


def test_an_unknown_order_is_refused():
    items = packed(np.eye(3, dtype=int))
    for search in (search_radius, search_top_k):
        with pytest.raises(InvalidInputError, match=r"Unknown order 'rank'\. .*nested, total"):
            search(items, items, 1, order="rank")


def test_rank_bits_of_another_number_are_refused_with_both_numbers():
    items = Codes.from_dense(np.zeros((2, 48)), rank=np.zeros((2, 8)))
    for search in (search_radius, search_top_k, rank_distances):
        arguments = (items, items.without_rank(), 1)[: 2 if search is rank_distances else 3]
        with pytest.raises(InvalidInputError, match=r"rank bits but .* codes\.without_rank\(\)"):
            search(*arguments)


def test_radius_is_inclusive():
    items, query = packed([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]]), packed([[0, 0, 0]])
    assert as_pairs(search_radius(items, query, 0)) == [[(0, 0)]]
    assert as_pairs(search_radius(items, query, 2)) == [[(0, 0), (1, 1), (2, 2)]]


def test_a_flipped_sign_costs_two():
    assert distances(packed([[1, 0]], signed=True), packed([[-1, 0]], signed=True)).item() == 2


def test_top_k_breaks_ties_by_id():
    items = packed(np.ones((5, 3), int))
    found = search_top_k(items, items[0], 3, ids=[9, -4, 7, 0, 8])
    assert as_pairs(found) == [[(0, -4), (0, 0), (0, 7)]]


def test_k_beyond_the_items_gives_all_of_them():
    items = packed(np.eye(3, dtype=int))
    assert search_top_k(items, items, 99).counts.tolist() == [3, 3, 3]


def test_a_radius_beyond_every_distance_gives_all_items():
    items = packed(np.eye(3, dtype=int))
    assert search_radius(items, items, 10**6).counts.tolist() == [3, 3, 3]


def test_default_ids_are_row_numbers():
    items = packed(np.eye(3, dtype=int))
    assert search_radius(items, items, 0).ids.tolist() == [0, 1, 2]


def test_strings_stand_in_the_order_of_adding():
    items = packed([[0, 1], [0, 1], [1, 1]])
    for names in (["b", "a", "c"], np.array(["b", "a", "c"])):
        found = search_top_k(items, items[:1], 3, ids=names)
        assert found.ids.tolist() == ["b", "a", "c"]
        assert search_radius(items, items[2:], 0, ids=names).ids.tolist() == ["c"]


def test_no_items_and_no_queries_give_empty_answers():
    items = packed(np.eye(3, dtype=int))
    for search in (search_radius, search_top_k):
        assert search(items[:0], items, 2).counts.tolist() == [0, 0, 0]
        assert search(items[:0], items, 2, ids=[]).counts.tolist() == [0, 0, 0]
        assert len(search(items, items[:0], 2)) == 0
    assert distances(items[:0], items).shape == (0, 3)
    assert distances(items, items[:0]).shape == (3, 0)


def test_numpy_integers_are_integers():
    items = packed(np.eye(3, dtype=int))
    assert search_radius(items, items, np.uint8(0)).counts.tolist() == [1, 1, 1]
    assert search_top_k(items, items, np.int64(2)).counts.tolist() == [2, 2, 2]


def test_results_do_not_depend_on_the_chunk_size(monkeypatch):
    rng = np.random.default_rng(0)
    items, queries = packed(rng.integers(0, 2, (50, 130))), packed(rng.integers(0, 2, (13, 130)))
    whole = distances(queries, items)
    for n_bytes in (1, 5000):
        monkeypatch.setattr(reference, "CHUNK_BYTES", n_bytes)
        np.testing.assert_array_equal(distances(queries, items), whole)


@pytest.mark.parametrize("radius", [-1, 1.0, True, "1", None, np.float64(2), np.bool_(1)])
def test_a_radius_that_is_no_count_is_refused(radius):
    items = packed(np.zeros((2, 64), int))
    with pytest.raises(InvalidInputError, match=r"`radius` must be an integer in \[0, 64\], got "):
        search_radius(items, items, radius)


def test_the_refused_radius_and_the_largest_distance_are_shown():
    items = packed(np.zeros((2, 64), int), signed=True)
    with pytest.raises(InvalidInputError, match=r"in \[0, 128\], got -1\."):
        search_radius(items, items, -1)


@pytest.mark.parametrize("k", [0, -1, 1.0, True, "1", None])
def test_a_k_that_is_no_positive_count_is_refused(k):
    items = packed(np.zeros((2, 64), int))
    with pytest.raises(
        InvalidInputError, match=rf"`k` must be an integer of at least 1, got {k!r}"
    ):
        search_top_k(items, items, k)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1, 2, 3], r"shape \(2,\), one per item, got shape \(3,\)"),
        ([[1, 2]], r"got shape \(1, 2\)"),
        ([1.0, 2.0], r"must be int64 or strings, got float64"),
        ([True, False], r"must be int64 or strings, got bool"),
        (np.array([1, 2], np.uint64), r"must be int64 or strings, got uint64"),
    ],
)
def test_ids_that_do_not_fit_are_refused_with_both(ids, message):
    items = packed(np.zeros((2, 64), int))
    for search in (search_radius, search_top_k):
        with pytest.raises(InvalidInputError, match=message):
            search(items, items, 1, ids=ids)


def test_incomparable_codes_are_refused_with_both_numbers():
    items, queries = packed(np.zeros((2, 48), int)), packed(np.zeros((2, 64), int))
    for search in (search_radius, search_top_k):
        with pytest.raises(InvalidInputError, match=r"have 64 bits but .* 48-bit codes"):
            search(items, queries, 1)
        with pytest.raises(InvalidInputError, match=r"have 64 bits but .* 48-bit codes"):
            search(items[:0], queries[:0], 1)
    with pytest.raises(InvalidInputError, match=r"are signed but .* unsigned"):
        distances(packed(np.zeros((2, 48), int), signed=True), items)


def test_docstring_examples_run():
    result = doctest.testmod(reference)
    assert result.attempted > 0
    assert result.failed == 0
