"""Searches on the command line as far as a precision."""

import csv
import io
import json
import re

import numpy as np
import pytest

import kinhash
from kinhash import HammingIndex
from kinhash.cli import main

STRONG = ("--n-bits", "24", "--set", "n_rank_bits=12")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A file of three classes that overlap a little, 60 of each."""
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(3), 60)
    centres = rng.normal(size=(3, 6)) * 1.2
    path = tmp_path_factory.mktemp("data") / "items.npz"
    vectors = (centres[labels] + rng.normal(size=(180, 6))).astype(np.float32)
    np.savez(path, vectors=vectors, labels=labels, ids=np.array([f"sku-{n}" for n in range(180)]))
    return path


@pytest.fixture(scope="module")
def strong(data, tmp_path_factory):
    """A folder with a calibrated model of `data`, codes, an index with and one without it."""
    folder = tmp_path_factory.mktemp("strong")
    model, codes = str(folder / "model"), str(folder / "codes")
    assert main(["train", str(data), "--out", model, *STRONG]) == 0
    assert main(["encode", model, str(data), "--out", codes]) == 0
    assert main(["index", codes, "--out", str(folder / "index")]) == 0
    assert main(["index", codes, "--model", model, "--out", str(folder / "sure")]) == 0
    return folder


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_search_goes_as_far_as_the_calibration_of_the_model_says(run, data, strong):
    words = ("--model", strong / "model", "--queries", data, "--format", "csv")
    done = run("search", strong / "index", *words, "--min-precision", "0.8")
    assert done.code == 0, done.err
    model, index = kinhash.load(strong / "model"), HammingIndex.load(strong / "index")
    index.calibration = model.calibration_
    codes = kinhash.load(strong / "codes").codes
    share = index.observe(codes).similar_share
    expected = index.search_radius(codes, min_precision=0.8, similar_share=share, sort=True)
    found = rows(done.out)
    assert [row["id"] for row in found] == expected.ids.tolist()
    told = np.array([float(row["precision"]) for row in found], np.float32)
    assert told.tolist() == expected.precision.tolist()
    cut = index.cut(0.8, similar_share=share)
    assert f"Within distance {cut.distance}" in done.err
    assert f"{cut.precision:.1%} of the answers should be right" in done.err
    assert f"{share:.2%} of all pairs are similar, by the distances of 180 queries" in done.err


def test_the_index_may_hold_the_calibration_and_items_be_the_queries(run, strong):
    words = ("search", strong / "sure", "--like", "sku-3", "--min-precision", "0.8")
    done = run(*words, "--format", "jsonl")
    assert done.code == 0, done.err
    found = [json.loads(line) for line in done.out.splitlines()]
    assert found
    assert all(row["id"] != "sku-3" for row in found)
    assert list(found[0]) == ["query", "id", "distance", "rank_distance", "precision"]
    assert "by the distances between items." in done.err
    share = kinhash.HammingIndex.load(strong / "sure").observe().similar_share
    assert f"{share:.2%} of all pairs" in done.err
    done = run(*words, "--similar-share", "0.01")
    assert "1.00% of all pairs are similar, as given." in done.err


@pytest.mark.parametrize("n_items", [1, 20])
def test_few_items_have_the_share_of_the_calibration(run, data, strong, tmp_path, n_items):
    np.save(tmp_path / "few.npy", np.load(data)["vectors"][:n_items])
    assert run("encode", strong / "model", tmp_path / "few.npy", "--out", tmp_path / "c").code == 0
    words = ("--model", strong / "model", "--queries", data, "--min-precision", "0.5")
    done = run("search", tmp_path / "c", *words)
    assert done.code == 0, done.err
    share = kinhash.load(strong / "model").calibration_.similar_share
    assert f"{share:.2%} of all pairs are similar, as where the calibration comes" in done.err


@pytest.mark.parametrize("reach", [("--top-k", "2"), ("--radius", "1")])
@pytest.mark.parametrize("form", ["table", "json", "jsonl", "csv"])
def test_each_match_has_a_precision_in_every_format(run, data, strong, reach, form):
    words = ("--queries", data, *reach, "--limit", "3", "--format", form)
    done = run("search", strong / "index", "--model", strong / "model", *words)
    assert done.code == 0, done.err
    assert "precision" in done.out
    if form == "csv":
        assert all(0 < float(row["precision"]) < 1 for row in rows(done.out))
    without = run("search", strong / "index", "--codes", strong / "codes", *reach, "--limit", "3")
    assert "precision" not in without.out


def test_reranked_matches_have_it_too(run, data, strong):
    words = ("--queries", data, "--rerank", data, "--min-precision", "0.8", "--format", "csv")
    done = run("search", strong / "index", "--model", strong / "model", *words)
    assert done.code == 0, done.err
    found = rows(done.out)
    assert list(found[0])[-2:] == ["similarity", "precision"]
    nearest = {row["query"]: row["id"] for row in reversed(found)}
    assert all(query == item for query, item in nearest.items())


def test_what_codes_do_not_reach_names_the_highest(run, data, strong):
    words = ("--model", strong / "model", "--queries", data, "--min-precision", "0.9999999")
    done = run("search", strong / "index", *words)
    assert (done.code, done.out) == (1, "")
    assert re.search(
        r"error: --min-precision 1 is more than these codes reach where .* of all pairs are "
        r"similar: the highest is 0\.\d\d\d ",
        done.err,
    )


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--min-precision", "0"), 2, "must be greater than 0 and at most 1, got 0.0"),
        (("--min-precision", "1.5"), 2, "must be greater than 0 and at most 1, got 1.5"),
        (("--min-precision", "0.5", "--radius", "1"), 2, "give exactly one of these"),
        (("--top-k", "1", "--similar-share", "1"), 2, "must lie between 0 and 1, got 1.0"),
        (("--min-precision", "0.5"), 1, "neither {index} nor {model} has one"),
        (("--top-k", "1", "--similar-share", "0.1"), 1, "need a calibration"),
    ],
)
def test_bad_input_is_refused(run, index, model, npz, words, code, message):
    done = run("search", index, "--model", model, "--queries", npz, *words)
    assert (done.code, done.out) == (code, "")
    assert message.format(index=index, model=model) in done.err


def test_an_index_takes_the_calibration_of_its_own_model_only(run, strong, codes, tmp_path):
    out = tmp_path / "out"
    done = run("index", codes, "--model", strong / "model", "--out", out)
    assert (done.code, out.exists()) == (1, False)
    assert "holds codes of 16 bits, 0 of them rank bits, but the model makes" in done.err


def test_a_model_without_a_calibration_gives_none(run, data, tmp_path):
    model, codes, out = (tmp_path / name for name in ("model", "codes", "out"))
    assert run("train", data, "--method", "lsh", "--out", model).code == 0
    assert run("encode", model, data, "--out", codes).code == 0
    done = run("index", codes, "--model", model, "--out", out)
    assert (done.code, out.exists()) == (1, False)
    assert f"error: {model} has no calibration. kinhash train makes one for spars" in done.err


def test_folds_give_any_method_a_calibration(run, data, tmp_path):
    model, bare = tmp_path / "model", tmp_path / "bare.npy"
    words = ("--method", "lsh", "--calibration-folds", "3")
    assert run("train", data, *words, "--out", model).code == 0
    assert kinhash.load(model).calibration_.n_rows == 180
    np.save(bare, np.load(data)["vectors"])
    done = run("train", bare, *words, "--out", tmp_path / "none")
    assert (done.code, (tmp_path / "none").exists()) == (1, False)
    assert "error: --calibration-folds needs labels, which bare has not" in done.err


def test_folds_are_not_for_several_modalities(run, pairs, tmp_path):
    words = ("--modalities", "image,text", "--calibration-folds", "3", "--out", tmp_path / "model")
    done = run("train", pairs, *words)
    assert done.code == 1
    assert "error: --calibration-folds is for codes of one kind of vectors" in done.err


def test_a_drifted_collection_is_told(run, data, strong, tmp_path):
    vectors = np.load(data)["vectors"][:5].repeat(40, axis=0)
    np.save(tmp_path / "same.npy", vectors)
    assert run("encode", strong / "model", tmp_path / "same.npy", "--out", tmp_path / "c").code == 0
    words = ("--model", strong / "model", "--queries", data, "--min-precision", "0.5")
    done = run("search", tmp_path / "c", *words)
    assert done.code == 0, done.err
    assert "warning: This index has other distances than the calibration was made from" in done.err


def test_info_says_what_calibration_a_file_holds(run, strong):
    for name in ("model", "sure"):
        facts = json.loads(run("info", strong / name, "--format", "json").out)
        calibration = kinhash.load(strong / "model").calibration_
        assert facts["calibration"] == calibration.facts()
    assert "calibration.highest_precision" in run("info", strong / "sure").out
