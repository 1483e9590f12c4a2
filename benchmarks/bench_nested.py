"""How fast is the order of rank bits? Nested codes of 32 + 32 bits, against FAISS and NumPy.

    python benchmarks/bench_nested.py [--only real,clustered1m]     # results/nested.jsonl
    python benchmarks/render.py                                     # writes the table

Every answer of a peer is compared with ours before it is timed; then its runs and ours alternate,
64 queries in a call for each thread, and the fastest of each counts. A slow peer gets fewer
queries, and ours is timed with the same ones. Peers:

- *unique*: FAISS over the different buckets finds those that hold the k nearest, NumPy gathers
  their items, compares rank bits and selects: the same answers as ours, id by id.
- *flat*: IndexBinaryFlat over all 64 bits. Its order is another one, that of the sum of both
  distances, but it is what a user has today; with `order="total"` ours has that order, too.
- *radius*: ours without `sort`, against an index of the same buckets without rank bits.
- *bytes*: a lean index, less the one of the same buckets without rank bits.
"""

import argparse
import datetime as dt
import functools
import tempfile
from pathlib import Path

import faiss
import index_record
import index_sets
import numpy as np
from bench_index import machine
from index_measure import AT_ONCE, N_CORES, Turns, apart, batches, clock, progress

from kinhash import Codes, HammingIndex

RESULTS = Path(__file__).parent / "results"
SETS = ("real", "real-classes", "clustered1m", "clustered10m")
N_BITS = 32  # of the bucket, and of the rank bits
N_QUERIES = 1000
RADII = (0, 1, 2)
TOP = (10, 100)
VISITS, RUNS = 8, 2
BUDGET = 0.5  # seconds for all queries of a slow peer
GOALS = {  # must and aim, by the kind of set
    "unique": {"real": (10, 25), "clustered": (10, 50)},
    "flat": {"real": (50, 150), "clustered": (100, 500)},
    "total": {"real": (1.5, 4), "clustered": (1.5, 4)},
    "radius": {"real": (1.1, 1.0), "clustered": (1.1, 1.0)},
    "bytes": {"clustered": (4.2, 4.0)},
}
LESS_IS_BETTER = ("radius", "bytes")


# The codes


def drawn(name):
    """Return items and queries of a set, and a sentence on where they come from."""
    if name.startswith("real"):
        return _real(name)
    n = index_sets.SIZES[name.removeprefix("clustered")]
    rng = np.random.default_rng(n)
    buckets = np.empty(n, np.uint64)
    about, rows, centres = index_sets.clustered(rng, buckets, N_BITS)
    # Rank bits follow the centre, each flipped with probability 1/4.
    of_centre = rng.integers(0, 1 << N_BITS, centres, np.uint64)
    flips = rng.integers(0, 1 << N_BITS, (2, n), np.uint64)
    rank = of_centre[rows] ^ (flips[0] & flips[1])
    items = _codes(buckets, rank)
    asked = rng.integers(0, n, N_QUERIES)
    bucket, rank = buckets[asked], rank[asked]
    changed = np.flatnonzero(rng.random(N_QUERIES) < index_sets.ONE_MORE_FLIP)
    bucket[changed] ^= index_sets.single_bits(rng, len(changed), N_BITS)
    rank ^= index_sets.single_bits(rng, N_QUERIES, N_BITS)
    return (
        items,
        _codes(bucket, rank),
        f"{about}; rank bits are those of the centre, a quarter flipped",
    )


def _real(name):
    from kinhash import SparseHash  # noqa: PLC0415 - only here is torch needed
    from kinhash.datasets import load  # noqa: PLC0415
    from kinhash.methods import ClassCode, Nested, NNHash  # noqa: PLC0415

    data = load("cifar10", features="gist")
    part = data.split(seed=0)
    bucket = ClassCode(levels=3) if name == "real-classes" else SparseHash(recipe="paper", margin=7)
    model = Nested(bucket, NNHash(), n_bits=2 * N_BITS, n_rank_bits=N_BITS)
    codes = model.fit(data.vectors[part.train], data.labels[part.train]).encode(data.vectors)
    about = (
        f"CIFAR-10 GIST, Nested({bucket}, NNHash()) trained on 2,000 labels; the 59,000 database "
        "items of split(seed=0), its 1,000 query items"
    )
    return codes[part.database], codes[part.query], about


def _codes(bucket, rank):
    words = np.stack([bucket, rank], axis=1).view(np.uint8).reshape(len(bucket), 16)
    return Codes.from_bytes(words[:, [0, 1, 2, 3, 8, 9, 10, 11]], 2 * N_BITS, n_rank_bits=N_BITS)


def stored(name, path):
    """Draw a set into a file."""
    items, queries, about = drawn(name)
    np.savez(path, items=items.to_bytes(), queries=queries.to_bytes(), about=about)


def loaded(path):
    """Return the items, the queries and the sentence of a file."""
    with np.load(path) as file:
        items, queries = (
            Codes.from_bytes(file[part], 2 * N_BITS, n_rank_bits=N_BITS)
            for part in ("items", "queries")
        )
        return items, queries, str(file["about"])


