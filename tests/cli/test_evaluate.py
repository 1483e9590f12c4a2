import csv
import io
import json

import numpy as np
import pytest

import kinhash
from kinhash.datasets import Dataset, load
from kinhash.evaluation.neighbours import evaluate_fitted_by_neighbours
from kinhash.metrics import evaluate_codes, evaluate_neighbours, true_neighbours


def test_json_holds_the_measures_of_the_split(run, model, npz):
    done = run("evaluate", model, npz, "--radii", "1", "--at", "5", "--format", "json")
    assert done.code == 0
    found = json.loads(done.out)
    data, encoder = load(npz), kinhash.load(model)
    part = data.split(seed=0)
    expected = evaluate_codes(
        encoder.encode(data.vectors[part.query]),
        data.labels[part.query],
        encoder.encode(data.vectors[part.database]),
        data.labels[part.database],
        radii=[1],
        at=[5],
    )
    assert found == {
        "data": "items",
        "seed": 0,
        "n_queries": 18,
        "n_database": 102,
        **{key: pytest.approx(value) for key, value in expected.items()},
    }


def test_codes_with_rank_bits_are_ranked_in_either_order(run, model, npz, monkeypatch):
    def nested(_, X, **__):  # so poor that the order matters
        return kinhash.Codes.from_dense(X[:, :2] > 0, rank=X[:, 2:] > 0)

    monkeypatch.setattr(kinhash.SparseHash, "encode", nested)
    data, encoder = load(npz), kinhash.load(model)
    part = data.split(seed=0)
    found = {}
    for words in ((), ("--order", "nested"), ("--order", "total")):
        done = run("evaluate", model, npz, "--format", "json", *words)
        found[words[-1:] or ("nested",)] = json.loads(done.out)["map"]
    for (order,), value in found.items():
        expected = evaluate_codes(
            encoder.encode(data.vectors[part.query]),
            data.labels[part.query],
            encoder.encode(data.vectors[part.database]),
            data.labels[part.database],
            order=order,
        )
        assert value == pytest.approx(expected["map"])
    assert found["nested",] != found["total",]
    assert run("evaluate", model, npz, "--order", "sum").code == 2


def test_csv_has_one_row_with_the_same_keys(run, model, npz):
    text = run("evaluate", model, npz, "--format", "csv").out
    (row,) = csv.DictReader(io.StringIO(text))
    record = json.loads(run("evaluate", model, npz, "--format", "json").out)
    assert row == {key: str(value) for key, value in record.items()}


def test_the_table_shows_each_radius_and_ranking_length(run, model, npz):
    text = run("evaluate", model, npz).out
    starts = [line.split("  ")[0] for line in text.splitlines()]
    assert starts[2:7] == ["all", "first 10", "first 5000", "r = 0", "r ≤ 2"]
    assert "n_queries" in text


def test_digits_are_evaluated_end_to_end(run, tmp_path):
    out = tmp_path / "model.kinhash"
    words = ("--n-bits", "32", "--set", "recipe=paper", "--set", "max_steps=50")
    assert run("train", "digits", "--out", out, *words).code == 0
    done = run("evaluate", out, "digits", "--format", "json")
    assert done.code == 0
    measures = json.loads(done.out)
    assert measures["n_queries"] == 296
    assert measures["map"] > 0.3  # chance is 0.1


def test_the_split_is_that_of_the_model_unless_another_is_asked_for(run, npz, tmp_path):
    out = tmp_path / "model.kinhash"
    words = ("--method", "lsh", "--n-bits", "16", "--seed", "5")
    assert run("train", npz, "--out", out, *words).code == 0
    own = run("evaluate", out, npz, "--format", "json")
    assert json.loads(own.out)["seed"] == 5
    assert "warning" not in own.err
    other = run("evaluate", out, npz, "--format", "json", "--seed", "6")
    assert json.loads(other.out)["seed"] == 6
    assert "warning: the model was trained with seed 5, so queries of split 6 may be" in other.err


