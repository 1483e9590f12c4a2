import dataclasses
import doctest
import json
import math

import numpy as np
import pytest
import scipy.sparse

from kinhash.datasets import Dataset
from kinhash.errors import InvalidInputError
from kinhash.evaluation.multimodal import measure_key
from kinhash.record_file import read
from kinhash.show.tables import render
from kinhash.studies.comparison import Compared
from kinhash.studies.multimodal import reproduction
from kinhash.studies.multimodal.protocols import PROTOCOLS, plan

FEW = {
    "L2": {"method": "l2"},
    "CM-SSH": {"method": "cmssh", "n_bits": 8, "n_pairs": 200},
    "MM-SparseHash": {
        "method": "multimodal-sparsehash",
        "n_bits": 8,
        "recipe": "paper",
        "max_steps": 10,
        "margin": 4.0,
        "n_anchors": 0,
    },
}
CLASSES = PROTOCOLS["fashion-products"][0]


@pytest.fixture
def few(monkeypatch, ignore_warnings):
    """Small methods only; what they warn of on so few items is theirs."""
    monkeypatch.setattr(reproduction, "plan", lambda name: plan(name) and FEW)


def compared(metrics):
    """By method, its measures by search, direction and name."""
    return [
        Compared(name, FEW.get(name, {}), [{"metrics": metrics.get(name, {}), "fit_seconds": 0.0}])
        for name in FEW
    ]


def same(value, *, search="db", without=()):
    """Every measure of the wikipedia protocol at one value."""
    return {
        measure_key(search, *direction, measure): value
        for direction in reproduction.DIRECTIONS
        for measure in ("map", "map@10", "mp@50", "f1@r0", "f1@r2")
        if direction not in without
    }


ACROSS = [("image", "text"), ("text", "image")]


def test_it_runs_to_a_report_and_goes_on_from_its_records(shop, tmp_path, few, monkeypatch):
    told = []
    results = reproduction.reproduce(
        "fashion-products",
        shop,
        tmp_path,
        seeds=[0, 1],
        report=lambda done, total, note="": told.append((done, total, note)),
    )
    assert list(results) == ["classes", "attributes"]
    assert [one.name for one in results["classes"]] == list(FEW)
    assert len(read(tmp_path / "records.jsonl")) == 2 * 3 * 2
    assert told[0] == (0, 12, "classes, L2, seed 0")
    assert told[-1] == (12, 12, "done")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert text.count("<table>") == 2 * 2 + 1
    assert text.count("data:image/png;base64,") == 2 * 2
    for words in (
        "from left to right: CM-SSH, MM-SparseHash",
        "are of NUS-WIDE: other data",
        "59.52",
    ):
        assert words in text
    monkeypatch.setattr(reproduction, "evaluate_multimodal", pytest.fail)
    monkeypatch.setattr(reproduction, "evaluate_multimodal_l2", pytest.fail)
    again = reproduction.run("fashion-products", shop, tmp_path / "records.jsonl", [0, 1])
    assert again == results


def test_a_record_says_what_was_done(shop, tmp_path, few):
    settings = FEW["MM-SparseHash"]
    file = tmp_path / "shop.jsonl"
    made = reproduction.record(file, shop, CLASSES, settings, 3)
    assert json.loads(file.read_text()) == made
    assert made["key"].startswith("classes-multimodal-sparsehash-8-")
    assert made["settings"] == settings
    assert (made["seed"], made["protocol"], made["stored_bits"]) == (3, "classes", 8)
    assert made["parameters"]["max_steps"] == 10
    assert "figures" not in made
    shown = reproduction.record(file, shop, CLASSES, settings, 3, figures=True)
    assert set(shown["figures"]) == {"words", "pictures", "queries", "texts"}