# The peers


class Unique:
    """FAISS over the different buckets, and NumPy to order their items by rank distance."""

    def __init__(self, items):
        data = items.to_bytes()
        bucket = data[:, :4].copy().view(np.uint32)[:, 0]
        unique, inverse, self.sizes = np.unique(bucket, return_inverse=True, return_counts=True)
        self.order = np.argsort(inverse, kind="stable")
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.rank = data[:, 4:].copy().view(np.uint32)[:, 0][self.order]
        self.index = faiss.IndexBinaryFlat(N_BITS)
        self.index.use_heap = False
        self.index.add(unique[:, None].view(np.uint8))
        self.name = "unique buckets + NumPy"

    def top_k(self, queries, k):
        """Return (ids, distances, rank distances), each `(n_queries, k)`."""
        buckets = np.ascontiguousarray(queries[:, :4])
        ranks = np.ascontiguousarray(queries[:, 4:]).view(np.uint32)[:, 0]
        distances, codes = self.index.search(buckets, min(k, len(self.sizes)))
        enough = (np.cumsum(self.sizes[codes], axis=1) >= k).argmax(axis=1)
        radii = distances[np.arange(len(queries)), enough]
        found = np.empty((3, len(queries), k), np.int64)
        # More buckets than were returned may lie at the last distance: they are all needed.
        for radius in np.unique(radii):
            rows = np.flatnonzero(radii == radius)
            lims, near, codes = self.index.range_search(buckets[rows], int(radius) + 1)
            lims = lims.astype(np.int64)
            for row, start, end in zip(rows, lims[:-1], lims[1:], strict=True):
                found[:, row] = self._selected(codes[start:end], near[start:end], ranks[row], k)
        return found

    def _selected(self, codes, distances, rank, k):
        sizes = self.sizes[codes]
        ends = np.cumsum(sizes)
        at = np.repeat(self.starts[codes] - (ends - sizes), sizes) + np.arange(ends[-1])
        far = np.bitwise_count(self.rank[at] ^ rank).astype(np.int64)
        keys = (np.repeat(distances.astype(np.int64), sizes) << 6 | far) << 40 | self.order[at]
        keys = np.sort(np.partition(keys, k - 1)[:k])
        return keys & ((1 << 40) - 1), keys >> 46, keys >> 40 & 63


class Flat:
    """IndexBinaryFlat over all bits."""

    def __init__(self, items, *, use_heap):
        self.name = f"Flat{'' if use_heap else ', no heap'}"
        self.index = faiss.IndexBinaryFlat(2 * N_BITS)
        self.index.use_heap = use_heap
        self.index.add(items.to_bytes())

    def top_k(self, queries, k):
        """Return distances and ids."""
        return self.index.search(queries, k)


PEERS = {
    "unique": [Unique],
    "flat": [functools.partial(Flat, use_heap=heap) for heap in (True, False)],
}


# Measuring


def ours(index, parts, task, value, n_threads):
    """Return a call that answers all parts, each answer in the memory of the one before."""
    last = [None]

    def call():
        for part in parts:
            if task == "radius":
                last[0] = index.search_radius(part, value, n_threads=n_threads, out=last[0])
            else:
                last[0] = index.search_top_k(
                    part, value, order=task, n_threads=n_threads, out=last[0]
                )
            _ = last[0].ids, last[0].distances

    return call


def against(path, kind, number):
    """Return rows of ours beside one peer, which has this process to itself."""
    items, queries, _ = loaded(path)
    index, peer = HammingIndex(items), PEERS[kind][number](items)
    data, cells = queries.to_bytes(), []
    orders = ("nested",) if kind == "unique" else ("nested", "total")
    for k in TOP:
        for n_threads in sorted({1, N_CORES}):
            faiss.omp_set_num_threads(n_threads)
            each = clock(lambda k=k: peer.top_k(data[:4], k)) / 4
            n = int(np.clip(BUDGET / each, AT_ONCE * n_threads, len(data)))
            rows = np.linspace(0, len(data) - 1, n).astype(int)
            parts = batches(rows, AT_ONCE * n_threads)
            asked = [np.ascontiguousarray(data[part]) for part in parts]
            own = [queries[part] for part in parts]
            for part, theirs in zip(own, asked, strict=True):
                _check(index, part, peer.top_k(theirs, k), kind, k)

            def theirs(asked=asked, k=k):
                for part in asked:
                    peer.top_k(part, k)

            calls = [theirs, *(ours(index, own, order, k, n_threads) for order in orders)]
            cells.append(((kind, k, n_threads), orders, n, Turns(calls)))
    _visited(cells, lambda key: faiss.omp_set_num_threads(key[2]))
    rows = []
    for (_, k, n_threads), orders, n, turns in cells:
        for order, seconds in zip(orders, turns.seconds[1:], strict=True):
            row = "total" if order == "total" else kind
            rows.append(_row((row, k, n_threads), seconds / n, turns.seconds[0] / n, peer.name))
    return rows


