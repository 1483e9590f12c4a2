from dataclasses import replace

import numpy as np
import pytest

from kinhash.datasets import load
from kinhash.errors import InvalidInputError
from kinhash.measures import NEIGHBOURS
from kinhash.studies import comparison
from kinhash.studies.comparison import Compared, compare, planned
from kinhash.studies.records import named

PLAN = planned(["itq", "lsh", "classcode", "l2"], [8, 16])


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    return compare(tmp_path_factory.mktemp("new") / "some.jsonl", load("digits"), PLAN, [0, 1])


def fake(name, **measures):
    records = [{"metrics": measures, "fit_seconds": 1.0}]
    return Compared(name, {"method": name, "n_bits": 8}, records)


def test_a_plan_has_every_method_at_every_length():
    assert planned(["lsh", "l2"], [8, 16]) == [
        {"method": "lsh", "n_bits": 8},
        {"method": "lsh", "n_bits": 16},
        {"method": "l2"},
    ]
    assert [row["n_layers"] for row in planned(["agh"], [8])] == [1, 2]
    assert planned(["cosine"], [8, 16]) == [{"method": "cosine"}]
    with pytest.raises(InvalidInputError, match=r"Unknown method 'shl'.*lsh"):
        planned(["shl"], [8])


def test_names_say_what_distinguishes_a_method():
    assert named({"method": "sparsehash", "n_bits": 8, "margin": 7.0}) == "SparseHash, margin 7"
    assert named({"method": "agh", "n_bits": 8, "n_layers": 1}) == "AGH1"
    assert [named({"method": name}) for name in ("l2", "cosine")] == ["L2", "cosine"]
    assert named({"method": "mine.own:Signs", "n_bits": 8, "source": "12345678"}) == "Signs"


def test_rows_hold_means_over_splits(compared):
    rows = comparison.rows(compared)
    assert [(row["method"], row["n_bits"]) for row in rows[:3]] == [
        ("ITQ", 8),
        ("ITQ", 16),
        ("LSH", 8),
    ]
    values = [r["metrics"]["map"] for r in compared[0].records]
    assert rows[0]["map"] == pytest.approx(np.mean(values))
    assert compared[0].spread("map") == pytest.approx(np.std(values))
    assert np.isnan(rows[-1]["f1@r0"])  # vectors have no codes


def test_progress_counts_records():
    told = []
    compare(
        None,
        load("digits"),
        planned(["lsh"], [8]),
        [0, 1],
        report=lambda done, total, note="": told.append((done, total, note)),
    )
    assert told == [(0, 2, "LSH, seed 0"), (1, 2, "LSH, seed 1"), (2, 2, "done")]


def test_the_verdict_names_the_best_and_warns_of_few_codes():
    good = fake("sparse", map=0.5, unique_codes=900.0, **{"f1@r2": 0.6, "f1@r0": 0.4})
    classes = fake("classes", map=0.4, unique_codes=10.0, **{"f1@r2": 0.5, "f1@r0": 0.5})
    sentences = comparison.verdict([good, classes])
    assert [s.split(": ")[1].split(" ")[0] for s in sentences[:3]] == [
        "sparse",
        "classes",
        "sparse",
    ]
    assert "classes tell classes apart" in sentences[3]


def test_without_labels_the_table_and_the_verdict_are_of_true_neighbours():
    bare = replace(load("digits"), labels=None)
    found = compare(None, bare, planned(["itq", "lsh", "cosine"], [16]), [0, 1])
    rows = comparison.rows(found)
    assert list(rows[0]) == ["method", "n_bits", *NEIGHBOURS, "fit_seconds"]
    values = [r["metrics"]["recall@100"] for r in found[0].records]
    assert rows[0]["recall@100"] == pytest.approx(np.mean(values))
    assert rows[2]["recall@500"] == 1
    sentences = comparison.verdict(found)
    assert [s.split(",")[0] for s in sentences] == [
        "Ahead in recall at first 100",
        "Ahead in recall at first 500",
        "Ahead in recall at r ≤ 2",
    ]
    assert all(": ITQ with 16 bits" in sentence for sentence in sentences)  # cosine is the truth


def test_collisions_are_counted_at_three_radii(compared):
    line = comparison.collisions(compared)[0]
    assert line["mean_matches@r0"] <= line["mean_matches@r1"] <= line["mean_matches@r2"]
    assert len(comparison.collisions(compared)) == 6


def test_methods_that_refuse_the_data_are_left_out_unless_all_do():
    data, plan = load("digits"), [{"method": "itq", "n_bits": 64}, {"method": "lsh", "n_bits": 8}]
    refused = []
    assert [one.name for one in compare(None, data, plan, [0], refused=refused)] == ["LSH"]
    assert refused[0].startswith("ITQ is left out: `n_bits` must be at most 61")
    with pytest.raises(InvalidInputError, match="ITQ is left out: `n_bits` must be at most 61"):
        compare(None, data, plan[:1], [0], refused=[])
    with pytest.raises(InvalidInputError, match=r"^`n_bits` must be at most 61"):
        compare(None, data, plan[:1], [0])
