"""Columns of the items' table beside their matches."""

import csv
import datetime as dt
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from kinhash import Codes, HammingIndex

DENSE = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 1, 1]])


@pytest.fixture
def named(tmp_path):
    path = tmp_path / "named.kinhash"
    HammingIndex(Codes.from_dense(DENSE), ["a", "b", "c", "007"]).save(path)
    return path


@pytest.fixture
def table(tmp_path):
    """Items in another order than the index's, one of them unknown to it, one missing."""
    columns = {
        "sku": ["c", "a", "x", "b"],
        "title": ["shoe, red", "hat", "coat", None],
        "price": [3.5, float("nan"), 1.0, 2.0],
        "seen": [dt.date(2026, 1, day) for day in (1, 2, 3, 4)],
    }
    path = tmp_path / "items.parquet"
    pyarrow.parquet.write_table(pa.table(columns), path, row_group_size=2)
    return path


def test_columns_stand_beside_each_match_in_every_format(run, named, table):
    words = ("search", named, "--like", "a", "--top-k", "2", "--ids", "sku", "--table", table)
    done = run(*words, "--show", "title,pr*,seen", "--format", "jsonl")
    assert done.code == 0, done.err
    assert [json.loads(line) for line in done.out.splitlines()] == [
        {
            "query": "a",
            "id": "c",
            "distance": 0,
            "title": "shoe, red",
            "price": 3.5,
            "seen": "2026-01-01",
        },
        {
            "query": "a",
            "id": "b",
            "distance": 1,
            "title": None,
            "price": 2.0,
            "seen": "2026-01-04",
        },
    ]
    done = run(*words, "--show", "title", "--format", "csv")
    rows = list(csv.reader(io.StringIO(done.out)))
    assert rows[1:] == [["a", "c", "0", "shoe, red"], ["a", "b", "1", ""]]
    assert run(*words, "--show", "title").out.splitlines()[0].split()[-1] == "title"
    (answer,) = json.loads(run(*words, "--show", "price", "--format", "json").out)
    assert [match["price"] for match in answer["matches"]] == [3.5, 2.0]


def test_items_without_a_row_are_counted(run, named, table):
    words = ("search", named, "--like", "a", "--top-k", "3", "--ids", "sku", "--table", table)
    done = run(*words, "--show", "title", "--format", "csv")
    assert done.out.splitlines()[-1] == "a,007,2,"
    assert f"warning: {table} has no row for 1 item that were found." in done.err
    done = run(*words, "--show", "title", "--limit", "2")
    assert "warning" not in done.err


def test_text_files_compare_ids_as_they_are_written(run, named, tmp_path):
    (tmp_path / "items.csv").write_text("id;price\n007;3.50\n7;1\nb;2\na;9\nc;1\n")
    words = ("--table", tmp_path / "items.csv", "--delimiter", ";", "--show", "price")
    done = run("search", named, "--like", "b", "--radius", "1", *words, "--format", "csv")
    assert done.out.split() == [
        "query,id,distance,price",
        "b,007,1,3.50",
        "b,a,1,9",
        "b,c,1,1",
    ] or (done.out.split() == ["query,id,distance,price", "b,a,1,9", "b,c,1,1", "b,007,1,3.50"])


def test_without_ids_row_i_is_item_i_also_in_parts(run, tmp_path):
    HammingIndex(Codes.from_dense(DENSE)).save(tmp_path / "items")
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "1.jsonl").write_text('{"title": "zero"}\n{"title": "one"}\n')
    (parts / "2.jsonl").write_text('{"title": "two"}\n{"title": "three"}\n')
    words = ("--show", "title", "--table", parts, "--format", "csv")
    done = run("search", tmp_path / "items", "--like", "0", "--top-k", "3", *words)
    assert done.code == 0, done.err
    assert done.out.split()[1:] == ["0,2,0,two", "0,1,1,one", "0,3,2,three"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--show", "title"), 2, "'--table': is missing"),
        (("--table", "{table}"), 2, "'--show': is missing"),
        (("--show", "titl", "--table", "{table}"), 1, "Did you mean 'title'?"),
        (("--show", "title", "--table", "{table}", "--ids", "sk"), 1, "Did you mean 'sku'?"),
        (("--show", "price", "--table", "{table}", "--ids", "title"), 1, "an id in each row"),
        (("--show", "title", "--table", "{table}.npz"), 1, "There is no file"),
        (("--show", "sku", "--table", "{table}"), 1, "has none of the items that were found"),
        (("--show", "distance", "--table", "{other}"), 1, "which each match has already"),
        (("--show", "title", "--table", "{twice}"), 1, "has 'b' again"),
    ],
)
def test_bad_input_is_refused(run, named, table, tmp_path, words, code, message):
    (tmp_path / "other.csv").write_text("id,distance\na,1\nb,1\nc,1\n007,1\n")
    (tmp_path / "twice.csv").write_text("id,title\nb,1\nb,2\n")
    files = {"table": table, "other": tmp_path / "other.csv", "twice": tmp_path / "twice.csv"}
    words = [word.format(**files) for word in words]
    done = run("search", named, "--like", "a", "--radius", "1", *words)
    assert (done.code, done.out) == (code, "")
    assert message in done.err, done.err
