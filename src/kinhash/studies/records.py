"""Records: what one method reached on one split, computed once and kept as a line of a file.

A record holds all that tables and figures need, so that these are drawn again without fitting
anything, and work that was interrupted goes on where it stopped. A file holds the records of one
experiment as JSON lines, sorted by their keys.
"""

import functools
import hashlib
import json
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, SupportsFloat

import numpy as np

from kinhash import record_file, storage
from kinhash.arrays import Array
from kinhash.calibration import Calibration
from kinhash.codes import Codes, Order
from kinhash.datasets import Dataset, Split
from kinhash.errors import ConstantColumnWarning, unknown_name
from kinhash.evaluation.neighbours import (
    evaluate_method_by_neighbours,
    evaluate_vectors_by_neighbours,
)
from kinhash.evaluation.protocol import (
    Evaluation,
    evaluate_method,
    evaluate_raw,
    unseen_class_splits,
)
from kinhash.evaluation.reliability import reliability
from kinhash.index.hamming import HammingIndex
from kinhash.methods import METHODS
from kinhash.metrics import (
    METRICS,
    Metric,
    distance_table,
    precision_recall_at_radius,
    ranking_curve,
)
from kinhash.record_file import Record
from kinhash.studies import own_methods

Settings = dict[str, Any]  # "method" and those of its parameters that differ from the defaults

RECORD_PROTOCOLS = ("paper", "apart", "unseen")
RADII = (0, 1, 2)
AT = (10, 5000)
AT_NEIGHBOURS = (100, 500)  # of data without labels
CURVE_RADII = (0, 2, None)  # within which precision-recall curves are drawn; None is all
MAX_RADIUS = 16
N_PLATE_QUERIES = 5
N_NEIGHBOURS = 10
N_TIMED = 3

L2 = "l2"
UNLABELLED = "unlabelled"  # in settings: "database", for methods that learn from labels
RAW: dict[str, str] = {L2: "L2", "cosine": "cosine"}
"""No methods but metrics, with their names in tables: rankings of vectors, which have no codes."""


def record(
    file: Path | None,
    data: Dataset,
    settings: Settings,
    seed: int,
    *,
    protocol: str = "paper",
    order: Order = "nested",
    figures: bool = False,
    metric: Metric = "cosine",
) -> Record:
    """Return the record of one method on one split; it is computed unless `file` has it.

    Without labels, methods learn from vectors alone and are measured by the true neighbours.

    Args:
        file: Where records are kept, made if needed; None keeps nothing.
        data: The data set.
        settings: The method's name in `METHODS` or its import path, or "l2" or "cosine" for ranking
            by the vectors themselves, and parameters that differ from its defaults. With
            `UNLABELLED`, it is also given the database's vectors without their labels.
        seed: Of the split and of the method.
        protocol: "paper" (`Dataset.split`), "apart" (the same, but the items that were trained on
            are not searched) or "unseen" (the mean over `unseen_class_splits`).
        order: Of rankings by codes with rank bits, as `kinhash.metrics.evaluate_codes` takes it.
        figures: Also keep what the figures need, if there are labels.
        metric: What near means where there are no labels.

    Raises:
        InvalidInputError: The method or protocol is unknown, the method refuses the data, or `file`
            holds something else.
    """
    if protocol not in RECORD_PROTOCOLS:
        raise unknown_name("protocol", protocol, RECORD_PROTOCOLS)
    known_by = None if data.labels is not None else metric
    figures = figures and known_by is None
    key = record_key(settings, seed, protocol, order, known_by)
    about: Record = {"dataset": data.name, "settings": settings, "protocol": protocol, "seed": seed}
    if order != "nested":
        about["order"] = order
    if known_by is not None:
        about["metric"] = metric

    def compute() -> Record:
        if protocol != "unseen":
            part = data.split(seed)
            if protocol == "apart":
                part = replace(part, database=np.setdiff1d(part.database, part.train))
            if known_by is not None:
                return _without_labels(data, part, settings, seed, order=order, metric=metric)
            return _evaluated(data, part, settings, seed, order=order, figures=figures)
        folds = [
            _evaluated(data, part, settings, seed, order=order, figures=False)
            for part in unseen_class_splits(data, seed)
        ]
        names = folds[0]["metrics"]
        return folds[0] | {
            "metrics": {
                name: float(np.mean([f["metrics"][name] for f in folds])) for name in names
            },
            "split_hash": [fold["split_hash"] for fold in folds],
        }

    return kept(file, key, about, compute, figures=figures)


