from pathlib import Path

import pytest

from kinhash.datasets.locations import data_root, find_folder
from kinhash.errors import InvalidInputError


def test_the_argument_wins_over_the_environment_and_that_over_home(monkeypatch):
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("KINHASH_DATA", "/data")
    assert data_root("/mine") == Path("/mine")
    assert data_root() == Path("/data")
    monkeypatch.delenv("KINHASH_DATA")
    assert data_root() == Path("/home/somebody/.cache/kinhash")


def test_an_empty_variable_counts_as_unset(monkeypatch):
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("KINHASH_DATA", "")
    assert data_root() == Path("/home/somebody/.cache/kinhash")


def test_home_may_be_abbreviated(monkeypatch):
    monkeypatch.setenv("HOME", "/home/somebody")
    assert data_root("~/sets") == Path("/home/somebody/sets")
    monkeypatch.setenv("KINHASH_DATA", "~/more")
    assert data_root() == Path("/home/somebody/more")


def test_the_subfolder_comes_before_the_root_itself(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "a.csv").touch()
    assert find_folder("Mine", tmp_path, "mine", ["a.csv"], "Buy it.") == tmp_path
    (tmp_path / "mine" / "a.csv").touch()
    assert find_folder("Mine", tmp_path, "mine", ["a.csv"], "Buy it.") == tmp_path / "mine"


def test_a_folder_must_hold_all_files(tmp_path):
    (tmp_path / "a.csv").touch()
    with pytest.raises(InvalidInputError) as caught:
        find_folder("Mine", tmp_path, "mine", ["a.csv", "b.tar"], "Buy it.")
    assert str(caught.value) == (
        f"Mine was not found: looked for a.csv, b.tar in {tmp_path / 'mine'}, {tmp_path}. Buy it."
    )
