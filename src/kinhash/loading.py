"""`load`: whatever is in a file that kinhash wrote."""

import os
import reprlib
from pathlib import Path
from typing import Any

from kinhash import storage
from kinhash.arrays import Array
from kinhash.codes import StoredCodes, stored_codes
from kinhash.errors import FormatError
from kinhash.index.hamming import HammingIndex
from kinhash.methods import METHODS, MULTIMODAL_METHODS, HashMethod, MultimodalMethod

Loaded = HashMethod | MultimodalMethod | StoredCodes | HammingIndex


def load(path: str | os.PathLike[str]) -> Loaded:
    """Return the model, the codes with their ids (`StoredCodes`) or the index in a file.

    No code in it is ever run. An index is memory-mapped, as by `HammingIndex.load`.

    Raises:
        InvalidInputError: There is no such file, or it cannot be read.
        FormatError: It is truncated, damaged, of another program, or of a newer format.
    """
    path = Path(path)
    if storage.is_index(path):
        return HammingIndex.load(path)
    header, arrays = storage.read(path)
    try:
        return _restored(header, arrays)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error


def _restored(header: dict[str, Any], arrays: dict[str, Array]) -> Loaded:
    kind = storage.value(header, "kind", str)
    storage.value(header, "kinhash", str)
    if kind == "codes":
        return stored_codes(header, arrays)
    known: dict[str, type[HashMethod | MultimodalMethod]] = {**METHODS, **MULTIMODAL_METHODS}
    method = storage.value(header, "method", str) if kind == "model" else kind
    if kind != "model" or method not in known:
        raise FormatError(
            f"the file holds a {reprlib.repr(method)}; this release reads codes, indexes and the "
            f"methods {', '.join(sorted(known))}. Upgrade kinhash."
        )
    return known[method]._restore(header, arrays)  # noqa: SLF001 - its other half
