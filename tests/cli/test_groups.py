from pathlib import Path

import numpy as np
import pytest

from kinhash.cli import groups
from kinhash.errors import InvalidInputError
from kinhash.linkage import Groups


def test_ids_with_commas_and_quotes_come_back(tmp_path):
    ids = np.array(['a,"b"', "é"], object)
    found = Groups.of(np.arange(2), np.zeros(2, int), np.array([0, 3], np.int32)).named(ids)
    groups.write(found, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text("utf-8") == (
        'id,group,representative,keep,distance\n"a,""b""",0,"a,""b""",true,0\n'
        'é,0,"a,""b""",false,3\n'
    )


def test_no_groups_are_a_file_with_a_heading(tmp_path):
    none = Groups.of(np.zeros(0, int), np.zeros(0, int))
    groups.write(none, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == "id,group,representative,keep\n"
    groups.write(none, tmp_path / "x.jsonl")
    assert (tmp_path / "x.jsonl").read_text() == ""


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(groups, "_write_csv", fail)
    with pytest.raises(KeyboardInterrupt):
        groups.write(Groups.of(np.zeros(0, int), np.zeros(0, int)), tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())


def test_an_unknown_ending_is_refused():
    with pytest.raises(InvalidInputError, match=r"must end in .parquet, .csv, .jsonl, got '.xls'"):
        groups.check_ending(Path("x.xls"))
