"""Sparse similarity-preserving hashing: similar items get equal codes and are found by lookup."""

import importlib
import importlib.metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinhash.codes import Codes
    from kinhash.engines import sql
    from kinhash.index.hamming import HammingIndex
    from kinhash.loading import load
    from kinhash.matches import Matches
    from kinhash.methods.multimodal_sparsehash import MultimodalSparseHash
    from kinhash.methods.sparsehash import SparseHash
    from kinhash.pairs.pairs import Pairs
    from kinhash.reranking import rerank
    from kinhash.studies.side_by_side import compare

__all__ = [
    "Codes",
    "HammingIndex",
    "Matches",
    "MultimodalSparseHash",
    "Pairs",
    "SparseHash",
    "__version__",
    "compare",
    "load",
    "rerank",
    "sql",
]

__version__ = importlib.metadata.version("kinhash")

# Imported on first use: `kinhash --help` should not wait for scikit-learn.
_HOMES = {
    "Codes": "kinhash.codes",
    "HammingIndex": "kinhash.index.hamming",
    "Matches": "kinhash.matches",
    "MultimodalSparseHash": "kinhash.methods.multimodal_sparsehash",
    "Pairs": "kinhash.pairs.pairs",
    "SparseHash": "kinhash.methods.sparsehash",
    "compare": "kinhash.studies.side_by_side",
    "load": "kinhash.loading",
    "rerank": "kinhash.reranking",
}
_MODULES = {"sql": "kinhash.engines.sql"}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever that name is
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOMES:
        raise AttributeError(f"module 'kinhash' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
