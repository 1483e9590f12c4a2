"""How well and how fast are near-duplicates found? Against FAISS, semhash, datasketch and LSH.

    python benchmarks/bench_dedup.py [--only vectors,million,texts,photos]  # results/dedup.jsonl
    python benchmarks/render.py                                             # writes the table

The peers are not among the dependencies: pip install faiss-cpu semhash datasketch.

- *vectors*: 200,000 clustered unit vectors of 384 dimensions, a tenth of them copies at cosines of
  0.85 to 1. The pairs to find are all those at 0.9 and above of a tenth of the rows, by FAISS's
  exact range search over the vectors. It searches for these in parts, with ours, of all rows,
  before and after each, on as many threads; a flat index compares each query with all rows, so its
  time for all rows is ten times that. Both are wall time. Memory is the largest that the process
  needed during our work, less what it had before.
- *million*: the same with 1,000,000 vectors. The pairs to find are the planted ones, and all those
  of 500 random rows.
- *texts*: 20,000 texts, a fifth of them edited copies. semhash is given the vectors that ours
  compares, at its default limit and at one chosen as ours is; datasketch hashes sets of words, with
  its defaults and with a limit chosen as ours is: the best on 5,000 other texts. Times are from the
  texts to the pairs, the fastest of runs in turns. F1 is of the pairs that a tool links; of the
  others, if that is better, of all pairs within their groups.
- *photos*: Corel-5k with altered copies, by deep features, confirmed by their cosine; by codes of
  LSH alone; and by perceptual hashes. Limits are the best on the photographs with even numbers and
  their copies, measured on the others, and the reverse.
"""

import argparse
import ctypes
import datetime as dt
import importlib.metadata
import json
import platform
import time
import warnings
from pathlib import Path

import dedup_sets
import numpy as np

from kinhash import Codes, HammingIndex, _native
from kinhash.arguments import default_threads
from kinhash.dedup import deduplicate
from kinhash.errors import LargeGroupWarning
from kinhash.features.text_ngrams import text_ngrams
from kinhash.methods import LSH

RESULT = Path(__file__).parent / "results" / "dedup.jsonl"
PARTS = ("vectors", "million", "texts", "photos")
LIMIT = 0.9
FAISS_PARTS, FAISS_SHARE = 5, 10  # one in so many rows is a query of FAISS
SAMPLE = 500
N_TEXTS, N_OTHER_TEXTS, TEXT_RUNS = 20_000, 5_000, 3
LIMITS = np.round(np.arange(0.3, 0.96, 0.025), 3)