def test_other_settings_seeds_and_protocols_are_other_records(shop, tmp_path, few):
    for protocol in PROTOCOLS["fashion-products"]:
        for seed in (0, 1):
            for n_pairs in (100, 200):
                settings = FEW["CM-SSH"] | {"n_pairs": n_pairs}
                reproduction.record(tmp_path / "shop.jsonl", shop, protocol, settings, seed)
    assert len(read(tmp_path / "shop.jsonl")) == 8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "cmshh"}, "Unknown method 'cmshh'.*cmssh"),
        ({"method": "cmssh", "bits": 8}, "Unknown parameter of cmssh 'bits'.*n_bits"),
    ],
)
def test_unknown_names_are_refused(shop, tmp_path, settings, message):
    with pytest.raises(InvalidInputError, match=message):
        reproduction.record(tmp_path / "shop.jsonl", shop, CLASSES, settings, 0)
    assert list(tmp_path.iterdir()) == []


def test_tables_have_a_line_for_each_method_and_direction(shop, few):
    results = reproduction.run("fashion-products", shop, None, [0])
    lines = reproduction.table("fashion-products", results)
    assert len(lines) == 2 * (2 + 4 + 4)
    assert {"query", "database", "map", "sd map", "mp@300", "mp@5000", "f1@r2"} <= lines[0].keys()
    assert json.loads(render(lines, "json"))[0]["f1@r2"] is None
    (ours,) = [
        line
        for line in lines
        if line["method"] == "MM-SparseHash"
        and line["similar"] == "classes"
        and (line["query"], line["database"]) == ("text", "image")
    ]
    key = "all but the queries/text-image/map"
    assert ours["map"] == results["classes"][2].records[0]["metrics"][key]
    shown = reproduction.shown("fashion-products", results)
    assert shown[0] == {
        "similar": "classes",
        "searched": "all but the queries",
        "measure": "mAP",
        "method": "L2",
        "image-image": shown[0]["image-image"],
        "text-text": shown[0]["text-text"],
        "image-text": "-",
        "text-image": "-",
    }
    assert "±" in shown[0]["text-text"]
    assert not [line for line in shown if line["method"] == "L2" and "F1" in line["measure"]]


def test_where_vectors_win_is_said_with_both_numbers():
    raw = same(0.2, without=ACROSS) | {"db/image-image/map@10": 0.4567}
    rows = compared({"L2": raw, "CM-SSH": same(0.25), "MM-SparseHash": same(0.3)})
    first, second = reproduction.verdict(PROTOCOLS["wikipedia"][0], rows, "db")
    assert first == (
        "The vectors themselves, by L2, are ahead of all codes in "
        "image-image mAP, first 10 (45.67, MM-SparseHash 30.00)."
    )
    assert second == "MM-SparseHash is ahead of CM-SSH in 20 of 20 comparisons."


def test_where_vectors_do_not_win_and_we_lose_is_said():
    better = same(0.3) | {"db/text-image/mp@50": 0.8, "db/text-text/f1@r0": 0.5}
    rows = compared({"L2": same(0.2, without=ACROSS), "CM-SSH": better, "MM-SparseHash": same(0.4)})
    first, second = reproduction.verdict(PROTOCOLS["wikipedia"][0], rows, "db")
    assert first == "No ranking of the vectors themselves by L2 is ahead of the best codes."
    assert second == (
        "MM-SparseHash is ahead of CM-SSH in 18 of 20 comparisons, and behind in "
        "text-image precision, first 50 (40.00, 80.00); text-text F1, r = 0 (40.00, 50.00)."
    )


def test_each_rival_has_a_sentence():
    rivals = [Compared(name, {}, [{"metrics": same(0.5)}]) for name in ("CCA-ITQ", "other")]
    rows = [*compared({"L2": {}, "CM-SSH": same(0.1), "MM-SparseHash": same(0.4)}), *rivals]
    said = reproduction.verdict(PROTOCOLS["wikipedia"][0], rows, "db")
    assert [line.split(" in ")[0] for line in said[1:]] == [
        "MM-SparseHash is ahead of CM-SSH",
        "MM-SparseHash is ahead of CCA-ITQ",
        "MM-SparseHash is ahead of other",
    ]
    assert said[2].count("(40.00, 50.00)") == 20


