"""Do methods still give the same codes? Fits whatever has records, and prints hashes of the codes.

    python experiments/code_hashes.py [--only digits] [--seed 0] > after

For each data set and each method with its settings that has records under results/, one line: the
data set, the record's key, and the SHA-256 of the codes of all rows, of each modality if there are
several. Run it before and after a change and compare the two: a line that differs is one for
*Changed results* in the changelog. It uses nothing but the public interface, so that it also runs
with an older kinhash: run this very file with the Python of that installation.

Methods are fitted on the training part of `Dataset.split`, unsupervised ones on its database; those
of several modalities on the data set's own training part if it has one, always with its labels.
"""

import argparse
import hashlib
import json
import warnings
from pathlib import Path

import numpy as np

from kinhash.datasets import load
from kinhash.methods import METHODS, MULTIMODAL_METHODS

RESULTS = Path(__file__).parent / "results"


def plan(folder):
    """Return the settings of all records that are of a method, by data set and key without seed."""
    found = {}
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if record["settings"]["method"] in {**METHODS, **MULTIMODAL_METHODS}:
                key = record["key"].removeprefix(f"{record['protocol']}-").rpartition("-seed")[0]
                found.setdefault(record["dataset"], {})[key] = record["settings"]
    return {name: dict(sorted(found[name].items())) for name in sorted(found)}


def fitted_codes(data, settings, seed):
    """Return the codes of all rows, by modality; under "" those of a method that takes one."""
    parameters = {key: value for key, value in settings.items() if key != "method"} | {"seed": seed}
    if settings["method"] in METHODS:
        method, part = METHODS[settings["method"]](**parameters), data.split(seed)
        if method.unsupervised:
            method.fit(data.vectors[part.database])
        else:
            method.fit(data.vectors[part.train], data.labels[part.train])
        return {"": method.encode(data.vectors)}
    method = MULTIMODAL_METHODS[settings["method"]](**parameters)
    own = (data.attributes or {}).get("split")
    train = data.split(seed).train if own is None else np.flatnonzero(own == "train")
    views = {
        name: values[train] if hasattr(values, "shape") else [values[row] for row in train]
        for name, values in data.modalities.items()
    }
    method.fit(views, data.labels[train])
    return {name: method.encode(data.modalities[name], modality=name) for name in views}


def digest(codes):
    """Return the SHA-256 of the words of codes."""
    return hashlib.sha256(np.ascontiguousarray(codes.words, "<u8").tobytes()).hexdigest()


def main():
    """Fit and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="DATASET", help="these data sets")
    parser.add_argument("--seed", type=int, default=0, help="of the split and of the methods")
    parser.add_argument("--records", type=Path, default=RESULTS, help="the folder of records")
    options = parser.parse_args()
    rows = plan(options.records)
    names = options.only or list(rows)
    unknown = sorted(set(names) - set(rows))
    if unknown:
        parser.error(f"no records of {unknown[0]!r}; there are some of {', '.join(rows)}")
    warnings.simplefilter("ignore")  # what a method warns of is in its records
    for name in names:
        data = load(name)
        for key, settings in rows[name].items():
            found = fitted_codes(data, settings, options.seed)
            hashes = " ".join(f"{m}{'=' if m else ''}{digest(codes)}" for m, codes in found.items())
            print(f"{name} {key}-seed{options.seed} {hashes}", flush=True)


if __name__ == "__main__":
    main()
