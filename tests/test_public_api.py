"""The names that users rely on, and what using them may import."""

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import kinhash
import kinhash.datasets
import kinhash.methods

GOLDEN = Path(__file__).parent / "golden" / "v1"

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(kinhash.__path__, "kinhash.")
    if module.name not in ("kinhash.__main__", "kinhash._native")
)

# All that one does with a fitted model. Arguments: the folder of golden files, torch or nothing.
USE = """
import sys
from pathlib import Path
import numpy as np

golden, missing = Path(sys.argv[1]), sys.argv[2:]


class Missing:
    def find_spec(name, *_):
        if name in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Missing)
import kinhash, kinhash.methods, kinhash.datasets, kinhash.evaluation.protocol
from kinhash.cli import main
from kinhash.metrics import evaluate_codes

model = kinhash.load(golden / "model.kinhash")
vectors = np.load(golden / "vectors.npy")
codes = model.encode(vectors)
assert codes == kinhash.load(golden / "codes.kinhash").codes
assert model.transform(vectors).shape == (len(codes), codes.n_bits)
labels = np.arange(len(codes)) % 3
evaluate_codes(codes[:20], labels[:20], codes[20:], labels[20:])
index = kinhash.HammingIndex(codes)
assert len(index.search_radius(codes[:5], radius=2)) == 5
assert index.search_top_k(codes[:5], k=3).counts.tolist() == [3] * 5
kinhash.methods.LSH(16).fit(vectors).encode(vectors)
assert main(["info", str(golden / "model.kinhash")]) == 0
if missing:
    try:
        kinhash.SparseHash().fit(vectors, labels)
    except ImportError as error:
        assert "pip install 'kinhash[train]'" in str(error)
    else:
        raise AssertionError("torch was found")
assert "torch" not in sys.modules, "torch was imported"
"""


def test_the_public_names_are_those_of_the_contract():
    assert sorted(kinhash.__all__) == [
        "Codes",
        "HammingIndex",
        "Matches",
        "MultimodalSparseHash",
        "Pairs",
        "SparseHash",
        "__version__",
        "compare",
        "load",
        "rerank",
        "sql",
    ]
    assert sorted(kinhash.methods.__all__) == [
        "AGH",
        "CCAITQ",
        "CMSSH",
        "CSR",
        "ClassCode",
        "DH",
        "FSDH",
        "FlyHash",
        "HashMethod",
        "ITQ",
        "KSH",
        "LSH",
        "METHODS",
        "MULTIMODAL_METHODS",
        "MultimodalMethod",
        "MultimodalSparseHash",
        "NNHash",
        "Nested",
        "OrthoHash",
        "SSH",
        "SparseHash",
    ]
    assert sorted(kinhash.datasets.__all__) == [
        "Batch",
        "DATASETS",
        "Dataset",
        "Items",
        "Split",
        "load",
        "open_items",
    ]


@pytest.mark.parametrize("module", [kinhash, kinhash.methods, kinhash.datasets])
def test_every_public_name_is_there(module):
    for name in module.__all__:
        assert getattr(module, name) is not None
        assert name in dir(module)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'kinhash' has no attribute 'SparsHash'"):
        _ = kinhash.SparsHash


@pytest.mark.parametrize("missing", [(), ("torch",)], ids=["torch-installed", "torch-missing"])
def test_using_a_model_never_imports_torch(missing):
    command = (sys.executable, "-W", "error", "-c", USE, str(GOLDEN), *missing)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_importing_kinhash_imports_nothing_heavy():
    code = "import sys, kinhash; print(*sys.modules)"
    done = subprocess.run((sys.executable, "-c", code), check=True, capture_output=True, text=True)
    assert not set(done.stdout.split()) & {"torch", "sklearn", "scipy", "numpy"}


@pytest.mark.filterwarnings("ignore::kinhash.errors.ConstantColumnWarning")
@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0


@pytest.mark.parametrize(
    "public",
    [
        *(getattr(kinhash, name) for name in kinhash.__all__),
        *kinhash.methods.METHODS.values(),
        kinhash.datasets.Dataset,
        kinhash.datasets.load,
    ],
)
def test_every_public_class_has_an_example(public):
    if inspect.isclass(public) or public is kinhash.datasets.load:
        assert ">>> " in inspect.getdoc(public)
