"""A method with the parameters that a TOML file, options and `--set name=value` give it."""

import tomllib
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from kinhash.errors import InvalidInputError, unknown_name
from kinhash.methods import METHODS, HashMethod

DEFAULT_METHOD = "sparsehash"

_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_KINDS = {bool: "true or false", int: "an integer", float: "a number", str: "text"}


def build_method(
    name: str | None, config: Path | None, options: Mapping[str, Any], assignments: Sequence[str]
) -> HashMethod:
    """Return the method called `name`, not fitted; options and assignments win over `config`.

    Args:
        name: One of METHODS; by default that of `config`, or else sparsehash.
        config: A TOML file of parameters, and `method`.
        options: Parameters by name; those that are None were not given.
        assignments: Parameters as "name=value".

    Raises:
        InvalidInputError: An unknown method, or a file or option with a parameter or a type that
            the method does not have.
        typer.BadParameter: The same for an assignment.
    """
    stored = {} if config is None else _read(config)
    stored_name = stored.pop("method", DEFAULT_METHOD)
    name = name or str(stored_name)
    if name not in METHODS:
        raise unknown_name("method", name, METHODS)
    method = METHODS[name]
    given = {key: value for key, value in options.items() if value is not None}
    for key in given:
        _check_known(key, method)
    configured = _configured(config, stored, method)
    return method(**(configured | given | _assigned(assignments, method, given)))


def parameter_kinds(method: type[HashMethod]) -> dict[str, Any]:
    """Return the type of each parameter that the command line can set.

    `verbose` is not among them: on the command line, stderr decides whether progress is shown.
    """
    kinds = typing.get_type_hints(method.__init__)
    return {name: kinds[name] for name in method().get_params() if name != "verbose"}


def _read(config: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(config.read_text("utf-8"))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InvalidInputError(f"Cannot read {config}: {reason}.") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise InvalidInputError(f"{config} must be a TOML file: {error}.") from error


def _configured(
    config: Path | None, stored: Mapping[str, Any], method: type[HashMethod]
) -> dict[str, Any]:
    configured = {}
    for key, value in stored.items():
        try:
            _check_known(key, method)
            configured[key] = _typed(key, value, parameter_kinds(method)[key])
        except InvalidInputError as error:
            raise InvalidInputError(f"{config}: {error}") from error
    return configured


def _assigned(
    assignments: Sequence[str], method: type[HashMethod], given: Mapping[str, Any]
) -> dict[str, Any]:
    assigned: dict[str, Any] = {}
    for assignment in assignments:
        try:
            key, value = _assignment(assignment, method)
        except InvalidInputError as error:
            raise typer.BadParameter(str(error), param_hint="'--set'") from error
        if key in given or key in assigned:
            raise typer.BadParameter(f"`{key}` is given twice.", param_hint="'--set'")
        assigned[key] = value
    return assigned


def _assignment(assignment: str, method: type[HashMethod]) -> tuple[str, Any]:
    key, equals, text = (part.strip() for part in assignment.partition("="))
    if not equals:
        raise InvalidInputError(f"Expected name=value, got {assignment!r}.")
    _check_known(key, method)
    kind = parameter_kinds(method)[key]
    return key, _typed(key, _parsed(text, kind), kind)


def _check_known(key: str, method: type[HashMethod]) -> None:
    known = parameter_kinds(method)
    if key not in known:
        raise unknown_name(f"parameter of {method.name}", key, known)


def _parsed(text: str, kind: Any) -> Any:  # noqa: ANN401 - of the kind asked for
    """Return the value that `text` writes, or `text` itself where it writes none of that kind."""
    alternatives = _alternatives(kind)
    if types.NoneType in alternatives and text.lower() == "none":
        return None
    if bool in alternatives:
        return _WORDS.get(text.lower(), text)
    for number in (int, float):
        if number in alternatives:
            try:
                return number(text)
            except ValueError:
                continue
    return text


def _typed(key: str, value: Any, kind: Any) -> Any:  # noqa: ANN401 - of the kind asked for
    """Return `value` if it is of that kind, whole numbers also where any number will do."""
    alternatives = _alternatives(kind)
    if type(value) in alternatives:
        return value
    if type(value) is int and float in alternatives:
        return float(value)
    expected = " or ".join(_KINDS[one] for one in alternatives if one in _KINDS)
    raise InvalidInputError(f"`{key}` must be {expected}, got {value!r}.")


def _alternatives(kind: Any) -> tuple[Any, ...]:  # noqa: ANN401 - a type, or a union of them
    return typing.get_args(kind) or (kind,)
