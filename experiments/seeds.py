"""How much do results depend on the seed of a method? One split, several fits.

    python experiments/seeds.py [--seeds 5]

Prints mAP of SparseHash with nothing set on split 0 of each data set, and its standard deviation.
"""

import argparse
import warnings

import numpy as np

from kinhash import SparseHash
from kinhash.datasets import load
from kinhash.errors import ConstantColumnWarning
from kinhash.evaluation.protocol import evaluate_method

BITS = {
    "cifar10": 64,
    "cifar10-deep": 64,
    "titles": 128,
    "corel5k-deep": 128,
    "digits": 64,
    "fashion-mnist": 64,
}


def main():
    """Print a line per data set."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5, help="how many (default: 5)")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConstantColumnWarning)
    for name, n_bits in BITS.items():
        data = load(name)
        part = data.split(seed=0)
        found = [
            100 * evaluate_method(SparseHash(n_bits, seed=seed), data, part).metrics["map"]
            for seed in range(options.seeds)
        ]
        shown = " ".join(f"{value:.2f}" for value in found)
        print(f"{name:13} mAP {shown}: standard deviation {np.std(found):.2f}", flush=True)


if __name__ == "__main__":
    main()