def test_a_draw_is_neither_ahead_nor_behind():
    rows = compared({"L2": {}, "CM-SSH": same(0.3), "MM-SparseHash": same(0.3)})
    _, second = reproduction.verdict(PROTOCOLS["wikipedia"][0], rows, "db")
    assert second == "MM-SparseHash is ahead of CM-SSH in 0 of 20 comparisons."


def test_one_line_holds_all_directions():
    protocol = PROTOCOLS["wikipedia"][0]
    counts = {
        measure_key("db", name, name, measure): value
        for name, value in (("image", 1234.0), ("text", 5.0))
        for measure in ("unique_codes", "mean_active")
    }
    ours = same(0.25) | {"db/image-text/map": 0.3333} | counts
    rows = compared({"L2": same(0.2, without=ACROSS), "MM-SparseHash": ours})
    lines = reproduction.compact("wikipedia", protocol, {"classes": rows}, "db")
    assert lines[0]["mAP"] == "20.0 / 20.0 / - / -"
    assert lines[2]["mAP"] == "25.0 / 25.0 / 33.3 / 25.0"
    assert lines[2]["unique"] == "1,234 / 5"
    assert reproduction.largest_spread(protocol, rows, "db") == 0


def test_the_papers_numbers_are_those_of_its_table():
    assert reproduction.paper("L2", "map@10", ("text", "text")) == pytest.approx(0.7138)
    assert reproduction.paper("L2", "map@10", ("image", "text")) is None
    assert reproduction.paper("CM-SSH", "mp@5000", ("image", "text")) == pytest.approx(0.3705)
    assert reproduction.paper("MM-SparseHash", "mp@5000", ("text", "image")) == pytest.approx(
        0.5729
    )
    assert reproduction.paper("MM-SparseHash", "map", ("image", "image")) is None
    assert reproduction.paper("CCA-ITQ", "map@10", ("image", "image")) is None


def test_nus_wide_has_the_papers_numbers_beside_ours(tmp_path, few):
    rng = np.random.default_rng(4)
    labels = (rng.random((120, 3)) < 0.4).astype(np.uint8)
    labels[~labels.any(axis=1), 0] = 1
    vectors = (labels @ rng.normal(size=(3, 5)) + rng.normal(size=(120, 5))).astype(np.float32)
    tags = np.hstack([labels, rng.random((120, 4)) < 0.3]).astype(np.float32)
    data = Dataset(
        "nus-wide",
        vectors,
        labels=labels,
        modalities={"image": vectors, "text": scipy.sparse.csr_array(tags)},
    )
    results = reproduction.reproduce("nus-wide", data, tmp_path, seeds=[0])
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "(61.52)" in text
    assert "other data" not in text
    assert "data:image" not in text
    lines = reproduction.table("nus-wide", results)
    by_kind = {(line["method"], line["query"], line["database"]): line for line in lines}
    assert by_kind["CM-SSH", "text", "image"]["paper map@10"] == pytest.approx(0.5043)
    assert by_kind["L2", "text", "text"]["paper mp@5000"] == pytest.approx(0.3285)
    protocol = PROTOCOLS["nus-wide"][0]
    compact = reproduction.compact("nus-wide", protocol, results, "all but the queries")
    assert compact[2]["mAP, first 10"].endswith("(73.8 / 84.5 / 61.5 / 59.5)")
    assert compact[0]["mAP, first 10"].endswith("(68.7 / 71.4 / - / -)")


def test_what_a_method_warned_of_is_told_once():
    rows = compared({})
    record = {"warnings": ["All codes are equal."]}
    rows[1] = dataclasses.replace(rows[1], records=[record, record])
    assert reproduction.warned(rows) == ["CM-SSH: All codes are equal."]


def test_a_measure_that_a_method_lacks_is_a_dash():
    assert reproduction._percent(math.nan) == reproduction._percent(None) == "-"


def test_docstring_examples_run():
    assert doctest.testmod(reproduction).failed == 0
