"""Trials: what settings reach on training rows that were left out, a record for each."""

import dataclasses
import hashlib
import json
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kinhash import storage
from kinhash.arrays import Array, Integers
from kinhash.calibration import Calibration
from kinhash.codes import Codes
from kinhash.errors import ConstantColumnWarning, InvalidInputError
from kinhash.evaluation.reliability import reliability
from kinhash.methods import METHODS, HashMethod
from kinhash.metrics import evaluate_codes, evaluate_neighbours, true_neighbours
from kinhash.record_file import Record
from kinhash.tuning.space import Settings

N_FOLDS = 3
N_TRUE = 10  # nearest vectors that are relevant where there are no labels
MOST_QUERIES = 1000  # of a fold
MOST_SEARCHED = 20_000
LEAST_ROWS = 60  # to tell anything at all: 20 in a fold
_EVERY_RADIUS, _FARTHER = 16, 16  # radii up to the first; then so many up to half of the bits


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """What there is to learn from.

    Attributes:
        vectors: `(n, d)`.
        labels: Of the rows; None if the nearest vectors are what is similar.
        seed: Of the folds and of the methods.
    """

    vectors: Array
    labels: Array | None
    seed: int

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def digest(self) -> str:
        """Which rows these are."""
        digest = hashlib.sha256(np.ascontiguousarray(self.vectors).tobytes())
        if self.labels is not None:
            digest.update(np.ascontiguousarray(self.labels).tobytes())
        return digest.hexdigest()[:16]

    def part(self, share: float) -> "Rows":
        """Return that share of the rows, with all classes in the same proportion."""
        if share >= 1:
            return self
        # Item i of a class of n stands at (i + 1/2) / n of the whole.
        grouped, place = self._grouped()
        kept = np.sort(grouped[np.argsort(place, kind="stable")][: round(share * len(self))])
        labels = None if self.labels is None else self.labels[kept]
        return Rows(self.vectors[kept], labels, self.seed)

    def folds(self) -> Iterator[tuple[Integers, Integers]]:
        """Yield the rows to fit on and those left out, each left out once."""
        fold_of = np.empty(len(self), int)
        fold_of[self._grouped()[0]] = np.arange(len(self)) % N_FOLDS
        for fold in range(N_FOLDS):
            yield np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)

    def _grouped(self) -> tuple[Integers, Array]:
        """Return all rows, shuffled, then by class; and each one's place in its class, 0 to 1."""
        rows = np.random.default_rng(self.seed).permutation(len(self))
        labels = np.zeros(len(self), int)
        if self.labels is not None and self.labels.ndim == 1:
            labels = self.labels
        grouped = rows[np.argsort(labels[rows], kind="stable")]
        own = labels[grouped]
        starts = np.searchsorted(own, own)
        sizes = np.searchsorted(own, own, side="right") - starts
        return grouped, (np.arange(len(rows)) - starts + 0.5) / sizes


def trial_key(rows: Rows, share: float, settings: Settings) -> str:
    """Return what a trial is found by: equal keys are of the same rows, folds and settings."""
    words = json.dumps([settings, rows.digest, share, rows.seed, N_FOLDS], sort_keys=True)
    digest = hashlib.sha256(words.encode()).hexdigest()[:16]
    return f"{settings['method']}-{settings['n_bits']}-{digest}"


def trial(rows: Rows, share: float, settings: Settings, radii: Sequence[int]) -> Record:
    """Return what settings reach on a share of the rows: means over folds that were left out.

    Methods are fitted on all folds but one, and the rows of that one are searched with one another:
    neither queries nor what is found were seen.

    Args:
        rows: All rows.
        share: How much of them is used.
        settings: The method and its parameters.
        radii: Distances at which to measure, beside the usual ones.

    Raises:
        InvalidInputError: The method refuses the rows.
    """
    used, start, found = rows.part(share), time.perf_counter(), []
    promises: list[Record] = []
    for fit, left_out in used.folds():
        method = fitted(settings, used, fit)
        asked = left_out[:MOST_SEARCHED]
        labels = None if used.labels is None else used.labels[asked]
        found.append(measured(method, used.vectors[asked], labels, radii))
        if labels is not None and method.calibration_ is not None:
            # Each fold has a calibration of its own: the last one stands for them.
            promises = _promises(method.calibration_, method.encode(used.vectors[asked]), labels)
    names = [name for name in found[0] if all(name in fold for fold in found)]
    means = {name: float(np.mean([fold[name] for fold in found])) for name in names}
    spread = {name: float(np.std([fold[name] for fold in found])) for name in names}
    return {
        "key": trial_key(rows, share, settings),
        "settings": settings,
        "rows": len(used),
        "share": share,
        "seed": rows.seed,
        "measures": means,
        "spread": spread,
        **({"reliability": promises} if promises else {}),
        "seconds": round(time.perf_counter() - start, 2),
        "kinhash": storage.VERSION,
    }


