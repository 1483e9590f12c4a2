import dataclasses
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


def test_the_rows_cover_all_methods_and_lengths_and_the_vectors_themselves(finished):
    result, _ = finished
    assert [(row["method"], row["n_bits"]) for row in result.rows] == [
        ("SparseHash", 16),
        ("SparseHash", 32),
        ("NNHash", 16),
        ("NNHash", 32),
        ("LSH", 16),
        ("LSH", 32),
        ("ClassCode", 16),
        ("ClassCode", 32),
        ("L2", None),
        ("cosine", None),
    ]
    for row in result.rows:
        assert 0 < row["map"] <= 1
        assert 0 < row["mp@10"] <= 1


def test_cosine_ranks_by_the_angle(finished):
    rows = {row["method"]: row for row in finished[0].rows}
    data = load_dataset("digits")
    part, labels = data.split(0), data.labels
    vectors = data.vectors.astype(float)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    nearest = np.argsort(-(vectors[part.query] @ vectors[part.database].T), axis=1)[:, :10]
    right = labels[part.database][nearest] == labels[part.query, None]
    assert rows["cosine"]["mp@10"] == pytest.approx(right.mean(), abs=1e-3)
    assert rows["cosine"]["map"] != rows["L2"]["map"]


@pytest.mark.parametrize("kind", [demo.SparseHash, demo.NNHash, demo.LSH, demo.ClassCode])
def test_every_method_has_its_own_defaults(kind):
    defaults = kind().get_params()
    assert demo._method(kind, 48, 3, None).get_params() == defaults | {"n_bits": 48, "seed": 3}


def test_the_saved_model_gives_the_row_of_the_shorter_code_again(finished):
    result, _ = finished
    data = load_dataset("digits")
    found = evaluate_fitted(load(result.model), data, data.split(0))
    row = result.rows[0]
    for key in row.keys() - {"method", "n_bits"}:
        assert found.metrics[key] == row[key]


def test_the_report_is_self_contained_and_has_all_figures(finished):
    page = finished[0].report.read_text(encoding="utf-8")
    assert page.count("<img ") == 4
    assert page.count('src="data:image/') == 4
    assert not re.search(r"https?://", page)
    assert page.count("<tr") == 2 + 10


def test_the_plate_comes_first(finished):
    page = finished[0].report.read_text(encoding="utf-8")
    plate = page.index("Where the methods disagree")
    assert plate < page.index("<img ") < page.index('class="facts"') < page.index("<table>")
    assert page.count("<h2>", 0, plate) == 1


def small(n_bits, *, n_rank_bits=0):
    """Random codes of the digits' queries and database, as an evaluation."""
    rng = np.random.default_rng(n_bits)
    data = load_dataset("digits")
    part = data.split(0)

    def codes(rows):
        rank = rng.integers(0, 2, (len(rows), n_rank_bits)) if n_rank_bits else None
        return Codes.from_dense(rng.integers(0, 2, (len(rows), n_bits)), rank=rank)

    query, database = codes(part.query), codes(part.database)
    labels = data.labels
    return (
        data,
        part,
        Evaluation({}, 1.0, "", query, labels[part.query], database, labels[part.database]),
    )


def test_answers_are_the_nearest_of_each_method():
    data, part, found = small(4)
    answers = demo._answers(data, part, {"LSH": found})
    assert list(answers) == ["LSH", "L2"]
    for name, (ids, right) in answers.items():
        assert ids.shape == right.shape == (len(part.query), 10)
        assert np.array_equal(right, data.labels[ids] == data.labels[part.query, None])
        for row in (0, 100):
            query = part.query[row]
            if name == "L2":
                distances = ((data.vectors[part.database] - data.vectors[query]) ** 2).sum(axis=1)
            else:
                own, others = found.query_codes.to_dense()[row], found.database_codes.to_dense()
                distances = (own != others).sum(axis=1)
            order = np.lexsort((part.database, distances))
            assert ids[row].tolist() == part.database[order[:10]].tolist()


def test_queries_of_the_plate_are_drawn_or_disputed():
    data, part, found = small(4)
    answers = demo._answers(data, part, {"LSH": found})
    queries = demo._queries(answers, data.labels, part)
    classes = data.labels[part.query]
    assert queries[:2] == demo.plate_queries(classes)[:2]
    disputed = queries[2:]
    assert len({classes[at] for at in disputed}) == len(disputed) == 6
    n_right = np.array([right.sum(axis=1) for _, right in answers.values()])
    assert (
        n_right[:, disputed[0]].var() == np.delete(n_right, queries[:2], axis=1).var(axis=0).max()
    )


