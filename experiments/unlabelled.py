"""What do vectors without labels add to labels? `SparseHash().fit(X, y, unlabelled=Z)`.

    python experiments/unlabelled.py [--seeds 5]

Z is the database less its training rows: never its labels, never a query. 64 bits, splits and
measures as in nested.toml; records go to results/unlabelled.jsonl, those present are not computed
again.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from kinhash import SparseHash
from kinhash.datasets import load
from kinhash.metrics import evaluate_codes

RESULTS = Path(__file__).parent / "results" / "unlabelled.jsonl"
MEASURES = ("map", "mp@10", "f1@r2", "f1@r0", "unique_codes")


def main():
    """Compute the records that are missing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5, help="how many (default: 5)")
    options = parser.parse_args()
    RESULTS.touch()
    records = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    done = {(record["dataset"], record["seed"]) for record in records}
    for name in ("cifar10", "cifar10-deep"):
        data = load(name)
        for seed in range(options.seeds):
            if (name, seed) in done:
                continue
            record = {"dataset": name, "seed": seed} | measured(data, data.split(seed=seed))
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record, separators=(",", ":")) + "\n")
            print(record, flush=True)


def measured(data, part):
    """Return what codes learned with unlabelled rows reach."""
    rest = np.setdiff1d(part.database, part.train)
    start = time.perf_counter()
    model = SparseHash().fit(
        data.vectors[part.train], data.labels[part.train], unlabelled=data.vectors[rest]
    )
    seconds = time.perf_counter() - start
    # The paper's split of CIFAR-10 searches the training rows, too.
    database = part.database if data.name == "cifar10" else rest
    found = evaluate_codes(
        model.encode(data.vectors[part.query]),
        data.labels[part.query],
        model.encode(data.vectors[database]),
        data.labels[database],
        at=(10,),
    )
    return {"fit_seconds": seconds, "metrics": {key: found[key] for key in MEASURES}}


if __name__ == "__main__":
    main()
