import json
import math
import sys

import pytest

from kinhash.cli import results
from kinhash.cli.results import as_json, emit
from kinhash.errors import InvalidInputError


class Full:
    """A stream on a full disk; counts what is flushed."""

    def __init__(self, error):
        self.error = error

    def write(self, text):
        del text

    def flush(self):
        raise self.error


def test_a_text_goes_to_stdout_with_a_line_end(capsys):
    emit("a,b")
    assert capsys.readouterr() == ("a,b\n", "")


def test_what_json_has_no_number_for_becomes_null():
    value = {"map": math.nan, "curve": (0.5, math.inf), "rows": [{"n": 3, "name": "x"}], "ok": True}
    assert json.loads(as_json(value)) == {
        "map": None,
        "curve": [0.5, None],
        "rows": [{"n": 3, "name": "x"}],
        "ok": True,
    }


def test_a_closed_stdout_is_said(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(InvalidInputError, match=r"Cannot print the results: .* is closed"):
        emit("a")


def test_a_full_disk_is_said_and_the_rest_is_dropped(monkeypatch):
    stream, dropped = Full(OSError(28, "No space left on device")), []
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(results, "discard", dropped.append)
    with pytest.raises(InvalidInputError, match="results: no space left on device"):
        emit("a")
    assert dropped == [stream]


def test_a_reader_that_left_is_for_the_caller_to_know(monkeypatch):
    monkeypatch.setattr(sys, "stdout", Full(BrokenPipeError()))
    with pytest.raises(BrokenPipeError):
        emit("a")


def test_what_is_buffered_can_be_dropped(tmp_path):
    with (tmp_path / "out").open("w") as stream:
        stream.write("lost")
        results.discard(stream)
    assert (tmp_path / "out").read_text() == ""


COMPARE = ("compare", "digits", "--methods", "lsh,l2", "--bits", "32")


@pytest.mark.parametrize("width", [80, 100])
def test_a_table_is_no_wider_than_the_terminal(run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = run(*COMPARE).out.splitlines()
    assert max(map(len, lines)) <= width
    assert sum(line.startswith("method") for line in lines) == 2
    assert sum(line.startswith("LSH") for line in lines) == 2


def test_in_a_file_lines_stay_whole(run):
    lines = run(*COMPARE).out.splitlines()
    assert max(map(len, lines)) > 100
    assert sum(line.startswith("LSH") for line in lines) == 1


def test_other_formats_do_not_depend_on_the_terminal(run, monkeypatch):
    plain = run(*COMPARE, "--format", "csv").out
    monkeypatch.setenv("COLUMNS", "40")
    assert run(*COMPARE, "--format", "csv").out.splitlines()[0] == plain.splitlines()[0]
