"""The hashing methods: of one modality, of several; and `load` for their files."""

import os
from typing import Any

from kinhash import storage
from kinhash.errors import FormatError
from kinhash.methods.agh import AGH
from kinhash.methods.base import HashMethod
from kinhash.methods.cca import CCAITQ
from kinhash.methods.classcode import ClassCode
from kinhash.methods.cmssh import CMSSH
from kinhash.methods.dh import DH
from kinhash.methods.itq import ITQ
from kinhash.methods.ksh import KSH
from kinhash.methods.lsh import LSH
from kinhash.methods.multimodal import MultimodalMethod
from kinhash.methods.multimodal_sparsehash import MultimodalSparseHash
from kinhash.methods.nnhash import NNHash
from kinhash.methods.sparsehash import SparseHash
from kinhash.methods.ssh import SSH

__all__ = [
    "AGH",
    "CCAITQ",
    "CMSSH",
    "DH",
    "ITQ",
    "KSH",
    "LSH",
    "METHODS",
    "MULTIMODAL_METHODS",
    "SSH",
    "ClassCode",
    "HashMethod",
    "MultimodalMethod",
    "MultimodalSparseHash",
    "NNHash",
    "SparseHash",
    "load",
]

METHODS: dict[str, type[HashMethod]] = {
    m.name: m for m in (AGH, ClassCode, DH, ITQ, KSH, LSH, NNHash, SparseHash, SSH)
}

MULTIMODAL_METHODS: dict[str, type[MultimodalMethod]] = {
    m.name: m for m in (CCAITQ, CMSSH, MultimodalSparseHash)
}


def load(path: str | os.PathLike[str]) -> Any:  # noqa: ANN401 - a model or codes, as the file has it
    """Return the model or the `Codes` in a file that kinhash wrote. No code in it is ever run.

    Raises:
        InvalidInputError: There is no such file, or it cannot be read.
        FormatError: It is truncated, damaged, of another program, or of a newer format.
    """
    header, arrays = storage.read(path)
    known: dict[str, type[Any]] = {**METHODS, **MULTIMODAL_METHODS}
    try:
        if header["kind"] == "codes":
            return storage.stored_codes(header, arrays).codes
        if header["kind"] == "model" and header["method"] in known:
            return known[header["method"]]._restore(header, arrays)  # noqa: SLF001 - its other half
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{path} is not complete: {error}.") from error
    raise FormatError(
        f"{path} holds a {header.get('method', header['kind'])!r}; this release reads codes and "
        f"the methods {', '.join(sorted(known))}. Upgrade kinhash."
    )
