import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinhash
from kinhash import Matches, _native, rerank
from kinhash.errors import InvalidInputError
from kinhash.reranking import SIMILARITIES, Ranked

ISAS = _native.instruction_sets()


@pytest.fixture
def restored_isa():
    """Go back to the instruction set of this machine after the test."""
    before = _native.instruction_set()
    yield
    _native.use_instruction_set(before)


def similarity(metric, query, vector):
    """Return the similarity in double precision, by hand."""
    q, v = query.astype(np.float64), vector.astype(np.float64)
    if metric == "dot":
        return float(sum(q * v))
    if metric == "l2":
        return -float(np.sqrt(sum((q - v) ** 2)))
    length = np.sqrt(sum(q * q)) * np.sqrt(sum(v * v))
    return float(sum(q * v) / length) if length > 0 else 0.0


def matches_of(rows):
    offsets = np.cumsum([0] + [len(row) for row in rows])
    ids = np.array([item for row in rows for item in row], np.int64)
    return Matches(offsets, ids, np.arange(len(ids), dtype=np.int32) % 7)


def made(rng, n, d, dtype):
    values = rng.standard_normal((n, d))
    return (
        np.rint(values * 50).clip(-128, 127).astype(dtype)
        if dtype == np.int8
        else values.astype(dtype)
    )


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 70),
    n=st.integers(1, 40),
    n_queries=st.integers(0, 5),
    dtype=st.sampled_from([np.float32, np.float16, np.int8]),
    metric=st.sampled_from(SIMILARITIES),
    k=st.integers(1, 12),
    isa=st.sampled_from(ISAS),
)
def test_the_order_is_that_of_a_naive_loop_in_double_precision(
    seed, d, n, n_queries, dtype, metric, k, isa
):
    rng = np.random.default_rng(seed)
    vectors = made(rng, n, d, dtype)
    queries = rng.standard_normal((n_queries, d)).astype(np.float32)
    rows = [rng.permutation(n)[: rng.integers(0, n + 1)] for _ in range(n_queries)]
    found = matches_of(rows)
    before = _native.instruction_set()
    _native.use_instruction_set(isa)
    try:
        ranked = rerank(found, queries, vectors, metric=metric, k=k, n_threads=2)
    finally:
        _native.use_instruction_set(before)
    assert ranked.counts.tolist() == [min(k, len(row)) for row in rows]
    for query, row, (ids, similarities) in zip(queries, rows, ranked, strict=True):
        expected = {int(i): similarity(metric, query, vectors[i]) for i in row}
        size = np.abs(query).max(initial=0) * np.abs(vectors.astype(np.float64)).max() * d + 1e-6
        close = 1e-6 * (size if metric == "dot" else np.sqrt(size) + 1)
        assert np.allclose(similarities, [expected[i] for i in ids.tolist()], rtol=1e-5, atol=close)
        # Sorted by what is said, equal ones by id; and no better one was left out.
        pairs = list(zip((-similarities).tolist(), ids.tolist(), strict=True))
        assert pairs == sorted(pairs)
        left = [s for i, s in expected.items() if i not in ids]
        assert not left or max(left) <= similarities.min() + close + 1e-5 * abs(max(left))


@pytest.mark.parametrize("metric", SIMILARITIES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8])
def test_batch_and_threads_change_no_bit(metric, dtype, rng):
    vectors = made(rng, 500, 100, dtype)
    queries = rng.standard_normal((40, 100))
    rows = [rng.permutation(500)[:200] for _ in queries]
    together = rerank(matches_of(rows), queries, vectors, metric=metric, k=200, n_threads=1)
    in_threads = rerank(matches_of(rows), queries, vectors, metric=metric, k=200, n_threads=4)
    assert together.similarities.tobytes() == in_threads.similarities.tobytes()
    assert together.ids.tolist() == in_threads.ids.tolist()
    for q, row in enumerate(rows):
        # In another order and beside other candidates.
        some = np.sort(row[:50])
        alone = rerank(matches_of([some]), queries[q : q + 1], vectors, metric=metric, k=50)
        known = dict(zip(*(a.tolist() for a in together[q]), strict=True))
        assert [known[i] for i in alone.ids.tolist()] == alone.similarities.tolist()


