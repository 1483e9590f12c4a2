"""The one table of measures: what each is called, what it counts, and which tables show it.

A measure that is taken within a radius or among the first k of a ranking has that in its key, as
`kinhash.metrics` gives it: `f1@r2`, `map@10`. Recall is of the items that are relevant by label,
or of the true neighbours where there are no labels; only the latter has a ranking length.
"""

import dataclasses
from typing import Literal

Unit = Literal["percent", "count", "mean"]
Group = Literal["ranking", "radius", "pairs", "codes"]


@dataclasses.dataclass(frozen=True)
class Measure:
    """One measure of retrieval.

    Attributes:
        name: Its key, or what stands before the "@" in it.
        heading: What people read.
        unit: "percent" of a fraction, a "count", or a "mean" of counts.
        group: Whether it is of a "ranking", of what lies within a "radius" of a query, of "pairs"
            within a radius, or of the "codes".
        is_score: Whether more is better.
    """

    name: str
    heading: str
    unit: Unit
    group: Group
    is_score: bool = False


MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("map", "mAP", "percent", "ranking", is_score=True),
        Measure("map_best", "best mAP", "percent", "ranking", is_score=True),
        Measure("map_worst", "worst mAP", "percent", "ranking", is_score=True),
        Measure("ramap", "RAMAP", "percent", "ranking", is_score=True),
        Measure("mp", "precision", "percent", "ranking", is_score=True),
        Measure("reranked_recall", "reranked recall", "percent", "ranking", is_score=True),
        Measure("precision", "precision", "percent", "radius", is_score=True),
        Measure("recall", "recall", "percent", "radius", is_score=True),
        Measure("f1", "F1", "percent", "radius", is_score=True),
        Measure("empty", "empty", "percent", "radius"),
        Measure("mean_matches", "answers", "mean", "radius"),
        Measure("pair_precision", "pair precision", "percent", "pairs", is_score=True),
        Measure("pair_recall", "pair recall", "percent", "pairs", is_score=True),
        Measure("pair_f1", "pair F1", "percent", "pairs", is_score=True),
        Measure("pairs", "pairs", "count", "pairs"),
        Measure("unique_codes", "unique", "count", "codes"),
        Measure("mean_active", "active", "mean", "codes"),
        Measure("sd_active", "sd active", "mean", "codes"),
    )
}


def measure_of(key: str) -> Measure | None:
    """Return the measure of a key; None if the key is of something else.

    Example:
        >>> measure_of("f1@r2").heading, measure_of("n_bits")
        ('F1', None)
    """
    return MEASURES.get(key.partition("@")[0])


def is_rate(key: str) -> bool:
    """Return whether the key's values are fractions, which people read in percent."""
    measure = measure_of(key)
    return measure is not None and measure.unit == "percent"


def scores(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys of which more is better.

    Example:
        >>> scores(("map", "f1@r0", "empty@r0", "unique_codes"))
        ('map', 'f1@r0')
    """
    return tuple(key for key in keys if (one := measure_of(key)) is not None and one.is_score)


def within(radius: int) -> tuple[str, ...]:
    """Return the keys of all measures within a radius.

    Example:
        >>> within(2)
        ('precision@r2', 'recall@r2', 'f1@r2', 'empty@r2', 'mean_matches@r2')
    """
    return tuple(f"{one.name}@r{radius}" for one in MEASURES.values() if one.group == "radius")


# The columns of each table, in its order. F1 never stands without mAP and the number of different
# codes beside it: one code for everything has the F1 of guessing.
F1 = ("f1@r2", "f1@r0")
OF_CODES = ("unique_codes", "mean_active")
COUNTS = ("unique_codes", "mean_matches@r0", "mean_active")
COMPARISON = (
    "map",
    *F1,
    "precision@r2",
    "recall@r2",
    "precision@r0",
    "recall@r0",
    "empty@r0",
    "mean_matches@r0",
    *OF_CODES,
)
NEIGHBOURS = (  # without labels: of the true neighbours
    "recall@100",
    "recall@500",
    "recall@r2",
    "recall@r0",
    "empty@r0",
    "mean_matches@r2",
    "mean_matches@r0",
    *OF_CODES,
)
DEMO = ("map", "mp@10", *within(0), *scores(within(2)), *OF_CODES)
MULTIMODAL_DEMO = ("map", "map@10", "mp@50", *scores(within(0)), "f1@r2", "mean_active")
PAPER = ("map", *scores(within(2)), *scores(within(0)))  # as its tables have them
RESULTS = ("map", *F1, "precision@r2", "recall@r0")  # of the pages that experiments/ makes
NESTED = ("map", "mp@10", *F1)  # of the page's tables of nested codes
BRIEF = ("map", "mp", "f1", *OF_CODES)  # names: whatever radii and ranking lengths are asked for
