"""The training losses, one file per equation."""

from kinhash.training.losses.contrastive import ContrastiveLoss
from kinhash.training.losses.multimodal import MultimodalLoss
from kinhash.training.losses.pairs import PairLoss, mean_distances, pair_weights
from kinhash.training.losses.sparse import SparseHashLoss
from kinhash.training.losses.supervised_contrastive import SupervisedContrastiveLoss

__all__ = [
    "ContrastiveLoss",
    "MultimodalLoss",
    "PairLoss",
    "SparseHashLoss",
    "SupervisedContrastiveLoss",
    "mean_distances",
    "pair_weights",
]
