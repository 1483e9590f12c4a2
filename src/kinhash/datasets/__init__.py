"""Data sets by name or by path, each as one `Dataset`."""

from kinhash.datasets.catalogue import DATASETS, load
from kinhash.datasets.dataset import Dataset, Split

__all__ = ["DATASETS", "Dataset", "Split", "load"]