def main():
    """Measure, and add to the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args()
    measures = {"vectors": vectors, "million": million, "texts": texts, "photos": photos}
    for name in options.only.split(","):
        line = {"of": name, **measures[name](), "machine": machine()}
        print(json.dumps(line), flush=True)
        before = []
        if options.out.exists():
            before = [json.loads(one) for one in options.out.read_text("utf-8").splitlines()]
        lines = [one for one in before if one["of"] != name] + [line]
        lines.sort(key=lambda one: PARTS.index(one["of"]))
        text = "".join(f"{json.dumps(one)}\n" for one in lines)
        options.out.write_text(text, "utf-8")


def machine():
    """Return what the times depend on besides the code."""
    packages = ("kinhash", "numpy", "faiss-cpu", "semhash", "datasketch")
    return {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "n_cores": default_threads(),
        "instruction_set": _native.instruction_set(),
        "python": platform.python_version(),
        "versions": {package: importlib.metadata.version(package) for package in packages},
    }


# Vectors


def vectors():
    """Return recall, times and memory on 200,000 vectors."""
    import faiss  # noqa: PLC0415 - only here

    n = 200_000
    X, _ = dedup_sets.vectors(n)
    found, first, n_bytes = _ours(X)
    times, theirs, faiss_seconds = [first], [], 0.0
    faiss.omp_set_num_threads(default_threads())
    index = faiss.IndexFlatIP(X.shape[1])
    index.add(X)
    asked = np.sort(np.random.default_rng(3).choice(n, n // FAISS_SHARE, replace=False))
    for rows in np.array_split(asked, FAISS_PARTS):
        start = time.perf_counter()
        lims, _, near = index.range_search(X[rows], LIMIT)
        faiss_seconds += FAISS_SHARE * (time.perf_counter() - start)
        left = np.repeat(rows, np.diff(lims.astype(np.int64)))
        other = left != near
        theirs.append(_keys(np.maximum(left, near)[other], np.minimum(left, near)[other], n))
        times.append(_ours(X)[1])
        print(f"FAISS {faiss_seconds:.1f} s, ours {times}", flush=True)
    return {
        **_recall(np.unique(np.concatenate(theirs)), found, X),
        "seconds": float(np.median(times)),
        "faiss_seconds": faiss_seconds,
        "ratio": faiss_seconds / float(np.median(times)),
        "bytes_per_item": n_bytes / n,
    }


def million():
    """Return recall, time and memory on a million vectors."""
    n = 1_000_000
    X, source = dedup_sets.vectors(n, seed=1)
    found, seconds, n_bytes = _ours(X)
    planted = dedup_sets.planted_pairs(X, source, LIMIT)
    measured = _recall(_keys(planted[:, 0], planted[:, 1], n), found, X)
    rows = np.random.default_rng(2).choice(n, SAMPLE, replace=False)
    near, asked = [], X[rows]
    for start in range(0, n, dedup_sets.BLOCK):
        i, j = np.nonzero(asked @ X[start : start + dedup_sets.BLOCK].T >= LIMIT)
        near.append(np.stack([rows[i], j + start]))
    left, right = np.concatenate(near, axis=1)
    other = left != right
    keys = _keys(np.maximum(left, right)[other], np.minimum(left, right)[other], n)
    sampled = _recall(np.unique(keys), found, X)
    return {
        **measured,
        "sampled_pairs": sampled["n_pairs"],
        "sampled_recall": sampled["recall"],
        "seconds": seconds,
        "bytes_per_item": n_bytes / n,
    }


def _ours(X):
    """Return the duplicates, the seconds, and the memory that was needed besides the vectors."""
    ctypes.CDLL(None).malloc_trim(0)  # what was free already does not count as what was there
    Path("/proc/self/clear_refs").write_text("5", "utf-8")
    before = _memory("VmRSS")
    start = time.perf_counter()
    found = deduplicate(X, similarity=LIMIT)
    return found, time.perf_counter() - start, _memory("VmHWM") - before


def _memory(kind):
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(kind))


def _keys(left, right, n):
    return left.astype(np.int64) * n + right


def _recall(true_keys, found, X):
    pairs = found.pairs
    keys = _keys(pairs.rows, pairs.others, len(X))
    cosines = np.einsum("ij,ij->i", X[pairs.rows], X[pairs.others], dtype=np.float64)
    told = found.recall
    return {
        "n_items": len(X),
        "n_pairs": len(true_keys),
        "recall": float(np.isin(true_keys, keys).mean()),
        # The cosines are computed in another precision here.
        "precision": float((cosines >= LIMIT - 1e-6).mean()),
        "told": {"share": told.share, "low": told.low, "high": told.high},
    }


# Texts


def texts():
    """Return the F1 and the time of each tool on edited texts."""
    other, other_source = dedup_sets.texts(N_OTHER_TEXTS, seed=1)
    chosen = {
        "kinhash": _best(LIMITS, lambda limit: _links_of_ours(other, limit), other_source),
        "semhash": _best(LIMITS, lambda limit: _links_of_semhash(other, limit), other_source),
        "datasketch": _best(LIMITS, lambda limit: _links_of_datasketch(other, limit), other_source),
    }
    print(chosen, flush=True)
    given, source = dedup_sets.texts(N_TEXTS)
    tools = {
        "kinhash": (_links_of_ours, chosen["kinhash"]),
        "semhash": (_links_of_semhash, LIMIT),
        "semhash, limit chosen": (_links_of_semhash, chosen["semhash"]),
        "datasketch": (_links_of_datasketch, LIMIT),
        "datasketch, limit chosen": (_links_of_datasketch, chosen["datasketch"]),
    }
    rows = {name: {"limit": limit, "seconds": []} for name, (_, limit) in tools.items()}
    for _ in range(TEXT_RUNS):
        for name, (links, limit) in tools.items():
            start = time.perf_counter()
            found = links(given, limit)
            rows[name]["seconds"].append(time.perf_counter() - start)
            rows[name] |= _scores(found, source, best=name != "kinhash")
        print(rows, flush=True)
    for row in rows.values():
        row["seconds"] = min(row["seconds"])
    return {"n_items": N_TEXTS, "tools": rows}


def _best(limits, links, source):
    scores = [_scores(links(limit), source, best=True)["f1"] for limit in limits]
    return float(limits[int(np.argmax(scores))])


def _links_of_ours(given, limit):
    found = deduplicate(given, similarity=limit)
    members = found.groups.similarity >= 1  # identical rows are in no pair
    same = np.stack([found.groups.id[members], found.groups.representative[members]], axis=1)
    pairs = np.stack([found.pairs.rows, found.pairs.others], axis=1)
    return np.concatenate([pairs, same[same[:, 0] != same[:, 1]]])


class Encoder:
    """Gives semhash the vectors that ours compares."""

    def encode(self, inputs, **_):
        """Return vectors of texts."""
        return text_ngrams(list(inputs)).astype(np.float32)


def _links_of_semhash(given, limit):
    from semhash import SemHash  # noqa: PLC0415 - only here

    records = [{"text": text, "row": row} for row, text in enumerate(given)]
    made = SemHash.from_records(records, columns=["text"], model=Encoder())
    found = made.self_deduplicate(threshold=limit)
    links = [(one.record["row"], one.duplicate_of["row"]) for one in found.filtered]
    return np.array(links, np.int64).reshape(-1, 2)


def _links_of_datasketch(given, limit):
    from datasketch import MinHash, MinHashLSH  # noqa: PLC0415 - only here

    index, hashes = MinHashLSH(threshold=limit), []
    for row, text in enumerate(given):
        made = MinHash()
        made.update_batch([word.encode() for word in set(text.lower().split())])
        hashes.append(made)
        index.insert(row, made)
    links = [(row, other) for row, made in enumerate(hashes) for other in index.query(made)]
    links = np.array(links, np.int64).reshape(-1, 2)
    return links[links[:, 0] > links[:, 1]]


def _scores(links, source, *, best):
    """Return precision, recall and F1 of the pairs linked; `best`: or of those within groups."""
    n = len(source)
    linked = (
        np.unique(_keys(links.max(axis=1), links.min(axis=1), n)) if len(links) else links[:, 0]
    )
    scored = [_score(linked, source)]
    if best and len(links):
        scored.append(_score(_closed(links, n), source))
    return max(scored, key=lambda one: one["f1"])


def _score(keys, source):
    n = len(source)
    _, sizes = np.unique(source, return_counts=True)
    n_true = int((sizes * (sizes - 1) // 2).sum())
    hits = int((source[keys // n] == source[keys % n]).sum())
    precision, recall = hits / max(1, len(keys)), hits / n_true
    f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def _closed(links, n):
    """Return the keys of all pairs within connected groups, unless these are hopelessly large."""
    import scipy.sparse  # noqa: PLC0415 - only here
    import scipy.sparse.csgraph  # noqa: PLC0415 - only here

    graph = scipy.sparse.coo_array((np.ones(len(links)), (links[:, 0], links[:, 1])), (n, n))
    _, group = scipy.sparse.csgraph.connected_components(graph, directed=False)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(group[order]) > 0])
    keys = [np.zeros(0, np.int64)]
    for rows in np.split(order, starts[1:]):
        if len(rows) > 2000:
            return keys[0]
        left, right = np.triu_indices(len(rows), 1)
        keys.append(_keys(rows[right], rows[left], n))
    return np.concatenate(keys)


# Photographs


def photos():
    """Return the F1 of cosines, LSH and perceptual hashes on altered photographs."""
    from kinhash.datasets import load  # noqa: PLC0415 - only here

    data = load("corel5k-variants")
    source = data.labels
    unit = dedup_sets.unit(data.vectors.astype(np.float32))
    halves = [np.flatnonzero(source % 2 == half) for half in (0, 1)]
    phash = data.attributes["phash"]
    # LSH learns nothing but a mean, of the half that the limit is chosen on.
    coded = [LSH(256).fit(unit[half]).encode(unit) for half in halves]
    hashed = Codes.from_bytes(phash, 64)
    ways = {  # nearness is minus a distance
        "cosine, confirmed": (lambda rows, least, _: _confirmed(unit[rows], least), _steps(0.7, 1)),
        "LSH, 256 bits": (
            lambda rows, least, side: _within(coded[side][rows], least),
            np.arange(-89, 1),
        ),
        "perceptual hash, 64 bits": (
            lambda rows, least, _: _within(hashed[rows], least),
            np.arange(-20, 1),
        ),
    }
    table = {}
    for name, (pairs, limits) in ways.items():
        scores, chosen = [], []
        for side in (0, 1):
            train, test = halves[side], halves[1 - side]
            keys, nearness = pairs(train, limits[0], side)
            f1 = [_score(keys[nearness >= one], source[train])["f1"] for one in limits]
            limit = limits[int(np.argmax(f1))]
            chosen.append(abs(float(limit)))
            scores.append(_score(pairs(test, limit, side)[0], source[test])["f1"])
        table[name] = {"limits": chosen, "f1": float(np.mean(scores)), "halves": scores}
        print(name, table[name], flush=True)
    return {"n_items": len(source), "ways": table}


def _steps(low, high):
    return np.round(np.arange(low, high, 0.005), 3)


def _confirmed(X, least):
    """Return the keys of the pairs that `deduplicate` links, and their cosines."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LargeGroupWarning)  # the loosest limit is too loose
        pairs = deduplicate(X, similarity=float(least)).pairs
    return _keys(pairs.rows, pairs.others, len(X)), pairs.similarity


def _within(codes, least):
    """Return the keys of all pairs of codes within a radius, and minus their distances."""
    found = HammingIndex(codes).search_radius(codes, -int(least))
    rows = np.repeat(np.arange(len(codes)), found.counts)
    once = rows > found.ids
    return _keys(rows, found.ids, len(codes))[once], -found.distances[once].astype(int)


if __name__ == "__main__":
    main()
