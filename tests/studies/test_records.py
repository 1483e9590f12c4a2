import json

import numpy as np
import pytest

from kinhash.datasets import load
from kinhash.errors import InvalidInputError
from kinhash.evaluation.protocol import split_hash
from kinhash.methods import LSH
from kinhash.studies import records
from kinhash.studies.records import plate_queries, record, record_path

LSH8 = {"method": "lsh", "n_bits": 8}


@pytest.fixture(scope="module")
def data():
    return load("digits")


def test_a_record_is_computed_once(tmp_path, data, monkeypatch):
    made = record(tmp_path / "new", data, LSH8, 3)
    assert made["settings"] == LSH8
    assert made["seed"] == 3
    assert made["split_hash"] == split_hash(data.split(3))
    assert made["stored_bits"] == 8
    assert {"map", "f1@r0", "mean_matches@r1", "ramap"} <= made["metrics"].keys()
    monkeypatch.setattr(records, "evaluate_method", pytest.fail)
    assert record(tmp_path / "new", data, LSH8, 3) == made
    assert [path.name for path in (tmp_path / "new").iterdir()] == [
        record_path(tmp_path, LSH8, 3).name
    ]


def test_other_settings_seeds_and_protocols_are_other_records(tmp_path):
    paths = {
        record_path(tmp_path, settings, seed, protocol)
        for settings in (LSH8, {"method": "lsh", "n_bits": 9}, {"method": "itq", "n_bits": 8})
        for seed in (0, 1)
        for protocol in ("paper", "unseen")
    }
    assert len(paths) == 12


def test_an_interrupted_record_leaves_nothing(tmp_path, data, monkeypatch):
    def stop(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(LSH, "encode", stop)
    with pytest.raises(KeyboardInterrupt):
        record(tmp_path, data, LSH8, 0)
    assert list(tmp_path.iterdir()) == []


def test_what_figures_need_is_added_when_asked_for(tmp_path, data):
    assert "figures" not in record(tmp_path, data, LSH8, 0)
    figures = record(tmp_path, data, LSH8, 0, figures=True)["figures"]
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
    made = record(tmp_path, data, {"method": "l2"}, 0)
    assert 0.6 < made["metrics"]["map"] < 0.7
    assert "f1@r0" not in made["metrics"]


def test_unseen_classes_are_averaged_over_folds(tmp_path, data):
    made = record(tmp_path, data, {"method": "l2"}, 0, protocol="unseen")
    assert len(made["split_hash"]) == 4
    assert made["metrics"]["map"] > record(tmp_path, data, {"method": "l2"}, 0)["metrics"]["map"]


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
        record(tmp_path, data, settings, 0, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_record_is_named(tmp_path, data):
    path = record_path(tmp_path, LSH8, 0)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(InvalidInputError, match=f"{path.name} is no record.*Delete it"):
        record(tmp_path, data, LSH8, 0)


def test_queries_of_a_plate_are_not_picked():
    labels = np.repeat(np.arange(7), 3)
    chosen = plate_queries(labels)
    assert len(chosen) == len(set(labels[chosen])) == 5
    assert all(at % 3 == 0 for at in chosen)
    assert plate_queries(np.eye(3)) == [0, 1, 2]
