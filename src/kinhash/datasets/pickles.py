"""Plain data out of a pickle, of which nothing is run.

Python's own reader calls whatever function a pickle names. This one knows the operations that build
lists, tuples, dictionaries, text, numbers and arrays of bytes, and refuses every other.
"""

import math
import pickletools
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from kinhash.errors import InvalidInputError

# What the pickled arrays of NumPy 1 and 2 name, and Python 3 for bytes before protocol 3. The names
# are compared, never looked up.
_RECONSTRUCT = ("numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct")
_ENCODE = "_codecs encode"
_KNOWN = (*_RECONSTRUCT, _ENCODE, "numpy ndarray", "numpy dtype")

_PUSH = {"BININT", "BININT1", "BININT2", "BINUNICODE", "BINBYTES", "SHORT_BINBYTES"}
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_MARK = object()
_MAX_SHOWN = 60

Content = Any  # anything may stand in the file


class _Name(str):
    """The name of a function or class."""

    __slots__ = ()


class _Array:
    """An array of bytes whose content comes later in the pickle."""

    def __init__(self) -> None:
        self.values: Any = None

    def fill(self, state: Content) -> None:
        _version, shape, dtype, is_fortran, content = state
        if dtype != "u1" or not isinstance(content, bytes) or len(content) != math.prod(shape):
            raise ValueError("its array is not one of bytes")
        values = np.frombuffer(content, dtype=np.uint8)
        self.values = values.reshape(shape, order="F" if is_fortran else "C")


def read_pickle(path: Path) -> dict[str, Any]:
    """Return the dictionary in a pickle; text is bytes as in Python 2, keys are strings.

    Raises:
        InvalidInputError: The file cannot be read, is damaged, or holds more than plain data.
    """
    try:
        return _dictionary(_Machine().run(path.read_bytes()))
    except InvalidInputError as error:
        raise InvalidInputError(f"{path} is refused: {error}") from None
    except (OSError, ValueError, TypeError, LookupError, OverflowError, AttributeError) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}.") from error


def _dictionary(found: Content) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError("it holds no dictionary")  # noqa: TRY004  (the file is wrong, not a type)
    return {
        key.decode("latin-1") if isinstance(key, bytes) else key: (
            value.values if isinstance(value, _Array) else value
        )
        for key, value in found.items()
    }


class _Machine:
    """The stack and the memory on which a pickle's operations work."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memory: dict[int, Any] = {}

    def run(self, content: bytes) -> Content:
        with warnings.catch_warnings():
            # Of escapes in damaged text, as if it were a program's.
            warnings.simplefilter("ignore", DeprecationWarning)
            for operation, argument, _ in pickletools.genops(content):
                if operation.name == "STOP":
                    break
                self._step(operation.name, argument)
        return self._stack.pop()

    def _step(self, name: str, argument: Content) -> None:  # noqa: C901, PLR0912
        """Perform one operation; their meaning is that of `pickletools`."""
        stack = self._stack
        if name in _PUSH:
            stack.append(argument)
        elif name in ("SHORT_BINSTRING", "BINSTRING"):
            stack.append(argument.encode("latin-1"))
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name == "MARK":
            stack.append(_MARK)
        elif name in ("BINPUT", "LONG_BINPUT"):
            self._memory[argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(self._memory[argument])
        elif name == "EMPTY_LIST":
            stack.append([])
        elif name == "EMPTY_DICT":
            stack.append({})
        elif name in _TUPLES:
            stack.append(tuple(reversed([stack.pop() for _ in range(_TUPLES[name])])))
        elif name == "TUPLE":
            stack.append(tuple(self._above_mark()))
        elif name in ("APPEND", "APPENDS"):
            values = [stack.pop()] if name == "APPEND" else self._above_mark()
            stack[-1].extend(values)
        elif name in ("SETITEM", "SETITEMS"):
            values = [stack.pop(-2), stack.pop()] if name == "SETITEM" else self._above_mark()
            self._set_items(values)
        elif name == "GLOBAL" and argument in _KNOWN:
            stack.append(_Name(argument))
        elif name == "REDUCE":
            arguments = stack.pop()
            stack.append(_made(stack.pop(), arguments))
        elif name == "BUILD":
            state = stack.pop()
            # The state of a dtype says nothing more about single bytes.
            if isinstance(stack[-1], _Array):
                stack[-1].fill(state)
        elif name != "PROTO":
            asked = name if argument is None else f"{name} {str(argument)[:_MAX_SHOWN]}"
            raise InvalidInputError(
                f"it asks for {asked!r}, and only plain data are read, because anything else "
                "could run code."
            )

    def _set_items(self, values: list[Any]) -> None:
        # Text alone: hashing a tuple in a tuple in a tuple ... can end the whole process.
        if not all(isinstance(key, (bytes, str)) for key in values[::2]):
            raise ValueError("a key of its dictionary is no text")
        self._stack[-1].update(zip(values[::2], values[1::2], strict=True))

    def _above_mark(self) -> list[Any]:
        start = max(i for i, value in enumerate(self._stack) if value is _MARK)
        values = self._stack[start + 1 :]
        del self._stack[start:]
        return values


def _made(function: Content, arguments: Content) -> Content:
    """Return what a known name stands for: an array to fill, a type's name, or bytes."""
    if not isinstance(function, _Name):
        raise ValueError("it calls what is no function")  # noqa: TRY004
    if function in _RECONSTRUCT:
        return _Array()
    if function == _ENCODE:
        return str(arguments[0]).encode("latin-1")
    text = arguments[0]
    return text.decode("latin-1") if isinstance(text, bytes) else text
