"""The exact alternatives that the index is measured against, all with one face.

A peer is built over items, then answers `range(queries, radius)` with `(lims, distances, ids)` or
`top_k(queries, k)` with `(distances, ids)`; an attribute `tasks` says which of the two it can do
exactly. Ids are 8 bytes and distances 4, as the library gives them: nothing is converted.
"""

import functools

import faiss
import numpy as np
import usearch.index

from kinhash import Codes

HASH_BITS = (16, 24, 32, 48, 64)
MULTI_HASH = ((2, 32), (4, 16))
TRAIN_POINTS = 64  # per IVF list
ROUNDED_RECALL = 0.9995
ROUNDED = "IVF, recall 0.9995"  # how the names of peers begin that are not quite exact
UNIQUE = "unique codes + NumPy: "  # how the names of peers over the different codes begin


def set_threads(n_threads):
    """Make FAISS use this many threads."""
    faiss.omp_set_num_threads(n_threads)


class Flat:
    """IndexBinaryFlat: compares everything."""

    tasks = ("range", "top_k")

    def __init__(self, items, *, use_heap=True):
        self.name = f"Flat{'' if use_heap else ', no heap'}"
        if not use_heap:
            self.tasks = ("top_k",)  # the heap makes no difference to a range search
        data = items.to_bytes()
        self.index = faiss.IndexBinaryFlat(8 * data.shape[1])
        self.index.use_heap = use_heap
        self.index.add(data)

    def range(self, queries, radius, _n_threads):
        """Return what lies within the radius; FAISS's own radius is exclusive."""
        return self.index.range_search(queries, radius + 1)

    def top_k(self, queries, k, _n_threads):
        """Return the k nearest."""
        return self.index.search(queries, k)


def filled_hash(data, b):
    """Return an IndexBinaryHash over bytes."""
    index = faiss.IndexBinaryHash(8 * data.shape[1], b)
    index.add(data)
    return index


class Hash:
    """IndexBinaryHash: a table of the first bits, probed with up to `radius` of them flipped.

    Exact with `nflip = radius`: a code within the radius differs in at most as many of the first
    bits.
    """

    tasks = ("range",)

    def __init__(self, items, b):
        self.name = f"Hash, b = {b}"
        self.index = filled_hash(items.to_bytes(), b)
        self.n_flips = None

    def range(self, queries, radius, _n_threads):
        """Return what lies within the radius."""
        if self.n_flips != radius:  # setting it takes as long as a tenth of a short search
            self.index.nflip = self.n_flips = radius
        return self.index.range_search(queries, radius + 1)


class MultiHash:
    """IndexBinaryMultiHash: a table per part, of which one differs in few bits."""

    tasks = ("range",)

    def __init__(self, items, n_hash, b):
        self.name = f"MultiHash, {n_hash} x {b} bits"
        data = items.to_bytes()
        # With fewer bits in the tables than in the codes, the rest only makes parts more alike.
        self.index = faiss.IndexBinaryMultiHash(8 * data.shape[1], n_hash, b)
        self.n_hash = n_hash
        self.index.add(data)

    def range(self, queries, radius, _n_threads):
        """Return what lies within the radius."""
        self.index.nflip = radius // self.n_hash
        return self.index.range_search(queries, radius + 1)


def recall(distances, exact):
    """Return which share of the right distances was found; which of tied items is no matter."""
    width = max(int(distances.max(where=distances < 1 << 30, initial=0)), int(exact.max())) + 2
    first = width * np.arange(len(exact))[:, None]
    counts = [
        np.bincount((first + np.minimum(d, width - 1)).ravel(), minlength=width * len(exact))
        for d in (distances, exact)
    ]
    return np.minimum(*counts).sum() / exact.size


class IVF:
    """IndexBinaryIVF: lists around k-means centres, of which the nearest are probed.

    Not exact by itself: `tune` raises the number of probed lists until the measured recall is
    `least`. 0.9995 rounds to 1.000: that is no exact peer but one that is faster than it would be.
    """

    tasks = ("top_k",)

    def __init__(self, index, least):
        self.index, self.least = index, least
        self.name = f"{ROUNDED if least < 1 else 'IVF, exact'}, {index.nlist} lists"
        self.n_probes = {}

    @staticmethod
    def trained(items, n_lists):
        """Return an index for several IVFs."""
        data = items.to_bytes()
        n_bits = 8 * data.shape[1]
        index = faiss.IndexBinaryIVF(faiss.IndexBinaryFlat(n_bits), n_bits, n_lists)
        index.cp.max_points_per_centroid = TRAIN_POINTS
        index.train(data)
        index.add(data)
        return index

    def use(self, setting):
        """Probe as many lists, with or without heap, as an earlier `tune` found best."""
        self.index.nprobe = setting["nprobe"]
        self._use_heap(setting["heap"])

    def _use_heap(self, heap):
        self.index.use_heap = heap
        # Without heap nothing is found if this is 0, which should mean all: FAISS issue 5555.
        self.index.max_codes = 0 if heap else self.index.ntotal

    def tune(self, queries, k, exact, clock):
        """Probe more lists until the recall is reached, then take the fastest way to do so.

        Args:
            queries: All queries.
            k: How many are sought.
            exact: The right distances, `(n_queries, k)`.
            clock: Returns the seconds of a call.

        Returns:
            What was chosen, for `use`.
        """
        index = self.index
        self._use_heap(heap=True)
        index.nprobe = self.n_probes.get(k, 1)
        for step in (50, 1):  # a few queries first: what is too little for them is for all
            asked, wanted = queries[::step], exact[::step]
            while recall(index.search(asked, k)[0], wanted) < self.least:
                assert index.nprobe < index.nlist, "IVF is wrong with all lists probed"
                index.nprobe = min(index.nlist, int(1.3 * index.nprobe) + 1)
        self.n_probes[k] = index.nprobe
        some = queries[::10]

        def seconds(heap):
            self._use_heap(heap)
            return clock(lambda: index.search(some, k))

        return {"nprobe": index.nprobe, "heap": min((False, True), key=seconds)}

    def top_k(self, queries, k, _n_threads):
        """Return the k nearest."""
        return self.index.search(queries, k)