@pytest.mark.skipif(not {"avx2", "avx512"} <= set(ISAS), reason="needs avx2 and avx512")
@pytest.mark.parametrize("metric", SIMILARITIES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8])
def test_avx2_and_avx512_give_the_same_bits(metric, dtype, rng, restored_isa):
    vectors = made(rng, 100, 83, dtype)
    found = matches_of([range(100)] * 3)
    queries = rng.standard_normal((3, 83))
    given_by = {}
    for isa in ("avx2", "avx512"):
        _native.use_instruction_set(isa)
        given_by[isa] = rerank(found, queries, vectors, metric=metric, k=100).similarities.tobytes()
    assert given_by["avx2"] == given_by["avx512"]


@pytest.mark.parametrize("isa", ISAS)
def test_every_half_is_read_as_numpy_reads_it(isa, restored_isa):
    _native.use_instruction_set(isa)
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    finite = np.flatnonzero(np.isfinite(halves))
    # Alone, at the end, where single numbers are read; and among 32, where vectors are.
    for width in (1, 33):
        vectors = np.zeros((2**16, width), np.float16)
        vectors[:, 0] = halves
        query = np.zeros((1, width))
        query[0, 0] = 1
        ranked = rerank(matches_of([finite]), query, vectors, metric="dot", k=2**16)
        assert np.array_equal(ranked.similarities, halves[ranked.ids].astype(np.float32))
        for row in np.flatnonzero(~np.isfinite(halves))[::100]:
            with pytest.raises(InvalidInputError, match=f"row {row} holds NaN or infinity"):
                rerank(matches_of([[row]]), query, vectors, metric="dot")


@pytest.mark.parametrize("metric", SIMILARITIES)
def test_equal_similarities_go_by_id(metric):
    vectors = np.ones((6, 5), np.float32)
    vectors[2] = 3  # of the same direction
    ranked = rerank(matches_of([[5, 0, 4, 1, 3]]), np.ones((1, 5)), vectors, metric=metric, k=3)
    assert ranked.ids.tolist() == [0, 1, 3]
    # Where ids are not rows, ids decide, not rows.
    ranked = rerank(
        matches_of([[50, 40, 30]]),
        np.ones((1, 5)),
        vectors[[0, 1, 3]],
        metric=metric,
        ids=[40, 50, 30],
    )
    assert ranked.ids.tolist() == [30, 40, 50]


def test_items_may_be_called_by_strings():
    vectors = np.array([[0, 1], [1, 0], [1, 0], [1, 1]], np.float32)
    found = Matches([0, 3], ["a", "c", "b"], [0, 1, 2])
    ranked = rerank(found, [[1, 0]], vectors, ids=["x", "c", "b", "a"])
    assert ranked.ids.tolist() == ["c", "b", "a"]  # equal ones by their row
    ranked = rerank(found, [[1, 0]], vectors, ids=["a", "b", "c", "x"], k=2)
    assert ranked.ids.tolist() == ["b", "c"]
    for ids, message in (
        (None, "`matches` have strings as ids. Pass `ids`: which item each row of"),
        ([1, 2, 3, 4], "`ids` must be strings, as the ids of `matches` are, got integers."),
        (["a", "b", "d", "e"], "`ids` must hold the id of each match, but 'c' is not there."),
        (["a", "b", "c", "a"], "`ids` hold 'a' twice, in rows 0 and 3."),
    ):
        with pytest.raises(InvalidInputError, match=re.escape(message)):
            rerank(found, [[1, 0]], vectors, ids=ids)
    with pytest.raises(InvalidInputError, match="must be integers, as the ids of `matches` are"):
        rerank(Matches([0, 1], [3], [0]), [[1, 0]], vectors, ids=["a", "b", "c", "d"])


def test_distances_of_the_codes_stay_with_their_items():
    found = Matches([0, 3, 3, 5], [1, 0, 2, 2, 1], [0, 1, 2, 3, 4], [9, 8, 7, 6, 5])
    vectors = np.array([[1, 0], [0, 1], [1, 1]], np.float32)
    ranked = rerank(found, [[1, 0], [1, 0], [0, 1]], vectors, k=2)
    assert ranked.offsets.tolist() == [0, 2, 2, 4]
    assert ranked.ids.tolist() == [0, 2, 1, 2]
    assert ranked.distances.tolist() == [1, 2, 4, 3]
    assert ranked.rank_distances.tolist() == [8, 7, 5, 6]
    root = np.float32(np.sqrt(0.5))
    assert ranked.similarities == pytest.approx([1, root, 1, root])
    assert ranked.matches.counts.tolist() == ranked.counts.tolist() == [2, 0, 2]
    assert [ids.tolist() for ids, _ in ranked] == [[0, 2], [], [1, 2]]
    assert ranked[-1][0].tolist() == [1, 2]
    assert repr(ranked) == "Ranked(n_queries=3, n_matches=4)"
    with pytest.raises(IndexError, match="query 3 of 3"):
        ranked[3]
    with pytest.raises(ValueError, match="read-only"):
        ranked.similarities[0] = 2


