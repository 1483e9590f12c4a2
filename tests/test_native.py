"""What of the compiled core no other test compiles."""

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[1] / "native"


@pytest.mark.skipif(
    shutil.which("c++") is None or platform.machine() not in {"x86_64", "AMD64"},
    reason="needs a C++ compiler for x86",
)
def test_the_check_for_emulated_processors_fits_the_kernels():
    """`make emulate` takes minutes and root; that it compiles is seen here."""
    check = [NATIVE / "emulate" / "check.cpp", f"-I{NATIVE}", "-mpopcnt"]
    compiler = ["c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Werror", *map(str, check)]
    done = subprocess.run(compiler, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
