import json
import subprocess
import sys

import numpy as np
import pytest

from kinhash.studies import comparison

WITHOUT_MATPLOTLIB = """
import sys
sys.modules["matplotlib"] = None  # importing it raises ImportError
from kinhash.cli import main
words = ["compare", "digits", "--methods", "lsh,l2", "--bits", "8", "--format", "json"]
assert main(words) == 0
assert main([*words, "--out", sys.argv[1]]) == 1
"""


def test_only_a_report_needs_matplotlib(tmp_path):
    out = tmp_path / "report"
    done = subprocess.run(
        (sys.executable, "-c", WITHOUT_MATPLOTLIB, out),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [row["method"] for row in json.loads(done.stdout)] == ["LSH", "L2"]
    last = done.stderr.splitlines()[-1]
    assert last == "error: Plots need matplotlib. Install it with: pip install 'kinhash[plot]'"
    assert not out.exists()


def test_methods_are_compared_and_the_verdict_goes_to_stderr(run):
    done = run("compare", "digits", "--methods", "itq,lsh,l2", "--bits", "8", "--format", "json")
    rows = json.loads(done.out)
    assert [row["method"] for row in rows] == ["ITQ", "LSH", "L2"]
    assert rows[2]["f1@r0"] is None
    assert "Ahead in mAP, for ranking everything: L2" in done.err
    assert done.code == 0


def test_a_report_is_written_and_its_records_are_used_again(run, tmp_path):
    out = tmp_path / "report"
    first = run("compare", "digits", "--methods", "lsh", "--bits", "8", "--out", out)
    assert f"Wrote {out / 'report.html'}" in first.err
    assert (out / "figures" / "trade-off.svg").is_file()
    content = (out / "digits.jsonl").read_bytes()
    assert content.count(b"\n") == 1
    again = run("compare", "digits", "--methods", "lsh", "--bits", "8", "--out", out)
    assert again.out == first.out
    assert (out / "digits.jsonl").read_bytes() == content


def test_unseen_classes_are_another_comparison(run):
    done = run("compare", "digits", "--methods", "l2", "--unseen", "--format", "json")
    usual = run("compare", "digits", "--methods", "l2", "--format", "json")
    assert json.loads(done.out)[0]["map"] > json.loads(usual.out)[0]["map"]


def test_the_order_of_rankings_is_passed_on(run, monkeypatch):
    asked = []
    compare = comparison.compare

    def noted(*arguments, order, **options):
        asked.append(order)
        return compare(*arguments, order=order, **options)

    monkeypatch.setattr(comparison, "compare", noted)
    words = ("compare", "digits", "--methods", "lsh", "--bits", "8", "--format", "json")
    total, nested = (json.loads(run(*words, *more).out) for more in (("--order", "total"), ()))
    assert total[0]["map"] == nested[0]["map"]  # without rank bits, there is one order
    assert asked == ["total", "nested"]


def test_wrong_words_get_one_sentence(run):
    done = run("compare", "digits", "--methods", "lsh,iqt")
    assert done.code == 1
    assert done.err.startswith("error: Unknown method 'iqt'")
    done = run("compare", "digits", "--bits", "many")
    assert done.code == 2
    done = run("compare", "digits", "--methods", "lsh", "--bits", "0")
    assert done.code == 2
    assert "'--bits': expected integers from 1 to 4096 separated by commas" in done.err


def test_a_method_that_refuses_the_data_is_left_out_and_said(run):
    done = run("compare", "digits", "--methods", "itq,lsh", "--bits", "64", "--format", "json")
    assert done.code == 0
    assert [row["method"] for row in json.loads(done.out)] == ["LSH"]
    assert "warning: ITQ is left out: --bits must be at most 61" in done.err


def test_without_labels_the_true_neighbours_count(run, items, npz, tmp_path):
    np.save(tmp_path / "bare.npy", items[0])
    words = ("--methods", "ksh,lsh,l2,cosine", "--bits", "8", "--format", "json")
    done = run("compare", tmp_path / "bare.npy", *words)
    rows = json.loads(done.out)
    assert [row["method"] for row in rows] == ["LSH", "L2", "cosine"]
    assert rows[2]["recall@100"] == 1
    assert "map" not in rows[0]
    assert "warning: KSH is left out: KSH needs class labels" in done.err
    assert "Ahead in recall at first 100" in done.err
    again = run("compare", npz, *words, "--without-labels")
    seconds = {"fit_seconds": 0}
    assert [row | seconds for row in json.loads(again.out)] == [row | seconds for row in rows]
    other = run("compare", tmp_path / "bare.npy", *words, "--metric", "l2")
    assert json.loads(other.out)[1]["recall@100"] == 1
    assert run("compare", npz, "--metric", "dot").code == 2


OWN = """
import numpy as np
from kinhash import Codes

class Signs:
    def __init__(self, n_bits=8):
        self.n_bits = n_bits
    def fit(self, X): ...
    def encode(self, X):
        return Codes.from_dense(X[:, : self.n_bits] > 0)

class Fixed:
    def fit(self, X): ...
    def encode(self, X):
        return Codes.from_dense(X[:, :2] > 0)

class Silent:
    def fit(self, X): ...
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A module of the user's own in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "own_of_compare.py").write_text(OWN, encoding="utf-8")
    yield
    sys.modules.pop("own_of_compare", None)


def test_a_class_of_the_users_own_is_compared(run, own, npz):
    words = ("--methods", "own_of_compare:Signs,own_of_compare:Fixed,lsh", "--bits", "3,6")
    done = run("compare", npz, *words, "--format", "json", "--out", "report")
    assert done.code == 0, done.err
    rows = json.loads(done.out)
    assert [(row["method"], row["n_bits"]) for row in rows] == [
        ("Signs", 3),
        ("Signs", 6),
        ("Fixed", None),
        ("LSH", 3),
        ("LSH", 6),
    ]
    assert rows[1]["map"] > 0.3
    again = run("compare", npz, *words, "--format", "json", "--out", "report")
    assert json.loads(again.out) == rows


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("own_nowhere:Signs", "Module 'own_nowhere' of method 'own_nowhere:Signs' cannot be impor"),
        ("own_of_compare:Sign", "Unknown class of module own_of_compare 'Sign'. Did you mean 'Sig"),
        ("own_of_compare:Silent", "must have the methods fit(X, y) and encode(X), but has no enco"),
    ],
)
def test_what_is_no_method_gets_one_sentence(run, own, method, message):
    done = run("compare", "digits", "--methods", method)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert message in done.err
