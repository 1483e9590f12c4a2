import re

import numpy as np
import pytest

import kinhash
from kinhash import Codes, HammingIndex
from kinhash.cli import changing


@pytest.fixture
def held(tmp_path):
    """An index of three strings, made by "x"."""
    path = tmp_path / "items.kinhash"
    HammingIndex(Codes.from_dense(np.eye(3)), ["a", "b", "é"], made_by="x").save(path)
    return path


def save(tmp_path, ids, dense=((0, 1, 1), (1, 1, 1)), **more):
    path = tmp_path / "codes.kinhash"
    Codes.from_dense(np.array(dense)).save(path, ids, **more)
    return path


def test_items_are_added_to_the_file(run, held, tmp_path, monkeypatch):
    monkeypatch.setattr(changing, "PIECE", 1)
    done = run("add", held, save(tmp_path, ["y", "x, 1"], made_by="x"))
    assert (done.code, done.out) == (0, "")
    assert done.err == f"Wrote {held}: 2 added, 5 items now.\n"
    index = HammingIndex.load(held)
    assert index.ids.tolist() == ["a", "b", "é", "y", "x, 1"]
    assert index.codes(["x, 1", "b"]) == Codes.from_dense([[1, 1, 1], [0, 1, 0]])
    assert index.made_by == "x"


def test_items_that_are_there_are_replaced_when_asked(run, held, tmp_path):
    codes, before = save(tmp_path, ["y", "b"]), held.read_bytes()
    done = run("add", held, codes)
    assert done.code == 1
    assert done.err == (
        f"error: {codes}: the ids hold 'b', which is in the index already. Pass --update to "
        "replace it; nothing was changed.\n"
    )
    assert held.read_bytes() == before
    done = run("add", held, codes, "--update")
    assert done.err == f"Wrote {held}: 1 added, 1 replaced, 4 items now.\n"
    index = HammingIndex.load(held)
    assert index.ids.tolist() == ["a", "b", "é", "y"]
    assert index.codes(["b"]) == Codes.from_dense([[1, 1, 1]])


def test_codes_of_another_tool_are_added(run, tmp_path):
    HammingIndex(Codes.from_dense(np.eye(3, 8))).save(tmp_path / "items")
    np.savez(tmp_path / "more.npz", codes=np.array([[255], [1]], np.uint8), own=[7, 5])
    assert run("add", tmp_path / "items", tmp_path / "more.npz", "--ids", "own").code == 0
    index = HammingIndex.load(tmp_path / "items")
    assert index.ids.tolist() == [0, 1, 2, 5, 7]
    assert index.codes([7]) == Codes.from_dense([[1] * 8])


@pytest.mark.parametrize(
    ("ids", "more", "message"),
    [
        (["y", "y"], {}, "the ids hold 'y' twice, in rows 0 and 1"),
        ([1, 2], {}, "the ids must be strings, as those of the index are, got integers, such as 1"),
        (None, {}, "has no ids, and items are added under ids of their own. Encode the data with"),
        (["y", "z"], {"made_by": "w"}, "was made by encoder w, but the index by x. Encode the"),
        (
            ["y", "z"],
            {"dense": np.eye(2, 4)},
            "holds codes of 4 bits, .*but the index has codes of",
        ),
    ],
)
def test_what_does_not_fit_changes_nothing(run, held, tmp_path, ids, more, message):
    if ids == ["y", "y"]:  # as an earlier version wrote it
        from kinhash import storage

        header, arrays = {"kind": "codes", "n_bits": 3, "n_rank_bits": 0, "signed": False}, {}
        HammingIndex(Codes.from_dense(np.eye(3)), [1, 2, 3], made_by="x").save(held)
        arrays = {"words": np.ones((2, 1), np.uint64), "ids": np.array([7, 7])}
        storage.write(tmp_path / "codes.kinhash", header | {"made_by": None}, arrays)
        message, codes = "the ids hold 7 twice, in rows 0 and 1", tmp_path / "codes.kinhash"
    else:
        codes = save(tmp_path, ids, **more)
    before = held.read_bytes()
    done = run("add", held, codes)
    assert done.code == 1
    assert re.search(f"error: {re.escape(str(codes))}.*{message}", done.err), done.err
    assert held.read_bytes() == before


def test_only_an_index_is_added_to(run, model, codes):
    done = run("add", codes, codes)
    assert (done.code, done.err) == (
        1,
        f"error: {codes} must hold an index, such as `kinhash index` writes, but it holds codes.\n",
    )
    assert "but it holds a model" in run("add", model, codes).err


def test_strings_go_from_a_table_to_answers(run, model, csv_file, tmp_path):
    """Encode, index, search: the ids of the table are those of the answers."""
    table = tmp_path / "skus.csv"
    lines = csv_file.read_text().splitlines()
    table.write_text("\n".join([lines[0], *(f"sku-{line}" for line in lines[1:])]) + "\n")
    assert run("encode", model, table, "--labels", "label", "--out", tmp_path / "codes").code == 0
    assert run("index", tmp_path / "codes", "--out", tmp_path / "items").code == 0
    assert kinhash.load(tmp_path / "items").ids[0] == "sku-1000"
    words = ("search", tmp_path / "items", "--model", model, "--queries", table, "--top-k", "2")
    done = run(*words, "--labels", "label", "--format", "csv")
    assert done.out.splitlines()[:2] == ["query,id,distance", "sku-1000,sku-1000,0"]
    done = run(*words, "--labels", "label", "--format", "json")
    assert '"query": "sku-1000"' in done.out
    table.write_text("\n".join([*lines[:3], lines[1]]) + "\n")
    done = run("encode", model, table, "--labels", "label", "--out", tmp_path / "twice")
    assert (done.code, done.err.splitlines()[-1]) == (
        1,
        "error: --ids hold 1000 twice, in rows 0 and 2. Give each item an id of its own.",
    )
    assert not (tmp_path / "twice").exists()
