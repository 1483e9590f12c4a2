import re

import numpy as np
import pytest

from kinhash import load
from kinhash.codes import Codes
from kinhash.datasets import load as load_dataset
from kinhash.errors import CollapseWarning, ConstantColumnWarning, InvalidInputError
from kinhash.evaluation.protocol import Evaluation, evaluate_fitted
from kinhash.measures import DEMO, scores
from kinhash.studies import demo
from kinhash.studies.demo import run_demo

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.CollapseWarning")  # few steps


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A demo of few steps and short codes, and what it reported on the way."""
    heard = []
    out = tmp_path_factory.mktemp("demo") / "new" / "folder"
    result = run_demo(out, report=lambda *said: heard.append(said), bits=(16, 32), max_steps=60)
    return result, heard


def test_the_demo_leaves_a_report_and_a_model_and_nothing_else(finished):
    result, _ = finished
    folder = result.report.parent
    assert sorted(file.name for file in folder.iterdir()) == ["model.kinhash", "report.html"]
    assert result.model == folder / "model.kinhash"


def test_the_rows_cover_all_methods_and_lengths(finished):
    result, _ = finished
    assert [(row["method"], row["n_bits"]) for row in result.rows] == [
        ("SparseHash", 16),
        ("SparseHash", 32),
        ("SparseHash", 64),
        ("NNHash", 16),
        ("NNHash", 32),
        ("LSH", 16),
        ("LSH", 32),
        ("ClassCode", 16),
        ("ClassCode", 32),
    ]
    for row in result.rows:
        assert 0 < row["map"] <= 1


@pytest.mark.parametrize("kind", [demo.SparseHash, demo.NNHash, demo.LSH, demo.ClassCode])
def test_every_method_has_its_own_defaults(kind):
    defaults = kind().get_params()
    assert demo._method(kind, 48, 3, None).get_params() == defaults | {"n_bits": 48, "seed": 3}


def test_the_saved_model_gives_the_64_bit_row_again(finished):
    result, _ = finished
    data = load_dataset("digits")
    found = evaluate_fitted(load(result.model), data, data.split(0))
    (row,) = [row for row in result.rows if row["n_bits"] == 64]
    for key in row.keys() - {"method", "n_bits"}:
        assert found.metrics[key] == row[key]


def test_the_report_is_self_contained_and_has_all_figures(finished):
    page = finished[0].report.read_text(encoding="utf-8")
    assert page.count("<img ") == 6
    assert page.count('src="data:image/') == 6
    assert not re.search(r"https?://", page)
    assert page.count("<tr") == 2 + 9


def test_codes_with_rank_bits_are_shown_by_their_places_in_the_ranking(monkeypatch):
    # Query 0000|0000; item i has i % 5 rank bits, and a bucket bit from item 200 on.
    rank = (np.arange(4) < np.arange(250)[:, None] % 5).astype(int)
    bucket = np.repeat([[0, 0, 0, 0], [1, 0, 0, 0]], [200, 50], axis=0)
    database = Codes.from_dense(bucket, rank=rank)
    query = Codes.from_dense(np.zeros((1, 4), int), rank=np.zeros((1, 4), int))
    drawn = []
    plot_codes = demo.plots.plot_codes

    def noted(*arguments):
        drawn.append(arguments)
        return plot_codes(*arguments)

    monkeypatch.setattr(demo.plots, "plot_codes", noted)
    found = Evaluation({}, 1.0, "", query, np.zeros(1), database, np.zeros(250))
    section = demo._nested_section(found)
    ((queries, neighbours, labels),) = drawn
    assert queries == query
    assert labels == [["no. 1", "no. 10", "no. 50", "no. 100", "no. 200"]]
    # 40 of the 200 items at distance 0 have each number of rank bits.
    assert neighbours[0].rank_to_dense().sum(axis=1).tolist() == [0, 0, 1, 2, 4]
    assert neighbours[0].n_active.tolist() == [0] * 5
    assert "of which there are 2 here" in section.paragraphs[0]


def test_progress_goes_from_start_to_end_and_names_what_comes(finished):
    heard = finished[1]
    assert [done for done, _, _ in heard] == list(range(11))
    assert {total for _, total, _ in heard} == {10}
    assert heard[0][2] == "SparseHash, 16 bits"


def test_existing_files_are_kept_unless_forced(finished, monkeypatch):
    result, _ = finished
    before = result.report.read_bytes()
    with pytest.raises(
        InvalidInputError, match=r"already holds report.html and model.kinhash.*pass `force=True`"
    ):
        run_demo(result.report.parent)
    assert result.report.read_bytes() == before

    class StopHereError(Exception):
        pass

    def stop(*_args):
        raise StopHereError

    monkeypatch.setattr(demo, "_evaluated", stop)
    with pytest.raises(StopHereError):
        run_demo(result.report.parent, force=True)
    assert result.report.read_bytes() == before, "nothing changes before all is computed"


def test_a_folder_that_cannot_be_made_is_an_error_before_training(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match=r"Cannot make the folder .*file"):
        run_demo(tmp_path / "file" / "below")


def test_lengths_must_ascend(tmp_path):
    with pytest.raises(InvalidInputError, match=r"two ascending lengths, got \(48, 48\)"):
        run_demo(tmp_path / "out", bits=(48, 48))
    assert not (tmp_path / "out").exists()


def test_constant_pixels_are_not_worth_a_warning_but_a_collapse_is():
    data = load_dataset("digits")
    part = data.split(0)

    class Collapsing(demo.LSH):
        def fit(self, X, y=None):
            import warnings

            warnings.warn("3 of 64 columns are constant.", ConstantColumnWarning, stacklevel=2)
            warnings.warn("Codes collapse.", CollapseWarning, stacklevel=2)
            return super().fit(X, y)

    with pytest.warns(CollapseWarning) as caught:
        demo._evaluated(Collapsing(8), data, part)
    assert [str(warning.message) for warning in caught] == ["Codes collapse."]


def made_up(**metrics):
    """An evaluation with the given measures; whatever is not given is 0."""
    codes = Codes.from_dense(np.zeros((1, 2), int))
    labels = np.zeros(1)
    everything = {**dict.fromkeys(scores(DEMO), 0.0), **metrics}
    return Evaluation(everything, 1.0, "", codes, labels, codes, labels)


def test_conclusions_follow_the_numbers():
    results = {
        ("SparseHash", 48): made_up(**{"recall@r0": 0.8, "map": 0.9}),
        ("SparseHash", 128): made_up(**{"recall@r0": 0.6, "map": 0.5}),
        ("LSH", 48): made_up(map=0.4),
        ("LSH", 128): made_up(map=0.75),
    }
    plain = {
        name: sentence(results).replace("\N{NO-BREAK SPACE}", " ")
        for name, sentence in (
            ("recall", demo._recall_sentence),
            ("ranking", demo._ranking_sentence),
        )
    }
    assert plain == {
        "recall": "Recall at radius 0, from 48 to 128 bits: SparseHash goes from 80.0 % to 60.0 % "
        "(75 % of it); LSH goes from 0.0 % to 0.0 %.",
        "ranking": "When the whole database is ranked instead, mAP at 128 bits is 50.0 % for "
        "SparseHash, 75.0 % for LSH.",
    }


def test_each_rival_that_is_ahead_has_a_sentence():
    results = {
        ("SparseHash", 48): made_up(map=0.9),
        ("SparseHash", 128): made_up(map=0.5),
        ("LSH", 48): made_up(map=0.4),
        ("LSH", 128): made_up(**{"map": 0.75, "f1@r2": 0.1}),
        ("NNHash", 48): made_up(**dict.fromkeys(scores(DEMO), 0.95)),
        ("NNHash", 128): made_up(map=0.6),
    }
    assert demo._rivals_sentences(results) == [
        "LSH is ahead of SparseHash with 128 bits in mAP, F1 at r ≤ 2.",
        "NNHash is ahead of SparseHash with 48 bits in every rate; with 128 bits in mAP.",
    ]


def test_the_control_is_explained_by_its_codes():
    results = {
        ("SparseHash", 48): made_up(unique_codes=72.0),
        ("SparseHash", 128): made_up(unique_codes=68.0),
        ("ClassCode", 48): made_up(unique_codes=10.0),
    }
    assert demo._control_sentence(results) == (
        "What ClassCode reaches, class labels alone reach. It has 10 different codes and says "
        "nothing about items within a class; SparseHash has 68 to 72."
    )


def test_without_a_better_rival_the_report_says_so():
    results = {("SparseHash", 48): made_up(map=0.5), ("LSH", 48): made_up(map=0.5)}
    (sentence,) = demo._rivals_sentences(results)
    assert sentence.startswith("At the same length, no other method is ahead")
