# ruff: noqa: INP001 - Python looks for this name by itself
"""Puts the sanitised core in the place of the installed one: `make sanitize` has it on its path.

Python imports a module of this name by itself when it starts, in every process a test starts too.
"""

import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Sanitised:
    """Finds `kinhash._native` where the environment says."""

    @staticmethod
    def find_spec(
        name: str, _path: object = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "kinhash._native":
            return None
        return importlib.util.spec_from_file_location(name, os.environ["KINHASH_SANITISED"])


if "KINHASH_SANITISED" in os.environ:
    sys.meta_path.insert(0, _Sanitised)  # type: ignore[arg-type]
