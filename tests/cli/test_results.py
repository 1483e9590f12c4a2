import pytest

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