def _check(index, queries, answer, kind, k):
    if kind == "unique":
        found = index.search_top_k(queries, k)
        for mine, theirs in zip(
            (found.ids, found.distances, found.rank_distances), answer, strict=True
        ):
            assert np.array_equal(mine.reshape(-1, k), theirs), "unique buckets differ from ours"
        return
    found = index.search_top_k(queries, k, order="total")
    both = (found.distances + found.rank_distances).reshape(-1, k)
    assert np.array_equal(both, answer[0]), "sums of distances differ from ours"


def beside_flat_index(path):
    """Return rows of searches by radius and of sizes, beside an index without rank bits."""
    items, queries, _ = loaded(path)
    with_rank, without = HammingIndex(items), HammingIndex(items.without_rank())
    bare, cells = queries.without_rank(), []
    for radius in RADII:
        for n_threads in sorted({1, N_CORES}):
            size = AT_ONCE * n_threads
            calls = [
                ours(without, batches(bare, size), "radius", radius, n_threads),
                ours(with_rank, batches(queries, size), "radius", radius, n_threads),
            ]
            mine, plain = (
                with_rank.search_radius(queries, radius),
                without.search_radius(bare, radius),
            )
            assert mine.rank_distances is None, "rank words were touched without sort"
            assert np.array_equal(mine.ids, plain.ids), "the index without rank bits differs"
            cells.append((radius, n_threads, Turns(calls)))
    _visited(cells)
    n = len(queries)
    rows = []
    for radius, n_threads, turns in cells:
        plain, mine = (seconds / n for seconds in turns.seconds)
        row = _row(("radius", radius, n_threads), mine, plain, "the index without rank bits")
        rows.append(row | {"ratio": mine / plain})
    lean = [
        HammingIndex(c, memory="lean").n_bytes / len(items) for c in (items, items.without_rank())
    ]
    return [*rows, _row(("bytes", None, 1), 0, 0, None) | {"ratio": lean[0] - lean[1]}]


def _visited(cells, prepare=lambda _: None):
    for _ in range(VISITS):
        for cell in cells:
            prepare(cell[0])
            cell[-1].take(RUNS)


def _row(cell, mine, theirs, peer):
    kind, value, n_threads = cell
    return {
        "kind": kind,
        "value": value,
        "n_threads": n_threads,
        "ours": 1e6 * mine,
        "theirs": 1e6 * theirs,
        "ratio": theirs / mine if mine else None,
        "peer": peer,
    }


def best(rows):
    """Return for each cell the row of the fastest peer."""
    found = {}
    for row in rows:
        key = row["kind"], row["value"], row["n_threads"]
        if key not in found or row["theirs"] < found[key]["theirs"]:
            found[key] = row
    return list(found.values())


def judged(name, row):
    """Return a row with its goals, and whether it reaches what it must."""
    must, aim = GOALS[row["kind"]].get(
        "real" if name.startswith("real") else "clustered", (None, None)
    )
    reached = None
    if must is not None:
        ratio = round(row["ratio"], 2)
        reached = ratio <= must if row["kind"] in LESS_IS_BETTER else ratio >= must
    return row | {"must": must, "aim": aim, "reached": reached}


def measured(name):
    """Return the lines of the record about one set."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "codes.npz")
        progress(f"{name}: drawing codes")
        apart(stored, name, path)
        rows = []
        for kind, peers in PEERS.items():
            for number in range(len(peers)):
                progress(f"{name}: {kind}, peer {number + 1} of {len(peers)}")
                rows += apart(against, path, kind, number)
        progress(f"{name}: the index without rank bits")
        rows += apart(beside_flat_index, path)
        items, _, about = loaded(path)
        facts = {"about": about, "n_items": len(items), "n_unique": items.n_unique}
    options = argparse.Namespace(repeats=VISITS * RUNS, budget=BUDGET)
    facts["machine"] = machine(options) | {"date": dt.datetime.now(tz=dt.UTC).date().isoformat()}
    return [
        {"set": name, "of": "set", **facts},
        *({"set": name, "of": "ratio", **judged(name, row)} for row in best(rows)),
    ]


def main():
    """Measure, print, write the record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="sets, separated by commas")
    parser.add_argument("--out", type=Path, default=RESULTS / "nested.jsonl")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else SETS
    lines = []
    if options.only and options.out.exists():
        lines = index_record.read(options.out)
    for name in names:
        found = measured(name)
        lines = [*(line for line in lines if line["set"] != name), *found]
        index_record.write(options.out, lines)
        for row in found[1:]:
            print(
                f"{name:13} {row['kind']:7} {row['value']!s:>5} threads {row['n_threads']}: "
                f"{row['ours']:10.3f} us, {row['theirs']:10.3f} us, ratio {row['ratio']:8.3f}  "
                f"must {row['must']} aim {row['aim']} {row['reached']}  {row['peer']}",
                flush=True,
            )


if __name__ == "__main__":
    main()
