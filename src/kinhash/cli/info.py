"""`kinhash info`: what is in a file that kinhash wrote."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinhash.cli import options

if TYPE_CHECKING:  # these take half a second to import
    from kinhash.arrays import Array
    from kinhash.cli.inputs import AnyMethod
    from kinhash.codes import Codes
    from kinhash.methods import HashMethod, MultimodalMethod


def info(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A model, codes or an index.")],
    *,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Check all of an index, however large; models and codes are always checked.",
        ),
    ] = False,
    output: options.Output = options.Format.TABLE,
    _debug: options.Debug = False,
) -> None:
    """Show what is in a model, in a file of codes or in an index."""
    from kinhash.cli import inputs
    from kinhash.cli.messages import note
    from kinhash.cli.results import emit

    is_index = inputs.holds_index(file)
    found = _index_facts(file, verify=verify) if is_index else _other_facts(file)
    emit(_shown({"file": str(file), "bytes": file.stat().st_size, **found}, output))
    if verify:
        note(f"Verified {file}: it is complete and undamaged.")


def _other_facts(file: Path) -> dict[str, Any]:
    from kinhash import storage
    from kinhash.codes import StoredCodes
    from kinhash.loading import load

    header, _ = storage.read(file)
    found: Any = load(file)
    facts = {name: header[name] for name in ("kind", "format", "kinhash")}
    return facts | (_of_codes(found.codes) if isinstance(found, StoredCodes) else _of_model(found))


def _index_facts(file: Path, *, verify: bool) -> dict[str, Any]:
    from kinhash.index import file as index_file

    header, arrays, _ = index_file.read(file, verify=verify or None)
    n_bytes = sum(array.nbytes for array in arrays.values())
    return {
        "kind": header["kind"],
        "format": header["format"],
        "kinhash": header["kinhash"],
        "n": header["n_items"],
        "n_bits": header["n_bits"],
        "signed": header["signed"],
        "unique_codes": header["n_codes"],
        "memory": header["memory"],
        "bytes_per_item": n_bytes / header["n_items"] if header["n_items"] else None,
        "structures": _structures(arrays),
    }


def _structures(arrays: "dict[str, Array]") -> dict[str, int]:
    """Return the bytes of each structure that there is, by the names of `explain`."""
    parts = {
        "lookup": ("slots",),
        "deletions_1": ("key1_starts", "key1_rows"),
        "deletions_2": ("key2_starts", "key2_rows"),
        "chunks": ("chunk_starts", "chunk_rows"),
        "groups": ("leaders", "group_starts"),
        "neighbours": ("near_starts", "near_rows"),
    }
    sizes = {part: sum(arrays[name].nbytes for name in names) for part, names in parts.items()}
    return {part: size for part, size in sizes.items() if size}


def _of_codes(codes: "Codes") -> dict[str, Any]:
    n_active = codes.n_active
    return {
        "n": len(codes),
        "n_bits": codes.n_bits,
        "signed": codes.signed,
        "mean_active": float(n_active.mean()) if len(codes) else None,
        "sd_active": float(n_active.std()) if len(codes) else None,
        "unique_codes": codes.n_unique,
    }


def _of_model(model: "AnyMethod") -> dict[str, Any]:
    from kinhash.methods import MultimodalMethod

    parameters, defaults = model.get_params(), type(model)().get_params()
    is_multimodal = isinstance(model, MultimodalMethod)
    kept = [look for look in model.history_ if look.get("kept", is_multimodal)]
    return {
        "method": model.name,
        **(_of_encoders(model) if isinstance(model, MultimodalMethod) else _of_encoder(model)),
        "changed": {k: v for k, v in parameters.items() if v != defaults[k]},
        "parameters": parameters,
        "history": kept[-1] if kept else None,
    }


def _of_encoder(model: "HashMethod") -> dict[str, Any]:
    encoder = model.encoder_
    return {"n_bits": encoder.n_bits, "n_features": encoder.n_features, "signed": encoder.signed}


def _of_encoders(model: "MultimodalMethod") -> dict[str, Any]:
    modalities: dict[str, dict[str, Any]] = {}
    for name, encoder in model.encoders_.items():
        modalities[name] = {"encoder": encoder.kind, "n_features": encoder.n_features}
        if name in model.words_:
            modalities[name]["n_words"] = len(model.words_[name])
    first = next(iter(model.encoders_.values()))
    return {"n_bits": first.n_bits, "signed": first.signed, "modalities": modalities}


def _shown(facts: dict[str, Any], output: options.Format) -> str:
    from kinhash.cli.results import as_json
    from kinhash.show.tables import render, show

    if output is options.Format.JSON:
        return as_json(facts)
    flat = _flat(facts)
    if output is options.Format.CSV:
        return render([{"name": key, "value": value} for key, value in flat.items()], "csv")
    # In a table, a star says which parameters were changed: no need to list them twice.
    starred = {f"parameters.{key}" for key in _flat(facts.get("changed", {}))}
    rows = [
        {"name": key, "value": show(key, value) + (" *" if key in starred else "")}
        for key, value in flat.items()
        if not key.startswith("changed")
    ]
    legend = "\n* differs from the default" if starred else ""
    return render(rows, "table") + legend


def _flat(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts with the entries of inner dicts under names with a dot."""
    flat: dict[str, Any] = {}
    for key, value in facts.items():
        inner = {"": value} if not isinstance(value, dict) else _flat(value)
        flat |= {f"{key}.{k}".removesuffix("."): v for k, v in inner.items()}
    return flat
