"""`load`: whatever is in a file that kinhash wrote."""

import os
from pathlib import Path

from kinhash import storage
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
    known: dict[str, type[HashMethod | MultimodalMethod]] = {**METHODS, **MULTIMODAL_METHODS}
    try:
        if header["kind"] == "codes":
            return stored_codes(header, arrays)
        if header["kind"] == "model" and header["method"] in known:
            return known[header["method"]]._restore(header, arrays)  # noqa: SLF001 - its other half
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{path} is not complete: {error}.") from error
    raise FormatError(
        f"{path} holds a {header.get('method', header['kind'])!r}; this release reads codes, "
        f"indexes and the methods {', '.join(sorted(known))}. Upgrade kinhash."
    )
