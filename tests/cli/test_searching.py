import pytest
import typer

from kinhash.cli.searching import Reach


def test_queries_in_several_chunks_give_the_same_answers(run, index, model, npz, monkeypatch):
    words = ("search", index, "--model", model, "--queries", npz, "--radius", "3")
    whole = run(*words, "--format", "json")
    monkeypatch.setattr("kinhash.cli.searching.CHUNK_QUERIES", 7)
    assert run(*words, "--format", "json") == whole


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ((None, None, None), "give exactly one of these"),
        ((2, None, 3), "give exactly one of these"),
        ((None, 1.5, None), "greater than 0 and at most 1, got 1.5"),
    ],
)
def test_a_reach_is_one_limit(limits, message):
    with pytest.raises(typer.BadParameter, match=message):
        Reach(*limits, "nested", None).check()
    assert not Reach(2, None, None, "nested", None).needs_calibration
    assert Reach(2, None, None, "nested", 0.1).needs_calibration