def test_queries_of_another_file_are_compared_by_class_name(run, model, items, tmp_path):
    """In each file by itself, the classes are numbered from 0."""
    vectors, labels = items
    words = np.array(["ape", "bee", "cat"])[labels]
    np.savez(tmp_path / "database.npz", vectors=vectors, labels=words)
    np.savez(tmp_path / "queries.npz", vectors=vectors[40:], labels=words[40:])
    files = (tmp_path / "database.npz", "--queries", tmp_path / "queries.npz")
    done = run("evaluate", model, *files, "--format", "json", "--radii", "0", "--at", "1")
    assert done.code == 0
    measures = json.loads(done.out)
    assert (measures["n_queries"], measures["n_database"]) == (80, 120)
    assert measures["map"] > 0.8
    np.savez(tmp_path / "bees.npz", vectors=vectors[40:80], labels=words[40:80])
    files = (tmp_path / "database.npz", "--queries", tmp_path / "bees.npz")
    done = run("evaluate", model, *files, "--format", "json", "--radii", "0", "--at", "1")
    assert json.loads(done.out)["map"] > 0.8


def test_a_tag_matrix_is_split_or_evaluated_with_queries_of_its_own(run, model, items, tmp_path):
    tags = np.eye(3, dtype=np.uint8)[items[1]]
    np.savez(tmp_path / "tags.npz", vectors=items[0], labels=tags)
    np.savez(tmp_path / "some.npz", vectors=items[0][::9], labels=tags[::9])
    split = run("evaluate", model, tmp_path / "tags.npz", "--format", "json")
    assert json.loads(split.out)["map"] > 0.8
    words = (tmp_path / "tags.npz", "--queries", tmp_path / "some.npz", "--format", "json")
    assert json.loads(run("evaluate", model, *words).out)["map"] > 0.8


def test_what_is_not_known_is_null_in_json(run, model, items, tmp_path):
    np.savez(tmp_path / "a.npz", vectors=items[0], labels=items[1])
    np.savez(tmp_path / "b.npz", vectors=items[0], labels=items[1] + 10)
    words = (tmp_path / "a.npz", "--queries", tmp_path / "b.npz", "--format", "json")
    done = run("evaluate", model, *words)
    assert done.code == 0
    assert "warning: 120 of 120 queries have no relevant item" in done.err
    assert json.loads(done.out, parse_constant=pytest.fail)["map"] is None


def test_without_labels_the_true_neighbours_count(run, model, npz, items, tmp_path):
    np.save(tmp_path / "bare.npy", items[0])
    encoder, part = kinhash.load(model), load(tmp_path / "bare.npy").split(0)
    sides = items[0][part.query], items[0][part.database]
    words = ("--radii", "1", "--format", "json")
    for metric in ("cosine", "l2"):
        expected = evaluate_neighbours(
            *(encoder.encode(side) for side in sides),
            true_neighbours(*sides, 10, metric=metric),
            radii=[1],
            at=[10, 100, 500],
        )
        expected |= {f"reranked_recall@{k}": 1.0 for k in (10, 100, 500)}  # 100 items in all
        done = run("evaluate", model, tmp_path / "bare.npy", *words, "--metric", metric)
        assert json.loads(done.out) == {
            "data": "bare",
            "seed": 0,
            "metric": metric,
            "candidates": 500,
            "n_queries": 20,
            "n_database": 100,
            **{key: pytest.approx(value) for key, value in expected.items()},
        }
    text = run("evaluate", model, tmp_path / "bare.npy").out
    starts = [line.split("  ")[0] for line in text.splitlines()]
    assert starts[2:7] == ["first 10", "first 100", "first 500", "r = 0", "r ≤ 2"]
    assert text.split("\n")[0].split()[:4] == ["among", "recall", "reranked", "recall"]
    assert run("evaluate", model, tmp_path / "bare.npy", "--metric", "dot").code == 2


