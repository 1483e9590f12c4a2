"""Messages in the words of the command line: options where the library names Python arguments."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

_OTHERWISE: dict[str, dict[str, str]] = {
    "train": {"X": "DATA", "y": "--labels"},
    "encode": {"X": "DATA"},
    "search": {"X": "--queries", "n_threads": "--threads"},
    "evaluate": {
        "X": "DATA",
        "query_labels": "the labels of --queries",
        "db_labels": "the labels of DATA",
    },
    "tune": {"X": "DATA", "y": "--labels"},
    "compare": {"X": "DATA", "y": "--labels", "n_bits": "--bits"},
    "dedup": {"data": "DATA", "X": "DATA", "n_bits": "--bits", "against_ids": "--ids"},
    "sql": {"id": "--id", "items": "--left"},
    "spark encode": {"df": "DATA", "vector": "--features"},
    "spark join": {"left": "LEFT", "right": "RIGHT", "id": "--id"},
    "spark dedup": {"df": "ITEMS", "id": "--id"},
    "spark evaluate": {"queries": "QUERIES", "items": "ITEMS", "layout": "--n-bits"},
}
"""By command: arguments of the library that the command's options call something else."""

_PHRASES = {
    "requires y to be passed, but the target y is None. Pass class labels,": (
        "needs class labels, but DATA has none. Name them with --labels,"
    ),
    "leave `y` out": "leave the labels out of DATA",
    "goes with `y`, which is None": "goes with labels, and DATA has none",
    "belong into `X` and `y`": "belong into DATA",
    "Input X contains": "`X` contains",  # scikit-learn's words have no backticks
}
# "`label` in items.csv" and "an array `vectors`" name what is in a file.
_NAME = re.compile(r"(?<!array )`(\w+)`(?! in )")
_VALUE = re.compile(r"`?\b(?P<name>\w+)=(?P<quote>['\"]?)(?P<value>[\w.-]*\w)(?P=quote)`?")


def in_options(message: str, words: Sequence[str]) -> str:
    """Return a message of the library with options in place of the arguments it names.

    Of two spellings the one that was typed is used. A parameter without an option of its own is
    named with `--set`. With `--config`, parameters that were not typed keep their names: these are
    what the file calls them.

    Args:
        message: An error or a warning, with names in backticks.
        words: The command line after `kinhash`.

    Example:
        >>> in_options("`n_bits` must be at least 1, got 0.", ["train", "x.npz", "--bits", "0"])
        '--bits must be at least 1, got 0.'
    """
    plain = [word for word in words if not word.startswith("-")]
    command = " ".join(plain[: 2 if plain[:1] == ["spark"] else 1])
    table = _table(command, words)
    if not table:
        return message
    for phrase, told in _PHRASES.items():
        message = message.replace(phrase, told)
    message = re.sub(r"^X (?=has )", "`X` ", message)
    message = _NAME.sub(lambda found: table.get(found[1], found[0]), message)
    message = _VALUE.sub(lambda found: _set(found, table), message)
    return re.sub("^the ", "The ", message)


def _set(found: re.Match[str], table: Mapping[str, str]) -> str:
    option = table.get(found["name"])
    if option is None:
        return found[0]
    if option.startswith("--set "):
        return f"{option}={found['value']}"
    return option if found["value"] == "True" else f"{option} {found['value']}"


def _table(command: str, words: Sequence[str]) -> dict[str, str]:
    """Return the option for each argument of the library that the command can set."""
    from kinhash.methods import Nested

    parameters = _parameters_of(command)
    if parameters is None:
        return {}
    typed = {word.partition("=")[0] for word in words}
    table = {}
    for parameter in parameters:
        if parameter.param_type_name == "option":
            known = [name for name in parameter.opts if name in typed]
            table[parameter.name] = (known or parameter.opts)[0]
    if command == "train":
        table = _parameters() | table
        # Messages about a part of nested codes name its parameter: --set bucket.levels=0.
        for key in typed:
            part, dot, name = key.partition(".")
            if part in Nested.DEFAULTS and dot:
                table[name] = f"--set {key}"
        if "--config" in typed:
            table = {name: option for name, option in table.items() if option in typed}
    table |= _OTHERWISE.get(command, {})
    if command == "evaluate" and "--queries" in typed:
        table["X"] = "DATA or --queries"  # the message does not say which
    if "features" in table:
        table["vectors"] = "--rerank" if "--rerank" in typed else table["features"]
    return table


def _parameters_of(command: str) -> Sequence[Any] | None:
    """Return what click knows of a command's options; None if there is no such command."""
    import typer

    from kinhash.cli.app import app

    found: Any = typer.main.get_command(app)
    for name in command.split(" "):
        found = getattr(found, "commands", {}).get(name)
    return None if found is None else found.params


def _parameters() -> dict[str, str]:
    from kinhash.cli.settings import AnyMethod, parameter_kinds
    from kinhash.methods import METHODS, MULTIMODAL_METHODS

    methods: list[type[AnyMethod]] = [*METHODS.values(), *MULTIMODAL_METHODS.values()]
    return {name: f"--set {name}" for method in methods for name in parameter_kinds(method)}
