"""What Python does not reach of the compiled core: its unit tests."""

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[1] / "native"


X86 = platform.machine() in {"x86_64", "AMD64"}
# As CMakeLists.txt compiles them.
INSTRUCTION_SETS = {"portable": []}
if X86:
    avx2 = ["-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2", "-mpopcnt"]
    avx512 = ["f", "bw", "dq", "vl", "vpopcntdq"]
    INSTRUCTION_SETS |= {"avx2": avx2, "avx512": [*(f"-mavx512{part}" for part in avx512), *avx2]}

needs_compiler = pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")


def compile_cpp(*arguments):
    """Compile with warnings as errors."""
    flags = ["-std=gnu++20", f"-I{NATIVE}", "-Wall", "-Wextra", "-Wno-psabi", "-Werror", "-pthread"]
    command = ["c++", *flags, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@needs_compiler
def test_the_unit_tests_of_the_core_pass(tmp_path):
    objects = []
    for name, flags in INSTRUCTION_SETS.items():
        objects.append(tmp_path / f"{name}.o")
        source = NATIVE / "tests" / "kernels.cpp"
        compile_cpp("-O1", f"-DKINHASH_ISA={name}", *flags, "-c", source, "-o", objects[-1])
    x86 = ["-DKINHASH_X86", "-mpopcnt"] if X86 else []
    sources = [NATIVE / "tests" / "main.cpp", *sorted((NATIVE / "tests").glob("test_*.cpp"))]
    compile_cpp("-O1", *x86, *sources, *objects, "-o", tmp_path / "run")
    done = subprocess.run([tmp_path / "run"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "FAILED" not in done.stdout
    assert done.stdout.count("passed ") == 1 + sum(
        source.read_text(encoding="utf-8").count("\nTEST(") for source in sources
    )
