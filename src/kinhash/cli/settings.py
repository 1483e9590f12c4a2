"""A method with the parameters that a TOML file, options and `--set name=value` give it."""

import tomllib
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from kinhash.errors import InvalidInputError, unknown_name
from kinhash.methods import METHODS, MULTIMODAL_METHODS, HashMethod, MultimodalMethod, Nested
from kinhash.methods.nested import FLAT_METHODS, SET_BY_NESTED

DEFAULT_METHOD = "sparsehash"
DEFAULT_MULTIMODAL_METHOD = "multimodal-sparsehash"

AnyMethod = HashMethod | MultimodalMethod

_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_KINDS = {bool: "true or false", int: "an integer", float: "a number", str: "text"}


def build_method(
    name: str | None,
    config: Path | None,
    options: Mapping[str, Any],
    assignments: Sequence[str],
    *,
    multimodal: bool = False,
) -> AnyMethod:
    """Return the method called `name`, not fitted; options and assignments win over `config`.

    Args:
        name: One of METHODS, or of MULTIMODAL_METHODS; by default that of `config`, or else
            sparsehash or multimodal-sparsehash.
        config: A TOML file of parameters, and `method`. A parameter that is a method, such as
            `bucket` of nested, is a name, or a table of its parameters, and `method`.
        options: Parameters by name; those that are None were not given.
        assignments: Parameters as "name=value", or "bucket.name=value".
        multimodal: Whether there are several modalities.

    Raises:
        InvalidInputError: An unknown method, one for another number of modalities, or a file or
            option with a parameter or a type that the method does not have.
        typer.BadParameter: The same for an assignment.
    """
    stored = {} if config is None else _read(config)
    default = DEFAULT_MULTIMODAL_METHOD if multimodal else DEFAULT_METHOD
    stored_name = stored.pop("method", default)
    method = _method(name or str(stored_name), multimodal=multimodal)
    given = {key: value for key, value in options.items() if value is not None}
    _check_options(given, method)
    parts, assignments = _chosen_parts(method, config, stored, assignments)
    kinds = _settable(method, parts)
    configured = _configured(config, _flat(stored, parts), method, kinds)
    merged = configured | given | _assigned(assignments, method, kinds, given)
    return _with_parts(method, parts, merged)


def _chosen_parts(
    method: type[AnyMethod],
    config: Path | None,
    stored: Mapping[str, Any],
    assignments: Sequence[str],
) -> tuple[dict[str, type[HashMethod]], list[str]]:
    """Return the methods that are parts of this one, by parameter; and the other assignments.

    They are named in a file, `bucket = "nnhash"` or `method` in a table of that name, or by
    `--set bucket=nnhash`, which wins.
    """
    if not issubclass(method, Nested):
        return {}, list(assignments)
    names, rest = {}, []
    for part, kind in Nested.DEFAULTS.items():
        table = stored.get(part, {})
        if not isinstance(table, str | dict):
            raise InvalidInputError(
                f"{config}: `{part}` must be the name of a method or a table with its parameters, "
                f"got {table!r}."
            )
        names[part] = table if isinstance(table, str) else table.get("method", kind.name)
    for assignment in assignments:
        key, _, text = (word.strip() for word in assignment.partition("="))
        if key in names:
            names[key] = text
        else:
            rest.append(assignment)
    for name in names.values():
        if name not in FLAT_METHODS:
            raise unknown_name("method", str(name), FLAT_METHODS)
    return {part: FLAT_METHODS[name] for part, name in names.items()}, rest


def _settable(method: type[AnyMethod], parts: Mapping[str, type[HashMethod]]) -> dict[str, Any]:
    """Return the type of each parameter that can be set, those of parts as "bucket.levels"."""
    kinds = {key: kind for key, kind in parameter_kinds(method).items() if key not in parts}
    for part, kind in parts.items():
        own = parameter_kinds(kind)
        kinds |= {f"{part}.{key}": own[key] for key in own if key not in SET_BY_NESTED}
    return kinds


