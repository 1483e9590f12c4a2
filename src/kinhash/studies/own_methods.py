"""Methods of the user's own, named by import path as in "package.module:Class"."""

import hashlib
import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

from kinhash.codes import Codes
from kinhash.errors import InvalidInputError, unknown_name
from kinhash.evaluation.fitting import Hasher


def is_path(name: str) -> bool:
    """Return whether a method is named by import path, not by a name in `METHODS`."""
    return ":" in name


def load_class(path: str) -> type[Any]:
    """Return the class that "module:Class" names; modules in the current folder are found, too.

    Raises:
        InvalidInputError: The module cannot be imported, it has no such class, or the class has no
            `fit` or no `encode`.
    """
    module_name, _, class_name = path.partition(":")
    if not module_name or not class_name:
        raise InvalidInputError(
            "A method of your own is named module:Class, such as mine.hashing:MyHash, "
            f"got {path!r}."
        )
    folder = str(Path.cwd())
    if folder not in sys.path:  # a console script starts with its own folder instead
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever the user's module raises
        raise InvalidInputError(
            f"Module {module_name!r} of method {path!r} cannot be imported: "
            f"{type(error).__name__}: {error}. Modules are looked for in {folder} and among the "
            "installed ones."
        ) from error
    found = getattr(module, class_name, None)
    if found is None:
        known = [name for name, one in vars(module).items() if inspect.isclass(one)]
        raise unknown_name(f"class of module {module_name}", class_name, known)
    check_face(found, path)
    return found  # type: ignore[no-any-return]  # checked just now


def check_face(kind: object, name: str) -> None:
    """Raise InvalidInputError unless this is a class that can be fitted and encodes."""
    if not inspect.isclass(kind):
        raise InvalidInputError(
            f"Method {name!r} must be a class, got {type(kind).__name__}. Name the class itself."
        )
    missing = [one for one in ("fit", "encode") if not callable(getattr(kind, one, None))]
    if missing:
        raise InvalidInputError(
            f"Method {name!r} must have the methods fit(X, y) and encode(X), but has no "
            f"{' and no '.join(missing)}."
        )


def arguments_of(kind: type[Any]) -> tuple[str, ...]:
    """Return the names of the arguments that making a method takes."""
    return tuple(inspect.signature(kind).parameters)


def made(kind: type[Any], name: str, parameters: dict[str, Any]) -> Hasher:
    """Return a method with those of the parameters `n_bits` and `seed` that it takes, and others.

    Raises:
        InvalidInputError: A parameter is unknown, or the class cannot be made with these alone.
    """
    known = arguments_of(kind)
    unknown = sorted(set(parameters) - {"n_bits", "seed"} - set(known))
    if unknown:
        raise unknown_name(f"parameter of {name}", unknown[0], known)
    try:
        return kind(**{key: value for key, value in parameters.items() if key in known})  # type: ignore[no-any-return]  # check_face saw it
    except TypeError as error:
        raise InvalidInputError(f"Method {name!r} cannot be made: {error}.") from error


class Checked:
    """A method of the user's own whose `encode` is held to what it promises.

    Args:
        method: The method.
        name: What an error calls it.
    """

    def __init__(self, method: Hasher, name: str) -> None:
        self.method, self._name = method, name
        self.fit = method.fit
        self.unsupervised = bool(getattr(method, "unsupervised", False))

    def encode(self, X: Any) -> Codes:  # noqa: ANN401 - the user's method says what it takes
        """Return one code per row.

        Raises:
            InvalidInputError: The method returned something else.
        """
        codes = self.method.encode(X)
        if not isinstance(codes, Codes):
            raise InvalidInputError(
                f"encode of method {self._name!r} must return kinhash.Codes, got "
                f"{type(codes).__name__}. Make them with kinhash.Codes.from_dense(bits)."
            )
        if len(codes) != len(X):
            raise InvalidInputError(
                f"encode of method {self._name!r} must return a code per row, got {len(codes)} "
                f"codes of {len(X)} rows."
            )
        return codes


def source_digest(kind: type[Any]) -> str:
    """Return 8 hexadecimal digits that change with the file of a class; "" if there is none."""
    try:
        content = Path(inspect.getfile(kind)).read_bytes()
    except (OSError, TypeError):
        return ""
    return hashlib.sha256(content).hexdigest()[:8]
