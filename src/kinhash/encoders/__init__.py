"""How a vector becomes a code, without torch: arrays, and a formula."""

from kinhash.encoders.anchor_graph import AnchorGraphEncoder
from kinhash.encoders.base import CHUNK_BYTES, Encoder
from kinhash.encoders.class_levels import ClassLevelsEncoder, KernelClassLevelsEncoder
from kinhash.encoders.classes import ClassEncoder
from kinhash.encoders.kernel import KernelEncoder
from kinhash.encoders.kernel_ista import KernelIstaEncoder
from kinhash.encoders.landmarks import LandmarkEncoder
from kinhash.encoders.linear import LinearEncoder
from kinhash.encoders.nested import NestedEncoder
from kinhash.encoders.network import HALF_WAY, CodEncoder, IstaEncoder
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
    "CodEncoder",
    "Encoder",
    "IstaEncoder",
    "KernelClassLevelsEncoder",
    "KernelEncoder",
    "KernelIstaEncoder",
    "LandmarkEncoder",
    "LinearEncoder",
    "NestedEncoder",
    "as_float32",
    "check_finite",
    "is_sparse",
    "unit_length",
]

ENCODERS: dict[str, type[Encoder]] = {
    e.kind: e
    for e in (
        IstaEncoder,
        CodEncoder,
        LinearEncoder,
        KernelEncoder,
        KernelIstaEncoder,
        AnchorGraphEncoder,
        ClassEncoder,
        ClassLevelsEncoder,
        KernelClassLevelsEncoder,
        LandmarkEncoder,
    )
}
