import sqlite3

import pytest

from kinhash.engines import sqlite as engine
from kinhash.engines.layout import Layout
from kinhash.errors import InvalidInputError, UntestedVersionWarning


def test_a_file_that_is_no_database_is_refused(tmp_path):
    path = tmp_path / "items.db"
    path.write_text("not a database, but a text " * 99)
    with pytest.raises(InvalidInputError, match=r"SQLite, .*items.db: file is not a database\."):
        engine.open_store(path, Layout(8))
    with pytest.raises(InvalidInputError, match=r"SQLite, .*: unable to open database file"):
        engine.open_store(tmp_path / "missing" / "items.db", Layout(8))


def test_two_connections_wait_for_each_other(tmp_path):
    with (
        engine.open_store(tmp_path / "items.db", Layout(8)) as one,
        engine.open_store(tmp_path / "items.db") as other,
    ):
        assert (len(one), len(other)) == (0, 0)


def test_an_untested_version_warns(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite3, "sqlite_version", "4.1.0")
    with pytest.warns(UntestedVersionWarning, match=r"SQLite 4.1.0 has not been tested"):
        engine.open_store(tmp_path / "items.db", Layout(8)).close()
