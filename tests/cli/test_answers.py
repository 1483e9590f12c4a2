import csv
import io
import json

import numpy as np


def test_a_query_without_matches_has_an_empty_list(run, model, npz, tmp_path, items):
    one = tmp_path / "one.npy"
    np.save(one, items[0][:1])
    assert run("encode", model, one, "--out", tmp_path / "codes").code == 0
    words = ("--queries", npz, "--radius", "0", "--format", "json")
    done = run("search", tmp_path / "codes", "--model", model, *words)
    answers = json.loads(done.out)
    assert len(answers) == 120
    assert answers[0] == {"query": 0, "n_matches": 1, "matches": [{"id": 0, "distance": 0}]}
    assert answers[-1] == {"query": 119, "n_matches": 0, "matches": []}


def test_a_table_stops_at_50_matches_and_says_so(run, codes, model, npz):
    words = ("search", codes, "--model", model, "--queries", npz, "--top-k", "2")
    done = run(*words)
    assert done.out.splitlines()[0].split() == ["query", "id", "distance"]
    assert len(done.out.splitlines()) == 51
    assert "240 matches, 50 shown: --limit 0 shows all." in done.err
    assert len(run(*words, "--limit", "0").out.splitlines()) == 241


def test_limit_cuts_json_within_a_query(run, codes, model, npz):
    words = ("--queries", npz, "--top-k", "2", "--limit", "3", "--format", "json")
    answers = json.loads(run("search", codes, "--model", model, *words).out)
    assert [len(answer["matches"]) for answer in answers[:3]] == [2, 1, 0]
    assert {answer["n_matches"] for answer in answers} == {2}


def test_nothing_found_is_an_empty_table(run, model, tmp_path, items):
    np.save(tmp_path / "a.npy", items[0][:1])
    np.save(tmp_path / "b.npy", items[0][-1:])
    assert run("encode", model, tmp_path / "a.npy", "--out", tmp_path / "codes").code == 0
    words = ("--queries", tmp_path / "b.npy", "--radius", "0")
    done = run("search", tmp_path / "codes", "--model", model, *words)
    assert (done.code, done.out) == (0, "")
    assert "1 query, 1 without a match; 0 matches." in done.err


def test_csv_quotes_ids_that_need_it(run, model, items, tmp_path):
    path = tmp_path / "items.npz"
    np.savez(path, vectors=items[0][:2], id=np.array(['a "b", c', "plain"]))
    assert run("encode", model, path, "--out", tmp_path / "codes").code == 0
    words = ("--queries", path, "--top-k", "1", "--format", "csv")
    done = run("search", tmp_path / "codes", "--model", model, *words)
    assert done.code == 0, done.err
    rows = list(csv.reader(io.StringIO(done.out)))
    assert rows[1][:2] == ['a "b", c', 'a "b", c']