class Buckets:
    """The different codes of some items, and the items of each."""

    def __init__(self, items):
        words = items.words
        if words.shape[1] == 1:
            words, inverse, sizes = np.unique(words, return_inverse=True, return_counts=True)
        else:
            words, inverse, sizes = np.unique(
                words, axis=0, return_inverse=True, return_counts=True
            )
        words = words.reshape(len(sizes), -1)
        self.codes = Codes(words, items.n_bits, signed=items.signed)
        self.order = np.argsort(inverse.ravel(), kind="stable")
        self.sizes, self.starts = sizes, np.cumsum(sizes) - sizes

    def items(self, codes, take):
        """Return the first `take` items of each of the codes, one after the other."""
        ends = np.cumsum(take)
        total = ends[-1] if len(ends) else 0
        return self.order[np.repeat(self.starts[codes] - (ends - take), take) + np.arange(total)]


class Unique:
    """FAISS over the different codes, and NumPy to turn codes into items."""

    def __init__(self, buckets, inner, **options):
        self.buckets = buckets
        self.inner = inner(buckets.codes, **options)
        self.tasks = self.inner.tasks
        self.name = f"{UNIQUE}{self.inner.name}"

    def range(self, queries, radius, n_threads):
        """Return what lies within the radius."""
        lims, distances, codes = self.inner.range(queries, radius, n_threads)
        take = self.buckets.sizes[codes]
        ends = np.concatenate([[0], np.cumsum(take)])
        items = self.buckets.items(codes, take)
        return ends[lims.astype(np.int64)], np.repeat(distances, take), items

    def top_k(self, queries, k, n_threads):
        """Return the k nearest: those of the k nearest codes, cut after the k-th item."""
        n_codes = min(k, len(self.buckets.sizes))
        distances, codes = self.inner.top_k(queries, n_codes, n_threads)
        sizes = self.buckets.sizes[codes]
        take = np.clip(k - (np.cumsum(sizes, axis=1) - sizes), 0, sizes).ravel()
        items = self.buckets.items(codes.ravel(), take)
        shape = (len(queries), k)
        return np.repeat(distances.ravel(), take).reshape(shape), items.reshape(shape)


class USearch:
    """usearch's exact search; it has none by radius."""

    tasks = ("top_k",)
    name = "usearch exact"

    def __init__(self, items):
        self.data = items.to_bytes()

    def top_k(self, queries, k, n_threads):
        """Return the k nearest."""
        found = usearch.index.search(
            self.data,
            queries,
            k,
            usearch.index.MetricKind.Hamming,
            exact=True,
            threads=n_threads,
            dtype=usearch.index.ScalarKind.B1,
        )
        return found.distances.reshape(-1, k), found.keys.reshape(-1, k)


class BitwiseCount:
    """NumPy's bitwise_count over all items, query by query; always one thread."""

    tasks = ("range", "top_k")
    name = "NumPy bitwise_count"

    def __init__(self, items):
        self.words = np.ascontiguousarray(items.words.T)  # a row per word: as fast as NumPy can

    def _distances(self, query):
        words = query.view(np.uint64)
        total = np.bitwise_count(self.words[0] ^ words[0])
        for mine, word in zip(self.words[1:], words[1:], strict=True):
            total = total + np.bitwise_count(mine ^ word)
        return total

    def range(self, queries, radius, _n_threads):
        """Return what lies within the radius."""
        ids, distances = [], []
        for query in queries:
            found = self._distances(query)
            near = np.flatnonzero(found <= radius)
            ids.append(near)
            distances.append(found[near].astype(np.int32))
        lims = np.cumsum([0, *map(len, ids)])
        return lims, np.concatenate(distances), np.concatenate(ids)

    def top_k(self, queries, k, _n_threads):
        """Return the k nearest."""
        ids = np.empty((len(queries), k), np.int64)
        distances = np.empty((len(queries), k), np.int32)
        for row, query in enumerate(queries):
            found = self._distances(query)
            near = np.argpartition(found, k - 1)[:k]
            ids[row] = near[np.argsort(found[near], kind="stable")]
            distances[row] = found[ids[row]]
        return distances, ids


def builders(items):
    """Return a function for each peer that builds it; IVF only where training takes seconds."""
    n = len(items)
    if items.words.shape[1] > 1:  # wide codes, hardly any of which are equal
        return [
            lambda: Flat(items),
            lambda: Flat(items, use_heap=False),
            lambda: USearch(items),
        ]
    buckets = functools.cache(lambda: Buckets(items))
    lists = [round(n**0.5), round(4 * n**0.5)] if n <= 1_000_000 else []
    return [
        lambda: Flat(items),
        lambda: Flat(items, use_heap=False),
        *[lambda b=b: Hash(items, b) for b in HASH_BITS],
        *[lambda n_hash=n_hash, b=b: MultiHash(items, n_hash, b) for n_hash, b in MULTI_HASH],
        *[
            lambda n_lists=n_lists: IVF(IVF.trained(items, n_lists), ROUNDED_RECALL)
            for n_lists in lists
        ],
        lambda: Unique(buckets(), Flat),
        lambda: Unique(buckets(), Flat, use_heap=False),
        *[lambda b=b: Unique(buckets(), Hash, b=b) for b in (24, 32, 64)],
        lambda: USearch(items),
        lambda: BitwiseCount(items),
    ]
