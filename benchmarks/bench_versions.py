"""Is this kinhash as fast as another one? Searches of ours alone, in turns with another one.

    python benchmarks/bench_versions.py OTHER_PYTHON [--only real,clustered1m] [--rounds 2]

`OTHER_PYTHON` is the interpreter of an environment in which the other kinhash is installed, such as
that of a checkout of an earlier commit. Both get the same codes, one thread, 64 queries in a call
and `out=`; each call's fastest run counts, and rounds alternate, because a machine has other work
to do. The ratio is the other's time over ours: above 1, ours is faster. Ratios to peers, which say
how fast it is, are those of `bench_index.py`.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SETS = ("real", "real-fine", "clustered1m", "uniform1m", "dense1m")
BATCH, SECONDS = 64, 1.0
TASKS = {"range": (0, 1, 2, 3), "top_k": (10, 100, 5000)}


def times(path):
    """Return the microseconds per query of each task, with the kinhash of this interpreter."""
    from kinhash import Codes, HammingIndex  # noqa: PLC0415 - only the measured process needs it

    found, stored = {}, np.load(path)
    for name in sorted({key.partition("/")[0] for key in stored}):
        index = HammingIndex(Codes(stored[f"{name}/items"], 64))
        queries = Codes(stored[f"{name}/queries"], 64)
        batches = [queries[at : at + BATCH] for at in range(0, len(queries), BATCH)]
        for task, values in TASKS.items():
            search = index.search_radius if task == "range" else index.search_top_k
            for value in values:
                best = fastest(search, batches, value)
                found[f"{name} {task} {value}"] = 1e6 * sum(best) / len(queries)
    return found


def fastest(search, batches, value):
    """Return the seconds of the fastest run of each batch."""
    best, out, end = [np.inf] * len(batches), None, time.perf_counter() + SECONDS
    while not np.isfinite(best).all() or time.perf_counter() < end:
        for number, batch in enumerate(batches):
            start = time.perf_counter()
            out = search(batch, value, n_threads=1, out=out)
            assert len(out.ids) == len(out.distances) == out.offsets[-1]
            best[number] = min(best[number], time.perf_counter() - start)
    return best


def draw(names, path):
    """Store items and queries of the code sets in one file."""
    import index_sets  # noqa: PLC0415 - beside this file, and only where codes are drawn

    arrays = {}
    for name in names:
        codes = index_sets.make(name)
        arrays[f"{name}/items"], arrays[f"{name}/queries"] = codes.items.words, codes.queries.words
    np.savez(path, **arrays)


def main():
    """Measure both in turns and print a line per task."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("other", help="the other Python, or a file of codes with --measure")
    parser.add_argument(
        "--only", default=",".join(SETS), help="code sets, with commas between them"
    )
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(times(options.other)))
        return
    found = {"other": [], "ours": []}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.npz"
        draw(options.only.split(","), path)
        for _ in range(options.rounds):
            for who, python in (("other", options.other), ("ours", sys.executable)):
                command = [python, __file__, str(path), "--measure"]
                done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
                found[who].append(json.loads(done.stdout))
    for task in found["ours"][0]:
        other, ours = (min(run[task] for run in found[who]) for who in ("other", "ours"))
        print(f"{task:24} other {other:9.3f} us  ours {ours:9.3f} us  ratio {other / ours:.2f}")


if __name__ == "__main__":
    main()
