from dataclasses import replace

import pytest

from kinhash.datasets import load
from kinhash.studies import comparison_report
from kinhash.studies.comparison import Compared, compare, planned

PLAN = planned(["itq", "lsh", "classcode", "l2"], [8, 16])


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    return compare(tmp_path_factory.mktemp("new") / "some.jsonl", load("digits"), PLAN, [0])


def test_a_report_has_the_table_and_all_figures(compared, tmp_path):
    comparison_report.write(tmp_path, load("digits"), compared)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Which method suits digits?" in text
    assert text.count("data:image/") >= 7
    names = {path.stem for path in (tmp_path / "figures").iterdir()}
    assert {"precision-recall-8", "precision-recall-16", "recall-radius", "trade-off"} <= names
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".png", ".svg"}


def test_promises_of_calibrated_models_are_drawn_beside_what_is_got(tmp_path):
    found = compare(tmp_path / "some.jsonl", load("digits"), planned(["sparsehash"], [24]), [0])
    rows = found[0].figures["reliability"]
    assert len(rows) > 5
    assert all(row["low"] <= row["promised"] <= row["high"] for row in rows)
    sections = comparison_report.sections(found, load("digits"), tmp_path / "figures")
    assert "How sure answers are, 24 bits" in [section.title for section in sections]
    assert (tmp_path / "figures" / "reliability.svg").exists()


def test_there_are_no_figures_of_vectors_alone():
    only = compare(None, load("digits"), [{"method": "l2"}], [0])
    assert comparison_report.sections(only, load("digits"), None) == []


def test_figures_call_a_method_by_its_name_alone_if_that_is_clear():
    long = [
        Compared(f"SparseHash, margin {m}", {"method": "sparsehash", "n_bits": n}, [])
        for m, n in ((7, 48), (7, 64), (11, 64))
    ]
    names = [one.name for one in comparison_report._briefly(long)]
    assert names == ["SparseHash", "SparseHash, margin 7", "SparseHash, margin 11"]


def test_without_labels_the_report_is_of_true_neighbours(tmp_path):
    bare = replace(load("digits"), labels=None)
    found = compare(None, bare, planned(["lsh", "cosine"], [16]), [0])
    comparison_report.write(tmp_path, bare, found)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "true 10 nearest vectors" in text
    assert "guessing" not in text
