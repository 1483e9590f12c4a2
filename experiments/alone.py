"""Learning from vectors alone and from pairs alone: how well do codes keep what is near?

    python experiments/alone.py [--only corel5k-variants] [--seeds 5]

Vectors alone: of each query's 10 nearest database vectors by cosine, the share among the first 500
and the first 100 by code, with 64 bits stored; and what the bucket alone finds. The database of at
most 12,000 vectors is what methods learn from, 1,000 others are queries.

Pairs alone: altered copies of photographs, whose pairs are known for half of the sources. Pair F1
is of the other sources and all photographs but those learned from; the radius is chosen on the
known pairs. Ours chooses it on held-out ones among them, the rivals on all.

One record per row and seed goes to results/alone.jsonl; those present are not computed again.
"""

import argparse
import functools
import itertools
import json
import time
import warnings
from pathlib import Path

import numpy as np

from kinhash import Codes, Pairs
from kinhash.datasets import load
from kinhash.errors import ConstantColumnWarning
from kinhash.methods import ITQ, LSH, FlyHash, NNHash
from kinhash.methods.parts.landmarks import fit_vectors_alone, usual_bucket_bits
from kinhash.methods.parts.whitened_pairs import fit_pairs_alone
from kinhash.methods.standardisation import standardisation
from kinhash.metrics import evaluate_neighbours, evaluate_pairs, true_neighbours

RESULTS = Path(__file__).parent / "results" / "alone.jsonl"
N_DATABASE, N_QUERIES, N_BITS = 12_000, 1_000, 64
N_PAIR_BITS = 256


