import pytest

from kinhash.tuning import tune
from kinhash.tuning.tables import growth_rows, row, shown_front


@pytest.fixture(scope="module")
def found(train):
    return tune(*train, want="precision>=0.5, bytes<=4", methods=["itq", "lsh"])


def test_a_line_has_the_settings_and_what_is_reached(found):
    line, measures = row(found.chosen), found.chosen.measures
    assert (line["method"], line["n_bits"]) == ("ITQ", found.chosen.settings["n_bits"])
    assert line["radius"] == found.radius
    assert (line["precision"], line["recall"]) == (measures["precision"], measures["recall"])
    assert (line["mean_matches"], line["n_bytes"]) == (measures["answers"], measures["bytes"])


def test_the_front_is_shown_in_few_lines_with_the_chosen_one(found):
    assert len(found.front) > 12
    lines = shown_front(found, 5)
    assert len(lines) <= 6
    assert [line["recall"] for line in lines] == sorted(
        (line["recall"] for line in lines), reverse=True
    )
    (chosen,) = [line for line in lines if line["chosen"]]
    assert (chosen["n_bits"], chosen["radius"]) == (
        found.chosen.settings["n_bits"],
        found.chosen.radius,
    )
    assert "settings" not in lines[0]  # all have only a length
    assert len(shown_front(found, 1000)) == len(found.front)


def test_what_is_expected_stands_before_what_is_measured(found):
    lines = growth_rows(found.growth)
    how = [line["how"] for line in lines]
    assert how == ["measured"] * 3 + ["expected", "measured"] + ["extrapolated"] * 2
    assert lines[3]["items"] == lines[4]["items"] == found.growth.sizes[-1]
    assert lines[4]["recall"] == found.growth.measured["recall"][-1]
    assert [line["items"] for line in lines[5:]] == [600, 6000]