def _promises(calibration: Calibration, codes: Codes, labels: Array) -> list[Record]:
    """Return what was promised and got where rows that were left out search one another."""
    own = np.arange(min(len(codes), MOST_QUERIES))
    rows = reliability(calibration, codes[own], labels[own], codes, labels, own=own)
    return [{key: round(value, 5) for key, value in row.items()} for row in rows]


def is_trial(record: Record, radii: Sequence[int]) -> bool:
    """Return whether a record of a file is a trial, measured at all these radii that codes have."""
    measures = record.get("measures")
    numbers = [record.get("seconds"), record.get("share")]
    if not isinstance(measures, dict) or not isinstance(record.get("settings"), dict):
        return False
    numbers += [measures.get("bytes"), measures.get("recall@r0"), *measures.values()]
    if not all(isinstance(one, int | float) for one in numbers):
        return False
    farthest = 8 * measures["bytes"]
    return all(f"share@r{radius}" in measures or radius > farthest for radius in radii)


def fitted(settings: Settings, rows: Rows, fit: Array | slice) -> HashMethod:
    """Return the method of some settings, fitted on some rows."""
    parameters = {key: value for key, value in settings.items() if key != "method"}
    kind: type[Any] = METHODS[settings["method"]]  # all have a seed, which their base has not
    method: HashMethod = kind(**parameters, seed=rows.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantColumnWarning)
        if rows.labels is None:
            return method.fit(rows.vectors[fit])
        return method.fit(rows.vectors[fit], rows.labels[fit])


def measured(
    method: HashMethod, vectors: Array, labels: Array | None, radii: Sequence[int]
) -> dict[str, float]:
    """Return the measures of searching some rows with one another; none finds itself.

    Rates are those of `kinhash.metrics`; without labels, relevant are the 10 nearest vectors.
    `share@r` is the share of all other rows that a query finds, `bytes` the length of a code.
    """
    codes = method.encode(vectors)
    own = np.arange(min(len(vectors), MOST_QUERIES))
    radii = _radii(codes, radii)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* queries have no relevant item")
        if labels is not None:
            found = evaluate_codes(
                codes[own], labels[own], codes, labels, radii=radii, at=(), own=own
            )
        else:
            k = min(N_TRUE, len(vectors) - 1)
            true = true_neighbours(vectors[own], vectors, k, own=own)
            found = evaluate_neighbours(codes[own], codes, true, radii=radii, at=(), own=own)
    n_others = len(vectors) - 1
    measures = {"bytes": float(codes[:1].to_bytes().shape[1])}
    if "map" in found:
        measures["map"] = found["map"]
    for radius in radii:
        for name in ("precision", "recall", "empty"):
            if f"{name}@r{radius}" in found:
                measures[f"{name}@r{radius}"] = found[f"{name}@r{radius}"]
        measures[f"share@r{radius}"] = found[f"mean_matches@r{radius}"] / n_others
    return measures


def _radii(codes: Codes, wanted: Sequence[int]) -> list[int]:
    """Return the radii to measure at: all small ones, and some up to half of the bucket's bits."""
    farthest = codes.n_bucket_bits * (2 if codes.signed else 1)
    some = np.linspace(_EVERY_RADIUS, farthest // 2, _FARTHER).astype(int)
    usual = {*range(min(_EVERY_RADIUS, farthest // 2) + 1), *some.tolist()}
    return sorted({r for r in usual if r <= farthest // 2} | {r for r in wanted if r <= farthest})


def check_rows(rows: Rows) -> None:
    """Raise unless there are enough rows, and labels for each.

    Raises:
        InvalidInputError: They are too few, or do not fit.
    """
    if rows.vectors.ndim != 2 or len(rows) < LEAST_ROWS:
        raise InvalidInputError(
            f"Tuning needs at least {LEAST_ROWS} rows of vectors, of which a third at a time is "
            f"left out, got shape {rows.vectors.shape}."
        )
    if rows.labels is not None and len(rows.labels) != len(rows):
        raise InvalidInputError(
            f"`y` must have a label for each of {len(rows)} rows, got {len(rows.labels)}."
        )


def point_measures(record: Record, radius: int, n_items: int) -> dict[str, Any]:
    """Return the measures of a trial at a radius, in a collection of so many items.

    Answers grow with the collection. Without labels, so many of them cannot all be among the 10
    nearest: precision is recall times 10 over the answers.
    """
    measures = record["measures"]
    at = {
        name: measures[f"{name}@r{radius}"]
        for name in ("precision", "recall", "empty", "share")
        if f"{name}@r{radius}" in measures
    }
    if not at:  # beyond what codes of this length can differ by
        return {"precision": 0.0, "recall": float("nan")}
    answers = at.pop("share") * n_items
    if "precision" not in at:
        at["precision"] = min(1.0, N_TRUE * at["recall"] / answers) if answers else 0.0
    total = at["precision"] + at["recall"]
    f1 = 2 * at["precision"] * at["recall"] / total if total else 0.0
    more = {name: measures[name] for name in ("map", "bytes") if name in measures}
    return at | {"f1": f1, "answers": answers} | more
