"""How well codes retrieve: by labels, by true neighbours, and by pairs; and how well vectors do."""

from kinhash.metrics.neighbours import evaluate_neighbours
from kinhash.metrics.retrieval import (
    PairTable,
    average_precision,
    average_precision_of_ranking,
    distance_table,
    evaluate_codes,
    pair_tables,
    precision_at_k,
    precision_recall_at_radius,
    precision_recall_curve,
    radius_aware_precision,
    ranking_curve,
    ranking_table,
)
from kinhash.metrics.similar_pairs import evaluate_pairs, pair_counts
from kinhash.metrics.vectors import METRICS, Metric, evaluate_vectors, true_neighbours

__all__ = [
    "METRICS",
    "Metric",
    "PairTable",
    "average_precision",
    "average_precision_of_ranking",
    "distance_table",
    "evaluate_codes",
    "evaluate_neighbours",
    "evaluate_pairs",
    "evaluate_vectors",
    "pair_counts",
    "pair_tables",
    "precision_at_k",
    "precision_recall_at_radius",
    "precision_recall_curve",
    "radius_aware_precision",
    "ranking_curve",
    "ranking_table",
    "true_neighbours",
]
