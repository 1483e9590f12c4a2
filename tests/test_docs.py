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
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
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
CODE = ("src", "native", "experiments", "benchmarks", "examples", "tests")
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
@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "docs/duplicates.md",
        "docs/engines.md",
        "docs/guide.md",
        "docs/own-codes.md",
        "docs/two-stage.md",
    ],
)
def test_what_a_document_shows_runs_and_prints_what_it_says(name, tmp_path, monkeypatch):
    """Blocks run in order in one namespace; a text block is what the Python before it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kinhash.progress.PATIENCE", float("inf"))  # however busy the machine is
    namespace, printed = {"__name__": "__main__"}, ""
    for language, content, line in blocks(name):
        if language == "python":
            printed = run_python(content, name, line, namespace)
        elif language == "text":
            assert words(printed) == words(content), f"{name}, line {line}"
        elif language == "console":
            assert words(run_console(content)) == words(content), f"{name}, line {line}"


def test_the_example_of_postgresql_runs(postgres):
    name = "docs/engines.md"
    [code] = [text for kind, text, _ in blocks(name) if kind == "py" and "postgres" in text]
    codes = Codes.from_dense(np.eye(8))
    url = "postgresql://me:secret@localhost:5432/items"
    assert url in code
    namespace = {"codes": codes, "Layout": kinhash.sql.Layout}
    assert run_python(code.replace(url, postgres), name, 1, namespace) == "[8]\n"


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
def test_files_that_a_document_names_exist(path):
    known = [f"/{p.relative_to(ROOT)}" for folder in CODE for p in (ROOT / folder).rglob("*.*")]
    named = re.findall(r"`([\w/]+\.(?:py|hpp|cpp))`", path.read_text("utf-8"))
    for name in named:
        assert any(file.endswith(f"/{name}") for file in known), name


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


def inputs_as_the_format_says(arrays, X, *, unit):
    u = (X - arrays["mean"]) * arrays["scale"]
    return u / np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-30) if unit else u


def squared_distances(u, points):
    return ((u[:, None] - points[None]) ** 2).sum(axis=2)


def ista_as_the_format_says(v, arrays, settings):
    def shrink(v):
        if settings["two_sided"]:
            return np.sign(v) * np.maximum(0, np.abs(v) - arrays["tau"])
        return np.maximum(0, v - arrays["tau"])

    h = shrink(v)
    for _ in range(settings["n_steps"]):
        h = shrink(v + h @ arrays["S"].T)
    return binary_as_the_format_says(h, settings)


def cod_as_the_format_says(v, arrays, settings):
    codes = []
    for b in v:
        z = np.zeros_like(b)
        for _ in range(settings["n_steps"]):
            h = np.maximum(0, b - arrays["tau"])
            k = int(np.argmax(np.abs(h - z)))
            b = b + arrays["S"][:, k] * (h[k] - z[k])  # noqa: PLW2901 - as the document writes it
            z[k] = h[k]
        codes.append(z)
    return binary_as_the_format_says(np.array(codes), settings)


def binary_as_the_format_says(h, settings):
    output = np.tanh(settings["beta"] * h)
    return (output > 0.5).astype(int) - (output < -0.5)


def anchor_graph_as_the_format_says(u, arrays, settings):
    distances = squared_distances(u, arrays["anchors"])
    nearest = np.argsort(distances, axis=1, kind="stable")[:, : settings["n_nearest"]]
    z = np.zeros_like(distances)
    near = np.take_along_axis(distances, nearest, axis=1)
    np.put_along_axis(z, nearest, np.exp(-near / settings["width"]), axis=1)
    y = (z / z.sum(axis=1, keepdims=True)) @ arrays["W"].T
    first = y[:, : arrays["thresholds"].shape[1]]
    cut = np.where(first > 0, *arrays["thresholds"][:, None])
    return np.concatenate([y, np.abs(first) - cut], axis=1) > 0


def class_as_the_format_says(u, arrays, settings):
    kernel = np.exp(-settings["gamma"] * squared_distances(u, arrays["support"]))
    ends = np.cumsum(arrays["n_support"])
    parts = [slice(end - n, end) for end, n in zip(ends, arrays["n_support"], strict=True)]
    wins = np.zeros((len(u), len(parts)), int)
    pairs = [(i, j) for i in range(len(parts)) for j in range(i + 1, len(parts))]
    for (i, j), intercept in zip(pairs, arrays["intercepts"], strict=True):
        total = kernel[:, parts[i]] @ arrays["coefficients"][j - 1, parts[i]]
        total += kernel[:, parts[j]] @ arrays["coefficients"][i, parts[j]] + intercept
        wins[:, i] += total > 0
        wins[:, j] += total <= 0
    return arrays["class_codes"][wins.argmax(axis=1)]


def class_levels_as_the_format_says(v, arrays, settings):
    p = np.exp(v) / np.exp(v).sum(axis=1, keepdims=True)
    if not settings["exclusive"]:
        p = 1 / (1 + np.exp(-v))
    class_codes = arrays["class_codes"]
    codes = np.zeros((len(v), class_codes.shape[2]), int)
    for row, likely in enumerate(p):
        for i, words in enumerate(class_codes):
            codes[row] |= words[likely >= (i + 0.5) / len(class_codes)].any(axis=0)
        if not (likely >= 0.5 / len(class_codes)).any():
            codes[row] |= class_codes[0, likely.argmax()]
    return codes


def class_rank_as_the_format_says(v, arrays, settings):
    c = arrays["class_codes"].shape[1]
    logits = v[:, :c]
    bucket = class_levels_as_the_format_says(logits / settings["temperature"], arrays, settings)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    if not settings["exclusive"]:
        p = 1 / (1 + np.exp(-logits))
    return np.concatenate([bucket, v[:, c:] + np.sqrt(p) @ arrays["G"].T > 0], axis=1)


def landmarks_as_the_format_says(u, arrays, settings):
    nearest = np.argsort(-(u @ arrays["landmarks"].T), axis=1, kind="stable")
    codes = np.zeros((len(u), len(arrays["landmarks"])), int)
    np.put_along_axis(codes, nearest[:, : settings["n_nearest"]], 1, axis=1)
    return codes


def nested_as_the_format_says(X, arrays, settings):
    parts = []
    for part in ("bucket", "rank"):
        own = {k.removeprefix(f"{part}/"): v for k, v in arrays.items() if k.startswith(f"{part}/")}
        kind, inner = settings[part]["encoder"], settings[part]["settings"]
        parts.append(encoded_as_the_format_says(kind, inner, own, X))
    return np.concatenate(parts, axis=1)


def signs_as_the_format_says(v, _arrays, _settings):
    return v > 0


OF_OUTPUTS = {
    "ista": ista_as_the_format_says,
    "cod": cod_as_the_format_says,
    "linear": signs_as_the_format_says,
    "kernel": signs_as_the_format_says,
    "kernel-ista": ista_as_the_format_says,
    "class-levels": class_levels_as_the_format_says,
    "kernel-class-levels": class_levels_as_the_format_says,
    "class-rank": class_rank_as_the_format_says,
    "kernel-class-rank": class_rank_as_the_format_says,
}
OF_INPUTS = {
    "anchor-graph": anchor_graph_as_the_format_says,
    "class": class_as_the_format_says,
    "landmarks": landmarks_as_the_format_says,
}


def encoded_as_the_format_says(kind, settings, arrays, X):
    if kind == "nested":
        return nested_as_the_format_says(X, arrays, settings)
    unit = kind in {"ista", "cod", "linear", "landmarks"} or settings.get("unit_rows", False)
    u = inputs_as_the_format_says(arrays, X, unit=unit)
    if kind in OF_INPUTS:
        return OF_INPUTS[kind](u, arrays, settings)
    if "anchors" in arrays:
        u = np.exp(-settings["gamma"] * squared_distances(u, arrays["anchors"]))
    v = u @ arrays["W"].T + arrays.get("bias", 0)
    return OF_OUTPUTS[kind](v, arrays, settings)


PAPER = {"recipe": "paper", "max_steps": 60}
CASES = {
    "ista": ("sparsehash", PAPER, "labels"),
    "ista, signed": ("sparsehash", {**PAPER, "signed": True}, "labels"),
    "cod": ("sparsehash", {**PAPER, "encoder": "cod", "n_active": 3}, "labels"),
    "class-rank": ("sparsehash", {}, "sides"),
    "class-rank, of sparse rows": ("sparsehash", {}, "sparse"),
    "kernel-class-rank, of tags": ("sparsehash", {}, "tags"),
    "kernel-class-rank": ("sparsehash", {}, "rings"),
    "nested": ("sparsehash", {}, "nothing"),
    "landmarks": ("sparsehash", {"n_rank_bits": 0}, "nothing"),
    "linear": ("lsh", {}, "labels"),
    "linear, of pairs": ("sparsehash", {}, "pairs"),
    "kernel": ("nnhash", {"max_steps": 60}, "labels"),
    "anchor-graph": ("agh", {"n_layers": 2, "n_anchors": 20}, "labels"),
    "class": ("classcode", {}, "labels"),
    "class-levels": ("classcode", {"levels": 2}, "sides"),
    "kernel-class-levels": ("classcode", {"levels": 2}, "rings"),
}


def told(how, X, y):
    """Return what a case is fitted on."""
    side = X[:, 0] > X[:, 1]
    lengths = np.square(X).sum(axis=1)
    return {
        "labels": {"X": X, "y": y},
        "sides": {"X": X, "y": side},  # of a plane
        "rings": {"X": X, "y": lengths > np.median(lengths)},  # which no plane parts
        "sparse": {"X": scipy.sparse.csr_array(X), "y": side},
        "tags": {"X": X, "y": (X[:, :2] > 0).astype(np.uint8)},
        "pairs": {"X": X, "pairs": kinhash.Pairs(np.arange(90), np.arange(90) + 1)},
        "nothing": {"X": X},
    }[how]


@pytest.fixture(scope="module")
def blobs():
    """Vectors of three classes that overlap a little, and their classes."""
    rng = np.random.default_rng(3)
    classes = np.repeat(np.arange(3), 60)
    return rng.normal(size=(3, 9))[classes] * 2 + rng.normal(size=(180, 9)), classes


@pytest.mark.filterwarnings("ignore::UserWarning")  # few steps
@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_model_encodes_as_the_format_says(case, blobs, tmp_path, monkeypatch):
    name, parameters, how = CASES[case]
    X, y = blobs
    model = METHODS[name](n_bits=16).set_params(**parameters)
    model.fit(**told(how, X, y)).save(tmp_path / "model.kinhash")
    monkeypatch.chdir(tmp_path)
    entry, arrays = file_as_the_format_says()
    assert entry["encoder"] == case.partition(",")[0]
    found = encoded_as_the_format_says(entry["encoder"], entry["settings"], arrays, X)
    codes = model.encode(X)
    same = found == np.concatenate([codes.to_dense(), codes.rank_to_dense()], axis=1)
    assert same.mean() > 0.999, "all but outputs within rounding of the threshold"


@pytest.mark.filterwarnings("ignore::UserWarning")  # few steps
def test_a_model_of_several_modalities_encodes_as_the_format_says(blobs, tmp_path, monkeypatch):
    X, y = blobs
    model = kinhash.MultimodalSparseHash(16, recipe="paper", max_steps=60)
    texts = [f"{['red', 'blue', 'green'][label]} thing" for label in y]
    model.fit({"image": X, "text": texts}, y).save(tmp_path / "model.kinhash")
    monkeypatch.chdir(tmp_path)
    entry, arrays = file_as_the_format_says()
    modalities = dict(entry["modalities"])
    image = modalities["image"]
    assert image["encoder"] == "kernel-ista"
    own = {k.removeprefix("image/"): v for k, v in arrays.items() if k.startswith("image/")}
    found = encoded_as_the_format_says(image["encoder"], image["settings"], own, X)
    assert (found == model.encode(X, modality="image").to_dense()).mean() > 0.999
    assert image["words"] is None
    assert set(modalities["text"]["words"]) == {"red", "blue", "green", "thing"}


def file_as_the_format_says():
    """Return the entry and the arrays of model.kinhash, by the first block of the document."""
    namespace = {}
    _, code, line = python_blocks("docs/formats.md")[0]
    run_python(code, "docs/formats.md", line, namespace)
    return namespace["entry"], namespace["arrays"]


@pytest.mark.parametrize("memory", ["lean", "balanced", "fast"])
@pytest.mark.parametrize("first_id", [0, 2**40], ids=["narrow", "wide"])
def test_an_index_can_be_read_as_the_format_says(memory, first_id, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    codes = Codes.from_dense((rng.random((40, 70)) < 0.08)[rng.integers(0, 40, 300)])
    ids = rng.permutation(300) + first_id
    kinhash.HammingIndex(codes, ids, memory=memory, made_by="me").save("index.kinhash")
    found = {}
    _, code, line = python_blocks("docs/formats.md")[-1]
    run_python(code, "docs/formats.md", line, found)
    assert (found["magic"], found["version"]) == (b"kinindex", 3)
    order = np.argsort(found["ids"])
    assert np.array_equal(found["ids"][order], np.sort(ids))
    assert np.array_equal(found["words"][order], codes.words[np.argsort(ids)])
    assert found["ranks"].shape == (300, 0)
    text = read("docs/formats.md").partition("## Index files")[2]
    cells = "".join(re.findall(r"^\| (`[^|]*)\|", text, re.MULTILINE))
    sections = [section["name"] for section in found["index"]["sections"]]
    of_strings = {"id_starts", "id_texts"}  # in place of numbers, where ids are strings
    assert set(re.findall(r"`(\w+)`", cells)) == {*found["index"], *sections} | of_strings
    assert all(f"`{name}`" in text for name in found["index"]["numbers"])


def test_each_entry_of_a_model_is_specified_and_no_other():
    text = read("docs/formats.md")
    entry = text[text.index("## The entry") : text.index("A model of several modalities has")]
    header, _ = storage.read(GOLDEN / "model.kinhash")
    documented = re.findall(r"^\| `(\w+)` \|", entry, re.MULTILINE)
    assert set(documented) == {*header, "sha256"}


def test_the_examples_of_the_bit_layout_hold():
    row = re.compile(
        r"^\| ([-\d ]+)(, signed)? \|([01 ]*)\| (0x.*?) \|(.*?)\| (.*?) \|$", re.MULTILINE
    )
    rows = row.findall(read("docs/formats.md"))
    assert len(rows) == 4
    for bucket, signed, rank, words_shown, rank_words_shown, bytes_shown in rows:
        codes = Codes.from_dense(
            [[int(entry) for entry in bucket.split()]],
            signed=bool(signed),
            rank=np.array([[int(entry) for entry in rank.split()]], np.int8),
        )
        assert codes.words[0].tolist() == [int(word, 16) for word in words_shown.split(", ")]
        assert codes.rank_words[0].tolist() == [int(word, 16) for word in rank_words_shown.split()]
        assert codes.to_bytes()[0].tobytes() == bytes.fromhex(bytes_shown)


def test_each_header_entry_is_specified():
    text = read("docs/formats.md")
    for kind in ("v1/model", "v1/codes", "v3/nested-codes"):
        header, arrays = storage.read(GOLDEN.parent / f"{kind}.kinhash")
        for name in [*header, *arrays, "sha256"]:
            assert f"`{name}`" in text


def test_the_first_screen_of_the_readme_is_short():
    text = read("README.md")
    (_, quickstart, _), *_ = python_blocks("README.md")
    assert len(quickstart.replace("\n\n", "\n").splitlines()) == 8
    results = text[text.index("<!-- results:start -->") : text.index("<!-- results:end -->")]
    assert len(re.findall(r"^\| ", results, re.MULTILINE)) <= 1 + 6
    assert "| ClassCode, levels 3 |" in results
    assert text.index("![") < text.index("## Two commands")


def test_the_picture_of_the_readme_needs_nothing_from_elsewhere():
    picture = ET.parse(ROOT / "docs" / "codes.svg").getroot()  # noqa: S314 - our own
    names = {element.tag.rpartition("}")[2] for element in picture.iter()}
    assert names <= {"svg", "title", "rect", "path", "text"}
    assert (ROOT / "docs" / "codes.svg").stat().st_size < 40_000


def test_the_version_is_the_same_everywhere():
    released = re.search(r"^## \[(\d[^\]]*)\]", read("CHANGELOG.md"), re.MULTILINE)
    assert released
    assert released[1] == kinhash.__version__
    assert f"\nversion: {kinhash.__version__}\n" in read("CITATION.cff")
