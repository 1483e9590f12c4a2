import doctest
import math

import pytest

from kinhash.errors import InvalidInputError
from kinhash.tuning import goal as module
from kinhash.tuning.goal import Goal, Wish


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("precision@r0>=0.5", Wish("precision", 0, ">=", 0.5)),
        (" Precision@R12 >= 50 % ", Wish("precision", 12, ">=", 0.5)),
        ("answers<=50", Wish("answers", None, "<=", 50.0)),
        ("bytes<=12", Wish("bytes", None, "<=", 12.0)),
        ("map>=.25", Wish("map", None, ">=", 0.25)),
        ("empty@r2<=1%", Wish("empty", 2, "<=", 0.01)),
    ],
)
def test_a_wish_is_a_measure_a_bound_and_perhaps_a_radius(text, expected):
    assert Wish.parsed(text) == expected
    assert Wish.parsed(str(expected)) == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("precision", r"must be a measure, >= or <=, and a number, such as .*, got 'precision'"),
        ("precision>0.5", "got 'precision>0.5'"),
        ("precision>=-1", "got 'precision>=-1'"),
        ("", "got ''"),
        ("precissionn>=0.5", r"Unknown measure 'precissionn'\. Did you mean 'precision'\?"),
        ("precision>=50", r"is a fraction, 0 to 1, or a percentage, got 50\. .*precision>=50%"),
        ("answers<=50%", "answers is no rate, so 'answers<=50%' must have no %"),
        ("bytes@r2<=8", r"bytes has no radius: leave @r2 out\."),
    ],
)
def test_what_is_no_wish_is_refused(text, told):
    with pytest.raises(InvalidInputError, match=told):
        Wish.parsed(text)


def test_what_is_left_is_maximised():
    for want, most in (
        ("precision>=0.5", "recall"),
        ("recall@r2>=0.5, answers<=9", "precision"),
        ("precision>=0.5, recall>=0.5", "f1"),
        ("answers<=9, bytes<=8", "f1"),
        ("precision<=0.5", "f1"),  # a bound from above asks for nothing
    ):
        assert Goal.parsed(want).maximised == most
    assert Goal.parsed("answers<=9", "map").maximised == "map"
    goal = Goal.parsed("answers@r1<=9", "recall@r2")
    assert (goal.maximised, goal.radius, goal.radii) == ("recall", 2, (1, 2))


@pytest.mark.parametrize(
    ("want", "maximise", "told"),
    [
        ("precision>=0.5, precision>=0.6", None, "precision is wished for twice"),
        ("recall@r1>=0.5, recall@r1>=0.6", None, "recall@r1 is wished for twice"),
        ("precision>=0.5,", None, "got ''"),
        ("bytes<=8", "bytes", "Unknown measure 'bytes'"),
        ("bytes<=8", "recall>=2", "must be a measure, such as recall or f1@r2, got 'recall>=2'"),
    ],
)
def test_goals_that_make_no_sense_are_refused(want, maximise, told):
    with pytest.raises(InvalidInputError, match=told):
        Goal.parsed(want, maximise)


def test_bounds_on_both_sides_are_two_wishes():
    assert len(Goal.parsed("answers>=1, answers<=50").wishes) == 2


def test_a_shortfall_is_relative_to_the_bound():
    least, most = Wish.parsed("precision>=0.5"), Wish.parsed("answers<=50")
    assert [least.shortfall(value) for value in (0.4, 0.5, 0.9)] == pytest.approx([0.2, 0, 0])
    assert [most.shortfall(value) for value in (75, 50, 0)] == pytest.approx([0.5, 0, 0])
    assert least.shortfall(math.nan) == math.inf


def test_what_meets_the_wishes_comes_first_and_then_what_has_the_most():
    goal = Goal.parsed("precision>=0.5, answers<=50")
    points = {
        "good": {"precision": 0.6, "answers": 40, "recall": 0.2},
        "better": {"precision": 0.5, "answers": 50, "recall": 0.3},
        "not quite": {"precision": 0.49, "answers": 10, "recall": 0.9},
        "not at all": {"precision": 0.1, "answers": 500, "recall": 1.0},
        "unknown": {"precision": 0.9, "answers": 5, "recall": math.nan},
    }

    def rank(name):
        return goal.rank(lambda measure, _: points[name][measure])

    expected = ["better", "good", "unknown", "not quite", "not at all"]
    assert sorted(points, key=rank) == expected


def test_the_nearest_wish_is_met_in_the_digits_that_are_shown():
    goal = Goal.parsed("precision@r0>=0.9, answers<=50, bytes<=8")
    measures = {"precision": 0.83389, "answers": 50.04, "bytes": 8.0}
    met = goal.met_by(lambda name, _: measures[name])
    assert met == "precision@r0>=0.833, answers<=50.1, bytes<=8"
    assert Goal.parsed(met).shortfall(lambda name, _: measures[name]) == 0


def test_named_radii_leave_none_to_choose():
    assert Goal.parsed("precision@r0>=0.5, bytes<=8").names_all_radii
    assert not Goal.parsed("precision@r0>=0.5, answers<=8").names_all_radii
    assert not Goal.parsed("bytes<=8").names_all_radii
    assert Goal.parsed("bytes<=8, bytes>=2").most_bytes == 8
    assert Goal.parsed("answers<=8").most_bytes == math.inf


def test_examples_run():
    assert doctest.testmod(module).failed == 0