def test_recall_after_reranking_is_that_of_the_library(run, model, npz):
    words = ("--without-labels", "--candidates", "12", "--at", "5,10", "--format", "json")
    found = json.loads(run("evaluate", model, npz, *words).out)
    data = load(npz)
    expected = evaluate_fitted_by_neighbours(
        kinhash.load(model), data, data.split(0), at=[5, 10], candidates=12
    ).metrics
    names = {"reranked_recall@5", "reranked_recall@10"}
    assert names <= expected.keys()
    assert {key: found[key] for key in expected} == pytest.approx(expected)
    assert found["candidates"] == 12
    for words in ((model, npz), (model, npz, "--queries", npz.with_name("other.npz"))):
        if "--queries" in words:
            words[-1].write_bytes(npz.read_bytes())
        done = run("evaluate", *words, "--candidates", "12")
        assert (done.code, done.out) == (1, "")
        assert "error: --candidates is for recall of the true neighbours, but here" in done.err


def test_labels_that_are_left_out_still_choose_queries_that_were_never_trained_on(run, model, npz):
    words = ("--without-labels", "--radii", "1", "--at", "9", "--format", "json")
    found = json.loads(run("evaluate", model, npz, *words).out)
    data, encoder = load(npz), kinhash.load(model)
    part = data.split(0)
    sides = data.vectors[part.query], data.vectors[part.database]
    codes = [encoder.encode(side) for side in sides]
    expected = evaluate_neighbours(*codes, true_neighbours(*sides), radii=[1], at=[9])
    assert {key: found[key] for key in expected} == pytest.approx(expected)
    assert (found["n_queries"], found["metric"]) == (18, "cosine")
    asked = run("evaluate", model, npz, "--seed", "0", *words)
    assert json.loads(asked.out) == found


def test_queries_without_labels_are_looked_for_by_distance(run, model, npz, items, tmp_path):
    np.save(tmp_path / "bare.npy", items[0])
    np.save(tmp_path / "others.npy", items[0][:30])
    encoder = kinhash.load(model)
    words = ("--queries", tmp_path / "others.npy", "--at", "7", "--format", "json")
    found = json.loads(run("evaluate", model, tmp_path / "bare.npy", *words).out)
    expected = evaluate_neighbours(
        encoder.encode(items[0][:30]),
        encoder.encode(items[0]),
        true_neighbours(items[0][:30], items[0]),
        at=[7],
    )
    assert {key: found[key] for key in expected} == pytest.approx(expected)
    # Labels on one side only are a mistake, not a wish.
    done = run("evaluate", model, npz, *words)
    assert done.code == 1
    assert "error: others has no labels, so nothing says which matches are right." in done.err


def test_modalities_are_not_compared_without_labels(run, pair_model, pairs, items, texts, tmp_path):
    done = run("evaluate", pair_model, pairs, "--without-labels")
    assert done.code == 1
    assert "error: --without-labels compares one kind of vectors, but the model has" in done.err
    np.savez(tmp_path / "bare.npz", image=items[0], text=np.array(texts))
    done = run("evaluate", pair_model, tmp_path / "bare.npz")
    assert done.code == 1
    assert "error: bare has no labels, so nothing says which matches are right." in done.err


def test_a_file_is_not_searched_with_its_own_rows(run, model, npz):
    done = run("evaluate", model, npz, "--queries", npz)
    assert done.code == 1
    assert "a row that finds itself measures nothing" in done.err


@pytest.mark.parametrize(("option", "text"), [("--radii", "0;2"), ("--at", ""), ("--at", "ten")])
def test_a_list_that_is_none_is_wrong_usage(run, model, npz, option, text):
    done = run("evaluate", model, npz, option, text)
    assert done.code == 2
    assert f"Invalid value for '{option}': expected integers" in done.err
    assert f"got {text!r}" in done.err


