"""What the documents show runs, and what exists is documented."""

import contextlib
import inspect
import io
import re
import runpy
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import typer

import kinhash
from kinhash import Codes, storage
from kinhash.cli import main
from kinhash.cli.app import app
from kinhash.datasets import DATASETS
from kinhash.errors import ConstantColumnWarning
from kinhash.methods import METHODS

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
GOLDEN = ROOT / "tests" / "golden" / "v1"

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read(name):
    return (ROOT / name).read_text("utf-8")


def blocks(name):
    """Yield language, content and first line of each fenced block."""
    text = read(name)
    for block in BLOCK.finditer(text):
        yield block[1], block[2], text[: block.start()].count("\n") + 2


def python_blocks(name):
    return [block for block in blocks(name) if block[0] == "python"]


def words(text):
    """Return the words of an output without its numbers, which vary between machines."""
    return re.sub(r"\d[\d,]*(\.\d+)?", "#", text).split()


def run_python(code, name, line, namespace):
    """Return what a block prints; a failure points to the line of the document."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        # Some pixels of digits are always blank, as the text says.
        warnings.simplefilter("ignore", ConstantColumnWarning)
        exec(compile("\n" * (line - 1) + code, ROOT / name, "exec"), namespace)  # noqa: S102
    return out.getvalue()


def run_console(session):
    """Return what the commands of a session print, with the commands."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        for command in re.findall(r"^\$ (.*)$", session, re.MULTILINE):
            program, *arguments = shlex.split(command)
            assert program == "kinhash"
            out.write(f"$ {command}\n")
            assert main(arguments) == 0, out.getvalue()
    return out.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["README.md", "docs/guide.md"])
def test_what_a_document_shows_runs_and_prints_what_it_says(name, tmp_path, monkeypatch):
    """Blocks run in order in one namespace; a text block is what the Python before it prints."""
    monkeypatch.chdir(tmp_path)
    namespace, printed = {"__name__": "__main__"}, ""
    for language, content, line in blocks(name):
        if language == "python":
            printed = run_python(content, name, line, namespace)
        elif language == "text":
            assert words(printed) == words(content), f"{name}, line {line}"
        elif language == "console":
            assert words(run_console(content)) == words(content), f"{name}, line {line}"


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*.py")), ids=lambda p: p.name)
def test_each_example_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_the_results_of_the_readme_are_those_of_the_records():
    code = "import sys, render; text = sys.stdin.read(); sys.exit(render.insert(text) != text)"
    done = subprocess.run(
        (sys.executable, "-B", "-c", code),
        cwd=ROOT / "experiments",
        input=read("README.md"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"Run: python experiments/render.py\n{done.stderr}"


def test_the_pages_on_speed_are_those_of_the_record():
    command = (sys.executable, "-B", "benchmarks/render.py", "--check")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_each_method_is_documented():
    for name, method in METHODS.items():
        assert f"| `{name}` | `{method.__name__}` |" in read("docs/guide.md")


@pytest.mark.parametrize("method", METHODS.values())
def test_each_parameter_is_described_where_the_class_is(method):
    described = re.findall(r"^ {4,8}(\w+): ", inspect.getdoc(method) or "", re.MULTILINE)
    assert set(method().get_params()) <= set(described)


def test_each_command_is_documented():
    for name in typer.main.get_command(app).commands:
        assert f"## `kinhash {name}`" in read("docs/cli.md")


def test_each_data_set_is_named_in_the_code_map():
    text = read("ARCHITECTURE.md")
    assert all(name in text for name in DATASETS)


def modules():
    """Return the path of each module below src/kinhash, without those that hold no code."""
    package = ROOT / "src" / "kinhash"
    paths = {path.relative_to(package) for path in package.rglob("*.py")}
    return {path for path in paths if path.name not in ("__init__.py", "__main__.py")}


def mapped():
    """Return the path of each module that the code map names, by its row's file or folder."""
    rows = re.findall(r"^\| `([\w/.]+)` \| (.*) \|$", read("ARCHITECTURE.md"), re.MULTILINE)
    for owner, text in rows:
        if owner.endswith(".py"):
            yield Path(owner)
        else:
            yield from (Path(owner) / name for name in re.findall(r"`(\w+\.py)`", text))


def test_the_code_map_names_the_modules_there_are_each_in_its_folder():
    assert sorted(mapped()) == sorted(modules())


# Modules without behaviour of their own, and why.
UNTESTED = {Path("arrays.py"): "only names types"}


@pytest.mark.parametrize("path", sorted(modules()), ids=str)
def test_each_module_has_tests_at_its_own_path(path):
    tests = ROOT / "tests" / path.with_name(f"test_{path.name}")
    assert tests.exists() or path in UNTESTED, tests.relative_to(ROOT)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_links_lead_somewhere(path):
    text = BLOCK.sub("", path.read_text("utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http://", "https://")):
            continue
        file, _, anchor = target.partition("#")
        found = path.parent / file if file else path
        assert found.exists(), target
        if anchor:
            assert anchor in anchors(found.read_text("utf-8")), target


def anchors(text):
    """Return the names under which the headings of a document can be linked to."""
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}


def read_as_the_format_says(kind, n_blocks):
    """Return the names that the first blocks of docs/formats.md define, run on a golden file."""
    Path("model.kinhash").write_bytes((GOLDEN / f"{kind}.kinhash").read_bytes())
    namespace = {}
    for _, code, line in list(python_blocks("docs/formats.md"))[:n_blocks]:
        run_python(code, "docs/formats.md", line, namespace)
    return namespace


@pytest.mark.parametrize("kind", ["model", "codes"])
def test_a_file_can_be_read_as_the_format_says(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = read_as_the_format_says(kind, 2)
    header, arrays = storage.read(GOLDEN / f"{kind}.kinhash")
    assert {key: value for key, value in found["entry"].items() if key != "sha256"} == header
    assert found["arrays"].keys() == arrays.keys()
    for name, array in arrays.items():
        assert found["arrays"][name].dtype == array.dtype
        assert np.array_equal(found["arrays"][name], array)


def test_a_model_encodes_as_the_format_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dense = read_as_the_format_says("model", 3)["encode"](np.load(GOLDEN / "vectors.npy"))
    assert np.array_equal(dense, kinhash.load(GOLDEN / "codes.kinhash").codes.to_dense())


def test_the_examples_of_the_bit_layout_hold():
    row = re.compile(r"^\| ([-\d ]+)(, signed)? \| (0x.*?) \| (.*?) \|$", re.MULTILINE)
    rows = row.findall(read("docs/formats.md"))
    assert len(rows) == 2
    for entries, signed, words_shown, bytes_shown in rows:
        codes = Codes.from_dense([[int(e) for e in entries.split()]], signed=bool(signed))
        assert codes.words[0].tolist() == [int(word, 16) for word in words_shown.split(", ")]
        assert codes.to_bytes()[0].tobytes() == bytes.fromhex(bytes_shown)


def test_each_header_entry_is_specified():
    text = read("docs/formats.md")
    for kind in ("model", "codes"):
        header, arrays = storage.read(GOLDEN / f"{kind}.kinhash")
        for name in [*header, *arrays, "sha256"]:
            assert f"`{name}`" in text


def test_the_version_is_the_same_everywhere():
    released = re.search(r"^## \[(\d[^\]]*)\]", read("CHANGELOG.md"), re.MULTILINE)
    assert released
    assert released[1] == kinhash.__version__
    assert f"\nversion: {kinhash.__version__}\n" in read("CITATION.cff")
