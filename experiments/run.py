"""Do we match the paper? Runs the experiments of a TOML file, one record per row and seed.

    python experiments/run.py experiments/cifar10.toml

A record that is there is not computed again, so that it may be stopped at any time; `render.py`
makes pages of them. Everything is chosen on the training part: queries are only ever searched with.
"""

import argparse
import sys
import tomllib
from pathlib import Path

from kinhash.datasets import load
from kinhash.studies.comparison import compare
from kinhash.studies.multimodal import reproduction as multimodal_reproduction
from kinhash.studies.paper.reproduction import plan, unseen_plan

RESULTS = Path(__file__).parent / "results"
MODALITIES = "modalities"  # the protocol of experiments with several; they have rows of their own


def read(path):
    """Return an experiment: its data set, seeds, protocol and rows of settings."""
    experiment = tomllib.loads(path.read_text(encoding="utf-8"))
    experiment.setdefault("protocol", "paper")
    rows = experiment.get("rows", [])
    if experiment.get("paper"):  # all rows of the paper's table, and what belongs beside them
        rows = [*(unseen_plan() if experiment["protocol"] == "unseen" else plan("cifar10")), *rows]
    return experiment | {"rows": rows}


def records_file(path):
    """Return where the records of an experiment are."""
    return RESULTS / f"{path.stem}.jsonl"


def results(path, seeds=None):
    """Return what each row reached, from the records; what is missing is computed."""
    experiment = read(path)
    data, seeds = load(experiment["dataset"]), seeds or experiment["seeds"]
    file = records_file(path)
    if experiment["protocol"] == MODALITIES:
        return multimodal_reproduction.run(data.name, data, file, seeds, report=told)
    return compare(
        file,
        data,
        experiment["rows"],
        seeds,
        protocol=experiment["protocol"],
        report=told,
    )


def told(done, total, note=""):
    """Say how far it is."""
    print(f"{done}/{total}  {note}", file=sys.stderr)


def main():
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiment", type=Path, nargs="+")
    parser.add_argument("--seeds", type=int, nargs="+", help="only these: one process per core")
    options = parser.parse_args()
    for path in options.experiment:
        results(path, options.seeds)


if __name__ == "__main__":
    main()
