"""How much do results depend on the seed of a method? One split, several fits.

    python experiments/seeds.py [--seeds 5] [--only DATA]

mAP of SparseHash with nothing set on split 0 of each data set, one record a fit, in
results/seeds.jsonl; those present are not computed again.
"""

import argparse
import json
import warnings
from pathlib import Path

from kinhash import SparseHash
from kinhash.datasets import load
from kinhash.errors import CollapseWarning, ConstantColumnWarning
from kinhash.evaluation.protocol import evaluate_method

RESULTS = Path(__file__).parent / "results" / "seeds.jsonl"
BITS = {
    "cifar10": 64,
    "cifar10-deep": 64,
    "titles": 128,
    "corel5k-deep": 128,
    "digits": 64,
    "fashion-mnist": 64,
}


def main():
    """Compute the records that are missing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5, help="how many (default: 5)")
    parser.add_argument("--only", help="a data set")
    options = parser.parse_args()
    for category in (CollapseWarning, ConstantColumnWarning):
        warnings.simplefilter("ignore", category)
    RESULTS.touch()
    records = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    done = {(record["dataset"], record["seed"]) for record in records}
    for name, n_bits in BITS.items():
        data = None
        for seed in range(options.seeds):
            if (name, seed) in done or options.only not in (None, name):
                continue
            data = data or load(name)
            found = evaluate_method(SparseHash(n_bits, seed=seed), data, data.split(seed=0))
            record = {"dataset": name, "n_bits": n_bits, "seed": seed, "map": found.metrics["map"]}
            print(record, flush=True)
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
