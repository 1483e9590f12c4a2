import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from kinhash.codes import Codes
from kinhash.datasets import Split, load
from kinhash.errors import InvalidInputError
from kinhash.evaluation.neighbours import evaluate_method_by_neighbours
from kinhash.evaluation.protocol import evaluate_method, evaluate_raw, split_hash
from kinhash.methods import LSH, METHODS, ClassCode
from kinhash.record_file import read
from kinhash.studies import records
from kinhash.studies.comparison import planned
from kinhash.studies.records import built, kept, plate_queries, record, record_key

LSH8 = {"method": "lsh", "n_bits": 8}


@pytest.fixture(scope="module")
def data():
    return load("digits")


def test_a_record_is_computed_once(tmp_path, data, monkeypatch):
    file = tmp_path / "new" / "digits.jsonl"
    made = record(file, data, LSH8, 3)
    assert made["settings"] == LSH8
    assert made["seed"] == 3
    assert made["split_hash"] == split_hash(data.split(3))
    assert made["stored_bits"] == 8
    assert {"map", "f1@r0", "mean_matches@r1", "ramap"} <= made["metrics"].keys()
    monkeypatch.setattr(records, "evaluate_method", pytest.fail)
    assert record(file, data, LSH8, 3) == made
    assert read(file) == {record_key(LSH8, 3): made}
    assert list(file.parent.iterdir()) == [file]


def test_other_settings_seeds_and_protocols_are_other_records():
    keys = {
        record_key(settings, seed, protocol, order)
        for settings in (LSH8, {"method": "lsh", "n_bits": 9}, {"method": "itq", "n_bits": 8})
        for seed in (0, 1)
        for protocol in ("paper", "unseen")
        for order in ("nested", "total")
    }
    assert len(keys) == 24
    assert record_key(LSH8, 0) == record_key(LSH8, 0, order="nested")  # as records have always been


def test_records_of_nested_codes_are_of_one_order(tmp_path, data, monkeypatch):
    def nested(self, X, **_):
        dense = self.encoder_.encode(X).to_dense()
        return Codes.from_dense(dense[:, :6], rank=dense[:, 6:])

    monkeypatch.setattr(LSH, "encode", nested)
    file, settings = tmp_path / "digits.jsonl", {"method": "lsh", "n_bits": 40}
    made = {order: record(file, data, settings, 0, order=order) for order in ("nested", "total")}
    assert len(read(file)) == 2
    assert made["nested"]["metrics"]["map"] != made["total"]["metrics"]["map"]
    assert ("order" in made["nested"], made["total"]["order"]) == (False, "total")
    assert made["nested"]["stored_bits"] == 40


LSH_FIT = LSH.fit
NESTED = {
    "method": "nested",
    "n_bits": 20,
    "n_rank_bits": 8,
    "bucket": {"method": "classcode", "C": 2.0},
    "rank": {"method": "lsh"},
}


def test_settings_may_have_methods_in_them(data):
    method = built(NESTED, 5, METHODS)
    assert (type(method.bucket), method.bucket.C) == (ClassCode, 2.0)
    assert type(method.rank) is LSH
    assert method.seed == 5
    made = record(None, data, NESTED, 0)
    assert made["stored_bits"] == 20
    assert made["parameters"]["bucket"]["method"] == "classcode"
    json.dumps(made)
    with pytest.raises(InvalidInputError, match="Unknown parameter of lsh 'levels'"):
        built(NESTED | {"rank": {"method": "lsh", "levels": 2}}, 0, METHODS)


def test_with_training_items_apart_only_the_rest_is_searched(data):
    part = data.split(1)
    rest = Split(part.train, part.query, np.setdiff1d(part.database, part.train))
    made = record(None, data, LSH8, 1, protocol="apart")
    assert made["split_hash"] == split_hash(rest)
    expected = evaluate_method(LSH(8, seed=1), data, rest, radii=(0, 1, 2))
    assert made["metrics"] == expected.metrics


def test_unlabelled_rows_are_the_database_without_training_rows(data, monkeypatch):
    seen = {}

    def fit(self, X, y=None, unlabelled=None):
        seen.update(X=X, unlabelled=unlabelled)
        return LSH_FIT(self, X, y)

    monkeypatch.setattr(LSH, "fit", fit)
    made = record(None, data, LSH8 | {"unlabelled": "database"}, 1)
    part = data.split(1)
    assert np.array_equal(seen["X"], data.vectors[part.train])
    rest = np.setdiff1d(part.database, part.train)
    assert np.array_equal(seen["unlabelled"], data.vectors[rest])
    assert made["settings"]["unlabelled"] == "database"


