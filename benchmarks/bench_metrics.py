"""How fast are the measures? Against a NumPy distance matrix with argsort.

    python benchmarks/bench_metrics.py

The paper's protocol in size: 1,000 queries, 59,000 items, 64 bits, ten classes; codes that cluster
and codes that do not. Ours computes all measures of `evaluate_codes`; NumPy computes the distances,
sorts them, and takes mAP, precision at k, and precision and recall at two radii from the ranking.
Runs alternate, and only the ratio of the medians means anything. Measures without ties in them are
checked to be equal first; mAP of a sorted order must lie between the best and the worst.
"""

import statistics
import time

import numpy as np

from kinhash import Codes
from kinhash.metrics import average_precision_of_ranking, evaluate_codes

N_ITEMS, N_QUERIES, N_CLASSES, ROUNDS = 59_000, 1_000, 10, 3
RADII, AT = (0, 2), (10, 5000)


def by_numpy(queries, query_labels, items, labels):
    """Return the measures from a ranking of everything, in batches that fit into memory."""
    found = {}
    for start in range(0, len(queries), 100):
        rows = slice(start, start + 100)
        distances = np.bitwise_count(queries.words[rows, None, 0] ^ items.words[None, :, 0])
        order = np.argsort(distances, axis=1)
        ranked = labels[order] == query_labels[rows, None]
        found.setdefault("map", []).append(average_precision_of_ranking(ranked))
        for k in AT:
            found.setdefault(f"map@{k}", []).append(average_precision_of_ranking(ranked, at=k))
            found.setdefault(f"mp@{k}", []).append(ranked[:, :k].mean(axis=1))
        relevant = labels == query_labels[rows, None]
        for radius in RADII:
            near = distances <= radius
            n_near, n_hits = near.sum(axis=1), (near & relevant).sum(axis=1)
            precision = np.where(n_near, n_hits / np.maximum(n_near, 1), 0)
            found.setdefault(f"precision@r{radius}", []).append(precision)
            found.setdefault(f"recall@r{radius}", []).append(n_hits / relevant.sum(axis=1))
    return {name: float(np.concatenate(parts).mean()) for name, parts in found.items()}


def codes(rng, kind):
    """Return the codes of items and queries, and their classes."""
    labels = rng.integers(0, N_CLASSES, N_ITEMS + N_QUERIES)
    if kind == "dense":
        words = rng.integers(0, 1 << 64, len(labels), dtype=np.uint64)
    else:
        centres = (rng.random((300, 64)) < 0.08) @ (np.uint64(1) << np.arange(64, dtype=np.uint64))
        words = centres[30 * labels + rng.integers(0, 30, len(labels))]
        for _ in range(2):
            words = words ^ (np.uint64(1) << rng.integers(0, 64, len(labels), dtype=np.uint64))
    made = Codes(words[:, None], 64)
    return made[N_ITEMS:], labels[N_ITEMS:], made[:N_ITEMS], labels[:N_ITEMS]


def main():
    """Compare, and print one line per kind of code."""
    for kind in ("sparse", "dense"):
        problem = codes(np.random.default_rng(0), kind)
        ours, numpy = evaluate_codes(*problem, radii=RADII, at=AT), by_numpy(*problem)
        for name in (name for name in numpy if "@r" in name):
            assert np.isclose(ours[name], numpy[name]), name
        assert ours["map_worst"] <= numpy["map"] <= ours["map_best"]
        times = {evaluate_codes: [], by_numpy: []}
        for _ in range(ROUNDS):
            for call, seconds in times.items():
                start = time.perf_counter()
                call(*problem)
                seconds.append(time.perf_counter() - start)
        mine, theirs = (statistics.median(seconds) for seconds in times.values())
        print(
            f"{kind:6}  ours {mine:.3f} s, NumPy {theirs:.2f} s: {theirs / mine:.1f} times as fast"
        )


if __name__ == "__main__":
    main()
