"""How answers change as a collection grows: told by parts of it, checked on a larger part."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from kinhash.arrays import Array
from kinhash.codes import Codes
from kinhash.metrics import (
    distance_table,
    evaluate_neighbours,
    precision_recall_at_radius,
    true_neighbours,
)
from kinhash.metrics.checks import mean_of_known
from kinhash.tuning.space import Settings
from kinhash.tuning.trials import MOST_SEARCHED, N_TRUE, Rows, fitted

PARTS = (8, 4, 2, 1)  # what is searched is cut into so many parts; the last size is held out
FACTORS = (1, 10)  # of the collection's size, to which the lines are drawn
NAMES = ("answers", "precision", "recall", "empty")
_LEAST = PARTS[0] * (N_TRUE + 1)  # items to search, so that the smallest part has enough
_MOST_QUERIES = 500


@dataclasses.dataclass(frozen=True, eq=False)
class Growth:
    """Measures at one radius in collections of several sizes; a line each over log2 of the size.

    Attributes:
        sizes: Items of the parts that were searched, ascending.
        measured: By name, the mean at each size, over parts and folds.
        expected: By name, what the line through all sizes but the last says of the last.
        extrapolated: By size of the collection, what the line through all sizes says.
    """

    sizes: tuple[int, ...]
    measured: dict[str, list[float]]
    expected: dict[str, float]
    extrapolated: dict[int, dict[str, float]]


def grown(rows: Rows, settings: Settings, radius: int, n_items: int) -> Growth | None:
    """Return how measures change with the size of what is searched; None of too few rows.

    As in a trial, methods are fitted on all folds but one. Of the rows of that one, a quarter are
    queries, and the others are searched: whole, and cut into 2, 4 and 8 parts.
    """
    found: dict[int, list[list[float]]] = {parts: [] for parts in PARTS}
    for fit, left_out in rows.folds():
        n_queries = min(_MOST_QUERIES, len(left_out) // 4)
        order = np.random.default_rng(rows.seed).permutation(left_out)
        asked, searched = np.split(order[: n_queries + MOST_SEARCHED], [n_queries])
        if len(searched) < _LEAST:
            return None
        method = fitted(settings, rows, fit)
        codes = method.encode(rows.vectors[asked]), method.encode(rows.vectors[searched])
        for parts in PARTS:
            size = len(searched) // parts  # all of one size: the rest is left out
            for start in range(0, parts * size, size):
                part = slice(start, start + size)
                some = codes[0], codes[1][part]
                found[parts].append(_measures(rows, asked, searched[part], some, radius))
    n_searched = len(searched)
    sizes = tuple(n_searched // parts for parts in PARTS)
    means = np.array([np.mean(found[parts], axis=0) for parts in PARTS])  # (n_sizes, n_names)
    measured = {name: means[:, i].tolist() for i, name in enumerate(NAMES)}
    before = {name: values[:-1] for name, values in measured.items()}
    by_label = rows.labels is not None
    return Growth(
        sizes,
        measured,
        _drawn(sizes[:-1], before, sizes[-1], by_label=by_label),
        {
            factor * n_items: _drawn(sizes, measured, factor * n_items, by_label=by_label)
            for factor in FACTORS
        },
    )


def _measures(
    rows: Rows, asked: Array, searched: Array, codes: tuple[Codes, Codes], radius: int
) -> list[float]:
    """Return answers, precision, recall and the share of queries without an answer."""
    if rows.labels is None:
        true = true_neighbours(rows.vectors[asked], rows.vectors[searched], N_TRUE)
        near = evaluate_neighbours(*codes, true, radii=[radius], at=())
        answers, recall = near[f"mean_matches@r{radius}"], near[f"recall@r{radius}"]
        precision = N_TRUE * recall / answers if answers else 0.0
        return [answers, precision, recall, near[f"empty@r{radius}"]]
    n_all, n_relevant = distance_table(
        codes[0], rows.labels[asked], codes[1], rows.labels[searched]
    )
    precisions, recalls = precision_recall_at_radius(n_all, n_relevant, radius)
    n_found = n_all[:, : radius + 1].sum(axis=1)
    return [
        float(n_found.mean()),
        float(precisions.mean()),
        mean_of_known(recalls),
        float(np.mean(n_found == 0)),
    ]


def _drawn(
    sizes: Sequence[int], measured: dict[str, list[float]], size: int, *, by_label: bool
) -> dict[str, float]:
    """Return all measures at a size, on lines through what was measured.

    Answers are a power of the size, so their logarithm is drawn. A query without an answer has
    precision 0, so the line is of the precision of the others. Without labels, relevant are 10
    items whatever the size, so precision follows from recall and answers.
    """
    answers, recall, empty = (np.array(measured[n]) for n in ("answers", "recall", "empty"))
    found = {
        "answers": answers[-1] * size / sizes[-1],
        "recall": _rate(sizes, recall, size),
        "empty": _rate(sizes, empty, size),
    }
    if (answers > 0).all():
        found["answers"] = 2 ** _at(sizes, np.log2(answers), size)
    if by_label:
        known = empty < 1
        of_answered = np.array(measured["precision"])[known] / (1 - empty[known])
        rate = _rate(np.array(sizes)[known], of_answered, size) if known.any() else 0.0
        precision = rate * (1 - found["empty"])
    else:
        precision = N_TRUE * found["recall"] / found["answers"] if found["answers"] else 0.0
    found["precision"] = min(1.0, precision)
    return {name: float(found[name]) for name in NAMES}


def _rate(sizes: Sequence[int] | Array, values: Array, size: int) -> float:
    return float(np.clip(_at(sizes, values, size), 0, 1))


def _at(sizes: Sequence[int] | Array, values: Array, size: int) -> float:
    """Return the value at a size, on the line over log2 of the size; a single value stays."""
    if len(sizes) == 1:
        return float(values[0])
    slope, start = np.polyfit(np.log2(sizes), values, 1)
    return float(start + slope * np.log2(size))
