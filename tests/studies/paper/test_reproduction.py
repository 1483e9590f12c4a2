import math

import pytest

from kinhash.datasets import load
from kinhash.errors import InvalidInputError
from kinhash.methods import METHODS
from kinhash.record_file import read
from kinhash.studies.comparison import Compared
from kinhash.studies.paper import reproduction
from kinhash.studies.records import RAW, named

PAPER = reproduction.paper_results("cifar10")


def as_compared(settings, measures):
    record = {"metrics": measures, "fit_seconds": 0.0, "stored_bits": settings.get("n_bits")}
    return Compared(named(settings), settings, [record])


def test_the_papers_table_is_complete():
    assert len(PAPER) == 24
    sparse = [(s["n_bits"], s["margin"]) for s, _ in PAPER if s["method"] == "sparsehash"]
    assert sparse == [(48, 16), (48, 7), (64, 11), (64, 7), (128, 16)]
    assert PAPER[0] == ({"method": "l2"}, {"map": pytest.approx(0.1742)})


def test_f1_follows_from_precision_and_recall_but_for_known_misprints():
    for settings, m in PAPER[1:]:
        for radius in ("r0", "r2"):
            precision, recall = m[f"precision@{radius}"], m[f"recall@{radius}"]
            f1 = 2 * precision * recall / (precision + recall) if precision else 0.0
            misprint = settings == {"method": "ksh", "n_bits": 128} and radius == "r2"
            assert misprint or m[f"f1@{radius}"] == pytest.approx(f1, rel=0.06, abs=2e-6), settings


def test_all_methods_of_the_plan_exist():
    plan = reproduction.plan("cifar10") + reproduction.unseen_plan()
    # What came after the paper has an experiment of its own.
    later = {"csr", "flyhash", "fsdh", "nested", "orthohash"}
    assert {row["method"] for row in plan} == {*METHODS, *RAW} - later
    for rows in (reproduction.plan("cifar10"), reproduction.unseen_plan()):
        assert rows[:2] == [{"method": "l2"}, {"method": "cosine"}]
    assert sum(row.get("signed", False) for row in plan) == 5
    for row in plan:
        if row["method"] not in RAW:
            METHODS[row["method"]](**{k: v for k, v in row.items() if k != "method"})


def test_the_table_puts_ours_beside_the_papers():
    settings, paper = PAPER[-2]
    ours = {measure: value + 0.01 for measure, value in paper.items()}
    ours |= {"unique_codes": 5.0, "mean_matches@r0": 2.0, "mean_active": 1.0}
    line = reproduction.table("cifar10", [as_compared(settings, ours)])[0]
    assert line["map"] == pytest.approx(paper["map"] + 0.01)
    assert line["paper map"] == paper["map"]
    shown = reproduction.shown("cifar10", [as_compared(settings, ours)])[0]
    assert shown["mAP"] == "22.29 ± 0.00 (21.29)"
    assert reproduction.gaps("cifar10", [as_compared(settings, ours)]) == [
        "No mAP and no F1 is below the paper's."
    ]


def test_what_is_below_the_paper_is_said():
    settings, paper = PAPER[-2]
    behind = paper | {"map": paper["map"] - 0.02}
    (sentence,) = reproduction.gaps("cifar10", [as_compared(settings, behind)])
    assert "mAP 19.29, the paper's 21.29" in sentence


def test_a_cell_without_a_number_is_a_dash():
    assert reproduction.cell(math.nan, math.nan, None) == "-"
    assert reproduction.cell(0.5, 0.01, None) == "50.00 ± 1.00"


def test_an_unknown_experiment_is_refused():
    with pytest.raises(InvalidInputError, match=r"Unknown experiment 'mnist'.*cifar10"):
        reproduction.plan("mnist")


def test_figures_show_one_row_per_method_and_length():
    rows = [as_compared(s, {}) for s in reproduction.plan("cifar10")]
    kinds = [
        (one.settings["method"], one.settings.get("n_layers"), one.settings["n_bits"])
        for one in reproduction.drawn(rows)
    ]
    assert len(kinds) == len(set(kinds)) == 3 * 9 + 1
    assert kinds[0][0] == "sparsehash"


def test_it_runs_to_a_report_and_goes_on_from_its_records(tmp_path, monkeypatch):
    some = [{"method": "l2"}, {"method": "itq", "n_bits": 48}, {"method": "lsh", "n_bits": 48}]
    monkeypatch.setattr(reproduction, "plan", lambda _name: some)
    monkeypatch.setattr(reproduction, "unseen_plan", lambda: some[:1])
    data, told = load("digits"), []

    def run():
        return reproduction.reproduce(
            "cifar10",
            data,
            tmp_path,
            seeds=[0],
            unseen_seeds=[0],
            report=lambda _done, _total, note="": told.append(note),
        )

    compared = run()
    assert [one.name for one in compared] == ["L2", "ITQ", "LSH"]
    assert len(read(tmp_path / "records.jsonl")) == 4
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Classes never seen in training" in text
    assert "Collisions at 48 bits" in text
    assert "figures" in {path.name for path in tmp_path.iterdir()}
    assert run() == compared
