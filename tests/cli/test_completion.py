import os
import subprocess
import sys

import pytest

from kinhash.cli import completion
from kinhash.datasets import DATASETS
from kinhash.methods import METHODS, MULTIMODAL_METHODS
from kinhash.studies.records import RAW


def test_the_names_are_those_of_the_library():
    assert set(completion.DATA_SETS) == set(DATASETS)
    assert set(completion.METHODS) == set(METHODS)
    assert set(completion.MULTIMODAL_METHODS) == set(MULTIMODAL_METHODS)
    assert set(completion.VECTORS) == set(RAW)


def completed(line, folder):
    """What bash is offered for the last word of a line."""
    words = line.split(" ")
    done = subprocess.run(
        (sys.executable, "-m", "kinhash"),
        env={
            **os.environ,
            "_KINHASH_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        },
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("kinhash train cor", ["corel5k", "corel5k-deep", "corel5k-tags", "corel5k-variants"]),
        ("kinhash evaluate model.kinhash dig", ["digits", "digits-words"]),
        ("kinhash search items.kinhash --queries tit", ["titles"]),
        ("kinhash train digits --unlabelled wiki", ["wikipedia"]),
        ("kinhash train digits --method c", ["classcode", "csr", "cca-itq", "cmssh"]),
        ("kinhash compare digits --methods lsh,co", ["lsh,cosine"]),
        ("kinhash compare digits --methods k", ["ksh"]),
        ("kinhash train d", ["digits", "digits-words", "data/", "dogs.csv"]),
        ("kinhash train data/", ["data/items.npz"]),
        ("kinhash train nothing", []),
    ],
)
def test_a_shell_completes_data_sets_files_and_methods(line, expected, tmp_path):
    (tmp_path / "data").mkdir()
    for name in ("dogs.csv", ".hidden", "data/items.npz"):
        (tmp_path / name).touch()
    assert completed(line, tmp_path) == expected


def test_a_method_is_offered_once():
    assert "lsh,itq,ksh" in completion.methods("lsh,itq,")
    assert "lsh,itq,lsh" not in completion.methods("lsh,itq,")


def test_files_are_found_where_they_are(tmp_path, monkeypatch):
    (tmp_path / "a.csv").touch()
    (tmp_path / ".b").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert completion.data("~/") == ["~/a.csv"]
    assert completion.data("~/.") == ["~/.b"]
    assert completion.data(f"{tmp_path}/a") == [f"{tmp_path}/a.csv"]
    assert completion.data(f"{tmp_path}/nowhere/") == []