def test_a_mapped_file_is_read_in_place(tmp_path, rng):
    vectors = made(rng, 300, 40, np.float16)
    np.save(tmp_path / "vectors.npy", vectors)
    mapped = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    queries, found = rng.standard_normal((2, 40)), matches_of([range(300), range(0, 300, 2)])
    one, other = (rerank(found, queries, v, k=20) for v in (mapped, vectors))
    assert one.ids.tolist() == other.ids.tolist()
    assert one.similarities.tobytes() == other.similarities.tobytes()


def test_rows_may_be_views_of_wider_ones(rng):
    wide = made(rng, 30, 64, np.float32)
    found, queries = matches_of([range(10)]), rng.standard_normal((1, 16))
    for view in (wide[:, :16], wide[::3, 5:21], wide[::-1, 8:24]):
        one, other = (rerank(found, queries, v) for v in (view, np.ascontiguousarray(view)))
        assert one.similarities.tobytes() == other.similarities.tobytes()
        assert one.ids.tolist() == other.ids.tolist()


def test_numbers_whose_squares_leave_float32_are_compared_all_the_same():
    vectors = np.array([[1e25, 0], [1e25, 1e25], [0, 1e-30], [3e-25, 4e-25]], np.float32)
    found, query = matches_of([range(4)]), np.array([[1, 0]])
    ranked = rerank(found, query, vectors, metric="cosine")
    assert ranked.ids.tolist() == [0, 1, 3, 2]
    assert ranked.similarities == pytest.approx([1, np.sqrt(0.5), 0.6, 0], rel=1e-6)
    ranked = rerank(found, 1e25 * query, vectors, metric="l2")
    assert ranked.ids.tolist() == [0, 1, 2, 3]
    assert ranked.similarities == pytest.approx([0, -1e25, -1e25, -1e25], rel=1e-6)
    ranked = rerank(matches_of([[2, 3]]), 0 * query, vectors, metric="l2")
    assert ranked.similarities == pytest.approx([-1e-30, -5e-25], rel=1e-6)


def test_vectors_and_queries_of_zeros_have_cosine_zero():
    vectors = np.array([[0, 0], [1, 0]], np.float32)
    ranked = rerank(matches_of([[0, 1], [0, 1]]), [[1, 0], [0, 0]], vectors)
    assert ranked.ids.tolist() == [1, 0, 0, 1]
    assert ranked.similarities.tolist() == [1, 0, 0, 0]


def test_it_puts_what_a_search_found_in_order(rng):
    from kinhash.methods import ITQ

    vectors = rng.standard_normal((400, 32)).astype(np.float32)
    model = ITQ(16).fit(vectors)
    index = kinhash.HammingIndex(model.encode(vectors))
    found = index.search_top_k(model.encode(vectors[:5]), k=400)
    ranked = rerank(found, vectors[:5], vectors, metric="l2", k=7)
    for q, (ids, _) in enumerate(ranked):
        far = np.linalg.norm(vectors - vectors[q], axis=1)
        assert ids.tolist() == np.argsort(far, kind="stable")[:7].tolist()


