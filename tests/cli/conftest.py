import dataclasses

import numpy as np
import pytest

from kinhash.cli import main

# A fit that takes a moment and still separates the classes of `items`.
TINY = ("--n-bits", "16", "--set", "recipe=paper", "--set", "max_steps=50")


@dataclasses.dataclass
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys):
    """Run a command line in this process; give its exit code, stdout and stderr."""

    def run(*words):
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture(autouse=True)
def no_width(monkeypatch):
    """Tables are as wide as they are: the terminal of whoever runs the tests does not count."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(autouse=True)
def no_lines_of_progress(monkeypatch):
    """Long work writes no lines now and then: how busy the machine is does not count."""
    monkeypatch.setattr("kinhash.progress.PATIENCE", float("inf"))


@pytest.fixture(scope="session")
def items():
    """Vectors of three well separated classes, 40 of each, and their labels."""
    rng = np.random.default_rng(7)
    labels = np.repeat(np.arange(3), 40)
    centres = rng.normal(size=(3, 6)) * 4
    vectors = (centres[labels] + rng.normal(size=(120, 6))).astype(np.float32)
    return vectors, labels


@pytest.fixture(scope="session")
def npz(items, tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "items.npz"
    np.savez(path, vectors=items[0], labels=items[1])
    return path


@pytest.fixture(scope="session")
def csv_file(items, tmp_path_factory):
    """The same items as a table, with class names and ids that start at 1,000."""
    path = tmp_path_factory.mktemp("data") / "items.csv"
    lines = ["id,a,b,c,d,e,f,label"]
    for row, (vector, label) in enumerate(zip(*items, strict=True)):
        numbers = ",".join(str(float(value)) for value in vector)
        lines.append(f"{1000 + row},{numbers},class-{label}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def model(npz, tmp_path_factory):
    """A file with a model of `items`."""
    path = tmp_path_factory.mktemp("model") / "model.kinhash"
    assert main(["train", str(npz), "--out", str(path), *TINY]) == 0
    return path


@pytest.fixture(scope="session")
def codes(npz, model, tmp_path_factory):
    """A file with the codes of `items`, by `model`."""
    path = tmp_path_factory.mktemp("codes") / "codes.kinhash"
    assert main(["encode", str(model), str(npz), "--out", str(path)]) == 0
    return path


@pytest.fixture(scope="session")
def index(codes, tmp_path_factory):
    """A file with an index of `codes`."""
    path = tmp_path_factory.mktemp("index") / "items.kinhash"
    assert main(["index", str(codes), "--out", str(path)]) == 0
    return path


# A fit of two modalities that takes a moment and still separates the classes of `pairs`.
TINY_PAIRS = ("--modalities", "image,text", "--n-bits", "16")

WORDS = (("red", "rose"), ("blue", "sky"), ("green", "tree"))  # of each class of `items`


@pytest.fixture(scope="session")
def texts(items):
    """A short text for each of the items: words of its class, and one that says nothing."""
    rng = np.random.default_rng(8)
    return [
        " ".join([*WORDS[label][rng.integers(3) // 2 :], rng.choice(["big", "small"])])
        for label in items[1]
    ]


@pytest.fixture(scope="session")
def pairs(items, texts, tmp_path_factory):
    """A file with vectors, a text and a label for each item."""
    path = tmp_path_factory.mktemp("data") / "pairs.npz"
    np.savez(path, image=items[0], text=np.array(texts), label=items[1])
    return path


@pytest.fixture(scope="session")
def pair_model(pairs, tmp_path_factory):
    """A file with a model of the two modalities of `pairs`."""
    path = tmp_path_factory.mktemp("model") / "pairs.kinhash"
    assert main(["train", str(pairs), "--out", str(path), *TINY_PAIRS]) == 0
    return path


@pytest.fixture(scope="session")
def picture_items(pairs, pair_model, tmp_path_factory):
    """A file with the codes of the vectors of `pairs`."""
    path = tmp_path_factory.mktemp("codes") / "pictures.kinhash"
    words = ["--modality", "image", "--out", str(path)]
    assert main(["encode", str(pair_model), str(pairs), *words]) == 0
    return path
