"""`kinhash info`: what is in a file that kinhash wrote."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinhash.cli import options

if TYPE_CHECKING:  # these take half a second to import
    from kinhash.codes import Codes
    from kinhash.methods import HashMethod


def info(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A model or codes.")],
    *,
    output: options.Output = options.Format.TABLE,
    _debug: options.Debug = False,
) -> None:
    """Show what is in a model or in a file of codes."""
    from kinhash import storage
    from kinhash.cli.results import emit
    from kinhash.codes import Codes
    from kinhash.methods import load

    header, _ = storage.read(file)
    found = load(file)
    facts = {
        "file": str(file),
        "bytes": file.stat().st_size,
        "kind": header["kind"],
        "format": header["format"],
        "kinhash": header["kinhash"],
    }
    facts |= _of_codes(found) if isinstance(found, Codes) else _of_model(found)
    emit(_shown(facts, output))


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


def _of_model(model: "HashMethod") -> dict[str, Any]:
    parameters, defaults = model.get_params(), type(model)().get_params()
    return {
        "method": model.name,
        "n_bits": model.encoder_.n_bits,
        "n_features": model.encoder_.n_features,
        "signed": model.encoder_.signed,
        "changed": {k: v for k, v in parameters.items() if v != defaults[k]},
        "parameters": parameters,
        "history": next((look for look in model.history_ if look["kept"]), None),
    }


def _shown(facts: dict[str, Any], output: options.Format) -> str:
    from kinhash.cli.results import as_json
    from kinhash.evaluation.tables import render, show

    if output is options.Format.JSON:
        return as_json(facts)
    flat = _flat(facts)
    if output is options.Format.CSV:
        return render([{"name": key, "value": value} for key, value in flat.items()], "csv")
    # In a table, a star says which parameters were changed: no need to list them twice.
    starred = {f"parameters.{key}" for key in facts.get("changed", {})}
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
        inner = value if isinstance(value, dict) else None
        flat |= {key: value} if inner is None else {f"{key}.{k}": v for k, v in inner.items()}
    return flat
