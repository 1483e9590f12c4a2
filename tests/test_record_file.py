import multiprocessing

import pytest

from kinhash.errors import InvalidInputError
from kinhash.record_file import add, read


def test_records_are_read_as_they_were_added(tmp_path):
    file = tmp_path / "new" / "some.jsonl"
    for key, value in (("b", 1), ("a", 2.5), ("b", "last")):
        add(file, {"key": key, "value": value})
    assert read(file) == {"a": {"key": "a", "value": 2.5}, "b": {"key": "b", "value": "last"}}
    lines = file.read_text(encoding="utf-8").splitlines()
    assert lines == ['{"key":"a","value":2.5}', '{"key":"b","value":"last"}']


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"Cannot read the records in .*directory"):
        read(tmp_path)
    assert read(tmp_path / "missing.jsonl") == {}


@pytest.mark.parametrize("line", ["{", "[]", '{"method": "lsh"}', ""])
def test_nothing_is_added_to_a_file_of_something_else(tmp_path, line):
    file = tmp_path / "some.jsonl"
    text = f'{{"key":"a"}}\n{line}\n'
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"Line 2 of .*some\.jsonl is not a record"):
        add(file, {"key": "b"})
    assert file.read_text(encoding="utf-8") == text


def _add_some(file, letter):
    for number in range(20):
        add(file, {"key": f"{letter}{number}"})


def test_runs_at_once_do_not_lose_records_of_each_other(tmp_path):
    file = tmp_path / "some.jsonl"
    spawn = multiprocessing.get_context("fork")
    runs = [spawn.Process(target=_add_some, args=(file, letter)) for letter in "abcd"]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert [run.exitcode for run in runs] == [0, 0, 0, 0]
    assert len(read(file)) == 80
