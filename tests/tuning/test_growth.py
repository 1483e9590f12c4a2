import numpy as np
import pytest

from kinhash.methods import ITQ
from kinhash.tuning.growth import FACTORS, PARTS, _drawn, grown
from kinhash.tuning.trials import Rows

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.ConstantColumnWarning")

ITQ16 = {"method": "itq", "n_bits": 16}


def test_parts_are_searched_apart(rows):
    found = grown(rows, ITQ16, 4, 5000)
    assert found.sizes == (18, 37, 75, 150)
    answers, recalls = [], []
    for fit, left_out in rows.folds():
        order = np.random.default_rng(0).permutation(left_out)
        asked, searched = order[:50], order[50:]
        method = ITQ(16, seed=0).fit(rows.vectors[fit])
        dense = [method.encode(rows.vectors[some]).to_dense() for some in (asked, searched)]
        near = (dense[0][:, None] != dense[1][None]).sum(axis=2) <= 4
        right = rows.labels[asked][:, None] == rows.labels[searched]
        answers.append(near.sum(axis=1).mean())
        recalls.append(np.mean((near & right).sum(axis=1) / right.sum(axis=1)))
    assert found.measured["answers"][-1] == pytest.approx(np.mean(answers))
    assert found.measured["recall"][-1] == pytest.approx(np.mean(recalls))
    # The parts of a size make up the whole, but for what is left over.
    assert found.measured["answers"][0] == pytest.approx(np.mean(answers) / 8, rel=0.1)


def test_the_largest_part_is_about_what_smaller_ones_say(rows):
    found = grown(rows, ITQ16, 4, 5000)
    assert list(found.extrapolated) == [factor * 5000 for factor in FACTORS]
    assert found.expected["answers"] == pytest.approx(found.measured["answers"][-1], rel=0.1)
    assert found.expected["recall"] == pytest.approx(found.measured["recall"][-1], abs=0.05)
    ten, one = found.extrapolated[50_000], found.extrapolated[5000]
    assert ten["answers"] == pytest.approx(10 * one["answers"], rel=0.2)


def test_without_labels_precision_falls_as_the_collection_grows(bare):
    found = grown(bare, ITQ16, 4, 5000)
    assert found.measured["precision"][0] > found.measured["precision"][-1]
    ten, one = found.extrapolated[50_000], found.extrapolated[5000]
    assert ten["precision"] < one["precision"] / 3
    assert ten["precision"] == pytest.approx(10 * ten["recall"] / ten["answers"])


def test_too_few_rows_tell_nothing(blobs):
    assert grown(Rows(*blobs, seed=0), ITQ16 | {"n_bits": 4}, 1, 100) is None


def test_lines_follow_a_power_of_the_size_and_rates_stay_rates():
    sizes = [100 // n for n in (4, 2, 1)]
    measured = {
        "answers": [2.0, 4.0, 8.0],
        "precision": [0.4, 0.45, 0.5],
        "recall": [0.5, 0.5, 0.5],
        "empty": [0.2, 0.1, 0.0],
    }
    found = _drawn(sizes, measured, 200, by_label=True)
    assert found["answers"] == pytest.approx(16)
    assert (found["recall"], found["empty"]) == (pytest.approx(0.5), 0)
    assert found["precision"] == pytest.approx(0.5)  # of those with an answer
    empty = {name: [0.0, 0.0, 0.0] for name in measured} | {"empty": [1.0, 1.0, 1.0]}
    none = _drawn(sizes, empty, 200, by_label=True)
    assert (none["answers"], none["precision"], none["empty"]) == (0, 0, pytest.approx(1))
    assert len(PARTS) == 4
