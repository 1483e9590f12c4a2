"""The hashing methods: of one modality, and of several."""

from kinhash.methods.modalities.model import MultimodalMethod
from kinhash.methods.model import HashMethod
from kinhash.methods.multimodal_sparsehash import MultimodalSparseHash
from kinhash.methods.nested import FLAT_METHODS, Nested
from kinhash.methods.rivals.agh import AGH
from kinhash.methods.rivals.cca import CCAITQ
from kinhash.methods.rivals.classcode import ClassCode
from kinhash.methods.rivals.cmssh import CMSSH
from kinhash.methods.rivals.csr import CSR
from kinhash.methods.rivals.dh import DH
from kinhash.methods.rivals.flyhash import FlyHash
from kinhash.methods.rivals.fsdh import FSDH
from kinhash.methods.rivals.itq import ITQ
from kinhash.methods.rivals.ksh import KSH
from kinhash.methods.rivals.lsh import LSH
from kinhash.methods.rivals.nnhash import NNHash
from kinhash.methods.rivals.orthohash import OrthoHash
from kinhash.methods.rivals.ssh import SSH
from kinhash.methods.sparsehash import SparseHash

__all__ = [
    "AGH",
    "CCAITQ",
    "CMSSH",
    "CSR",
    "DH",
    "FSDH",
    "ITQ",
    "KSH",
    "LSH",
    "METHODS",
    "MULTIMODAL_METHODS",
    "SSH",
    "ClassCode",
    "FlyHash",
    "HashMethod",
    "MultimodalMethod",
    "MultimodalSparseHash",
    "NNHash",
    "Nested",
    "OrthoHash",
    "SparseHash",
]

METHODS: dict[str, type[HashMethod]] = {**FLAT_METHODS, Nested.name: Nested}

MULTIMODAL_METHODS: dict[str, type[MultimodalMethod]] = {
    m.name: m for m in (CCAITQ, CMSSH, MultimodalSparseHash)
}
