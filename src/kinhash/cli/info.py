"""`kinhash info`: what is in a file that kinhash wrote."""

from pathlib import Path
from typing import Annotated, Any

import typer

from kinhash.cli import options


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
    from kinhash.cli.messages import note
    from kinhash.cli.results import emit
    from kinhash.loading import describe

    found = describe(file, verify=verify)
    emit(_shown({"file": str(file), "bytes": file.stat().st_size, **found}, output))
    if verify:
        note(f"Verified {file}: it is complete and undamaged.")


def _shown(facts: dict[str, Any], output: options.Format) -> str:
    from kinhash.cli.results import as_json
    from kinhash.show.tables import render, show

    if output is options.Format.JSON:
        return as_json(facts)
    if output is options.Format.JSONL:
        return as_json(facts, indent=None)
    flat = _flat(facts)
    if output is options.Format.CSV:
        return render([{"name": key, "value": value} for key, value in flat.items()], "csv")
    # In a table, a star says which parameters were changed: no need to list them twice. What is
    # left at None has its method's default, or belongs to another recipe.
    starred = {f"parameters.{key}" for key in _flat(facts.get("changed", {}))}
    rows = [
        {"name": key, "value": show(key, value) + (" *" if key in starred else "")}
        for key, value in flat.items()
        if not key.startswith("changed") and (value is not None or "parameters." not in key)
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
