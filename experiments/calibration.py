"""Is what was asked for what is got? Searches with `min_precision`, on rows no model has seen.

    python experiments/calibration.py [--seeds 5] [--only DATA]

SparseHash, nothing set but its length, learns from the training rows of a split. Of the rows that
are left, a fifth are queries and the others the items of an index, with as many of each class as
the training rows have: the share of similar pairs is that of training. For a tenth of that share,
the queries are of some of the classes, and of these the index holds few items; the classes are
divided so often that every two of them are apart equally often. Then half, three quarters and nine
tenths of the highest precision that the calibration promises are asked for, and what all answers
together have is counted. Where a search can only stop too early or too late, it stops early: it
then promises more than was asked for.

The calibration is that of `fit`, by rows left out, or by five folds, each encoded by a model of the
others. The share of similar pairs is given ("true"), or estimated from distances between items
("items"), as a search does that is told nothing, or from those of queries to items ("queries").

One record per data set, split, share of similar pairs and way to know it goes to
results/calibration.jsonl; those present are not computed again.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import scipy.linalg

from kinhash import HammingIndex, SparseHash
from kinhash.datasets import load
from kinhash.errors import CollapseWarning, ConstantColumnWarning, DriftWarning
from kinhash.record_file import add, read

RESULTS = Path(__file__).parent / "results" / "calibration.jsonl"
BITS = {"cifar10": 64, "cifar10-deep": 64, "titles": 128, "digits": 64}
PARTS = (0.5, 0.75, 0.9)  # of the highest precision
MOST_TIMES = 4  # as many new rows as training rows, at most
QUERY_SHARE = 0.2
KNOWN = ("true", "items", "queries")
N_FOLDS = 5
LEFT_OUT, FOLDS = "rows left out", f"{N_FOLDS} folds"


def main():
    """Compute the records that are missing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5, help="how many splits (default: 5)")
    parser.add_argument("--only", help="a data set")
    options = parser.parse_args()
    for category in (CollapseWarning, ConstantColumnWarning, DriftWarning):
        warnings.simplefilter("ignore", category)
    for name, n_bits in BITS.items():
        data = None
        for seed in range(options.seeds):
            last = f"{name}-seed{seed}-0.1-{FOLDS}-{KNOWN[-1]}"
            if options.only not in (None, name) or last in read(RESULTS):
                continue
            data = data or load(name)
            for record in measured(data, n_bits, seed):
                words = (record["times"], record["calibrated_by"], record["known_by"])
                record["key"] = "-".join([name, f"seed{seed}", *words])
                print(record, flush=True)
                add(RESULTS, record)


def measured(data, n_bits, seed):
    """Yield the records of a split."""
    part = data.split(seed=seed)
    X, y = data.vectors[part.train], data.labels[part.train]
    model = SparseHash(n_bits, seed=seed).fit(X, y)
    by_rows_left_out = model.calibration_
    by_folds = model.calibrate(X, y, n_folds=N_FOLDS, seed=seed).calibration_
    rng = np.random.default_rng(seed)
    queries, items = new_rows(data.labels, part.train, rng)
    share = by_rows_left_out.similar_share
    collections = {
        "1": [(queries, items)],
        "0.1": [
            rare(data.labels, (queries, items), some, share / 10, rng)
            for some in parts_of(np.unique(data.labels), rng)
        ],
    }
    codes = model.encode(data.vectors)
    for times, pairs in collections.items():
        for way, calibration in ((LEFT_OUT, by_rows_left_out), (FOLDS, by_folds)):
            for how, found in searched(calibration, codes, data.labels, pairs).items():
                yield {
                    "dataset": data.name,
                    "n_bits": n_bits,
                    "seed": seed,
                    "times": times,
                    "calibrated_by": way,
                    "known_by": how,
                    "training_share": share,
                    **found,
                }


def searched(calibration, codes, labels, pairs):
    """Return what was asked, promised and got, by the way the share of similar pairs is known."""
    rows = {how: [] for how in KNOWN}
    for asking, held in pairs:
        index = HammingIndex(codes[held], memory="lean", calibration=calibration)
        same = labels[asking][:, None] == labels[held]
        shares = {
            "true": float(same.mean()),
            "items": index.observe().similar_share,
            "queries": index.observe(codes[asking]).similar_share,
        }
        for how, share in shares.items():
            given = None if how == "items" else share
            highest = calibration.highest(share)
            row = [share]
            for part in PARTS:
                wanted = part * highest
                matches = index.search_radius(
                    codes[asking], min_precision=wanted, similar_share=given, n_threads=1
                )
                of_query = np.repeat(np.arange(len(asking)), matches.counts)
                promised = index.cut(wanted, similar_share=given).precision
                right = int(same[of_query, matches.ids].sum())
                row += [wanted, promised, right, len(matches.ids)]
            rows[how].append(row)
    found = {}
    for how, all_rows in rows.items():
        share, *columns = np.array(all_rows).T
        asked, promised, right, n_answers = (columns[first::4] for first in range(4))
        found[how] = {
            "similar_share": float(share.mean()),
            "asked": [float(one.mean()) for one in asked],
            "promised": [float(one.mean()) for one in promised],
            "got": [
                float(one.sum() / max(n.sum(), 1)) for one, n in zip(right, n_answers, strict=True)
            ],
            "n_answers": [int(n.sum()) for n in n_answers],
        }
    return found


def new_rows(labels, train, rng):
    """Return queries and items among the other rows, of each class in proportion to training."""
    is_new = np.ones(len(labels), bool)
    is_new[train] = False
    classes, counts = np.unique(labels[train], return_counts=True)
    rows = [rng.permutation(np.flatnonzero(is_new & (labels == one))) for one in classes]
    times = min(MOST_TIMES, *(len(r) / n for r, n in zip(rows, counts, strict=True)))
    queries, items = [], []
    for one, n in zip(rows, counts, strict=True):
        drawn = one[: int(times * n)]
        n_queries = round(QUERY_SHARE * len(drawn))
        queries.append(drawn[:n_queries])
        items.append(drawn[n_queries:])
    return np.concatenate(queries), np.concatenate(items)


def parts_of(classes, rng):
    """Return parts of the classes, and the rest of each: every two classes are equally often apart.

    Columns of a Hadamard matrix differ in half of their rows, and so do its rows.
    """
    signs = scipy.linalg.hadamard(2 ** int(np.ceil(np.log2(len(classes) + 1))))
    rows = rng.permutation(len(signs))[: len(classes)]
    return [classes[column == sign] for column in signs[rows, 1:].T for sign in (1, -1)]


def rare(labels, rows, half, share, rng):
    """Return the queries of some classes, and items of which so few are similar to them."""
    queries, items = rows
    asking = queries[np.isin(labels[queries], half)]
    is_own = np.isin(labels[items], half)
    similar = float((labels[asking][:, None] == labels[items][is_own]).mean())
    n_own, n_other = int(is_own.sum()), int((~is_own).sum())
    # kept * similar / (kept + n_other) = share
    kept = min(n_own, round(share * n_other / (similar - share)))
    return asking, np.concatenate([rng.permutation(items[is_own])[:kept], items[~is_own]])


if __name__ == "__main__":
    main()
