"""Why do calibrations of few rows promise too much, and what would help? On training rows alone.

    python experiments/calibration_why.py [--repeats 6] [--data digits]

SparseHash learns from half of the training rows of a split, and the other half is new to it. What
is promised for a tenth of the share of similar pairs is compared with what those new rows say, for
three ways to calibrate: by codes of rows left out, as `fit` does; the same with rank bits trained
on other rows (two halves); and with everything fitted to other rows (five folds).

One record per repeat and way goes to results/calibration-why.jsonl.
"""

# ruff: noqa: SLF001 - it looks inside a fit

import argparse
import warnings
from pathlib import Path

import numpy as np

from kinhash import Codes, Pairs, SparseHash
from kinhash.calibration import Calibration
from kinhash.datasets import load
from kinhash.errors import CollapseWarning, ConstantColumnWarning
from kinhash.methods.parts import rank_bits
from kinhash.methods.recipes import strong
from kinhash.record_file import add, read

RESULTS = Path(__file__).parent / "results" / "calibration-why.jsonl"
BITS = 64
PARTS = (0.5, 0.75, 0.9)
N_FOLDS = 5


def main():
    """Compute the records that are missing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--data", default="digits")
    options = parser.parse_args()
    for category in (CollapseWarning, ConstantColumnWarning):
        warnings.simplefilter("ignore", category)
    data = load(options.data)
    for repeat in range(options.repeats):
        if f"{data.name}-{repeat}-left out" in read(RESULTS):
            continue
        for record in measured(data, repeat):
            record["key"] = f"{data.name}-{repeat}-{record['way']}"
            print(record, flush=True)
            add(RESULTS, record)


def measured(data, seed):
    """Yield the records of one repeat."""
    rng = np.random.default_rng(seed)
    labels, train = np.asarray(data.labels), data.split(seed=seed).train
    fold = folds(labels[train], 2, rng)
    seen, new = train[fold == 0], train[fold == 1]
    X, y = data.vectors[seen], labels[seen]
    model, parts = fitted(X, y, seed)
    truth = Calibration.from_codes(model.encode(data.vectors[new]), labels[new])
    ways = {
        "left out": model.calibration_,
        "rank bits of other rows": of_parts(
            [
                (rows, parts.codes(others, seed)[rows])
                for rows, others in apart(folds(y, 2, rng), 2)
            ],
            y,
        ),
        "all of other rows": of_parts(
            [
                (rows, SparseHash(BITS, seed=seed).fit(X[others], y[others]).encode(X[rows]))
                for rows, others in apart(folds(y, N_FOLDS, rng), N_FOLDS)
            ],
            y,
        ),
    }
    for way, found in ways.items():
        share = found.similar_share / 10
        highest = found.highest(share)
        cuts = [found.cut(part * highest, similar_share=share) for part in PARTS]
        yield {
            "dataset": data.name,
            "repeat": seed,
            "way": way,
            "promised": [cut.precision for cut in cuts],
            "got": [precision(truth, cut, share) for cut in cuts],
        }


def precision(truth, cut, share):
    """Return the precision as far as a cut by the counts of another calibration."""
    place = cut.distance * (truth.n_rank_bits + 1) + cut.rank_distance
    step = np.searchsorted(truth.ends, place, side="right") - 1
    if step < 0:
        return float(truth.within(share)[0][0])
    return float(truth.within(share)[0][step])


def folds(labels, n, rng):
    """Return a fold for each row, with all classes in each."""
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    found = np.empty(len(labels), int)
    found[order] = np.arange(len(labels)) % n
    return found


def apart(fold, n):
    """Yield the rows of each fold, and all others."""
    for one in range(n):
        yield np.flatnonzero(fold == one), np.flatnonzero(fold != one)


def of_parts(parts, labels):
    """Return the calibration of pairs within each part, whose codes are of different maps."""
    codes, i, j, similar, n = [], [], [], [], 0
    for rows, some in parts:
        left, right = np.triu_indices(len(rows), 1)
        i.append(left + n)
        j.append(right + n)
        similar.append(labels[rows][left] == labels[rows][right])
        codes.append(some)
        n += len(rows)
    pairs = Pairs(*map(np.concatenate, (i, j, similar)))
    return Calibration.from_codes(Codes.concatenate(codes), pairs)


class Parts:
    """What a fit leaves on its way, to train its rank bits again on some rows."""

    def codes(self, rows, seed):
        """Return the codes of all rows when left out, with rank bits trained on some."""
        rng = np.random.default_rng(seed)
        one = self.fitted
        only = rank_bits._only_directions(one, self.n_bits, rng)
        some = rank_bits._Rows(one, one.inputs[rows], one.logits[rows], only)
        (rank,) = rank_bits._trained([some], self.n_bits, rng, seed=seed, report=lambda *_: None)
        return one.left_out_codes(*self.words, rank)


def fitted(X, y, seed):
    """Return a model, and what its fit left on its way."""
    parts = Parts()
    fit_rank_bits, words = strong.fit_rank_bits, strong._words

    def kept_rank_bits(one, n_bits, **options):
        parts.fitted, parts.n_bits = one, n_bits
        return fit_rank_bits(one, n_bits, **options)

    def kept_words(*arguments):
        parts.words = words(*arguments)
        return parts.words

    strong.fit_rank_bits, strong._words = kept_rank_bits, kept_words
    try:
        return SparseHash(BITS, seed=seed).fit(X, y), parts
    finally:
        strong.fit_rank_bits, strong._words = fit_rank_bits, words


if __name__ == "__main__":
    main()
