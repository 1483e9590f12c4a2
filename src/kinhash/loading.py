"""`load` and `describe`: whatever is in a file that kinhash wrote."""

import os
import reprlib
from pathlib import Path
from typing import Any

from kinhash import storage
from kinhash.arrays import Array
from kinhash.codes import Codes, StoredCodes, stored_codes
from kinhash.errors import FormatError
from kinhash.index import file as index_file
from kinhash.index.hamming import HammingIndex
from kinhash.methods import (
    METHODS,
    MULTIMODAL_METHODS,
    HashMethod,
    MultimodalMethod,
    Nested,
)

Stored = HashMethod | MultimodalMethod | StoredCodes
Loaded = Stored | HammingIndex


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
    return _read(path, *storage.read(path))


def _read(path: Path, header: dict[str, Any], arrays: dict[str, Array]) -> Stored:
    try:
        return _restored(header, arrays)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error


def _restored(header: dict[str, Any], arrays: dict[str, Array]) -> Stored:
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


def describe(path: str | os.PathLike[str], *, verify: bool = False) -> dict[str, Any]:
    """Return facts about what is in a file, as JSON has them.

    Args:
        path: A file that kinhash wrote.
        verify: Check all of an index, however large; models and codes are always checked.

    Raises:
        InvalidInputError: There is no such file, or it cannot be read.
        FormatError: It is truncated, damaged, of another program, or of a newer format.
    """
    path = Path(path)
    if storage.is_index(path):
        return index_file.describe(path, verify=verify)
    header, arrays = storage.read(path)
    found = _read(path, header, arrays)
    facts = {name: header[name] for name in ("kind", "format", "kinhash")}
    return facts | (_of_codes(found.codes) if isinstance(found, StoredCodes) else _of_model(found))


def _of_codes(codes: Codes) -> dict[str, Any]:
    n_active = codes.n_active
    return {
        "n": len(codes),
        "n_bits": codes.n_bits,
        "n_bucket_bits": codes.n_bucket_bits,
        "n_rank_bits": codes.n_rank_bits,
        "signed": codes.signed,
        "mean_active": float(n_active.mean()) if len(codes) else None,
        "sd_active": float(n_active.std()) if len(codes) else None,
        "unique_codes": codes.n_unique,
    }


def _of_model(model: HashMethod | MultimodalMethod) -> dict[str, Any]:
    is_multimodal = isinstance(model, MultimodalMethod)
    kept = [look for look in model.history_ if look.get("kept", is_multimodal)]
    return {
        "method": model.name,
        **(_of_encoders(model) if isinstance(model, MultimodalMethod) else _of_encoder(model)),
        "changed": _changed(model),
        "parameters": model.stored_parameters(),
        "history": kept[-1] if kept else None,
    }


def _changed(model: HashMethod | MultimodalMethod) -> dict[str, Any]:
    """Return the parameters that differ from the defaults; of a method in them, likewise."""
    defaults = model.default_parameters()
    changed = {k: v for k, v in model.stored_parameters().items() if v != defaults[k]}
    for name in changed:
        part = getattr(model, name)
        if isinstance(part, HashMethod):
            changed[name] = {"method": part.name, "parameters": _changed(part)}
    return changed


def _of_encoder(model: HashMethod) -> dict[str, Any]:
    encoder = model.encoder_
    facts: dict[str, Any] = {
        "n_bits": encoder.n_bits,
        "n_features": encoder.n_features,
        "signed": encoder.signed,
    }
    if encoder.n_rank_bits:
        facts["n_rank_bits"] = encoder.n_rank_bits
    if model.calibration_ is not None:
        facts["calibration"] = model.calibration_.facts()
    if not isinstance(model, Nested):
        return facts
    parts = {"bucket": model.bucket_, "rank": model.rank_}
    return facts | {k: _of_part(v) for k, v in parts.items()}


def _of_part(model: HashMethod) -> dict[str, Any]:
    """Return what a part of nested codes is, with the parameters that it was fitted with."""
    facts = _of_model(model)
    shown = ("method", "n_bits", "changed", "history")
    return {name: facts[name] for name in shown} | {"encoder": model.encoder_.kind}


def _of_encoders(model: MultimodalMethod) -> dict[str, Any]:
    modalities: dict[str, dict[str, Any]] = {}
    for name, encoder in model.encoders_.items():
        modalities[name] = {"encoder": encoder.kind, "n_features": encoder.n_features}
        if name in model.words_:
            modalities[name]["n_words"] = len(model.words_[name])
    first = next(iter(model.encoders_.values()))
    return {"n_bits": first.n_bits, "signed": first.signed, "modalities": modalities}
