"""Data sets by name or by path, each as one `Dataset`; the user's own in batches."""

from kinhash.datasets.catalogue import DATASETS, load
from kinhash.datasets.dataset import Dataset, Split
from kinhash.datasets.user_files.batches import Batch, Items
from kinhash.datasets.user_files.reader import open_items

__all__ = ["DATASETS", "Batch", "Dataset", "Items", "Split", "load", "open_items"]
