import io
import sys

import numpy as np
import pytest

from kinhash.cli.data import Looked, batches_of, load_data, taken
from kinhash.datasets.user_files.columns import Columns
from kinhash.errors import InvalidInputError

TABLE = "sku,e0,e1,kind,title\na-1,0.5,1.5,x,red\nb-2,2.5,3.5,y,blue\n"


def load_plain(data, **options):
    names = dict.fromkeys(("features", "labels", "ids", "root"))
    return load_data(str(data), **names | options)


@pytest.fixture
def shop(tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text(TABLE)
    return path


def test_the_columns_that_were_taken_are_said(shop, capsys):
    found = load_plain(shop, features="e*", labels="kind", ids="sku")
    assert found.ids.tolist() == ["a-1", "b-2"]
    assert capsys.readouterr().err == (
        "shop.csv: vectors from e0, e1; labels from kind; ids from sku; left out: title.\n"
    )
    assert load_plain(shop, ids="sku", text="title", with_ids=False).texts == ("red", "blue")
    assert capsys.readouterr().err == "shop.csv: texts from title; left out: e0, e1, kind, sku.\n"


def test_nothing_is_said_of_usual_arrays(tmp_path, capsys):
    np.savez(tmp_path / "a.npz", vectors=np.eye(2), labels=[0, 1])
    np.save(tmp_path / "a.npy", np.eye(2))
    for name in ("a.npz", "a.npy"):
        load_plain(tmp_path / name)
    load_plain("digits")
    assert capsys.readouterr().err == ""
    np.savez(tmp_path / "b.npz", vectors=np.eye(2), other=np.eye(2))
    load_plain(tmp_path / "b.npz")
    assert capsys.readouterr().err == "b.npz: vectors from vectors; left out: other.\n"


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (Columns(("v",)), "vectors from v"),
        (Columns(tuple("abcd"), left=("",)), "vectors from 4 columns, a to d; left out: one w"),
        (Columns(modalities={"i": ("a", "b"), "t": ("c",)}), "i from a, b; t from c"),
        (Columns(("v",), left=tuple("abcdefg")), "left out: a, b, c, d, e and 2 more"),
        (Columns(modalities={"image": ()}), ""),
    ],
)
def test_columns_are_told_in_words(columns, told):
    assert told in taken(columns)
    assert bool(told) == bool(taken(columns))


def test_batches_are_the_rows_of_files_data_sets_and_stdin(shop, monkeypatch):
    with batches_of(str(shop), Looked(ids="sku", features="e?")) as (batches, n_rows):
        (batch,) = batches
    assert (batch.ids.tolist(), batch.vectors.tolist()) == (
        ["a-1", "b-2"],
        [[0.5, 1.5], [2.5, 3.5]],
    )
    assert n_rows is None
    with batches_of("digits", Looked()) as (batches, n_rows):
        assert [len(batch) for batch in batches] == [n_rows] == [1797]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TABLE.encode())))
    with batches_of("-", Looked(ids="sku", features="e?")) as (batches, _):
        assert next(batches).vectors.tolist() == batch.vectors.tolist()


def test_a_complaint_about_stdin_names_it(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,label\n1,x\n")))
    with pytest.raises(InvalidInputError, match="'class' is no column of standard input"):
        load_plain("-", labels="class")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InvalidInputError, match="standard input is closed"):
        load_plain("-")


def test_cells_may_be_separated_by_another_sign(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;b\n1;2\n")
    assert load_plain(path, delimiter=";").vectors.tolist() == [[1, 2]]