def kept(
    file: Path | None, key: str, about: Record, compute: Callable[[], Record], *, figures: bool
) -> Record:
    """Return the record with this key; if the file has none, it is computed and added.

    Args:
        file: The records; it and its folder are made if needed. None keeps nothing.
        key: As `record_key` gives it.
        about: What the record is of.
        compute: Returns the rest; with `figures`, also what the figures need, under "figures".
        figures: Whether a record without them is not enough.

    Raises:
        InvalidInputError: The file holds something else than records.
    """
    known = None if file is None else record_file.read(file).get(key)
    if known is not None and (not figures or "figures" in known):
        return known
    start = time.perf_counter()
    made: Record = {"key": key, **about, **compute()}
    made["seconds"] = round(time.perf_counter() - start, 1)
    made["kinhash"] = storage.VERSION
    if file is not None:
        record_file.add(file, made)
    return made


def record_key(
    settings: Settings,
    seed: int,
    protocol: str = "paper",
    order: Order = "nested",
    metric: Metric | None = None,
) -> str:
    """Return what a record is found by; `metric` is that of true neighbours, without labels.

    Example:
        >>> record_key({"method": "lsh", "n_bits": 64}, 0)
        'lsh-64-30c1e098-seed0'
    """
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
    kind = "" if protocol == "paper" else f"{protocol}-"
    end = "" if order == "nested" else f"-{order}"
    end += "" if metric is None else f"-{metric}"
    return f"{kind}{settings['method']}-{settings.get('n_bits', 0)}-{digest}-seed{seed}{end}"


def _evaluated(
    data: Dataset, part: Split, settings: Settings, seed: int, *, order: Order, figures: bool
) -> Record:
    raw = _metric_of(settings)
    if raw is not None:
        metrics, digest = evaluate_raw(data, part, at=AT, metric=raw)
        return {"metrics": metrics, "split_hash": digest, "fit_seconds": 0.0}
    method = built(settings, seed, METHODS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantColumnWarning)
        found = evaluate_method(
            method,
            data,
            part,
            radii=RADII,
            at=AT,
            order=order,
            unlabelled=settings.get(UNLABELLED) == "database",
        )
    made: Record = {
        "metrics": found.metrics,
        "split_hash": found.split_hash,
        "fit_seconds": round(found.fit_seconds, 2),
        "stored_bits": _stored_bits(found.database_codes),
        "parameters": _parameters(method, settings),
    }
    if figures:
        made["figures"] = _figures(part, found, order)
        calibration = getattr(method, "calibration_", None)
        if calibration is not None:
            made["figures"]["reliability"] = _reliability(calibration, part, found)
    return made


def _without_labels(
    data: Dataset, part: Split, settings: Settings, seed: int, *, order: Order, metric: Metric
) -> Record:
    raw = _metric_of(settings)
    if raw is not None:
        metrics, digest = evaluate_vectors_by_neighbours(
            data, part, ranked_by=raw, at=AT_NEIGHBOURS, metric=metric
        )
        return {"metrics": metrics, "split_hash": digest, "fit_seconds": 0.0}
    method = built(settings, seed, METHODS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantColumnWarning)
        found = evaluate_method_by_neighbours(
            method, data, part, radii=RADII, at=AT_NEIGHBOURS, order=order, metric=metric
        )
    return {
        "metrics": found.metrics,
        "split_hash": found.split_hash,
        "fit_seconds": round(found.fit_seconds, 2),
        "stored_bits": _stored_bits(found.database_codes),
        "parameters": _parameters(method, settings),
    }


def _metric_of(settings: Settings) -> Metric | None:
    """Return the metric that ranks vectors themselves; None if the settings are of a method."""
    return next((metric for metric in METRICS if metric == settings["method"]), None)


def _parameters(method: Any, settings: Settings) -> Record:  # noqa: ANN401 - any method
    """Return the parameters of a method; of a user's own those that were set."""
    if own_methods.is_path(settings["method"]):
        return {key: value for key, value in settings.items() if key not in {"method", "source"}}
    return dict(method.stored_parameters())


def built(settings: Settings, seed: int, known: Mapping[str, type[Any]]) -> Any:  # noqa: ANN401 - any method
    """Return the unfitted method of some settings.

    Args:
        settings: The method's name, and parameters that differ from its defaults; a parameter that
            is a method has settings of its own.
        seed: Of the method.
        known: The methods by name.

    Raises:
        InvalidInputError: The method, or one of its parameters, is unknown.
    """
    name = settings["method"]
    parameters = {k: v for k, v in settings.items() if k not in {"method", UNLABELLED}}
    if isinstance(name, str) and own_methods.is_path(name):
        parameters.pop("source", None)  # which only tells records of different sources apart
        own = own_methods.made(own_methods.load_class(name), name, parameters | {"seed": seed})
        return own_methods.Checked(own, name)
    if name not in known:
        raise unknown_name("method", str(name), (*known, *RAW))
    kind = known[name]
    unknown = sorted(set(parameters) - set(kind().get_params()))
    if unknown:
        raise unknown_name(f"parameter of {name}", unknown[0], sorted(kind().get_params()))
    parts = {
        key: built(value, seed, known)
        for key, value in parameters.items()
        if isinstance(value, dict) and "method" in value
    }
    return kind(**(parameters | parts), seed=seed)


