"""How fast are candidates put in order by their vectors? Against NumPy on the same rows.

    python benchmarks/bench_rerank.py [--items N] [--candidates N] [--runs N] [--json FILE]

A memory-mapped file of unit vectors (1,000,000 x 384 float16 unless said otherwise), candidates at
random rows of it, one thread. NumPy gathers the rows, converts them to float32 (a product of
float16 would take many times longer), multiplies them by the query and takes the best 10 by
argpartition, query by query; "cosine" divides by their lengths, too. Both sides see new rows each
time, and every page of the file is mapped before. Answers are compared first.

The ratio is that of the medians of alternating runs, in processor time, which other programs
disturb least: only the ratio means anything.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from kinhash import Matches, _native, rerank

N_FEATURES, N_QUERIES, K = 384, 100, 10
BLOCK = 20_000  # rows that are written at once


def written(path, n, dtype, rng):
    """Return a mapped file of n random unit vectors; int8 ones are those times 127 / 0.25."""
    mapped = np.lib.format.open_memmap(path, "w+", dtype, (n, N_FEATURES))
    for start in range(0, n, BLOCK):
        rows = rng.standard_normal((min(BLOCK, n - start), N_FEATURES), np.float32)
        rows /= np.linalg.norm(rows, axis=1)[:, None]
        if dtype == np.int8:
            rows = np.clip(np.rint(rows * 508), -127, 127)
        mapped[start : start + BLOCK] = rows
    mapped.flush()
    del mapped
    vectors = np.load(path, mmap_mode="r")
    for start in range(0, n, BLOCK):  # so that no page is mapped for the first time under the clock
        vectors[start : start + BLOCK].max()
    return vectors


def by_numpy(matches, queries, vectors, metric):
    """Return the ids and similarities of the best, by gathering and multiplying."""
    ids, similarities = np.empty((len(queries), K), int), np.empty((len(queries), K), np.float32)
    offsets = matches.offsets
    for q, query in enumerate(queries):
        rows = matches.ids[offsets[q] : offsets[q + 1]]
        gathered = vectors[rows].astype(np.float32)
        found = gathered @ query
        if metric == "cosine":
            found /= np.sqrt(np.einsum("ij,ij->i", gathered, gathered))
        best = np.argpartition(-found, K)[:K]
        best = best[np.argsort(-found[best])]
        ids[q], similarities[q] = rows[best], found[best]
    return ids, similarities


def candidates(n, n_candidates, rng):
    """Return matches at random rows, as a search gives them: each once, in no order of rows."""
    rows = [rng.permutation(np.unique(rng.integers(0, n, n_candidates))) for _ in range(N_QUERIES)]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return Matches(offsets, np.concatenate(rows), np.zeros(offsets[-1], np.int32))


def seconds(work, *arguments, **options):
    """Return the processor time of a call."""
    start = time.process_time()
    work(*arguments, **options)
    return time.process_time() - start


def measured(vectors, metric, n_candidates, runs, rng):
    """Return the median microseconds per query of NumPy and of kinhash."""
    queries = rng.standard_normal((N_QUERIES, N_FEATURES), np.float32)
    queries /= np.linalg.norm(queries, axis=1)[:, None]
    matches = candidates(len(vectors), n_candidates, rng)
    ids, similarities = by_numpy(matches, queries, vectors, metric)
    ours = rerank(matches, queries, vectors, metric=metric, k=K, n_threads=1)
    np.testing.assert_allclose(ours.similarities, similarities.ravel(), rtol=1e-4, atol=1e-5)
    assert np.mean(ours.ids == ids.ravel()) > 0.99, "answers differ"
    times = [], []
    for _ in range(runs):
        for side, call in enumerate((by_numpy, rerank)):
            matches = candidates(len(vectors), n_candidates, rng)
            options = {} if side == 0 else {"k": K, "n_threads": 1}
            times[side].append(seconds(call, matches, queries, vectors, metric=metric, **options))
    return [1e6 * statistics.median(side) / N_QUERIES for side in times]


def main():
    """Print a line per type and metric."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--candidates", type=int, default=500)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", type=Path, help="write the numbers there, too")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    shape = f"{options.items:,} x {N_FEATURES}"
    print(f"{options.candidates} of {shape}, {_native.instruction_set()}, one thread; us per query")
    print("vectors  metric    NumPy  kinhash  ratio")
    records = []
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        for dtype in (np.float16, np.float32, np.int8):
            path = Path(folder, "vectors.npy")
            vectors = written(path, options.items, dtype, rng)
            for metric in ("dot", "cosine"):
                bare, ours = measured(vectors, metric, options.candidates, options.runs, rng)
                name = np.dtype(dtype).name
                print(f"{name:8} {metric:7} {bare:7.0f}  {ours:7.0f}  {bare / ours:5.1f}")
                records.append({"vectors": name, "metric": metric, "numpy": bare, "kinhash": ours})
            del vectors
            path.unlink()
    if options.json:
        facts = {"items": options.items, "candidates": options.candidates, "runs": options.runs}
        lines = {"isa": _native.instruction_set(), **facts, "records": records}
        options.json.write_text(json.dumps(lines, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
