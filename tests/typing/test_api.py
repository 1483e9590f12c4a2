"""The types that an installed wheel gives its users."""

import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import kinhash
import kinhash.datasets
import kinhash.methods

ROOT = Path(__file__).parents[2]
API = Path(__file__).with_name("api.py")


def run(*command, cwd=None):
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel without the compiled core, which types do not need: no compiler, no network."""
    folder = tmp_path_factory.mktemp("wheel")
    options = (
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--config-settings=wheel.cmake=false",
    )
    run(sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", folder, ROOT)
    (path,) = folder.glob("kinhash-*.whl")
    return path


@pytest.mark.slow
def test_the_wheel_says_that_it_is_typed(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {"kinhash/py.typed", "kinhash/_native.pyi"} <= set(names)


@pytest.mark.slow
def test_the_types_of_an_installed_wheel_are_those_that_users_rely_on(wheel, tmp_path):
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    # NumPy and the stubs of SciPy are those of these tests; the working copy is not among them.
    (site / "tests.pth").write_text(sysconfig.get_path("purelib"))
    options = ("--strict", "--config-file=", f"--python-executable={python}")
    # Elsewhere, or mypy would find the working copy.
    run(sys.executable, "-m", "mypy", *options, "--cache-dir=cache", API, cwd=tmp_path)


def test_every_public_name_is_used():
    used = set(re.findall(r"\w+", API.read_text("utf-8")))
    for module in (kinhash, kinhash.methods, kinhash.datasets):
        assert set(module.__all__) <= used
