import shutil
import subprocess

import duckdb
import numpy as np
import pytest

import kinhash
from kinhash import sql
from kinhash.cli.sql import Dialect, Pairs
from kinhash.engines import sqlite
from kinhash.engines.dialects import DIALECTS


@pytest.mark.parametrize("dialect", Dialect)
def test_a_join_is_that_of_the_library(run, dialect):
    done = run("sql", "join", "--n-bits", 70, "--radius", 1, "--right", "b", "--dialect", dialect)
    layout = sql.Layout(70)
    expected = sql.join(layout, radius=1, right="b", dialect=dialect.value)
    assert (done.code, done.out, done.err) == (0, f"{expected};\n", "")


def test_the_dialects_are_those_of_the_library():
    assert [one.value for one in Dialect] == list(DIALECTS)
    assert [one.value for one in Pairs] == ["codes", "items"]


def test_files_say_how_long_codes_are(run, model, codes, tmp_path):
    assert run("index", codes, "--out", tmp_path / "items.kinhash").code == 0
    expected = run("sql", "group", "--n-bits", 16, "--radius", 2).out
    assert "RECURSIVE" in expected
    for file in (model, codes, tmp_path / "items.kinhash"):
        assert run("sql", "group", file, "--radius", 2).out == expected


def test_rank_bits_and_signs_change_the_columns(run):
    out = run("sql", "create", "--bits", 20, "--rank-bits", 4, "--signed", "--left", "shop.a").out
    assert out == "CREATE TABLE shop.a (id BIGINT, w0 BIGINT, w1 BIGINT, r0 BIGINT);\n"


def test_what_is_printed_runs(run):
    with duckdb.connect() as connection:
        connection.execute(run("sql", "create", "--n-bits", 8).out)
        connection.execute("INSERT INTO items VALUES (1, 3), (2, 7), (3, 64)")
        text = run("sql", "join", "--n-bits", 8, "--radius", 1, "--pairs", "items").out
        assert connection.execute(text).fetchall() == [(1, 2, 1)]


def searched(store, codes):
    stored = kinhash.load(codes)
    expected = kinhash.HammingIndex(stored.codes, stored.ids)
    for radius in (0, 2):
        found = store.search_radius(stored.codes[:10], radius)
        want = expected.search_radius(stored.codes[:10], radius, sort=True)
        assert np.array_equal(found.ids, want.ids)


@pytest.mark.engine
def test_a_folder_loads_into_postgres(run, codes, tmp_path, postgres):
    psycopg = pytest.importorskip("psycopg")
    from kinhash.engines import postgres as engine

    psql = shutil.which("psql")
    if psql is None:
        pytest.skip("psql was not found on the PATH. Install the package postgresql-client.")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA of_the_cli")
    url = f"{postgres}?options=-csearch_path%3Dof_the_cli"
    done = run("sql", "create", codes, "--dialect", "postgres", "--out", tmp_path / "tables")
    assert (done.code, done.out) == (0, "")
    assert "create.sql and" in done.err
    assert "120 items.\nLoad them: cd " in done.err
    command = (psql, url, "-q", "-v", "ON_ERROR_STOP=1", "-f", "create.sql")
    loaded = subprocess.run(
        command, cwd=tmp_path / "tables", capture_output=True, text=True, check=False
    )
    assert (loaded.returncode, loaded.stderr) == (0, "")
    with engine.open_store(url) as store:
        searched(store, codes)


def test_a_folder_loads_into_sqlite(run, codes, tmp_path):
    done = run("sql", "create", codes, "--dialect", "sqlite", "--out", tmp_path / "tables")
    assert done.code == 0
    script = (tmp_path / "tables" / "create.sql").read_text()
    before, after = script.split(".mode tabs\n.import items.copy kinhash_new\n")
    import sqlite3

    with sqlite3.connect(tmp_path / "items.db") as connection:
        connection.executescript(before)
        lines = (tmp_path / "tables" / "items.copy").read_text().splitlines()
        connection.executemany(
            "INSERT INTO kinhash_new VALUES (?, ?)", [line.split("\t") for line in lines]
        )
        connection.commit()
        connection.executescript(after)
    connection.close()
    with sqlite.open_store(tmp_path / "items.db") as store:
        searched(store, codes)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("join",), 2, "give exactly one of the two"),
        (("join", "--n-bits", 0), 1, r"error: --n-bits must be an integer in [1, 4096], got 0."),
        (("join", "--bits", 8, "--radius", -1), 1, "--radius must be an integer of at least 0"),
        (("join", "--bits", 8, "--left", "a b"), 1, "--left must be a plain SQL name"),
        (("join", "--bits", 8, "--id", "a b"), 1, "--id must be a plain SQL name"),
        (("group", "--bits", 8, "--radius", 1, "--dialect", "spark"), 1, "take a recursion that"),
        (("create", "--bits", 8, "--out", "x"), 2, "goes with create, FILE and --dialect"),
        (("drop", "--bits", 8), 2, "is not one of"),
        (("join", "missing.kinhash"), 1, "Cannot read missing.kinhash"),
    ],
)
def test_wrong_usage_is_one_sentence(run, words, code, message):
    done = run("sql", *words)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