def test_a_negative_radius_is_refused(run, model, npz):
    done = run("evaluate", model, npz, "--radii", "-1")
    assert done.code == 2
    assert (
        "'--radii': expected integers of at least 0 separated by commas, such as 0,2, got '-1'."
        in done.err
    )


def rows_of(done):
    assert done.code == 0, done.err
    return {(row["query"], row["database"]): row for row in json.loads(done.out)}


def test_several_modalities_are_measured_from_each_to_each(run, pair_model, pairs, items, texts):
    words = ("--format", "json", "--radii", "1", "--at", "5")
    found = rows_of(run("evaluate", pair_model, pairs, *words))
    assert list(found) == [
        ("image", "image"),
        ("text", "text"),
        ("image", "text"),
        ("text", "image"),
    ]
    data = Dataset("pairs", items[0], labels=items[1])
    part, model = data.split(0), kinhash.load(pair_model)
    expected = evaluate_codes(
        model.encode([texts[row] for row in part.query], modality="text"),
        items[1][part.query],
        model.encode(items[0][part.database], modality="image"),
        items[1][part.database],
        radii=(1,),
        at=(5,),
    )
    row = found["text", "image"]
    assert {key: row[key] for key in expected} == expected
    assert (row["data"], row["seed"], row["n_queries"], row["n_database"]) == ("pairs", 0, 18, 102)


def test_the_table_of_directions_fits_a_terminal(run, pair_model, pairs):
    done = run("evaluate", pair_model, pairs)
    assert done.code == 0
    above, below = done.out.split("\n\n")
    assert above.split()[:3] == ["query", "database", "mAP"]
    assert len(above.splitlines()) == 6
    assert max(map(len, above.splitlines())) < 120
    assert below.splitlines()[0].split() == ["data", "seed", "n_queries", "n_database"]


def test_queries_of_another_file_are_of_all_modalities(run, pair_model, pairs, tmp_path):
    with np.load(pairs) as stored:
        np.savez(tmp_path / "asked.npz", **{name: stored[name][:9] for name in stored.files})
    words = ("--queries", tmp_path / "asked.npz", "--format", "json")
    row = rows_of(run("evaluate", pair_model, pairs, *words))["image", "text"]
    assert (row["queries"], row["n_queries"], row["n_database"]) == ("asked", 9, 120)


def test_the_test_part_of_a_data_sets_own_split_is_searched_with_itself(run, rng, tmp_path):
    labels = np.arange(60) % 3
    image = rng.normal(size=(60, 8)) + labels[:, None]
    text = image[:, ::2]
    np.savez(
        tmp_path / "wikipedia.npz",
        image=image,
        text=text,
        label=labels,
        split=np.repeat([0, 1], [40, 20]),
        categories=["a", "b", "c"],
    )
    model = tmp_path / "model.kinhash"
    words = ("--modalities", "image,text", "--method", "cca-itq", "--n-bits", "4")
    assert run("train", "wikipedia", "--root", tmp_path, "--out", model, *words).code == 0
    words = ("--root", tmp_path, "--format", "json")
    row = rows_of(run("evaluate", model, "wikipedia", *words))["image", "text"]
    assert (row["n_queries"], row["n_database"]) == (20, 20)
    fitted = kinhash.load(model)
    asked = fitted.encode(image[40:].astype(np.float32), modality="image").to_dense()
    found = fitted.encode(text[40:].astype(np.float32), modality="text").to_dense()
    near = (asked[:, None] != found[None]).sum(axis=2) == 0
    np.fill_diagonal(near, val=False)  # no item finds itself
    assert np.isclose(row["mean_matches@r0"], near.sum(axis=1).mean())


def test_a_data_set_without_the_modalities_is_one_sentence(run, pair_model):
    done = run("evaluate", pair_model, "digits")
    assert (done.code, done.out) == (1, "")
    assert done.err == "error: Data set 'digits' has one kind of vectors, no modalities.\n"
