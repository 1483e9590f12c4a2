"""Do we match the paper? Runs the experiments of a TOML file, one record per row and seed.

    python experiments/run.py experiments/cifar10.toml

A record that is there with the same settings is not run again. `render.py` makes pages of them.
Everything is chosen on the training part: queries are only ever searched with.
"""

import argparse
import hashlib
import json
import platform
import subprocess
import sys
import time
import tomllib
import warnings
from pathlib import Path

import numpy as np
import sklearn
import torch

import kinhash
from kinhash.datasets import load
from kinhash.evaluation.protocol import evaluate_method
from kinhash.methods import METHODS

RESULTS = Path(__file__).parent / "results"


def record_path(experiment, settings, seed):
    """Return where the record of one row and seed lives."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
    return RESULTS / experiment / f"{settings['method']}-{digest}-seed{seed}.json"


def run_row(data, settings, seed):
    """Return the record of one row: what was run, with what, and what it gave."""
    parameters = {name: value for name, value in settings.items() if name != "method"}
    method = METHODS[settings["method"]](**parameters, seed=seed)
    part = data.split(seed)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*columns of `X` are constant.*")
        found = evaluate_method(method, data, part)
    return {
        "dataset": data.name,
        "settings": settings,
        "parameters": method.get_params(),
        "seed": seed,
        "metrics": found.metrics,
        "fit_seconds": round(found.fit_seconds, 1),
        "seconds": round(time.perf_counter() - start, 1),
        "commit": subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"],  # noqa: S607 - whichever git is there
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip(),
        "versions": {
            "kinhash": kinhash.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
            "torch": torch.__version__,
        },
    }


def main():
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiment", type=Path)
    parser.add_argument("--force", action="store_true", help="run again what is there")
    options = parser.parse_args()
    experiment = tomllib.loads(options.experiment.read_text())
    data = load(experiment["dataset"])
    for row in experiment["rows"]:
        settings = {name: value for name, value in row.items() if name != "paper"}
        for seed in experiment["seeds"]:
            path = record_path(options.experiment.stem, settings, seed)
            if path.exists() and not options.force:
                continue
            record = run_row(data, settings, seed)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(record, indent=1) + "\n")
            metrics = record["metrics"]
            shown = "  ".join(f"{k} {100 * metrics[k]:.2f}" for k in ("map", "f1@r2", "f1@r0"))
            print(f"{path.stem}: {shown}  unique {metrics['unique_codes']:.0f}", file=sys.stderr)


if __name__ == "__main__":
    main()