VECTORS = np.eye(3, dtype=np.float32)
FOUND = Matches([0, 2], [0, 2], [0, 0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"vectors": np.eye(3)},
            "`vectors` must be float32, float16 or int8, got float64. Convert",
        ),
        ({"vectors": VECTORS.tolist()}, "`vectors` must be a two-dimensional array, got list."),
        ({"vectors": VECTORS[0]}, "`vectors` must be a two-dimensional array, got shape (3,)."),
        ({"vectors": VECTORS.astype(">f4")}, "`vectors` must be float32, float16 or int8, got >f4"),
        ({"vectors": np.zeros((3, 0), np.float32)}, "`vectors` must have at least one column"),
        (
            {"vectors": np.asfortranarray(np.ones((3, 3), np.float32))},
            "numbers of each row side by side",
        ),
        ({"vectors": VECTORS[:2]}, "no row 2 of 2. Pass `ids` where the id of an item is not"),
        (
            {"queries": [[1, 0]]},
            "1 vectors of width 3, one for each row of `matches` and as wide as",
        ),
        ({"queries": np.eye(3)}, "got shape (3, 3)"),
        ({"queries": [[1, np.nan, 0]]}, "`queries` must be finite, but row 0 holds NaN"),
        ({"queries": [[1e39, 0, 0]]}, "a number too large for float32"),
        ({"queries": [["a", "b", "c"]]}, "`queries` must hold numbers"),
        ({"metric": "cosin"}, "Unknown metric 'cosin'. Did you mean 'cosine'?"),
        ({"k": 0}, "`k` must be an integer of at least 1, got 0."),
        ({"n_threads": 0}, "`n_threads` must be an integer of at least 1, got 0."),
        ({"ids": [0, 1]}, "`ids` must be one for each of 3 rows of `vectors`, got 2."),
        ({"ids": [0, 1, 0]}, "`ids` hold 0 twice, in rows 0 and 2."),
        ({"ids": [0, 1, 5]}, "`ids` must hold the id of each match, but 2 is not there."),
    ],
)
def test_what_cannot_be_used_is_said_in_a_sentence(changes, message):
    arguments = {"matches": FOUND, "queries": [[1, 0, 0]], "vectors": VECTORS} | changes
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        rerank(**arguments)


@pytest.mark.parametrize("metric", SIMILARITIES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_first_vector_that_is_not_finite_is_named(metric, bad, rng):
    vectors = rng.standard_normal((50, 40)).astype(np.float32)
    vectors[31, 39] = vectors[7, 3] = bad
    rows = [[1, 2], [5, 31], [7, 8]]
    with pytest.raises(InvalidInputError, match="row 31 holds NaN or infinity"):
        rerank(matches_of(rows), rng.standard_normal((3, 40)), vectors, metric=metric, n_threads=3)
    rerank(matches_of([[1, 2]]), rng.standard_normal((1, 40)), vectors, metric=metric)  # not read


def test_a_product_too_large_for_a_float_is_refused():
    vectors = np.array([[1e30]], np.float32)
    with pytest.raises(InvalidInputError, match="row 0 holds too large numbers"):
        rerank(matches_of([[0]]), [[1e30]], vectors, metric="dot")


def test_rows_below_zero_are_never_read():
    with pytest.raises(InvalidInputError, match="no row -1 of 3"):
        rerank(Matches([0, 1], [-1], [0]), [[1, 0, 0]], VECTORS)


def test_no_queries_and_no_vectors_are_fine():
    nothing = rerank(Matches([0], [], []), np.zeros((0, 3)), VECTORS)
    assert len(nothing) == 0
    nothing = rerank(Matches([0, 0], [], []), np.ones((1, 3)), np.zeros((0, 3), np.float32), ids=[])
    assert nothing.counts.tolist() == [0]


def test_the_core_refuses_arrays_that_do_not_fit():
    offsets, rows = np.array([0, 2]), np.array([0, 1])
    chosen, similarities = np.zeros(2, np.int64), np.zeros(2, np.float32)
    query = np.ones((1, 3), np.float32)

    def call(**changes):
        arguments = {
            "vectors": VECTORS,
            "queries": query,
            "offsets": offsets,
            "rows": rows,
            "ids": rows,
            "similarity": 0,
            "best_offsets": offsets,
            "chosen": chosen,
            "similarities": similarities,
            "n_threads": 1,
        }
        return _native.rerank(**arguments | changes)

    assert call() == 2
    for changes in (
        {"offsets": np.array([0, 3])},
        {"offsets": np.array([2, 0])},
        {"offsets": np.array([-1, 2])},
        {"offsets": np.array([0, 1])},
        {"best_offsets": np.array([0, 3])},
        {"best_offsets": np.array([0, 1, 2])},
        {"similarities": similarities[:1]},
        {"ids": rows[:1]},
        {"similarity": 3},
        {"queries": query[:, :2]},
        {"vectors": VECTORS.astype(np.float64)},
        {"vectors": VECTORS[:, ::2], "queries": query[:, :2]},
    ):
        with pytest.raises(ValueError, match=r"\w"):
            call(**changes)


def test_ranked_checks_that_both_parts_fit_and_travels():
    with pytest.raises(InvalidInputError, match="one for each of 2 matches, got shape"):
        Ranked(FOUND, np.zeros(3, np.float32))
    copy = pickle.loads(pickle.dumps(rerank(FOUND, [[1, 0, 0]], VECTORS)))  # noqa: S301
    assert copy.ids.tolist() == [0, 2]
    assert copy.similarities.tolist() == [1, 0]
