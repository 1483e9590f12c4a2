import inspect
import re
import sys

import numpy as np
import pytest

import kinhash
from kinhash.methods import SparseHash

TINY = ("--n-bits", "16", "--set", "max_steps=50")


def test_a_named_data_set_is_trained_on_the_training_part_of_its_split(run, tmp_path):
    out = tmp_path / "model.kinhash"
    done = run("train", "digits", "--out", out, *TINY)
    assert (done.code, done.out) == (0, "")
    assert "896 of 1,797 rows, the training part of split 0" in done.err
    assert f"Wrote {out}" in done.err
    assert kinhash.load(out).n_bits == 16


def test_a_file_is_trained_on_all_its_rows(run, npz, tmp_path):
    done = run("train", npz, "--out", tmp_path / "model.kinhash", *TINY)
    assert done.code == 0
    assert "Training sparsehash on items: all 120 rows." in done.err


def test_without_a_terminal_there_is_no_progress_bar(run, npz, tmp_path):
    done = run("train", npz, "--out", tmp_path / "model.kinhash", *TINY)
    assert {line.split()[0] for line in done.err.splitlines()} == {"Training", "Wrote"}


def test_rows_split_keeps_the_queries_of_a_file_apart(run, npz, tmp_path):
    done = run("train", npz, "--out", tmp_path / "model.kinhash", "--rows", "split", *TINY)
    assert done.code == 0
    assert "60 of 120 rows, the training part of split 0" in done.err


def test_a_table_with_class_names_is_trained_on(run, csv_file, tmp_path):
    done = run("train", csv_file, "--out", tmp_path / "model.kinhash", *TINY)
    assert done.code == 0
    assert kinhash.load(tmp_path / "model.kinhash").n_features_in_ == 6


def test_without_labels_nearby_rows_are_similar_and_stderr_says_so(run, items, tmp_path):
    np.save(tmp_path / "items.npy", items[0])
    done = run("train", tmp_path / "items.npy", "--out", tmp_path / "model.kinhash", *TINY)
    assert done.code == 0
    assert "items has no labels: rows near one another count as similar." in done.err


def test_every_option_reaches_the_method(run, npz, tmp_path):
    out = tmp_path / "model.kinhash"
    words = "--bits 12 --margin 5 --alpha 0.002 --lam 0.3 --similar-share 0.5 --n-layers 2 --signed"
    words += " --encoder cod --n-active 3 --max-epochs 4 --seed 9 --set beta=2 --set threshold=none"
    assert run("train", npz, "--out", out, *words.split()).code == 0
    expected = SparseHash(
        n_bits=12,
        margin=5.0,
        alpha=0.002,
        lam=0.3,
        similar_share=0.5,
        n_layers=2,
        signed=True,
        encoder="cod",
        n_active=3,
        max_epochs=4,
        seed=9,
        beta=2.0,
    )
    assert kinhash.load(out).get_params() == expected.get_params()


def test_the_defaults_in_the_help_are_those_of_sparsehash(run):
    text = " ".join(run("train", "--help").out.split())
    shown = dict(
        re.findall(r"--([a-z-]+)(?: <\w+>| / --no-signed)? [^\[]*\[default: ([^\]]*)\]", text)
    )
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(SparseHash).parameters.items()
    }
    defaults |= {"n_active": 8, "signed": "no"}  # None means 8
    names = "margin alpha lam similar_share n_layers signed encoder n_active max_epochs seed"
    for name in names.split():
        assert shown[name.replace("_", "-")] == str(defaults[name]).removesuffix(".0")
    assert shown["bits"] == str(defaults["n_bits"])


def test_a_config_file_holds_what_differs_and_options_win(run, npz, tmp_path):
    config, out = tmp_path / "train.toml", tmp_path / "model.kinhash"
    config.write_text('method = "sparsehash"\nn_bits = 24\nmargin = 5\nmax_steps = 50\n')
    assert run("train", npz, "--out", out, "--config", config, "--n-bits", "12").code == 0
    found = kinhash.load(out)
    assert (found.n_bits, found.margin, found.max_steps) == (12, 5.0, 50)


def test_another_method_is_chosen_by_name(run, npz, tmp_path):
    out = tmp_path / "model.kinhash"
    assert run("train", npz, "--out", out, "--method", "lsh", "--n-bits", "24").code == 0
    assert type(kinhash.load(out)).__name__ == "LSH"


def test_stdin_is_read_as_csv(run, csv_file, tmp_path, monkeypatch):
    with csv_file.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        done = run("train", "-", "--out", tmp_path / "model.kinhash", *TINY)
    assert done.code == 0
    assert "Training sparsehash on standard input: all 120 rows." in done.err


