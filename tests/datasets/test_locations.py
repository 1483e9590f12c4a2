from pathlib import Path

from kinhash.datasets.locations import data_root


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
