import csv
import io
import json
import re
import subprocess
import sys

import numpy as np
import pytest

import kinhash
from kinhash.record_file import read
from kinhash.tuning import search

WANT = ("--want", "precision>=0.6,bytes<=2", "--methods", "lsh")


def test_the_model_that_meets_the_wish_is_written_ready_to_use(run, npz, tmp_path):
    out = tmp_path / "tuned.kinhash"
    done = run("tune", npz, *WANT, "--out", out, "--format", "json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    chosen = found["chosen"]
    assert chosen["precision"] >= 0.6
    assert chosen["n_bytes"] == 2
    assert found["goal"] == "precision>=0.6 and bytes<=2, with the most recall"
    assert chosen["settings"] == {"method": "lsh", "n_bits": 16}
    assert kinhash.load(out).n_bits == 16
    assert f"Wrote {out}: search with --radius {chosen['radius']}.\n" in done.err
    assert "Tuning on items: all 120 rows." in done.err
    assert run("encode", out, npz, "--out", tmp_path / "codes").code == 0
    words = ("--model", out, "--queries", npz, "--radius", chosen["radius"], "--format", "json")
    assert run("search", tmp_path / "codes", *words).code == 0
    assert len(read(tmp_path / "tuned.trials.jsonl")) == 1


def test_the_table_shows_the_front_and_how_answers_grow(run, tmp_path):
    words = ("--want", "precision>=0.6,bytes<=3", "--methods", "itq", "--items", "5000")
    done = run("tune", "digits", *words, "--out", tmp_path / "tuned.kinhash")
    assert done.code == 0, done.err
    front, growth = done.out.split("\n\n")
    assert front.split()[:4] == ["method", "bits", "radius", "precision"]
    assert front.count("*") == 1
    assert re.search(r"^extrapolated +5000 ", growth, re.MULTILINE)
    assert re.search(r"^extrapolated +50000 ", growth, re.MULTILINE)
    assert "Tuning on digits: 896 of 1,797 rows, the training part of split 0." in done.err
    words = (*words, "--force", "--out", tmp_path / "tuned.kinhash", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(run("tune", "digits", *words).out)))
    assert {row["method"] for row in rows} == {"ITQ"}
    assert len(rows) >= front.count("\n") - 2


def test_queries_of_the_split_are_never_looked_at(run, npz, items, tmp_path):
    X, labels = items
    data = kinhash.datasets.load(npz)
    train = data.split(0).train
    spoiled = X.copy()
    spoiled[np.setdiff1d(np.arange(len(X)), train)] = 1e6
    np.savez(tmp_path / "items.npz", vectors=spoiled, labels=labels)
    outs = []
    for path in (npz, tmp_path / "items.npz"):
        words = ("--rows", "split", "--out", tmp_path / f"{len(outs)}.kinhash", "--format", "json")
        done = run("tune", path, *WANT[:1], "precision>=0.1", *WANT[2:], *words)
        assert done.code == 0, done.err
        outs.append(json.loads(done.out))
    assert outs[0] == outs[1]
    assert len(train) == 60


def test_a_wish_that_cannot_be_met_leaves_only_the_trials(run, npz, tmp_path):
    out = tmp_path / "tuned.kinhash"
    words = ("--want", "precision>=0.99,answers>=119", "--methods", "lsh", "--out", out)
    done = run("tune", npz, *words, "--report", tmp_path / "page.html")
    assert (done.code, done.out) == (1, "")
    assert "error: Nothing that was tried reaches precision>=0.99 and answers>=119. The near" in (
        done.err
    )
    assert done.err.endswith(f"The trials are in {tmp_path / 'tuned.trials.jsonl'}.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["tuned.trials.jsonl"]


def test_an_interrupted_search_says_what_it_kept_and_goes_on(run, npz, tmp_path, monkeypatch):
    out, made, trial = tmp_path / "tuned.kinhash", [], search.trial

    def one_only(*arguments):
        if made:
            raise KeyboardInterrupt
        made.append(arguments)
        return trial(*arguments)

    monkeypatch.setattr(search, "trial", one_only)
    words = ("tune", npz, "--want", "precision>=0.1", "--methods", "lsh", "--out", out)
    done = run(*words)
    kept = tmp_path / "tuned.trials.jsonl"
    assert (done.code, done.out) == (1, "")
    assert done.err.endswith(
        f"error: interrupted; {kept} has the trials so far: the same command goes on from them.\n"
    )
    assert not out.exists()
    assert len(read(kept)) == 1
    monkeypatch.setattr(search, "trial", lambda *one: made.append(one) or trial(*one))
    assert run(*words).code == 0
    assert len(made) == len(read(kept)) == 3


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--want", "precision"), 1, "A wish must be a measure, >= or <=, and a number"),
        (("--want", "precision>=50"), 1, "precision is a fraction, 0 to 1, or a percentage"),
        (("--want", "f1>=0.1", "--maximise", "bytes"), 1, "Unknown measure 'bytes'"),
        (("--want", "f1>=0.1", "--methods", "lhs"), 1, "Unknown method 'lhs'. Did you mean"),
        (("--want", "f1>=0.1", "--minutes", "0"), 1, "--minutes must be a number greater than 0"),
        (("--want", "f1>=0.1", "--items", "0"), 2, "Invalid value for '--items'"),
        ((), 2, "Missing option '--want'"),
    ],
)
def test_a_bad_wish_is_one_sentence_and_nothing_is_written(run, npz, tmp_path, words, code, told):
    done = run("tune", npz, *words, "--out", tmp_path / "tuned.kinhash")
    assert (done.code, done.out) == (code, "")
    assert told in done.err.splitlines()[-1]
    assert not list(tmp_path.iterdir())


def test_a_bad_wish_is_told_before_data_is_read(run, tmp_path):
    done = run("tune", tmp_path / "no.npz", "--want", "precisin>=0.5", "--out", tmp_path / "out")
    assert done.err.startswith("error: Unknown measure 'precisin'. Did you mean 'precision'?")


def test_without_labels_the_nearest_vectors_are_similar(run, npz, items, tmp_path):
    np.save(tmp_path / "bare.npy", items[0])
    outs = []
    for data, more in ((tmp_path / "bare.npy", ()), (npz, ("--without-labels",))):
        out = tmp_path / f"{len(outs)}.kinhash"
        words = ("--want", "recall>=0.3", "--methods", "lsh", "--format", "json", "--out", out)
        done = run("tune", data, *words, *more)
        assert done.code == 0, done.err
        assert "the 10 nearest vectors count as similar." in done.err
        outs.append(json.loads(done.out))
    assert outs[0] == outs[1]


def test_a_report_is_written_and_needs_matplotlib(run, npz, tmp_path):
    page = tmp_path / "page.html"
    words = ("tune", npz, *WANT, "--out", tmp_path / "tuned.kinhash", "--report", page)
    code = (
        "import sys; sys.modules['matplotlib'] = None; from kinhash.cli import main; "
        "sys.exit(main(sys.argv[1:]))"
    )
    words = [str(word) for word in words]
    done = subprocess.run(
        (sys.executable, "-c", code, *words), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "error: Plots need matplotlib." in done.stderr
    assert not list(tmp_path.iterdir())
    assert run(*words).code == 0
    assert "Settings for items" in page.read_text("utf-8")
