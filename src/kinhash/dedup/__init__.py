"""Duplicates in tables: candidates by codes, confirmation by vectors, groups, and a report."""

from kinhash.dedup.job import deduplicate
from kinhash.dedup.proposal import Outcome, Proposal, Sample, propose
from kinhash.dedup.recall import Recall
from kinhash.dedup.result import Duplicates, Pairs

__all__ = [
    "Duplicates",
    "Outcome",
    "Pairs",
    "Proposal",
    "Recall",
    "Sample",
    "deduplicate",
    "propose",
]
