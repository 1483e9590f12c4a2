"""Do we match the paper? Runs the experiments of a TOML file, one record per row and seed.

    python experiments/run.py experiments/cifar10.toml

A record that is there is not computed again, so that it may be stopped at any time; `render.py`
makes pages of them. Everything is chosen on the training part: queries are only ever searched with.
"""

import argparse
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

from kinhash.datasets import load
from kinhash.studies.comparison import compare
from kinhash.studies.multimodal import reproduction as multimodal_reproduction
from kinhash.studies.paper.reproduction import plan, unseen_plan
from kinhash.studies.records import RAW, record_key

RESULTS = Path(__file__).parent / "results"
MODALITIES = "modalities"  # the protocol of experiments with several; they have rows of their own


def read(path):
    """Return an experiment on each of its data sets: seeds, protocol, rows of settings, records.

    A file names one `dataset`, or has a table for each of several `datasets`, which have the rows
    in common, a file of records each, and what else their tables say, such as `n_bits`. With
    `labels = false` nothing learns from labels, and the true neighbours by `metric` count.
    """
    usual = {
        "protocol": "paper",
        "order": "nested",
        "rows": [],
        "labels": True,
        "metric": "cosine",
    }
    common = usual | tomllib.loads(path.read_text(encoding="utf-8"))
    if "datasets" in common:
        return [_on_one_of_several(path, common, one) for one in common.pop("datasets")]
    if common.get("paper"):  # all rows of the paper's table, and what belongs beside them
        rows = unseen_plan() if common["protocol"] == "unseen" else plan("cifar10")
        common["rows"] = [*rows, *common["rows"]]
    return [common | {"records": RESULTS / f"{path.stem}.jsonl"}]


def key_of(experiment, row, seed):
    """Return what the record of a row and a seed is found by."""
    metric = None if experiment["labels"] else experiment["metric"]
    return record_key(row, seed, experiment["protocol"], experiment["order"], metric)


def _on_one_of_several(path, common, one):
    rows = [
        row if row["method"] in RAW else {"n_bits": one["n_bits"]} | row for row in common["rows"]
    ]
    order = one.get("order", common["order"])
    name = f"{path.stem}-{one['dataset']}{'' if order == 'nested' else f'-{order}'}"
    return common | one | {"rows": rows, "records": RESULTS / f"{name}.jsonl"}


def run(experiment, seeds=None):
    """Return what each row reached, from the records; what is missing is computed."""
    data, seeds = load(experiment["dataset"]), seeds or experiment["seeds"]
    if not experiment["labels"]:
        data = replace(data, labels=None, names=None)
    file, protocol = experiment["records"], experiment["protocol"]
    if protocol == MODALITIES:
        return multimodal_reproduction.run(data.name, data, file, seeds, report=told)
    return compare(
        file,
        data,
        experiment["rows"],
        seeds,
        protocol=protocol,
        order=experiment["order"],
        metric=experiment["metric"],
        figures=experiment.get("figures", True),
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
    parser.add_argument("--datasets", nargs="+", help="only these, where there are several")
    options = parser.parse_args()
    for path in options.experiment:
        for experiment in read(path):
            if not options.datasets or experiment["dataset"] in options.datasets:
                run(experiment, options.seeds)


if __name__ == "__main__":
    main()