def main():
    """Compute the records that are missing, and print the means of all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", help="a data set")
    parser.add_argument("--seeds", type=int, default=5, help="how many (default: 5)")
    parser.add_argument("--skip", default="", help="a method whose rows are left out")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConstantColumnWarning)
    RESULTS.touch()
    records = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    for name in ("cifar10-deep", "cifar10", "titles", "digits", "corel5k-variants"):
        if options.only not in (None, name):
            continue
        data = load(name)
        rows = pair_rows if name == "corel5k-variants" else vector_rows
        for seed in range(options.seeds):
            done = {r["key"] for r in records if r["dataset"] == name}
            skipped = options.skip or None
            for record in rows(data, seed, functools.partial(left_out, done, skipped)):
                records.append({"dataset": name, "seed": seed} | record)
                with RESULTS.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(records[-1]) + "\n")
    show(records)


def left_out(done, skipped, key):
    """Return whether a record is there or not wanted."""
    return key in done or key.partition("-")[0] == skipped


def vector_rows(data, seed, is_done):
    """Yield records of codes of vectors alone."""
    X = np.asarray(data.vectors, np.float32)
    order = np.random.default_rng(seed).permutation(len(X))
    n_queries = min(N_QUERIES, len(X) // 6)
    queries, database = X[order[:n_queries]], X[order[n_queries:][:N_DATABASE]]
    # Not more than the columns that vary: ITQ has a direction for each bit.
    n_bits = min(N_BITS, 8 * (int(np.sum(database.std(axis=0) > 0)) // 8))

    def ours(n_bucket_bits):
        mean, scale, _ = standardisation(database)
        n_rank_bits = n_bits - n_bucket_bits
        return fit_vectors_alone(
            database, mean, scale, n_bits=n_bits, n_rank_bits=n_rank_bits, seed=seed
        )[0]

    rows = {
        "itq": lambda: ITQ(n_bits, seed=seed).fit(database),
        "lsh": lambda: LSH(n_bits, seed=seed).fit(database),
        "flyhash": lambda: FlyHash(n_bits, seed=seed).fit(database),
        "vectors-alone": lambda: ours(usual_bucket_bits(n_bits)),
        "vectors-alone, finer buckets": lambda: ours(2 * usual_bucket_bits(n_bits)),
    }
    neighbours = None
    for name, fit in rows.items():
        key = f"{name}-{n_bits}-seed{seed}"
        if is_done(key):
            continue
        if neighbours is None:
            neighbours = true_neighbours(queries, database, 10)
        start = time.perf_counter()
        encoder = fit()
        seconds = time.perf_counter() - start
        codes = encoder.encode(queries), encoder.encode(database)
        for order_ in ("total", "nested") if name.startswith("vectors-alone") else ("nested",):
            yield {
                "key": key,
                "protocol": "vectors",
                "settings": {"method": name, "n_bits": n_bits},
                "order": order_,
                "fit_seconds": seconds,
                "metrics": evaluate_neighbours(*codes, neighbours, order=order_),
            }


def pair_rows(data, seed, is_done):
    """Yield records of near-duplicates."""
    X, source = np.asarray(data.vectors, np.float32), np.asarray(data.labels)
    copied = np.random.default_rng(seed).permutation(np.flatnonzero(np.bincount(source) > 1))
    known, others = copied[: len(copied) // 2], copied[len(copied) // 2 :]
    train, test = (np.flatnonzero(~np.isin(source, away)) for away in (others, known))
    place = np.full(len(X), -1)
    place[train] = np.arange(len(train))
    listed = [
        pair for one in known for pair in itertools.combinations(np.flatnonzero(source == one), 2)
    ]
    pairs = Pairs(*place[np.array(listed)].T)

    def coded(encode, radius=None):
        found = pair_f1(encode(train), source[train])
        radius = int(found.argmax()) if radius is None else radius
        codes = encode(test)
        measured = evaluate_pairs(codes, source[test], radii=[radius])
        named = {key.partition("@")[0]: value for key, value in measured.items()}
        best = float(pair_f1(codes, source[test]).max())
        return named | {"radius": radius, "best_f1": best}

    def fitted(method, **supervision):
        method.fit(X[train], **supervision)
        return coded(lambda rows: method.encode(X[rows]))

    def ours():
        mean, scale, _ = standardisation(X[train])
        encoder, facts = fit_pairs_alone(
            X[train], pairs, mean, scale, n_bits=N_PAIR_BITS, seed=seed
        )
        return coded(lambda rows: encoder.encode(X[rows]), facts.radius) | facts.record()

    hashes = Codes.from_bytes(data.attributes["phash"])
    rows = {
        ("cosine", 0): lambda: by_cosine(X, source, train, test),
        ("phash", 64): lambda: coded(lambda rows: hashes[rows]),
        ("itq", N_PAIR_BITS): lambda: fitted(ITQ(N_PAIR_BITS, seed=seed)),
        ("lsh", N_PAIR_BITS): lambda: fitted(LSH(N_PAIR_BITS, seed=seed)),
        ("pairs-alone", N_PAIR_BITS): ours,
        ("nnhash", N_PAIR_BITS): lambda: fitted(NNHash(N_PAIR_BITS, seed=seed), pairs=pairs),
    }
    for (name, n_bits), measure in rows.items():
        key = f"{name}-{n_bits}-seed{seed}"
        if not is_done(key):
            start = time.perf_counter()
            metrics = measure()
            yield {
                "key": key,
                "protocol": "pairs",
                "settings": {"method": name, "n_bits": n_bits},
                "seconds": time.perf_counter() - start,
                "metrics": metrics,
            }


def pair_f1(codes, labels):
    """Return F1 of pairs at each radius."""
    radii = range(codes.n_bits // 2)
    found = evaluate_pairs(codes, labels, radii=radii)
    return np.array([found[f"pair_f1@r{radius}"] for radius in radii])


def by_cosine(X, source, train, test):
    """Return the same of the vectors themselves: the least cosine chosen on the training rows."""
    curves = []
    cuts = np.linspace(0, 1, 1001)
    for rows in (train, test):
        U = X[rows] / np.linalg.norm(X[rows], axis=1, keepdims=True)
        cosine, upper = U @ U.T, np.triu_indices(len(rows), 1)
        same = (source[rows][:, None] == source[rows])[upper]
        places = np.searchsorted(cuts, cosine[upper])
        near, hits = (
            np.bincount(part, minlength=len(cuts) + 1)[::-1].cumsum()[::-1]
            for part in (places, places[same])
        )
        curves.append(2 * hits / np.maximum(1, near + same.sum()))
    return {"pair_f1": float(curves[1][curves[0].argmax()]), "best_f1": float(curves[1].max())}


def show(records):
    """Print means and standard deviations over seeds, in percent."""
    groups = {}
    for record in records:
        name = record["dataset"], record["key"].rpartition("-")[0], record.get("order", "")
        groups.setdefault(name, []).append(record["metrics"])
    for name, measured in groups.items():
        print(*name, f"({len(measured)} seeds)", end=": ")
        for key in ("recall@500", "recall@100", "recall@r0", "recall@r2", "pair_f1", "best_f1"):
            values = [100 * one[key] for one in measured if key in one]
            if values:
                print(f"{key} {np.mean(values):.1f} +- {np.std(values):.1f}", end="  ")
        for key in ("mean_matches@r0", "mean_matches@r2", "unique_codes", "radius"):
            values = [one[key] for one in measured if key in one]
            if values:
                print(f"{key} {np.mean(values):,.0f}", end="  ")
        print()


if __name__ == "__main__":
    main()
