import csv
import io
import json
import re

import numpy as np
import pytest

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
        "format": 3,
        "kinhash": kinhash.__version__,
        "method": "sparsehash",
        "n_bits": 16,
        "n_features": 6,
        "signed": False,
        "changed": {"max_steps": 50, "n_bits": 16, "recipe": "paper"},
        "parameters": SparseHash(n_bits=16, recipe="paper", max_steps=50).get_params(),
        "history": loaded.history_[-1],
    }
    assert found == expected


def test_the_table_marks_what_differs_from_the_defaults(run, model):
    lines = run("info", model).out.splitlines()
    facts = dict(line.split(maxsplit=1) for line in lines)
    assert facts["parameters.n_bits"] == "16 *"
    assert facts["parameters.recipe"] == "paper *"
    assert facts["parameters.verbose"] == "False"
    assert "parameters.margin" not in facts  # nobody set it
    assert facts["n_features"] == "6"
    assert lines[-1] == "* differs from the default"


def test_codes_show_both_parts(run, tmp_path):
    path = tmp_path / "nested.kinhash"
    nested = kinhash.Codes.from_dense([[0, 1, 1], [0, 1, 1]], rank=[[0, 0, 1, 1], [1, 1, 1, 1]])
    nested.save(path)
    found = json.loads(run("info", path, "--format", "json").out)
    assert (found["n_bits"], found["n_bucket_bits"], found["n_rank_bits"]) == (7, 3, 4)
    assert (found["unique_codes"], found["mean_active"], found["format"]) == (1, 2.0, 3)
    table = run("info", path).out
    assert re.search(r"n_bucket_bits +3\b", table)
    assert re.search(r"n_rank_bits +4\b", table)


def test_codes_show_their_numbers(run, codes):
    found = json.loads(run("info", codes, "--format", "json").out)
    dense = kinhash.load(codes).codes.to_dense()
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


def test_an_index_shows_its_numbers_and_structures(run, index, codes):
    done = run("info", index, "--format", "json")
    assert (done.code, done.err) == (0, "")
    facts = json.loads(done.out)
    structures, per_item = facts.pop("structures"), facts.pop("bytes_per_item")
    assert facts == {
        "file": str(index),
        "bytes": index.stat().st_size,
        "kind": "index",
        "format": 3,
        "kinhash": kinhash.__version__,
        "n": 120,
        "ids": "integers",
        "n_bits": 16,
        "n_bucket_bits": 16,
        "n_rank_bits": 0,
        "signed": False,
        "unique_codes": kinhash.load(codes).codes.n_unique,
        "memory": "balanced",
        "calibration": None,
    }
    assert structures.keys() == {"lookup"}  # with few items, that is all
    assert np.isclose(per_item * 120, kinhash.HammingIndex.load(index).n_bytes)


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        ("lean", {"lookup", "groups"}),
        ("balanced", {"lookup", "groups", "deletions_1"}),  # no room for more
        ("fast", {"lookup", "groups", "deletions_1", "deletions_2", "neighbours"}),
    ],
)
def test_a_larger_index_shows_what_its_memory_setting_built(run, rng, tmp_path, memory, expected):
    centres = rng.random((50, 64)) < 0.06
    dense = centres[rng.integers(0, 50, 3000)] ^ (rng.random((3000, 64)) < 0.01)
    path = tmp_path / "items.kinhash"
    kinhash.HammingIndex(kinhash.Codes.from_dense(dense), memory=memory).save(path)
    facts = json.loads(run("info", path, "--format", "json").out)
    assert facts["structures"].keys() == expected
    assert sum(facts["structures"].values()) < facts["bytes"]
    assert "structures.lookup" in run("info", path).out


def test_an_empty_index_has_no_bytes_per_item(run, codes, tmp_path):
    path = tmp_path / "items.kinhash"
    kinhash.HammingIndex(kinhash.load(codes).codes[:0]).save(path)
    facts = json.loads(run("info", path, "--format", "json").out)
    assert (facts["n"], facts["unique_codes"], facts["bytes_per_item"]) == (0, 0, None)


def test_verify_says_that_all_was_checked(run, index, codes, model):
    for file in (index, codes, model):
        done = run("info", file, "--verify")
        assert done.code == 0
        assert done.out == run("info", file).out
        assert done.err == f"Verified {file}: it is complete and undamaged.\n"


def test_a_flipped_byte_is_found(run, index, tmp_path):
    raw = bytearray(index.read_bytes())
    raw[len(raw) * 3 // 4] ^= 1
    path = tmp_path / "items.kinhash"
    path.write_bytes(raw)
    done = run("info", path, "--verify")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"error: {path} is damaged: the checksum of ")
    assert done.err.count("\n") == 1


def test_verify_checks_what_is_too_large_to_be_checked_each_time(run, index, tmp_path, monkeypatch):
    monkeypatch.setattr("kinhash.index.file.VERIFIED_BELOW", 0)
    raw = bytearray(index.read_bytes())
    raw[-1] ^= 1  # in the filling of the last section: nothing that is ever looked at
    path = tmp_path / "items.kinhash"
    path.write_bytes(raw)
    assert run("info", path).code == 0
    done = run("info", path, "--verify")
    assert (done.code, done.out) == (1, "")
    assert "is damaged: the checksum of " in done.err


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


def test_a_model_of_several_modalities_shows_each(run, pair_model):
    done = run("info", pair_model, "--format", "json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert (found["method"], found["n_bits"], found["signed"]) == (
        "multimodal-sparsehash",
        16,
        False,
    )
    kinds = {name: encoder.kind for name, encoder in kinhash.load(pair_model).encoders_.items()}
    assert found["modalities"] == {
        "image": {"encoder": kinds["image"], "n_features": 6},
        "text": {"encoder": kinds["text"], "n_features": 8, "n_words": 8},
    }
    assert found["changed"] == {"n_bits": 16}
    assert found["history"]["kept"]
    facts = dict(line.split(maxsplit=1) for line in run("info", pair_model).out.splitlines())
    assert facts["modalities.text.n_words"] == "8"
    assert facts["parameters.n_bits"] == "16 *"


def test_a_parameter_of_each_modality_is_starred(run, pairs, tmp_path):
    config, out = tmp_path / "train.toml", tmp_path / "model.kinhash"
    config.write_text('recipe = "paper"\nmax_steps = 20\nn_layers = {image = 2}\n')
    words = ("--modalities", "image,text", "--config", config, "--n-bits", "8")
    assert run("train", pairs, "--out", out, *words).code == 0
    facts = dict(line.split(maxsplit=1) for line in run("info", out).out.splitlines())
    assert facts["parameters.n_layers.image"] == "2 *"


@pytest.mark.parametrize("method", ["cmssh", "cca-itq"])
def test_a_rival_of_several_modalities_is_shown(run, pairs, tmp_path, method):
    out = tmp_path / "model.kinhash"
    words = ("--modalities", "image,text", "--method", method, "--n-bits", "4")
    assert run("train", pairs, "--out", out, *words).code == 0
    found = json.loads(run("info", out, "--format", "json").out)
    assert found["modalities"]["text"] == {"encoder": "linear", "n_features": 8, "n_words": 8}
    assert found["history"] == kinhash.load(out).history_[-1]
