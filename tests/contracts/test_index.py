"""Every structure, instruction set, edit sequence and kind of code gives the oracle's answers."""

import collections
import contextlib
import pickle
import warnings
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinhash import _native
from kinhash.codes import MAX_BITS, Codes
from kinhash.errors import LargeGroupWarning
from kinhash.index import hamming, reference
from kinhash.index import memory as memory_settings
from kinhash.index.hamming import HammingIndex
from kinhash.matches import Matches

INSTRUCTION_SETS = _native.instruction_sets()
PLENTY = 1e9  # a budget that has room for everything

SHAPES = ("clustered", "sparse", "dense", "one bucket", "zeros")

n_bits_drawn = st.one_of(st.sampled_from([1, 2, 63, 64, 65, 128, 1024, 4096]), st.integers(1, 1024))
# Each number of bytes that rank bits are stored in; few of them give many ties.
n_rank_bits_drawn = st.sampled_from([0, 1, 2, 7, 8, 9, 16, 17, 32, 33, 64, 65, 200])
orders = st.sampled_from(["nested", "total"])


def most_stored(n_bits, signed, n_rank_bits=0):
    """Return as many bits of a bucket as can be stored: signed ones take two each."""
    most = MAX_BITS - n_rank_bits
    return min(n_bits, most // 2 if signed else most)


def all_duplicates(index, radius=0, linkage="star"):
    """Return the groups; that some are large is no surprise here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LargeGroupWarning)
        return index.duplicates(radius, linkage=linkage)


@contextlib.contextmanager
def using(instruction_set):
    before = _native.instruction_set()
    _native.use_instruction_set(instruction_set)
    try:
        yield
    finally:
        _native.use_instruction_set(before)


def flipped(rng, dense, most, signed):
    """Return rows with up to `most` entries replaced by others."""
    dense = dense.copy()
    for row in dense:
        for at in rng.choice(len(row), min(len(row), rng.integers(0, most + 1)), replace=False):
            row[at] = rng.choice([v for v in range(-1 if signed else 0, 2) if v != row[at]])
    return dense


def random_dense(rng, n, n_bits, n_active, signed):
    dense = np.zeros((n, n_bits), np.int8)
    for row in dense:
        at = rng.choice(n_bits, min(n_bits, rng.integers(0, n_active + 1)), replace=False)
        row[at] = rng.choice([-1, 1], len(at)) if signed else 1
    return dense


def random_ids(rng, n, kind):
    if kind == "rows":
        return np.arange(n)
    if kind == "unsorted":
        return rng.permutation(3 * n)[:n]
    if kind == "negative":
        return rng.permutation(3 * n)[:n] - 2 * n
    if kind == "wide":
        return rng.permutation(n) * 2**33 + 2**32 + 1
    extremes = np.array([-(2**63), 2**63 - 1, 0, -1, 2**32 - 1, 2**32])
    return np.concatenate([extremes, rng.permutation(n) + 2**40])[:n]


class Drawn:
    """Codes to store with their ids, and codes to search for."""

    def __init__(self, items, queries, ids, signed, ranks=(None, None)):
        self.items = Codes.from_dense(items, signed=signed, rank=ranks[0])
        self.queries = Codes.from_dense(queries, signed=signed, rank=ranks[1])
        self.ids, self.signed = ids, signed
        self.farthest = self.items.n_bucket_bits * (2 if signed else 1)

    def __repr__(self):
        return f"Drawn({self.items!r}, {self.queries!r}, ids={self.ids.tolist()})"


def random_ranks(rng, n, n_rank_bits):
    """Return rank bits around a few centres, so that some are equal; None if there are no bits."""
    if not n_rank_bits:
        return None
    centres = rng.random((3, n_rank_bits)) < 0.5
    return centres[rng.integers(0, 3, n)] ^ (rng.random((n, n_rank_bits)) < 0.1)


@st.composite
def drawn_codes(draw, shapes=SHAPES, *, ranked=False):
    """Draw items that clash and queries near and far from them, with rank bits if `ranked`."""
    signed = draw(st.booleans())
    n_rank_bits = draw(n_rank_bits_drawn) if ranked else 0
    n_bits = most_stored(draw(n_bits_drawn), signed, n_rank_bits)
    shape = draw(st.sampled_from(shapes))
    n, n_queries = draw(st.integers(0, 60)), draw(st.integers(0, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_active = n_bits if shape == "dense" else draw(st.integers(0, 8))
    if shape == "zeros":
        items = np.zeros((n, n_bits), np.int8)
    elif shape == "one bucket":
        items = np.repeat(random_dense(rng, 1, n_bits, n_active, signed), n, axis=0)
    elif shape == "clustered":
        centres = random_dense(rng, draw(st.integers(1, 3)), n_bits, n_active, signed)
        items = flipped(rng, centres[rng.integers(0, len(centres), n)], 1, signed)
        items = items[rng.integers(0, max(1, n // 2), n)]  # so that codes repeat
    else:
        items = random_dense(rng, n, n_bits, n_active, signed)
    queries = random_dense(rng, n_queries, n_bits, n_active, signed)
    for i in range(n_queries if n else 0):
        if draw(st.booleans()):
            queries[i] = items[rng.integers(n)]
    queries = flipped(rng, queries, draw(st.integers(0, 4)), signed)
    kinds = st.sampled_from(["rows", "unsorted", "negative", "wide", "extreme"])
    ranks = [random_ranks(rng, len(part), n_rank_bits) for part in (items, queries)]
    return Drawn(items, queries, random_ids(rng, n, draw(kinds)), signed, ranks)


def radii(farthest):
    return st.one_of(
        st.integers(0, 4),
        st.integers(0, farthest),
        st.sampled_from([farthest, farthest + 1, 10**9]),
    )


def assert_equal(found, expected):
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    np.testing.assert_array_equal(found.distances, expected.distances)
    np.testing.assert_array_equal(found.ids, expected.ids)
    assert (found.rank_distances is None) == (expected.rank_distances is None)
    if expected.rank_distances is not None:
        np.testing.assert_array_equal(found.rank_distances, expected.rank_distances)
        assert found.rank_distances.dtype == np.int32
    assert (found.offsets.dtype, found.ids.dtype, found.distances.dtype) == (
        np.int64,
        expected.ids.dtype,
        np.int32,
    )


def assert_same_rows(found, expected):
    """Equal but for the order of ids at one distance: what a search without `sort` promises."""
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    np.testing.assert_array_equal(found.distances, expected.distances)
    assert found.rank_distances is None
    for (ids, distances), (expected_ids, _) in zip(found, expected, strict=True):
        by_id = np.lexsort((expected_ids, distances))
        np.testing.assert_array_equal(ids[np.lexsort((ids, distances))], expected_ids[by_id])


def built(items, ids, **options):
    """Return the arrays and numbers of a segment with just the structures asked for."""
    none = {
        "levels": 0,
        "n_chunks": 0,
        "groups": False,
        "n_far": 0,
        "n_listed": 0,
        "budget": PLENTY,
    }
    words = np.ascontiguousarray(items.words)
    return _native.build_segment(words, ids.astype(np.int64), **none | options)


def native_answer(segments, queries, radius, structure):
    """Return a sorted answer of the compiled core, and how many queries who answered."""
    searcher = _native.Searcher(segments)
    found = searcher.radius(queries.words, radius, sort=True, n_threads=1, structure=structure)
    matches = Matches(*_native.answer_arrays(found))
    counts = np.zeros((len(queries), radius + 1), np.int64)
    work = searcher.count(queries.words, counts, n_threads=1, structure=structure)
    np.testing.assert_array_equal(counts.sum(axis=1), matches.counts)
    assert work.pop("compared") >= 0
    return matches, {name: count for name, count in work.items() if count}


# Name, options of the build, radii that it answers, and what the items must be like. Deletion keys
# are for sparse codes: removing three of a thousand active bits would take for ever.
SPARSE, ANY = ("clustered", "sparse", "one bucket", "zeros"), None
STRUCTURES = {
    "lookup": ("lookup", {}, (0, 0), ANY),
    "hash table, no levels": ("deletions", {}, (0, 1), ANY),
    "deletions, one level": ("deletions", {"levels": 1}, (0, 1), SPARSE),
    "deletions, one level and additions": ("deletions", {"levels": 1}, (2, 2), SPARSE),
    "deletions, two levels": ("deletions", {"levels": 2}, (0, 2), SPARSE),
    "deletions, two levels and additions": ("deletions", {"levels": 2}, (3, 3), SPARSE),
    "chunks, equal parts": ("chunks", {"n_chunks": 4}, (0, 3), ANY),
    "chunks, one flip": ("chunks", {"n_chunks": 4}, (4, 7), ANY),
    "three chunks": ("chunks", {"n_chunks": 3}, (0, 5), ANY),
    "one chunk": ("chunks", {"n_chunks": 1}, (0, 1), ANY),
    "groups": ("groups", {"groups": True}, (0, 2050), ("clustered", "one bucket", "zeros")),
    "groups beside keys": (
        "groups",
        {"groups": True, "levels": 2, "n_chunks": 4},
        (0, 9),
        ("clustered", "one bucket", "zeros"),
    ),
    "neighbours": ("neighbours", {"levels": 2, "n_listed": 10**6}, (0, 2), SPARSE),
    "far neighbours": (
        "neighbours",
        {"levels": 2, "n_far": 10**6, "n_listed": 10**6},
        (0, 3),
        SPARSE,
    ),
    "scan": ("scan", {}, (0, 2050), ANY),
}


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
@pytest.mark.parametrize("case", STRUCTURES)
def test_every_structure_equals_the_reference(case, instruction_set):
    name, options, (low, high), shapes = STRUCTURES[case]
    strategy = drawn_codes(shapes) if shapes else drawn_codes()

    @settings(deadline=None, max_examples=25)
    @given(strategy, st.integers(low, high), st.integers(1, 2), st.booleans(), st.randoms())
    def check(drawn, radius, n_parts, some_gone, random):
        n = len(drawn.items)
        part_of = np.array([random.randrange(n_parts) for _ in range(n)], int)
        alive = np.array([not some_gone or random.random() < 0.6 for _ in range(n)], bool)
        segments = []
        for part in range(n_parts):
            mine = np.flatnonzero(part_of == part)
            arrays, numbers = built(drawn.items[mine], drawn.ids[mine], **options)
            segment = _native.Segment(arrays, numbers)
            # Bits that no code has cannot be cut into parts; codes that are all different or far
            # apart have no leaders worth having.
            assume(numbers["levels"] == options.get("levels", 0))
            if name == "chunks":
                assume(numbers["n_chunks"] == options["n_chunks"])
            if name == "groups":
                assume(numbers["group_radius"] > 0 and len(mine))
            if some_gone:
                stored = np.concatenate([arrays["narrow_ids"], arrays["wide_ids"]])
                kept = np.isin(stored, drawn.ids[mine][alive[mine]])
                segment = segment.with_alive(np.packbits(kept, bitorder="little"))
                assert segment.n_alive() == alive[mine].sum()
            segments.append(segment)
        with using(instruction_set):
            found, work = native_answer(segments, drawn.queries, radius, name)
        expected = reference.search_radius(
            drawn.items[alive], drawn.queries, radius, ids=drawn.ids[alive]
        )
        assert_equal(found, expected)
        n_answers = len(drawn.queries) * n_parts
        if name == "neighbours":  # of stored codes only; deletion keys or a scan find the others'
            n_answers = sum(
                bool((part.words == query.words).all(axis=1).any())
                for part in (drawn.items[part_of == p] for p in range(n_parts))
                for query in drawn.queries
            )
            # At radius 3 only those are known to be listed that have any so far away.
            answered = work.get(name, 0)
            assert answered == n_answers if radius <= 2 else answered <= n_answers
        else:
            assert work == ({name: n_answers} if n_answers else {})

    check()


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
@pytest.mark.parametrize("memory", ["lean", "balanced", "fast"])
def test_an_index_equals_the_reference(memory, instruction_set):
    @settings(deadline=None, max_examples=40)
    @given(st.data(), drawn_codes(ranked=True), st.sampled_from([0, 256]))
    def check(data, drawn, small):
        radius = data.draw(radii(drawn.farthest), "radius")
        k = data.draw(st.integers(1, len(drawn.items) + 3), "k")
        with using(instruction_set), mock.patch.object(memory_settings, "SMALL", small):
            index = HammingIndex(drawn.items, drawn.ids, memory=memory)
            assert len(index) == len(drawn.items)
            assert index.n_codes == drawn.items.n_unique
            np.testing.assert_array_equal(index.ids, np.sort(drawn.ids))
            expected = reference.search_radius(drawn.items, drawn.queries, radius, ids=drawn.ids)
            assert_equal(index.search_radius(drawn.queries, radius, sort=True), expected)
            assert_same_rows(index.search_radius(drawn.queries, radius), expected)
            for order in ("nested", "total"):
                options = {"ids": drawn.ids, "order": order}
                expected = reference.search_radius(drawn.items, drawn.queries, radius, **options)
                found = index.search_radius(drawn.queries, radius, sort=True, order=order)
                assert_equal(found, expected)
                top = reference.search_top_k(drawn.items, drawn.queries, k, **options)
                assert_equal(index.search_top_k(drawn.queries, k, order=order), top)
            rows = np.arange(len(drawn.items))[::-2]
            assert index.codes(drawn.ids[rows]) == drawn.items[rows]

    check()


@settings(deadline=None, max_examples=60)
@given(st.data(), drawn_codes(ranked=True), st.sampled_from([0, 256]))
def test_counts_are_the_histogram_of_distances(data, drawn, small):
    radius = data.draw(st.integers(0, drawn.farthest + 3))
    with mock.patch.object(memory_settings, "SMALL", small):
        index = HammingIndex(drawn.items, drawn.ids)
    counts = index.count_radius(drawn.queries, radius)
    radius = min(radius, drawn.farthest)
    assert counts.dtype == np.int64
    rows = reference.distances(drawn.queries, drawn.items)
    expected = [np.bincount(row, minlength=radius + 1)[: radius + 1] for row in rows]
    np.testing.assert_array_equal(counts, np.reshape(expected, (len(rows), radius + 1)))


@settings(deadline=None, max_examples=80)
@given(
    st.data(),
    drawn_codes(ranked=True),
    orders,
    st.sampled_from([0, 256]),
    st.sampled_from([-1.0, 0.02, 0.5, 1.0]),
)
def test_a_filter_equals_a_search_among_the_allowed(data, drawn, order, small, few):
    """Whether the allowed are searched on their own (few) or in place (many)."""
    n = len(drawn.items)
    radius = data.draw(radii(drawn.farthest))
    k = data.draw(st.integers(1, n + 2))
    by_id = np.argsort(drawn.ids)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
    rows = by_id[mask]
    with mock.patch.multiple(memory_settings, SMALL=small, FEW_ALLOWED=few):
        index = HammingIndex(drawn.items, drawn.ids)
        options = {"ids": drawn.ids[rows], "order": order}
        within = reference.search_radius(drawn.items[rows], drawn.queries, radius, **options)
        top = reference.search_top_k(drawn.items[rows], drawn.queries, k, **options)
        unknown = 7 * 2**50
        given_ids = np.concatenate([drawn.ids[rows], drawn.ids[rows], [unknown]])
        for allowed in (mask, given_ids):
            some = {"order": order, "allowed": allowed}
            found = index.search_radius(drawn.queries, radius, sort=True, **some)
            assert_equal(found, within)
            assert_equal(index.search_top_k(drawn.queries, k, **some), top)
            counts = index.count_radius(drawn.queries, min(radius, 9), allowed=allowed)
            for row, (_, distances) in zip(counts, within, strict=True):
                assert row.sum() == (distances <= 9).sum()


@settings(deadline=None, max_examples=60)
@given(drawn_codes(ranked=True), st.integers(0, 5), st.sampled_from([0, 256]))
def test_connected_duplicates_are_the_connected_components(drawn, radius, small):
    with mock.patch.object(memory_settings, "SMALL", small):
        found = all_duplicates(HammingIndex(drawn.items, drawn.ids), radius, "connected")
    near = reference.distances(drawn.items, drawn.items) <= radius
    left, groups = set(range(len(drawn.items))), []
    while left:
        group, border = set(), {left.pop()}
        while border:  # grow until nothing near is left
            group |= border
            border = {int(j) for i in border for j in np.flatnonzero(near[i])} - group
        left -= group
        if len(group) > 1:
            groups.append(sorted(int(drawn.ids[i]) for i in group))
    assert [sorted(group.tolist()) for group in found] == sorted(groups)


@settings(deadline=None, max_examples=60)
@given(drawn_codes(ranked=True), st.integers(0, 5), st.sampled_from([0, 256]))
def test_duplicates_are_the_neighbours_of_what_is_visited_first(drawn, radius, small):
    with mock.patch.object(memory_settings, "SMALL", small):
        found = all_duplicates(HammingIndex(drawn.items, drawn.ids), radius)
    distances = reference.distances(drawn.items, drawn.items)
    near, ids = distances <= radius, np.asarray(drawn.ids)
    taken = {}
    for i in sorted(range(len(ids)), key=lambda i: (-near[i].sum(), ids[i])):
        if i not in taken:
            taken |= {int(j): i for j in np.flatnonzero(near[i]) if j not in taken}
    sizes = collections.Counter(taken.values())
    expected = {
        int(ids[j]): (int(ids[i]), bool(i == j), int(distances[i, j]))
        for j, i in taken.items()
        if sizes[i] > 1
    }
    columns = (found.id, found.representative, found.keep, found.distance)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    assert {one: tuple(rest) for one, *rest in rows} == expected


@settings(deadline=None, max_examples=40)
@given(drawn_codes(ranked=True))
def test_buckets_hold_every_item_once_beside_its_code(drawn):
    index = HammingIndex(drawn.items, drawn.ids)
    code_of = {int(i): row.tobytes() for i, row in zip(drawn.ids, drawn.items.words, strict=True)}
    seen = {}
    codes = []
    for code, ids in index.iter_buckets():
        assert (len(code), code.n_rank_bits) == (1, 0)
        assert ids.dtype == np.int64
        assert np.all(ids[1:] > ids[:-1])
        codes.append(code.words.tobytes())
        for one in ids.tolist():
            assert one not in seen
            seen[one] = code.words.tobytes()
    assert seen == code_of
    assert len(set(codes)) == len(codes) == drawn.items.n_unique


@settings(deadline=None, max_examples=30)
@given(drawn_codes(ranked=True), orders, st.integers(0, 6), st.integers(1, 70))
def test_the_number_of_threads_changes_nothing(drawn, order, radius, k):
    assume(len(drawn.queries) > 0)
    queries = Codes.concatenate([drawn.queries] * 60)  # more than a thread takes at a time
    index = HammingIndex(drawn.items, drawn.ids)
    options = {"ids": drawn.ids, "order": order}
    expected = reference.search_radius(drawn.items, queries, radius, **options)
    top = reference.search_top_k(drawn.items, queries, k, **options)
    for n_threads in (1, 2, 7):
        options = {"order": order, "n_threads": n_threads}
        found = index.search_radius(queries, radius, sort=True, **options)
        assert_equal(found, expected)
        assert_equal(index.search_top_k(queries, k, **options), top)
        counts = index.count_radius(queries, radius, n_threads=n_threads)
        np.testing.assert_array_equal(counts.sum(axis=1), expected.counts)


class Edits(RuleBasedStateMachine):
    """Adds, removals and updates in any order, beside a dict from id to code."""

    @initialize(
        n_bits=n_bits_drawn,
        n_rank_bits=n_rank_bits_drawn,
        signed=st.booleans(),
        memory=st.sampled_from(["lean", "balanced", "fast"]),
        small=st.sampled_from([0, 4, 256]),
        many_dead=st.sampled_from([0.1, 0.25, 0.9]),
        n=st.integers(0, 30),
        seed=st.integers(0, 2**32 - 1),
    )
    def start(self, n_bits, n_rank_bits, signed, memory, small, many_dead, n, seed):
        self.patch = mock.patch.multiple(memory_settings, SMALL=small, MANY_DEAD=many_dead)
        self.patch.start()
        self.rng = np.random.default_rng(seed)
        n_bits = most_stored(n_bits, signed, n_rank_bits)
        self.n_rank_bits, self.signed = n_rank_bits, signed
        self.pool = np.concatenate(
            [
                random_dense(self.rng, 4, n_bits, 6, signed),
                random_dense(self.rng, 1, n_bits, n_bits, signed),
                np.zeros((1, n_bits), np.int8),
            ]
        )
        self.stored = {}
        codes, ids = self.codes(n), self.new_ids(n)
        self.index = HammingIndex(codes, ids, memory=memory)
        self.remember(codes, ids)

    def teardown(self):
        if hasattr(self, "patch"):
            self.patch.stop()

    def codes(self, n):
        rows = flipped(self.rng, self.pool[self.rng.integers(0, len(self.pool), n)], 2, self.signed)
        ranks = random_ranks(self.rng, n, self.n_rank_bits)
        return Codes.from_dense(rows, signed=self.signed, rank=ranks)

    def new_ids(self, n):
        kinds = [0, -500, 2**32 - 250, 2**40]
        free = np.setdiff1d(
            self.rng.choice(kinds) + np.arange(500), np.array(list(self.stored), np.int64)
        )
        return self.rng.permutation(free)[:n]

    def old_ids(self, share):
        ids = np.array(list(self.stored), np.int64)
        return self.rng.permutation(ids)[: round(share * len(ids))]

    def remember(self, codes, ids):
        self.stored.update(zip(ids.tolist(), codes, strict=True))

    def contents(self):
        ids = np.array(list(self.stored), np.int64)
        return Codes.concatenate([self.codes(0), *self.stored.values()]), ids

    @rule(n=st.integers(0, 40))
    def add(self, n):
        codes, ids = self.codes(n), self.new_ids(n)
        self.index.add(codes, ids)
        self.remember(codes, ids)

    @rule(share=st.sampled_from([0.0, 0.05, 0.3, 1.0]))
    def remove(self, share):
        ids = self.old_ids(share)
        self.index.remove(ids)
        for one in ids.tolist():
            del self.stored[one]

    @rule(share=st.sampled_from([0.0, 0.05, 0.3, 1.0]))
    def update(self, share):
        ids = self.old_ids(share)
        codes = self.codes(len(ids))
        self.index.update(codes, ids)
        self.remember(codes, ids)

    @precondition(lambda self: self.stored)
    @rule()
    def fail_to_add(self):
        ids = np.concatenate([self.new_ids(2), self.old_ids(1.0)[:1]])
        with pytest.raises(hamming.InvalidInputError, match=f"hold {ids[-1]}, which is in the ind"):
            self.index.add(self.codes(len(ids)), ids)

    @rule()
    def fail_to_remove(self):
        ids = np.concatenate([self.old_ids(0.5), self.new_ids(1)])
        with pytest.raises(hamming.InvalidInputError, match=f"hold {ids[-1]}, which is not in the"):
            self.index.remove(ids)
        with pytest.raises(hamming.InvalidInputError, match=f"hold {ids[-1]}, which is not in the"):
            self.index.update(self.codes(len(ids)), ids)

    @rule(radius=st.integers(0, 5), k=st.integers(1, 50), order=orders)
    def filter(self, radius, k, order):
        items, ids = self.contents()
        kept = self.rng.random(len(ids)) < self.rng.random()
        queries, options = self.codes(2), {"ids": ids[kept], "order": order}
        found = self.index.search_radius(queries, radius, sort=True, order=order, allowed=ids[kept])
        assert_equal(found, reference.search_radius(items[kept], queries, radius, **options))
        found = self.index.search_top_k(queries, k, order=order, allowed=kept[np.argsort(ids)])
        assert_equal(found, reference.search_top_k(items[kept], queries, k, **options))

    @rule(radius=st.integers(0, 2))
    def group(self, radius):
        items, ids = self.contents()
        fresh = all_duplicates(HammingIndex(items, ids), radius)
        found = all_duplicates(self.index, radius)
        assert [g.tolist() for g in found] == [g.tolist() for g in fresh]
        assert sum(len(ids) for _, ids in self.index.iter_buckets()) == len(self.stored)

    @invariant()
    def it_answers_like_the_dict(self):
        if not hasattr(self, "index"):
            return
        items, ids = self.contents()
        assert len(self.index) == len(self.stored)
        np.testing.assert_array_equal(self.index.ids, np.sort(ids))
        queries = self.codes(3)
        assert self.index.codes(ids) == items
        farthest = items.n_bucket_bits * (2 if self.signed else 1)
        for order in ("nested", "total"):
            options = {"ids": ids, "order": order}
            for radius in (0, *self.rng.integers([1, 0], [4, farthest + 1])):
                found = self.index.search_radius(queries, radius, sort=True, order=order)
                assert_equal(found, reference.search_radius(items, queries, radius, **options))
            k = int(self.rng.integers(1, len(ids) + 3))
            expected = reference.search_top_k(items, queries, k, **options)
            assert_equal(self.index.search_top_k(queries, k, order=order), expected)


Edits.TestCase.settings = settings(deadline=None, max_examples=40, stateful_step_count=15)
test_any_edit_sequence_equals_a_dict = Edits.TestCase


# At sizes where every block, sample and digit has a second one.


@pytest.fixture(scope="module")
def many():
    """Clustered, sparse and dense codes of one, two and three words, 2,500 items each."""
    rng = np.random.default_rng(3)
    sets = {}
    for n_bits, signed in ((64, False), (48, True), (150, False)):
        for shape in ("clustered", "sparse", "dense"):
            if shape == "clustered":
                centres = random_dense(rng, 40, n_bits, 6, signed)
                items = flipped(rng, centres[rng.integers(0, 40, 2500)], 2, signed)
            else:
                active = n_bits if shape == "dense" else 6
                items = random_dense(rng, 2500, n_bits, active, signed)
            queries = flipped(rng, items[rng.integers(0, 2500, 70)], 3, signed)
            ids = rng.permutation(9000)[:2500] - 100
            sets[f"{n_bits}-{'signed' if signed else 'unsigned'}-{shape}"] = Drawn(
                items, queries, ids, signed
            )
    return sets


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
@pytest.mark.parametrize("memory", ["lean", "balanced", "fast"])
def test_thousands_of_codes_equal_the_reference(many, memory, instruction_set):
    for name, drawn in many.items():
        index = HammingIndex(drawn.items, drawn.ids, memory=memory)
        rows = reference.distances(drawn.queries, drawn.items)
        by_id = np.argsort(drawn.ids)
        with using(instruction_set):
            order = np.argsort(rows[:, by_id], axis=1, kind="stable")
            for radius in (0, 1, 2, 3, 6, 40):
                found = index.search_radius(drawn.queries, radius, sort=True)
                expected = [
                    drawn.ids[by_id][order[i]][: (rows[i] <= radius).sum()]
                    for i in range(len(rows))
                ]
                np.testing.assert_array_equal(found.ids, np.concatenate(expected), str(name))
                np.testing.assert_array_equal(found.counts, (rows <= radius).sum(axis=1))
            for k in (1, 10, 600, 4000):
                found = index.search_top_k(drawn.queries, k)
                expected = drawn.ids[by_id][order[:, :k]]
                np.testing.assert_array_equal(found.ids, expected.ravel(), str(name))
                expected = np.take_along_axis(rows[:, by_id], order[:, :k], axis=1)
                np.testing.assert_array_equal(found.distances, expected.ravel())


WIDE = [(65, False), (96, False), (128, True), (256, False), (384, False), (500, True)]
WIDE += [(768, False), (1024, False), (3072, False), (4096, False), (2048, True)]


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
@pytest.mark.parametrize("memory", ["balanced", "fast"])
@pytest.mark.parametrize(("n_bits", "signed"), WIDE)
def test_wide_dense_codes_equal_the_reference(n_bits, signed, memory, instruction_set):
    """Several segments, removed and filtered items, equal codes, ties; any radius and any k."""
    rng = np.random.default_rng(n_bits)
    n = 1500
    centres = rng.integers(-1 if signed else 0, 2, (6, n_bits)).astype(np.int8)
    items = centres[rng.integers(0, 6, n)]
    other = rng.integers(-1 if signed else 0, 2, items.shape).astype(np.int8)
    items = np.where(
        rng.random(items.shape) < rng.choice([0, 0.01, 0.1, 0.5], (n, 1)), other, items
    )
    ids = rng.permutation(9000)[:n] - 100
    codes = Codes.from_dense(items, signed=signed)
    queries = codes[::75]
    with using(instruction_set):
        index = HammingIndex(codes[:1000], ids[:1000], memory=memory)
        index.add(codes[1000:], ids[1000:])
        index.remove(ids[::9])
        kept = np.arange(n) % 9 > 0
        farthest = n_bits * (2 if signed else 1)
        some = kept & (rng.random(n) < 0.5)
        for left, options in ((kept, {}), (some, {"allowed": ids[some]})):
            stored, names = codes[left], ids[left]
            for radius in (0, 1, 3, n_bits // 20, n_bits // 5, n_bits // 2, farthest):
                found = index.search_radius(queries, radius, sort=True, **options)
                expected = reference.search_radius(stored, queries, radius, ids=names)
                assert_equal(found, expected)
            for k in (1, 10, 100, 700, n):
                found = index.search_top_k(queries, k, **options)
                assert_equal(found, reference.search_top_k(stored, queries, k, ids=names))


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
@pytest.mark.parametrize("n_rank_bits", [1, 8, 12, 32, 64, 100])
def test_rank_bits_order_thousands_of_items_as_in_the_reference(many, n_rank_bits, instruction_set):
    rng = np.random.default_rng(n_rank_bits)
    for name in ("64-unsigned-clustered", "48-signed-sparse"):
        drawn = many[name]
        ranks = [rng.random((len(c), n_rank_bits)) < 0.5 for c in (drawn.items, drawn.queries)]
        items, queries = (
            Codes.from_dense(codes.to_dense(), signed=drawn.signed, rank=rank)
            for codes, rank in zip(
                (drawn.items, drawn.queries[:20]), (ranks[0], ranks[1][:20]), strict=True
            )
        )
        with using(instruction_set):
            index = HammingIndex(items[300:], drawn.ids[300:])
            index.add(items[:300], drawn.ids[:300])
            index.update(items[[7, 2000]], drawn.ids[[7, 2000]])
            for order in ("nested", "total"):
                options = {"ids": drawn.ids, "order": order}
                for radius in (0, 2, 40):
                    expected = reference.search_radius(items, queries, radius, **options)
                    found = index.search_radius(queries, radius, sort=True, order=order)
                    assert_equal(found, expected)
                for k in (1, 10, 600, 4000):
                    expected = reference.search_top_k(items, queries, k, **options)
                    assert_equal(index.search_top_k(queries, k, order=order), expected)


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
@pytest.mark.parametrize("n_rank_bits", [8, 16, 32])
def test_rank_bits_order_buckets_of_any_size_as_in_the_reference(n_rank_bits, instruction_set):
    # Some at one distance hold fewer items than are kept as bytes at once (2 ** 16), some more.
    rng = np.random.default_rng(n_rank_bits)
    codes = rng.permutation(np.repeat(np.arange(8), [1, 63, 64, 65, 3000, 64000, 1536, 2500]))
    bucket = codes[:, None] >> np.arange(3) & 1
    items = Codes.from_dense(bucket, rank=rng.random((len(codes), n_rank_bits)) < 0.4)
    dense = np.arange(8)[:, None] >> np.arange(3) & 1
    queries = Codes.from_dense(dense, rank=rng.random((8, n_rank_bits)) < 0.5)
    ids = rng.permutation(len(codes))
    index = HammingIndex(items, ids)
    with using(instruction_set):
        for _ in range(2):  # the second time without some of the items, and with two segments
            for k in (1, 10, 100, 4000):
                expected = reference.search_top_k(items, queries, k, ids=ids)
                assert_equal(index.search_top_k(queries, k), expected)
            index.remove(ids[:2000])
            items, ids = items[2000:], ids[2000:]
            index.add(items[:500], ids[:500] + len(codes))
            items = Codes.concatenate([items, items[:500]])
            ids = np.concatenate([ids, ids[:500] + len(codes)])


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
@pytest.mark.parametrize(("n_bits", "signed"), [(64, False), (64, True), (40, False), (500, True)])
def test_sparse_queries_are_compared_with_codes_of_any_number(n_bits, signed, instruction_set):
    # Around the blocks of 256 and 512 codes and the numbers of active bits of scans by planes.
    rng = np.random.default_rng(n_bits)
    some = [random_dense(rng, 3, n_bits, most, signed) for most in (0, 1, 3, 7, 15, 24, 25, 40)]
    for n in (1, 63, 64, 255, 256, 257, 511, 512, 513, 1100):
        codes = Codes.from_dense(random_dense(rng, n, n_bits, 30, signed), signed=signed)
        queries = Codes.concatenate([codes[:5], Codes.from_dense(np.vstack(some), signed=signed)])
        arrays, numbers = built(codes, np.arange(len(codes)))
        segment = _native.Segment(arrays, numbers)
        for radius in (0, 1, 5, 20, 64, 65):
            with using(instruction_set):
                found, work = native_answer([segment], queries, radius, "scan")
            assert work == {"scan": len(queries)}
            assert_equal(found, reference.search_radius(codes, queries, radius))


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
@pytest.mark.parametrize("n_leaders", [700, 1500])
def test_more_leaders_than_one_block_are_all_compared(n_leaders, instruction_set):
    rng = np.random.default_rng(n_leaders)
    centres = (rng.random((n_leaders, 200)) < 0.08).astype(np.int8)
    items = np.repeat(centres, 10, axis=0)
    for at, row in enumerate(items):
        row[at % 10 // 2] ^= 1  # five codes around each, two items to a code
    codes = Codes.from_dense(items)
    arrays, numbers = built(codes, np.arange(len(codes)), groups=True)
    assert numbers["group_radius"] == 2
    segment = _native.Segment(arrays, numbers)
    for radius in (0, 2, 5, 25):
        with using(instruction_set):
            found, work = native_answer([segment], codes[:300:7], radius, "groups")
        assert work == {"groups": len(codes[:300:7])}
        assert_equal(found, reference.search_radius(codes, codes[:300:7], radius))


@pytest.mark.parametrize("spread", [1, 2**11, 2**40, 2**50])
def test_one_giant_bucket_is_sorted_by_id(spread):
    rng = np.random.default_rng(5)
    n = 4000
    ids = (rng.permutation(n) - n // 2) * spread
    items = Codes.from_dense(np.repeat([[1, 0, 1, 0]], n, axis=0))
    index = HammingIndex(items, ids)
    assert index.n_codes == 1
    # In several segments the bucket stands several times, and is one run of ids all the same.
    index.add(items[:90], np.arange(90) * spread + n * spread)
    index.remove(ids[:50])
    stored = np.sort(np.concatenate([ids[50:], np.arange(90) * spread + n * spread]))
    for query, distance in (([[1, 0, 1, 0]], 0), ([[0, 1, 0, 1]], 4)):
        queries = Codes.from_dense(query)
        found = index.search_radius(queries, 4, sort=True)
        np.testing.assert_array_equal(found.ids, stored)
        assert set(found.distances.tolist()) == {distance}
        for k in (1, 300, n):
            np.testing.assert_array_equal(index.search_top_k(queries, k).ids, stored[:k])
    assert [group.tolist() for group in all_duplicates(index)] == [stored.tolist()]


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("n_added", [0, 300])
def test_answers_too_large_for_the_cache_equal_the_reference(n_added, n_threads, instruction_set):
    # 12 bits, so that buckets have from one item to hundreds; two million matches and more.
    rng = np.random.default_rng(8)
    items = Codes.from_dense(rng.random((9000, 12)) < 0.2 ** rng.random((9000, 1)))
    queries = Codes.from_dense(rng.random((2500, 12)) < 0.3)
    with using(instruction_set):
        index = HammingIndex(items[n_added:], np.arange(n_added, len(items)))
        if n_added:
            index.add(items[:n_added], np.arange(n_added))
        found = index.search_radius(queries, 3, n_threads=n_threads)
    assert found.ids.nbytes > 2**24
    expected = reference.search_radius(items, queries, 3)
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    np.testing.assert_array_equal(found.distances, expected.distances)
    row_of = np.repeat(np.arange(len(found)), found.counts)
    order = np.lexsort((found.ids, found.distances, row_of))
    np.testing.assert_array_equal(found.ids[order], expected.ids)


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
def test_long_runs_of_listed_codes_equal_the_reference(instruction_set):
    # Codes one bit away from a heavy one stand side by side: 300 of them, some of them heavy too.
    rng = np.random.default_rng(6)
    ones = np.eye(300, dtype=np.int8)
    twos = np.clip(ones + np.roll(ones, 1, axis=1), 0, 1)
    items = np.concatenate(
        [np.zeros((900, 300)), ones, ones, ones[rng.integers(0, 300, 900)], twos]
    )
    codes, ids = Codes.from_dense(items), rng.permutation(5 * len(items))[: len(items)]
    queries = Codes.from_dense(np.concatenate([np.zeros((1, 300)), ones[::50]]))
    with using(instruction_set):
        index = HammingIndex(codes, ids, memory="fast")
        assert "7 times by the listed neighbours" in index.explain(queries, radius=2)
        left = np.ones(len(codes), bool)
        for _ in range(2):
            for radius in range(4):
                expected = reference.search_radius(codes[left], queries, radius, ids=ids[left])
                assert_equal(index.search_radius(queries, radius, sort=True), expected)
                counts = index.count_radius(queries, radius)
                np.testing.assert_array_equal(counts.sum(axis=1), expected.counts)
            for k in (1, 1000, 2500):
                expected = reference.search_top_k(codes[left], queries, k, ids=ids[left])
                assert_equal(index.search_top_k(queries, k), expected)
            left[rng.choice(len(codes), 300, replace=False)] = False
            index.remove(np.setdiff1d(index.ids, ids[left]))


def test_a_radius_beyond_every_distance_is_none_too_large_for_the_core():
    codes = Codes.from_dense([[0, 0, 1], [1, 1, 0], [0, 1, 1]])
    segment = _native.Segment(*built(codes, np.arange(3)))
    found = _native.Searcher([segment]).radius(
        codes.words, radius=2**32 - 1, sort=True, n_threads=1
    )
    offsets, _, distances, _ = _native.answer_arrays(found)
    assert offsets.tolist() == [0, 3, 6, 9]
    assert distances.tolist() == [0, 1, 3, 0, 2, 3, 0, 1, 2]


# Strings as ids

NAMED_CHANGES = st.lists(
    st.tuples(st.sampled_from(["add", "remove", "update"]), st.integers(1, 12)), max_size=12
)


@given(
    NAMED_CHANGES,
    st.integers(0, 2**32 - 1),
    st.sampled_from(["lean", "fast"]),
    st.sampled_from([0, 3, 20]),
)
@settings(deadline=None)
def test_strings_answer_as_the_oracle_in_the_order_of_adding(changes, seed, memory, n_rank_bits):
    """A dict has the rule: an id that is replaced keeps its place, one that comes back is last."""
    rng = np.random.default_rng(seed)
    dense = random_dense(rng, 40, 12, 3, signed=False)
    codes = Codes.from_dense(dense, rank=random_ranks(rng, 40, n_rank_bits))
    pool = [f"{i % 7}é{i}" for i in rng.permutation(60)]
    stored = dict(zip(pool[:15], rng.integers(0, 40, 15).tolist(), strict=True))
    index = HammingIndex(codes[list(stored.values())], list(stored), memory=memory)
    for change, n in changes:
        known = [name for name in pool if (name in stored) == (change != "add")]
        some = rng.permutation(known)[:n].tolist()
        rows = rng.integers(0, 40, len(some)).tolist()
        if change == "remove":
            index.remove(some)
            for name in some:
                del stored[name]
        else:
            getattr(index, change)(codes[rows], some)
            stored |= dict(zip(some, rows, strict=True))
        assert index.ids.tolist() == list(stored)
    items, names = codes[list(stored.values())], np.array(list(stored), object)
    for same in (index, pickle.loads(pickle.dumps(index))):  # noqa: S301 - our own
        for order in ("nested", "total"):
            for k in (1, 4, 100):
                expected = reference.search_top_k(items, codes, k, ids=names, order=order)
                assert_equal(same.search_top_k(codes, k, order=order), expected)
            expected = reference.search_radius(items, codes, 3, ids=names, order=order)
            assert_equal(same.search_radius(codes, 3, sort=True, order=order), expected)
    assert index.codes(names) == items
    allowed = names[::2]
    expected = reference.search_top_k(items[::2], codes, 5, ids=allowed)
    assert_equal(index.search_top_k(codes, 5, allowed=allowed), expected)
