import io

import numpy as np
import pytest

from kinhash import Codes, HammingIndex


@pytest.fixture
def items(tmp_path):
    path = tmp_path / "items.kinhash"
    HammingIndex(Codes.from_dense(np.eye(4)), [10, -5, 30, 40]).save(path)
    return path


@pytest.fixture
def named(tmp_path):
    path = tmp_path / "named.kinhash"
    HammingIndex(Codes.from_dense(np.eye(4)), ["10", "b c", "é", "-x"]).save(path)
    return path


def test_items_are_removed_by_their_ids(run, items, named):
    done = run("remove", items, "10", "40", "10")
    assert (done.code, done.out) == (0, "")
    assert done.err == f"Wrote {items}: 2 removed, 2 items now.\n"
    assert HammingIndex.load(items).ids.tolist() == [-5, 30]
    assert run("remove", items, "--", "-5").code == 0
    assert run("remove", named, "--", "-x", "10").code == 0
    assert HammingIndex.load(named).ids.tolist() == ["b c", "é"]


def test_ids_come_from_a_file_or_stdin(run, items, named, tmp_path, monkeypatch):
    (tmp_path / "gone.txt").write_text("b c\n\né\n", encoding="utf-8")
    assert run("remove", named, "--from", tmp_path / "gone.txt").code == 0
    assert HammingIndex.load(named).ids.tolist() == ["10", "-x"]
    monkeypatch.setattr("sys.stdin", io.StringIO("30\n-5\n"))
    assert run("remove", items, "--from", "-").code == 0
    assert HammingIndex.load(items).ids.tolist() == [10, 40]


def test_all_are_removed_or_none(run, items, named, tmp_path):
    before = items.read_bytes()
    for words, message in (
        (("10", "7"), "The ids hold 7, which is not in the index. Nothing was changed."),
        (("10", "x"), "The ids of this index are whole numbers, got 'x'."),
        (("10", str(2**70)), f"The ids must fit into int64, got {2**70} in row 1."),
        (("--from", tmp_path / "no"), f"Cannot read {tmp_path / 'no'}: no such file or directory."),
        (("--from", items), f"Cannot read {items}: it is no text in UTF-8."),
    ):
        done = run("remove", items, *words)
        assert (done.code, done.err) == (1, f"error: {message}\n")
        assert items.read_bytes() == before
    done = run("remove", named, "11")
    assert "The ids hold '11', which is not in the index." in done.err


@pytest.mark.parametrize("words", [(), ("10", "--from", "x")])
def test_ids_come_from_one_place(run, items, words):
    done = run("remove", items, *words)
    assert (done.code, "give exactly one of" in done.err) == (2, True)
