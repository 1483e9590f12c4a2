import csv
import io
import json

import numpy as np
import pytest

from kinhash.datasets import nus_wide
from kinhash.record_file import read
from kinhash.studies.multimodal import reproduction as multimodal_reproduction
from kinhash.studies.paper import reproduction

CONCEPTS = [f"concept{i:02d}" for i in range(81)]
SMALL = {
    "L2": {"method": "l2"},
    "CM-SSH": {"method": "cmssh", "n_bits": 8, "n_pairs": 200},
    "MM-SparseHash": {"method": "multimodal-sparsehash", "n_bits": 8},
}


@pytest.fixture
def nus(tmp_path, monkeypatch):
    """NUS-WIDE as published, with 120 photographs, 7 tags and 5 visual words; small methods."""
    rng = np.random.default_rng(0)
    monkeypatch.setattr(nus_wide, "N_TAGS", 7)
    monkeypatch.setattr(nus_wide, "N_WORDS", 5)
    monkeypatch.setattr(multimodal_reproduction, "plan", lambda _name: SMALL)
    labels = rng.random((120, 81)) < np.linspace(0.5, 0.01, 81)
    labels[:, 0] |= ~labels[:, :21].any(axis=1)
    tags = rng.random((120, 7)) < 0.4
    tags[:, 0] |= labels[:, 0]
    files = {
        "ConceptsList/Concepts81.txt": "".join(f"{name}\n" for name in CONCEPTS),
        "NUS_WID_Tags/TagList1k.txt": "".join(f"tag{j}\n" for j in range(7)),
        "NUS_WID_Tags/AllTags1k.txt": lines(tags),
        "Low_Level_Features/BoW_int.dat": lines(rng.integers(0, 300, (120, 5))),
    } | {
        f"Groundtruth/AllLabels/Labels_{name}.txt": lines(labels[:, j : j + 1])
        for j, name in enumerate(CONCEPTS)
    }
    for name, text in files.items():
        path = tmp_path / "NUS-WIDE" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def lines(matrix):
    return "".join(" ".join(str(int(value)) for value in row) + "\n" for row in matrix)


def test_an_unknown_experiment_is_refused_before_anything_is_made(run, tmp_path):
    done = run("reproduce", "mnist", "--out", tmp_path / "new")
    assert done.code == 1
    assert done.err == (
        "error: Unknown experiment 'mnist'. "
        "Known: cifar10, corel5k, fashion-products, nus-wide, wikipedia.\n"
    )
    assert not (tmp_path / "new").exists()


def test_modalities_give_a_table_and_a_report(run, nus, ignore_warnings):
    words = ("reproduce", "nus-wide", "--out", nus / "new", "--root", nus, "--splits", "1")
    done = run(*words)
    assert done.code == 0, done.err
    head, *rest = done.out.splitlines()
    assert head.split()[-4:] == ["image-image", "text-text", "image-text", "text-image"]
    (ours,) = [line for line in rest if "mAP, first 10" in line and "MM-SparseHash" in line]
    assert all(f"({number})" in ours for number in ("73.79", "84.49", "61.52", "59.52"))
    assert "report.html: open it in a browser" in done.err
    text = (nus / "new" / "report.html").read_text(encoding="utf-8")
    assert "the numbers of the paper in brackets" in text
    assert len(read(nus / "new" / "records.jsonl")) == 3
    as_json = json.loads(run(*words, "--format", "json").out)
    assert len(as_json) == 2 + 4 + 4
    as_csv = list(csv.DictReader(io.StringIO(run(*words, "--format", "csv").out)))
    assert [float(line["map"]) for line in as_csv] == [line["map"] for line in as_json]


@pytest.mark.parametrize("name", ["wikipedia", "fashion-products", "corel5k", "nus-wide"])
def test_a_missing_data_set_is_named(run, tmp_path, name):
    done = run("reproduce", name, "--out", tmp_path / "new", "--root", tmp_path)
    assert done.code == 1
    assert "was not found: looked for" in done.err
    assert not (tmp_path / "new").exists()


def test_missing_data_is_named(run, tmp_path):
    done = run("reproduce", "cifar10", "--out", tmp_path / "new", "--root", tmp_path)
    assert done.code == 1
    assert "data_batch_1" in done.err
    assert not (tmp_path / "new").exists()


@pytest.mark.data
def test_the_papers_rows_are_run(run, tmp_path, monkeypatch, real_data):
    real_data("cifar10", features="pixels")
    few = [{"method": "l2"}, {"method": "lsh", "n_bits": 48}]
    plan = reproduction.plan
    monkeypatch.setattr(reproduction, "plan", lambda name: plan(name) and few)
    monkeypatch.setattr(reproduction, "unseen_plan", lambda: few[1:])
    done = run("reproduce", "cifar10", "--out", tmp_path / "new", "--splits", "1")
    assert done.code == 0
    assert "17.42" in done.out
    assert (tmp_path / "new" / "report.html").is_file()