def test_a_collapse_is_one_warning_line(run, npz, tmp_path):
    words = ("--lam", "0.001", "--n-bits", "8", "--set", "max_steps=60")
    done = run("train", npz, "--out", tmp_path / "model.kinhash", *words)
    assert done.code == 0
    assert "\nwarning: Codes may collapse. The push is weak against the pull" in f"\n{done.err}"
    assert ".py:" not in done.err


def test_an_existing_file_is_kept_unless_forced(run, npz, tmp_path):
    out = tmp_path / "model.kinhash"
    out.write_text("precious")
    done = run("train", npz, "--out", out, *TINY)
    assert done.code == 1
    assert done.err == f"error: {out} exists already. Pass --force to replace it.\n"
    assert out.read_text() == "precious"
    assert run("train", npz, "--out", out, *TINY, "--force").code == 0
    assert kinhash.load(out).n_bits == 16


def test_missing_torch_names_the_pip_line(run, npz, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("kinhash.training")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    done = run("train", npz, "--out", tmp_path / "model.kinhash")
    assert done.code == 1
    assert "error: Training needs torch. Install it with: pip install 'kinhash[train]'" in done.err
    assert not list(tmp_path.iterdir())


BAD_DATA = {
    "nan": (lambda X, y: (_with(X, 17, np.nan), y), "NaN in row 17"),
    "infinity": (lambda X, y: (_with(X, 3, np.inf), y), "infinity in row 3"),
    "labels": (lambda X, y: (X, y[:-1]), "`labels` has 119 items but `vectors` has 120."),
    "class": (lambda X, y: (X, np.zeros_like(y)), "single class, 0; learning codes needs at least"),
    "no rows": (lambda X, y: (X[:0], y[:0]), "shape (0, 6)"),
    "constant": (lambda X, y: (np.ones_like(X), y), "All columns of `X` are constant"),
}


def _with(X, row, value):
    X = X.copy()
    X[row, 2] = value
    return X


@pytest.mark.parametrize("case", BAD_DATA)
def test_unusable_data_is_named_and_nothing_is_written(run, items, tmp_path, case):
    spoil, message = BAD_DATA[case]
    vectors, labels = spoil(*items)
    np.savez(tmp_path / "bad.npz", vectors=vectors, labels=labels)
    done = run("train", tmp_path / "bad.npz", "--out", tmp_path / "model.kinhash", *TINY)
    assert (done.code, done.out) == (1, "")
    assert message in done.err.splitlines()[-1]
    assert done.err.splitlines()[-1].startswith("error: ")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.npz"]


BAD_FILES = {
    "text.csv": (b"a,colour,label\n1,red,0\n2,blue,1\n", "colour (string)"),
    "empty.csv": (b"", "Empty CSV file"),
    "header.csv": (b"a,b,label\n", "must have at least one row, but has none"),
    "empty.npz": (b"", "but is empty"),
    "other.npz": (b"not an archive", "must be a NumPy .npz file"),
    "other.txt": (b"1 2 3", "must be a .npz, .npy, .parquet or .csv file, got '.txt'"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_an_unreadable_file_is_named(run, tmp_path, name):
    content, message = BAD_FILES[name]
    (tmp_path / name).write_bytes(content)
    done = run("train", tmp_path / name, "--out", tmp_path / "model.kinhash")
    assert done.code == 1
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert name in done.err
    assert message in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("digitz",), "Unknown data set 'digitz'. Did you mean 'digits'?"),
        (("nowhere.npz",), "There is no file nowhere.npz."),
        (("digits", "--method", "sparsehas"), "Did you mean 'sparsehash'?"),
        (("digits", "--method", "lsh", "--margin", "3"), "Unknown parameter of lsh 'margin'."),
        (("digits", "--n-bits", "0"), "`n_bits` must be an integer in [1, 1024], got 0."),
        (("digits", "--encoder", "coad"), "Unknown encoder 'coad'. Did you mean 'cod'?"),
        (("digits", "--seed", "-1"), "`seed` must be an integer of at least 0, got -1."),
        (("digits", "--features", "gist"), "Unknown kind of features for digits 'gist'."),
        (("digits", "--labels", "x"), "data set 'digits' has its own"),
        (("digits", "--config", "nowhere.toml"), "Cannot read nowhere.toml: no such file"),
    ],
)
def test_a_bad_value_is_one_sentence(run, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    done = run("train", *words, "--out", "model.kinhash")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-1].startswith("error: ")
    assert message in done.err
    assert not list(tmp_path.iterdir())
