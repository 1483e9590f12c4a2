import doctest
import json

import numpy as np
import pytest

from kinhash import record_file
from kinhash.datasets import load
from kinhash.errors import InvalidInputError
from kinhash.evaluation.protocol import evaluate_fitted
from kinhash.tuning import search, trials, tune
from kinhash.tuning.search import Point, front


def test_the_chosen_settings_meet_the_wishes_and_no_others_have_more(train):
    found = tune(*train, want="precision>=0.6, bytes<=3", methods=["itq", "lsh"])
    met = [p for p in found.points if p.measures["precision"] >= 0.6]
    assert found.chosen.measures["precision"] >= 0.6
    assert found.chosen.measures["recall"] == max(p.measures["recall"] for p in met)
    assert {p.settings["n_bits"] for p in found.points} == {8, 12, 16, 24}
    assert all(p.measures["bytes"] <= 3 for p in found.points)
    assert found.model.n_bits == found.chosen.settings["n_bits"]
    assert found.model.encode(train[0]).n_bits == found.model.n_bits
    assert found.radius == found.chosen.radius
    assert (found.refused, found.n_left) == ([], 0)


def test_the_promise_holds_on_queries_that_were_never_looked_at():
    data = load("digits")
    part = data.split(0)
    found = tune(
        data.vectors[part.train],
        data.labels[part.train],
        want="precision>=0.7, bytes<=4",
        methods=["itq"],
        n_items=len(part.database),
    )
    measures = evaluate_fitted(found.model, data, part, radii=[found.radius]).metrics
    for name, key in (("precision", "precision"), ("recall", "recall"), ("empty", "empty")):
        got = measures[f"{key}@r{found.radius}"]
        assert got == pytest.approx(found.chosen.measures[name], abs=0.06)
    answers = measures[f"mean_matches@r{found.radius}"]
    assert answers == pytest.approx(found.chosen.measures["answers"], rel=0.15)


def test_equal_arguments_give_equal_results(train):
    options = {"want": "answers<=40, bytes<=2", "methods": ["itq"]}
    found = [tune(*train, **options, seed=3) for _ in range(2)]
    points = [[(p.settings, p.radius, p.measures) for p in one.points] for one in found]
    assert points[0] == points[1]
    assert found[0].model.encode(train[0]) == found[1].model.encode(train[0])
    other = tune(*train, **options, seed=4)
    assert [p.measures for p in other.points] != [p.measures for p in found[0].points]


def test_named_radii_are_the_only_ones(train):
    found = tune(*train, want="precision@r0>=0.5, recall@r2>=0.1", methods=["itq"])
    assert {p.radius for p in found.points} == {0, 2}
    assert found.chosen.measure("precision", 0) >= 0.5
    assert found.chosen.measure("recall", 2) >= 0.1
    far = tune(*train, want="recall@r21>=0.1, bytes<=3", methods=["itq"])
    assert far.chosen.settings["n_bits"] == 24  # shorter codes are not that far apart


def test_a_wish_that_cannot_be_met_names_the_nearest_that_can(train, tmp_path):
    file = tmp_path / "trials.jsonl"
    told = r"Nothing that was tried reaches precision>=0\.999 and answers>=30\. The nearest that "
    with pytest.raises(InvalidInputError, match=told) as caught:
        tune(*train, want="precision>=0.999, answers>=30", methods=["itq"], trials=file)
    assert str(caught.value).endswith(f"The trials are in {file}.")
    nearest = str(caught.value).split("can be met is ")[1].split(", by ")[0]
    found = tune(*train, want=nearest, methods=["itq"], trials=file)
    assert found.chosen.measures["precision"] < 0.999
    assert [path.name for path in tmp_path.iterdir()] == ["trials.jsonl"]


def test_trials_of_a_file_are_not_made_again(train, tmp_path, monkeypatch):
    file, made = tmp_path / "trials.jsonl", []
    trial = trials.trial

    def stopped_after_three(rows, share, settings, radii):
        if len(made) == 3:
            raise KeyboardInterrupt
        made.append(settings)
        return trial(rows, share, settings, radii)

    monkeypatch.setattr(search, "trial", stopped_after_three)
    options = {"want": "precision>=0.5, bytes<=4", "methods": ["itq"]}
    with pytest.raises(KeyboardInterrupt):
        tune(*train, trials=file, **options)
    assert len(record_file.read(file)) == 3
    monkeypatch.setattr(search, "trial", lambda *one: made.append(one[2]) or trial(*one))
    found = tune(*train, trials=file, **options)
    assert [one["n_bits"] for one in made] == [8, 12, 16, 24, 32]
    monkeypatch.undo()
    whole = tune(*train, **options)
    assert found.chosen.settings == whole.chosen.settings
    assert [p.measures for p in found.points] == [p.measures for p in whole.points]
    # A line that was changed by hand, and one of other rows, count for nothing.
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[0]["measures"] = {"precision@r0": "high"}
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    again = tune(*train, trials=file, **options)
    assert [p.measures for p in again.points] == [p.measures for p in whole.points]
    tune(train[0][:300], train[1][:300], trials=file, **options)
    assert len(record_file.read(file)) == 10


def clock(monkeypatch, seconds_of_a_trial, times):
    """Let trials take so long, and let the search look at the clock at these times."""
    ticks = iter(range(0, 10_000, seconds_of_a_trial))
    monkeypatch.setattr(trials.time, "perf_counter", lambda: next(ticks))
    monkeypatch.setattr(search.time, "monotonic", lambda: next(times))


