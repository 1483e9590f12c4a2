import csv
import io
import json

import numpy as np

import kinhash
from kinhash.methods import SparseHash


def test_a_model_shows_what_made_it(run, model):
    done = run("info", model, "--format", "json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    loaded = kinhash.load(model)
    expected = {
        "file": str(model),
        "bytes": model.stat().st_size,
        "kind": "model",
        "format": 1,
        "kinhash": kinhash.__version__,
        "method": "sparsehash",
        "n_bits": 16,
        "n_features": 6,
        "signed": False,
        "changed": {"max_steps": 50, "n_bits": 16},
        "parameters": SparseHash(n_bits=16, max_steps=50).get_params(),
        "history": loaded.history_[-1],
    }
    assert found == expected


def test_the_table_marks_what_differs_from_the_defaults(run, model):
    lines = run("info", model).out.splitlines()
    facts = dict(line.split(maxsplit=1) for line in lines)
    assert facts["parameters.n_bits"] == "16 *"
    assert facts["parameters.margin"] == "7"
    assert facts["n_features"] == "6"
    assert lines[-1] == "* differs from the default"


def test_codes_show_their_numbers(run, codes):
    found = json.loads(run("info", codes, "--format", "json").out)
    dense = kinhash.load(codes).to_dense()
    n_active = dense.sum(axis=1)
    assert (found["kind"], found["n"], found["n_bits"], found["signed"]) == (
        "codes",
        120,
        16,
        False,
    )
    assert np.isclose(found["mean_active"], n_active.mean())
    assert np.isclose(found["sd_active"], n_active.std())
    assert found["unique_codes"] == len({row.tobytes() for row in dense})


def test_csv_lists_the_same_facts_by_name(run, model):
    rows = csv.DictReader(io.StringIO(run("info", model, "--format", "csv").out))
    facts = {row["name"]: row["value"] for row in rows}
    assert facts["method"] == "sparsehash"
    assert facts["changed.n_bits"] == facts["parameters.n_bits"] == "16"
    assert float(facts["history.loss"]) > 0


def test_a_method_without_history_has_none(run, npz, tmp_path):
    out = tmp_path / "model.kinhash"
    assert run("train", npz, "--out", out, "--method", "lsh").code == 0
    assert json.loads(run("info", out, "--format", "json").out)["history"] is None
    assert "* differs" not in run("info", out).out


def test_a_foreign_or_missing_file_is_an_error(run, npz):
    done = run("info", npz)
    assert (done.code, done.out) == (1, "")
    assert f"error: {npz} is not a kinhash file" in done.err
    assert run("info", "nowhere").err == "error: Cannot read nowhere: no such file or directory.\n"