@pytest.mark.parametrize("n_rank_bits", [0, 5])
def test_strips_show_items_at_places_of_the_ranking(n_rank_bits):
    data, part, found = small(6, n_rank_bits=n_rank_bits)
    strips = demo._strips(part, found, [3, 40])
    assert strips.labels == [[f"no. {place}" for place in demo.PLACES]] * 2
    for at, codes, rows in zip([3, 40], strips.neighbours, strips.rows, strict=True):
        assert rows[0] == part.query[at]
        near, far = (
            (getattr(found.query_codes[at], of)() != getattr(found.database_codes, of)()).sum(
                axis=1
            )
            for of in ("to_dense", "rank_to_dense")
        )
        order = np.lexsort((part.database, far, near))
        chosen = order[[place - 1 for place in demo.PLACES]]
        assert rows[1:] == part.database[chosen].tolist()
        assert codes == found.database_codes[chosen]
    section = demo._codes_section(
        data, part, {("SparseHash", 6): found, ("NNHash", 6): small(6)[2]}, [3, 40]
    )
    assert ("5 bits, the rank bits" in section.paragraphs[0]) == bool(n_rank_bits)


def test_progress_goes_from_start_to_end_and_names_what_comes(finished):
    heard = finished[1]
    assert [done for done, _, _ in heard] == list(range(10))
    assert {total for _, total, _ in heard} == {9}
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


def test_what_is_ahead_nearly_everywhere_is_said_briefly():
    results = {
        ("SparseHash", 48): made_up(map=0.9),
        ("SparseHash", 128): made_up(map=0.9),
        ("LSH", 48): made_up(**dict.fromkeys(scores(DEMO), 0.5)),
        ("LSH", 128): made_up(),
    }
    assert demo._rivals_sentences(results) == [
        "LSH is ahead of SparseHash with 48 bits in every rate but mAP."
    ]


@pytest.mark.parametrize(("long", "said"), [(68.0, "68 to 72"), (72.0, "72")])
def test_the_control_is_explained_by_its_codes(long, said):
    results = {
        ("SparseHash", 48): made_up(unique_codes=72.0),
        ("SparseHash", 128): made_up(unique_codes=long),
        ("ClassCode", 48): made_up(unique_codes=10.0),
    }
    assert demo._control_sentence(results) == (
        "What ClassCode reaches, class labels alone reach. It has 10 different codes and says "
        f"nothing about items within a class; SparseHash has {said}."
    )


def test_rank_bits_are_what_tells_ours_from_the_control():
    codes = Codes.from_dense(np.eye(4, 6, dtype=np.int8), rank=np.zeros((4, 5), np.int8))
    ours = dataclasses.replace(made_up(unique_codes=10.0), database_codes=codes)
    results = {("SparseHash", 48): ours, ("ClassCode", 48): made_up(unique_codes=10.0)}
    assert demo._control_sentence(results).endswith(
        "within a class; SparseHash has 10, and orders the items of one by 5 rank bits."
    )


def test_the_best_is_named_whoever_it_is():
    rows = [
        {"method": "SparseHash", "n_bits": 16, "map": 0.5, "f1@r0": 0.6, "recall@r0": 0.7}
        | {"precision@r0": 0.8},
        {"method": "SparseHash", "n_bits": 32, "map": 1.0, "f1@r0": 1.0},
        {"method": "NNHash", "n_bits": 16, "map": 0.4, "f1@r0": 0.65},
        {"method": "L2", "n_bits": None, "map": 0.9},
    ]
    ours, lookup, ranking, stored = demo._facts(rows, 16, 256)
    assert ours.value == "70.0\N{NO-BREAK SPACE}%"
    assert (lookup.value, ranking.value) == ("NNHash", "L2")
    assert stored.value == "2 bytes"


def test_without_a_better_rival_the_report_says_so():
    results = {("SparseHash", 48): made_up(map=0.5), ("LSH", 48): made_up(map=0.5)}
    (sentence,) = demo._rivals_sentences(results)
    assert sentence.startswith("At the same length, no other method is ahead")