def _flat(stored: Mapping[str, Any], parts: Collection[str]) -> dict[str, Any]:
    """Return the entries of a file with those of the parts' tables as "bucket.levels"."""
    flat = {key: value for key, value in stored.items() if key not in parts}
    for part in parts:
        table = stored.get(part, {})
        if isinstance(table, dict):
            flat |= {f"{part}.{key}": value for key, value in table.items() if key != "method"}
    return flat


def _with_parts(
    method: type[AnyMethod], parts: Mapping[str, type[HashMethod]], values: Mapping[str, Any]
) -> AnyMethod:
    own = {key: value for key, value in values.items() if key.partition(".")[0] not in parts}
    for part, kind in parts.items():
        inner = {
            key.removeprefix(f"{part}."): value
            for key, value in values.items()
            if key.startswith(f"{part}.")
        }
        if inner or kind is not Nested.DEFAULTS[part]:
            own[part] = kind(**inner)
    return method(**own)


def _check_options(given: Mapping[str, Any], method: type[AnyMethod]) -> None:
    known = parameter_kinds(method)
    for key in given:
        if key not in known:
            names = ", ".join(f"`{name}`" for name in sorted(known))
            raise InvalidInputError(f"Method {method.name!r} has no `{key}`. It has {names}.")


def _method(name: str, *, multimodal: bool) -> type[AnyMethod]:
    if multimodal and name in METHODS:
        raise InvalidInputError(
            f"Method {name!r} takes one kind of vectors, so leave --modalities out, or choose "
            f"--method {', '.join(sorted(MULTIMODAL_METHODS))}."
        )
    if not multimodal and name in MULTIMODAL_METHODS:
        raise InvalidInputError(
            f"Method {name!r} takes several modalities: name them, as in --modalities image,text."
        )
    known: Mapping[str, type[AnyMethod]] = MULTIMODAL_METHODS if multimodal else METHODS
    if name not in known:
        raise unknown_name("method", name, known)
    return known[name]


def parameter_kinds(method: type[AnyMethod]) -> dict[str, Any]:
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
    config: Path | None,
    stored: Mapping[str, Any],
    method: type[AnyMethod],
    kinds: Mapping[str, Any],
) -> dict[str, Any]:
    configured = {}
    for key, value in stored.items():
        try:
            _check_known(key, method, kinds)
            configured[key] = _typed(key, value, kinds[key])
        except InvalidInputError as error:
            raise InvalidInputError(f"{config}: {error}") from error
    return configured


def _assigned(
    assignments: Sequence[str],
    method: type[AnyMethod],
    kinds: Mapping[str, Any],
    given: Mapping[str, Any],
) -> dict[str, Any]:
    assigned: dict[str, Any] = {}
    for assignment in assignments:
        try:
            key, value = _assignment(assignment, method, kinds)
        except InvalidInputError as error:
            raise typer.BadParameter(str(error), param_hint="'--set'") from error
        if key in given or key in assigned:
            raise typer.BadParameter(f"`{key}` is given twice.", param_hint="'--set'")
        assigned[key] = value
    return assigned


def _assignment(
    assignment: str, method: type[AnyMethod], kinds: Mapping[str, Any]
) -> tuple[str, Any]:
    key, equals, text = (part.strip() for part in assignment.partition("="))
    if not equals:
        raise InvalidInputError(f"Expected name=value, got {assignment!r}.")
    _check_known(key, method, kinds)
    return key, _typed(key, _parsed(text, kinds[key]), kinds[key])


def _check_known(key: str, method: type[AnyMethod], kinds: Mapping[str, Any]) -> None:
    if key not in kinds:
        raise unknown_name(f"parameter of {method.name}", key, kinds)


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
    for one in alternatives:  # in a file, a table with a value for each modality
        if isinstance(value, dict) and typing.get_origin(one) is Mapping:
            inner = typing.get_args(one)[1]
            return {name: _typed(f"{key}.{name}", part, inner) for name, part in value.items()}
    if type(value) is int and float in alternatives:
        return float(value)
    expected = " or ".join(_KINDS[one] for one in alternatives if one in _KINDS)
    raise InvalidInputError(f"`{key}` must be {expected}, got {value!r}.")


def _alternatives(kind: Any) -> tuple[Any, ...]:  # noqa: ANN401 - a type, or a union of them
    is_union = isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union
    return typing.get_args(kind) if is_union else (kind,)