def named(settings: Settings) -> str:
    """Return how a table calls a method with these settings.

    Example:
        >>> named({"method": "agh", "n_bits": 48, "n_layers": 2}), named({"method": "l2"})
        ('AGH2', 'L2')
        >>> named({"method": "mine.hashing:MyHash", "n_bits": 48, "source": "30c1e098"})
        'MyHash'
        >>> bucket, rank = {"method": "classcode", "levels": 3}, {"method": "itq"}
        >>> named({"method": "nested", "bucket": bucket, "rank": rank, "n_bits": 64})
        'Nested (ClassCode, levels 3; ITQ)'
    """
    method = settings["method"]
    if method in METHODS:
        name = METHODS[method].__name__
    else:
        name = RAW.get(method) or method.rpartition(":")[2]
    if method == "agh":
        name += str(settings.get("n_layers", 1))
    parts = [named(value) for value in settings.values() if isinstance(value, dict)]
    if parts:
        name += f" ({'; '.join(parts)})"
    rest = [
        f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in settings.items()
        if key not in {"method", "n_bits", "source"}
        and not (key == "n_layers" and method == "agh")
        and not isinstance(value, dict)
    ]
    return f"{name}, {', '.join(rest)}" if rest else name


def _stored_bits(codes: Codes) -> int:
    return codes.n_bits + (codes.n_bucket_bits if codes.signed else 0)


def _figures(part: Split, found: Evaluation, order: Order) -> Record:
    """Return curves, numbers of active bits, times and neighbours, as JSON has them."""
    problem = (
        found.query_codes,
        found.query_labels,
        found.database_codes,
        found.database_labels,
    )
    n_all, n_relevant = distance_table(*problem)
    within = [
        precision_recall_at_radius(n_all, n_relevant, radius)
        for radius in range(min(MAX_RADIUS, n_all.shape[1] - 1) + 1)
    ]
    curves = {
        "all" if radius is None else str(radius): _rounded(
            ranking_curve(*problem, max_radius=radius, order=order)[1]
        )
        for radius in CURVE_RADII
    }
    index = HammingIndex(found.database_codes)
    positions = plate_queries(found.query_labels)
    nearest = index.search_top_k(found.query_codes[positions], N_NEIGHBOURS, order=order)
    return {
        "precision": _rounded([precision.mean() for precision, _ in within]),
        "recall": _rounded([np.nanmean(recall) for _, recall in within]),
        "curves": curves,
        "active": np.bincount(found.database_codes.n_active).tolist(),
        "microseconds": _times(index, found),
        "queries": part.query[positions].tolist(),
        "neighbours": [part.database[ids].tolist() for ids, _ in nearest],
    }


def _reliability(calibration: Calibration, part: Split, found: Evaluation) -> list[Record]:
    """Return what was promised and got, among items that were not learned from."""
    new = np.flatnonzero(~np.isin(part.database, part.train))
    if len(new) < 2:
        return []
    rows = reliability(
        calibration,
        found.query_codes,
        found.query_labels,
        found.database_codes[new],
        found.database_labels[new],
    )
    return [{key: round(value, 5) for key, value in row.items()} for row in rows]


def plate_queries(labels: Array) -> list[int]:
    """Return where the first query of each of a few random classes stands: not picked."""
    labels = np.asarray(labels)
    if labels.ndim == 2:
        return list(range(min(N_PLATE_QUERIES, len(labels))))
    classes = np.random.default_rng(0).permutation(np.unique(labels))[:N_PLATE_QUERIES]
    return [int(np.argmax(labels == label)) for label in np.sort(classes)]


def _times(index: HammingIndex, found: Evaluation) -> dict[str, float]:
    """Return the microseconds per query of the index at each radius, and of comparing everything.

    One thread on both sides; the best of a few runs, in turns.
    """
    queries, words = found.query_codes, found.database_codes.words

    def compare_all() -> None:
        for query in queries.words[:50]:
            distances = np.bitwise_count(words ^ query).sum(axis=1, dtype=np.int32)
            near = np.flatnonzero(distances <= max(RADII))
            near[np.argsort(distances[near], kind="stable")]

    def search(radius: int) -> None:
        index.search_radius(queries, radius, n_threads=1)

    calls: dict[str, tuple[Callable[[], None], int]] = {
        "brute force": (compare_all, len(queries.words[:50])),
        **{str(radius): (functools.partial(search, radius), len(queries)) for radius in RADII},
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(N_TIMED):
        for name, (call, n) in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(1e6 * (time.perf_counter() - start) / n)
    return {name: round(min(taken), 4) for name, taken in times.items()}


def _rounded(values: Iterable[SupportsFloat]) -> list[float]:
    return [round(float(value), 5) for value in values]
