"""The same answers as FAISS and scikit-learn: code that nobody here wrote."""

import faiss
import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from kinhash.codes import Codes
from kinhash.index.hamming import HammingIndex

SETS = [
    (n_bits, signed, shape)
    for n_bits in (64, 100)
    for signed in (False, True)
    for shape in ("clustered", "sparse", "dense")
]


@pytest.fixture(params=SETS, ids=lambda p: f"{p[0]}-{'signed' if p[1] else 'unsigned'}-{p[2]}")
def drawn(request):
    """Return 900 items and 40 queries near them."""
    n_bits, signed, shape = request.param
    rng = np.random.default_rng(n_bits)
    share = 0.5 if shape == "dense" else min(0.5, 6 / n_bits)
    values = np.where(rng.random((900, n_bits)) < share, 1, 0)
    if signed:
        values *= rng.choice([-1, 1], values.shape)
    if shape == "clustered":
        values = values[rng.integers(0, 30, 900)]
    noise = rng.random(values.shape) < 1 / n_bits
    values = np.where(noise, 1 - np.abs(values), values)
    queries = values[rng.integers(0, 900, 40)]
    queries = np.where(rng.random(queries.shape) < 1 / n_bits, 1 - np.abs(queries), queries)
    return Codes.from_dense(values, signed=signed), Codes.from_dense(queries, signed=signed)


@pytest.fixture(params=["lean", "balanced", "fast"])
def index(request, drawn):
    """Return an index of all items, a part of which came later than some that have gone."""
    items, _ = drawn
    index = HammingIndex(items[:700], memory=request.param)
    index.add(Codes.concatenate([items[700:], items[:50]]), np.arange(700, 950))
    index.remove(np.arange(900, 950))
    return index


def by_id(ids, distances):
    order = np.argsort(ids)
    return ids[order].tolist(), distances[order].astype(int).tolist()


def flat(items):
    peer = faiss.IndexBinaryFlat(8 * items.to_bytes().shape[1])
    peer.add(items.to_bytes())
    return peer


def test_radius_search_equals_faiss(drawn, index):
    items, queries = drawn
    peer = flat(items)
    for radius in (0, 1, 2, 3, 5, 9, 64):
        # FAISS keeps what is nearer than the radius, not what is as near.
        limits, distances, ids = peer.range_search(queries.to_bytes(), radius + 1)
        found = index.search_radius(queries, radius)
        np.testing.assert_array_equal(found.offsets, limits.astype(np.int64))
        for i, row in enumerate(found):
            span = slice(int(limits[i]), int(limits[i + 1]))
            assert by_id(*row) == by_id(ids[span], distances[span])
        np.testing.assert_array_equal(index.count_radius(queries, radius).sum(axis=1), found.counts)


def test_top_k_has_the_distances_of_faiss(drawn, index):
    """At equal distance FAISS promises no order of ids, so only nearer ids must be the same."""
    items, queries = drawn
    peer = flat(items)
    for k in (1, 10, 900):
        distances, ids = peer.search(queries.to_bytes(), k)
        found = index.search_top_k(queries, k)
        np.testing.assert_array_equal(found.distances.reshape(-1, k), distances)
        for i, (row_ids, row) in enumerate(found):
            nearer = row < row[-1] if k < len(items) else slice(None)
            assert set(row_ids[nearer].tolist()) == set(ids[i][nearer].tolist())


def neighbours(items):
    """Return scikit-learn's search, and what makes its distances bits.

    Hamming distance is a share of entries there, and knows no sign; the l1 distance does.
    """
    if items.signed:
        return NearestNeighbors(metric="manhattan", algorithm="brute"), 1
    return NearestNeighbors(metric="hamming", algorithm="brute"), items.n_bits


def test_searches_equal_scikit_learn(drawn, index):
    items, queries = drawn
    peer, unit = neighbours(items)
    peer.fit(items.to_dense().astype(float))
    dense = queries.to_dense().astype(float)
    for radius in (0, 2, 7):
        distances, ids = peer.radius_neighbors(dense, radius=(radius + 0.5) / unit)
        for i, row in enumerate(index.search_radius(queries, radius)):
            assert by_id(*row) == by_id(ids[i], np.rint(distances[i] * unit))
    for k in (1, 25):
        distances, _ = peer.kneighbors(dense, n_neighbors=k)
        found = index.search_top_k(queries, k)
        np.testing.assert_array_equal(found.distances.reshape(-1, k), np.rint(distances * unit))