def tried(file):
    """The shares of rows, and the lengths tried on them."""
    found = {}
    for record in record_file.read(file).values():
        found.setdefault(record["share"], []).append(record["settings"]["n_bits"])
    return {share: sorted(lengths) for share, lengths in sorted(found.items())}


def test_without_time_for_all_the_better_half_goes_on(train, tmp_path, monkeypatch):
    def never():
        while True:
            yield 0

    clock(monkeypatch, 10, never())
    file = tmp_path / "trials.jsonl"
    found = tune(*train, want="precision>=0.5", methods=["itq"], minutes=0.5, trials=file)
    shares = tried(file)
    assert {share: len(lengths) for share, lengths in shares.items()} == {0.25: 6, 0.5: 3, 1.0: 2}
    assert set(shares[1.0]) < set(shares[0.5]) < set(shares[0.25])
    assert {p.settings["n_bits"] for p in found.points} == set(shares[1.0])
    assert found.n_left == 4
    # The half that went on is the better one.
    records = record_file.read(file).values()
    quarter = {r["settings"]["n_bits"]: r for r in records if r["share"] == 0.25}

    def most_recall(record):
        radii = [k[11:] for k in record["measures"] if k.startswith("precision@r")]
        good = [r for r in radii if record["measures"][f"precision@r{r}"] >= 0.5]
        return max((record["measures"][f"recall@r{r}"] for r in good), default=-1)

    kept = [most_recall(quarter[n]) for n in shares[0.5]]
    assert min(kept) >= max(most_recall(quarter[n]) for n in set(quarter) - set(shares[0.5]))


def test_with_time_for_all_everything_is_tried_on_all_rows(train, tmp_path, monkeypatch):
    file = tmp_path / "trials.jsonl"
    options = {"want": "precision>=0.5", "methods": ["itq"]}
    found = tune(*train, minutes=60, trials=file, **options)
    assert {share: len(lengths) for share, lengths in tried(file).items()} == {0.25: 6, 1.0: 6}
    whole = tune(*train, **options)
    assert [p.measures for p in found.points] == [p.measures for p in whole.points]
    assert found.n_left == 0


def test_when_the_time_is_over_what_there_is_counts(train, tmp_path, monkeypatch):
    clock(monkeypatch, 10, iter(range(0, 100_000, 1000)))
    file = tmp_path / "trials.jsonl"
    found = tune(*train, want="precision>=0.1", methods=["itq"], minutes=1, trials=file)
    assert tried(file) == {0.25: [8]}  # the first is always tried
    assert found.chosen.settings["n_bits"] == 8
    assert found.n_left == 7


def test_settings_that_do_not_fit_the_data_are_left_out(blobs):
    found = tune(*blobs, want="precision>=0.5", methods=["itq", "lsh"])
    assert {p.settings["method"] for p in found.points} == {"lsh"}
    assert found.refused[0].startswith("ITQ, 8 bits is left out: `n_bits` must be at most 5")
    assert found.growth is None  # of so few rows
    with pytest.raises(InvalidInputError, match=r"ITQ, 8 bits is left out: .*ITQ, 12 bits is left"):
        tune(*blobs, want="precision>=0.5", methods=["itq"])


def test_without_labels_the_vectors_say_what_is_similar(train):
    found = tune(train[0], want="recall>=0.5", methods=["itq"])
    assert found.chosen.measures["recall"] >= 0.5
    assert found.chosen.measures["answers"] < 300
    with pytest.raises(InvalidInputError, match="map needs labels, and there are none"):
        tune(train[0], want="map>=0.5")
    with pytest.raises(InvalidInputError, match="KSH, 16 bits is left out: KSH requires y"):
        tune(train[0], want="recall>=0.5", methods=["ksh"])


def point(recall, precision, n_bytes, n_bits=8):
    measures = {"recall": recall, "precision": precision, "bytes": n_bytes}
    return Point({"method": "itq", "n_bits": n_bits}, 0, measures, {"measures": {}}, 10)


def test_the_front_is_what_no_other_beats():
    points = [
        point(0.9, 0.1, 4),
        point(0.5, 0.5, 4),
        point(0.5, 0.5, 8),  # longer, and no better
        point(0.4, 0.4, 2),  # shorter
        point(0.4, 0.4, 2, n_bits=9),  # the same
        point(0.4, 0.6, 8),
        point(0.3, 0.5, 4),
    ]
    assert front(points) == [points[i] for i in (0, 1, 3, 5)]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"minutes": 0}, "`minutes` must be a number greater than 0"),
        ({"n_items": 0}, "`n_items` must be an integer of at least 1"),
        ({"seed": -1}, "`seed` must be an integer of at least 0"),
        ({"methods": ["itqq"]}, "Unknown method 'itqq'"),
        ({"y": np.zeros(7, int)}, "a label for each of 90 rows, got 7"),
        ({"X": np.full((90, 3), np.nan)}, "row 0"),
        ({"X": [["a"] * 3] * 90}, "`X` must hold numbers"),
        ({"X": [[1], [2, 3]]}, "`X` must be rows of one length"),
        ({"y": [None, *range(89)]}, "`y` must have a label in each row, but 1 of 90 are missing"),
    ],
)
def test_arguments_out_of_range_are_refused_before_the_work(blobs, tmp_path, change, told):
    arguments = {"X": blobs[0], "y": blobs[1], "want": "precision>=0.5", "methods": ["lsh"]}
    with pytest.raises(InvalidInputError, match=told):
        tune(**(arguments | change), trials=tmp_path / "trials.jsonl")
    assert not list(tmp_path.iterdir())


def test_examples_run():
    assert doctest.testmod(search).failed == 0
