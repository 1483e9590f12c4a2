"""Pairs of rows, and the sources that deal them to training in batches."""

from kinhash.pairs.pairs import Pairs
from kinhash.pairs.sources import (
    LabelSource,
    MetricSource,
    PairSource,
    Relation,
    Source,
    TagSource,
)
from kinhash.pairs.views import Views

__all__ = [
    "LabelSource",
    "MetricSource",
    "PairSource",
    "Pairs",
    "Relation",
    "Source",
    "TagSource",
    "Views",
]
