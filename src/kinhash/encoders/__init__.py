"""How a vector becomes a code, without torch: arrays, and a formula."""

from kinhash.encoders.anchor_graph import AnchorGraphEncoder
from kinhash.encoders.base import CHUNK_BYTES, Encoder
from kinhash.encoders.class_levels import ClassLevelsEncoder, KernelClassLevelsEncoder
from kinhash.encoders.class_rank import ClassRankEncoder, KernelClassRankEncoder
from kinhash.encoders.classes import ClassEncoder
from kinhash.encoders.kernel import KernelEncoder
from kinhash.encoders.kernel_ista import KernelIstaEncoder
from kinhash.encoders.kinds import ENCODERS, restored_encoder
from kinhash.encoders.landmarks import LandmarkEncoder
from kinhash.encoders.linear import LinearEncoder
from kinhash.encoders.nested import NestedEncoder
from kinhash.encoders.network import HALF_WAY, CodEncoder, IstaEncoder
from kinhash.encoders.top_k import KernelTopKEncoder, TopKEncoder
from kinhash.encoders.vectors import (
    CHUNK_ROWS,
    as_float32,
    check_finite,
    is_sparse,
    unit_length,
)

__all__ = [
    "CHUNK_BYTES",
    "CHUNK_ROWS",
    "ENCODERS",
    "HALF_WAY",
    "AnchorGraphEncoder",
    "ClassEncoder",
    "ClassLevelsEncoder",
    "ClassRankEncoder",
    "CodEncoder",
    "Encoder",
    "IstaEncoder",
    "KernelClassLevelsEncoder",
    "KernelClassRankEncoder",
    "KernelEncoder",
    "KernelIstaEncoder",
    "KernelTopKEncoder",
    "LandmarkEncoder",
    "LinearEncoder",
    "NestedEncoder",
    "TopKEncoder",
    "as_float32",
    "check_finite",
    "is_sparse",
    "restored_encoder",
    "unit_length",
]
