"""The hashing methods, all with the face of `HashMethod`, and `load` for their files."""

import os
from typing import Any

from kinhash import storage
from kinhash.errors import FormatError
from kinhash.methods.agh import AGH
from kinhash.methods.base import HashMethod
from kinhash.methods.classcode import ClassCode
from kinhash.methods.dh import DH
from kinhash.methods.itq import ITQ
from kinhash.methods.ksh import KSH
from kinhash.methods.lsh import LSH
from kinhash.methods.nnhash import NNHash
from kinhash.methods.sparsehash import SparseHash
from kinhash.methods.ssh import SSH

__all__ = [
    "AGH",
    "DH",
    "ITQ",
    "KSH",
    "LSH",
    "METHODS",
    "SSH",
    "ClassCode",
    "HashMethod",
    "NNHash",
    "SparseHash",
    "load",
]

METHODS: dict[str, type[HashMethod]] = {
    m.name: m for m in (AGH, ClassCode, DH, ITQ, KSH, LSH, NNHash, SparseHash, SSH)
}


def load(path: str | os.PathLike[str]) -> Any:  # noqa: ANN401 - a model or codes, as the file has it
    """Return the model or the `Codes` in a file that kinhash wrote. No code in it is ever run.

    Raises:
        InvalidInputError: There is no such file, or it cannot be read.
        FormatError: It is truncated, damaged, of another program, or of a newer format.
    """
    header, arrays = storage.read(path)
    try:
        if header["kind"] == "codes":
            return storage.stored_codes(header, arrays).codes
        if header["kind"] == "model" and header["method"] in METHODS:
            return METHODS[header["method"]]._restore(header, arrays)  # noqa: SLF001 - its other half
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{path} is not complete: {error}.") from error
    raise FormatError(
        f"{path} holds a {header.get('method', header['kind'])!r}; this release reads codes and "
        f"the methods {', '.join(sorted(METHODS))}. Upgrade kinhash."
    )