def test_an_interrupted_record_leaves_nothing(tmp_path, data, monkeypatch):
    def stop(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(LSH, "encode", stop)
    with pytest.raises(KeyboardInterrupt):
        record(tmp_path / "digits.jsonl", data, LSH8, 0)
    assert list(tmp_path.iterdir()) == []


def test_what_figures_need_is_added_when_asked_for(tmp_path, data):
    assert "figures" not in record(tmp_path / "digits.jsonl", data, LSH8, 0)
    figures = record(tmp_path / "digits.jsonl", data, LSH8, 0, figures=True)["figures"]
    assert len(figures["precision"]) == len(figures["recall"]) == 9
    assert figures["recall"] == sorted(figures["recall"])
    assert figures["recall"][-1] == 1
    assert set(figures["curves"]) == {"0", "2", "all"}
    assert sum(figures["active"]) == len(data.split(0).database)
    assert set(figures["microseconds"]) == {"brute force", "0", "1", "2"}
    part = data.split(0)
    assert set(figures["queries"]) <= set(part.query.tolist())
    assert all(set(row) <= set(part.database.tolist()) for row in figures["neighbours"])
    json.dumps(figures, allow_nan=False)


def test_vectors_themselves_have_a_record(tmp_path, data):
    made = record(tmp_path / "digits.jsonl", data, {"method": "l2"}, 0)
    assert 0.6 < made["metrics"]["map"] < 0.7
    assert "f1@r0" not in made["metrics"]


def test_vectors_are_ranked_by_either_metric(data):
    part = data.split(0)
    for metric in ("l2", "cosine"):
        made = record(None, data, {"method": metric}, 0)
        assert made["metrics"] == evaluate_raw(data, part, metric=metric)[0]
    assert made["metrics"] != record(None, data, {"method": "l2"}, 0)["metrics"]


def test_without_labels_the_true_neighbours_count(tmp_path, data):
    file, bare = tmp_path / "digits.jsonl", replace(data, labels=None)
    part = bare.split(0)
    for metric in ("cosine", "l2"):
        made = record(file, bare, LSH8, 0, metric=metric, figures=True)
        expected = evaluate_method_by_neighbours(
            LSH(8, seed=0), bare, part, radii=(0, 1, 2), metric=metric
        )
        assert made["metrics"] == expected.metrics
        assert made["split_hash"] == split_hash(part)
        assert (made["metric"], made["stored_bits"]) == (metric, 8)
        assert "figures" not in made
        assert record(file, bare, LSH8, 0, metric=metric) == made
    assert record(file, data, LSH8, 0).get("metric") is None
    assert len(read(file)) == 3
    raw = record(file, bare, {"method": "l2"}, 0, metric="l2")
    assert raw["metrics"] == {"recall@100": 1, "recall@500": 1}


OWN = """
import numpy as np
from kinhash import Codes

class Signs:
    def __init__(self, n_bits=8, seed=0):
        self.n_bits = n_bits
        self.seed = seed
    def fit(self, X, y):
        assert len(X) == len(y)
        self.W = np.random.default_rng(self.seed).normal(size=(X.shape[1], self.n_bits))
    def encode(self, X):
        return Codes.from_dense((X - 8) @ self.W > 0)
"""


def test_a_method_of_the_users_own_has_records_for_each_source(tmp_path, data, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "own_records.py").write_text(OWN, encoding="utf-8")
    (first,) = planned(["own_records:Signs"], [12])
    file = tmp_path / "digits.jsonl"
    made = record(file, data, first, 5, figures=True)
    assert made["stored_bits"] == 12
    assert made["parameters"] == {"n_bits": 12}
    assert made["metrics"]["map"] > 0.1
    assert "curves" in made["figures"]
    (tmp_path / "own_records.py").write_text(OWN + "\n# changed", encoding="utf-8")
    (second,) = planned(["own_records:Signs"], [12])
    assert record_key(first, 5) != record_key(second, 5)
    with pytest.raises(InvalidInputError, match="Unknown parameter of own_records:Signs 'depth'"):
        record(file, data, first | {"depth": 2}, 5)


def test_unseen_classes_are_averaged_over_folds(tmp_path, data):
    made = record(tmp_path / "digits.jsonl", data, {"method": "l2"}, 0, protocol="unseen")
    assert len(made["split_hash"]) == 4
    assert (
        made["metrics"]["map"]
        > record(tmp_path / "digits.jsonl", data, {"method": "l2"}, 0)["metrics"]["map"]
    )


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        ({"method": "lhs"}, {}, "Unknown method 'lhs'.*lsh"),
        ({"method": "lsh", "bits": 8}, {}, "Unknown parameter of lsh 'bits'.*n_bits"),
        (LSH8, {"protocol": "pepper"}, "Unknown protocol 'pepper'.*paper"),
    ],
)
def test_unknown_names_are_refused(tmp_path, data, settings, options, message):
    with pytest.raises(InvalidInputError, match=message):
        record(tmp_path / "digits.jsonl", data, settings, 0, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", ["{", "[]", '{"method": "lsh"}', ""])
def test_a_line_that_is_not_a_record_is_named(tmp_path, data, line):
    file = tmp_path / "digits.jsonl"
    text = f'{{"key":"a"}}\n{line}\n'
    file.write_text(text, encoding="utf-8")
    message = "Line 2 of .*digits.jsonl is not a record: .*Delete that line"
    with pytest.raises(InvalidInputError, match=message):
        record(file, data, LSH8, 0)
    assert file.read_text(encoding="utf-8") == text


def test_lines_are_compact_and_sorted_by_key(tmp_path):
    file = tmp_path / "some.jsonl"
    for key in ("b", "c", "a", "b"):
        kept(file, key, {"seed": 1}, lambda: {"metrics": {"map": 0.5}}, figures=False)
    lines = file.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["key"] for line in lines] == ["a", "b", "c"]
    assert lines[0].startswith('{"key":"a","seed":1,"metrics":{"map":0.5},"seconds":')


def test_without_a_file_nothing_is_kept(tmp_path, data, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert record(None, data, LSH8, 0)["key"] == record_key(LSH8, 0)
    assert list(tmp_path.iterdir()) == []


def test_queries_of_a_plate_are_not_picked():
    labels = np.repeat(np.arange(7), 3)
    chosen = plate_queries(labels)
    assert len(chosen) == len(set(labels[chosen])) == 5
    assert all(at % 3 == 0 for at in chosen)
    assert plate_queries(np.eye(3)) == [0, 1, 2]
