import numpy as np
import pytest

from kinhash import Codes
from kinhash.cli import compared
from kinhash.cli.compared import Compared, Described
from kinhash.cli.data import Looked
from kinhash.errors import InvalidInputError
from kinhash.index.hamming import HammingIndex


def test_arrays_stay_on_disk(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3, dtype=np.float16))
    found = compared.read(str(tmp_path / "x.npy"), Described(Looked()))
    assert (found.name, found.rows.dtype, found.ids) == ("x.npy", np.float16, None)
    assert isinstance(found.rows, np.memmap)
    np.save(tmp_path / "y.npy", np.eye(3))
    assert compared.read(str(tmp_path / "y.npy"), Described(Looked())).rows.dtype == np.float32


def test_vectors_are_compared_and_texts_shown_where_both_are_named(tmp_path):
    (tmp_path / "x.csv").write_text("a,b,title\n1,2,red\n3,4,blue\n")
    path = str(tmp_path / "x.csv")
    both = compared.read(path, Described(Looked(features="a,b", text="title")))
    assert both.rows.tolist() == [[1, 2], [3, 4]]
    assert list(both.texts) == ["red", "blue"]
    alone = compared.read(path, Described(Looked(text="title")))
    assert alone.rows == ["red", "blue"]
    shown = compared.read(path, Described(Looked(features="a,b"), pictures="title"))
    assert shown.rows.tolist() == [[1, 2], [3, 4]]
    assert shown.pictures == [tmp_path / "red", tmp_path / "blue"]


def test_a_path_that_is_missing_is_named(tmp_path):
    (tmp_path / "x.csv").write_text("id,file\n1,a.png\n2,\n")
    with pytest.raises(InvalidInputError, match="must have a path in each row, but has none in ro"):
        compared.read(str(tmp_path / "x.csv"), Described(Looked(), pictures="file"))
    (tmp_path / "list.txt").write_text("\n")
    with pytest.raises(InvalidInputError, match="must list pictures, one in a line, but is empty"):
        compared.read(str(tmp_path / "list.txt"), Described(Looked()))
    (tmp_path / "list.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInputError, match="cannot be read"):
        compared.read(str(tmp_path / "list.txt"), Described(Looked()))


def test_codes_must_be_such_as_the_index_holds(tmp_path):
    index = HammingIndex(Codes.from_dense(np.eye(3)), made_by="x")
    rows = Compared("mine", Codes.from_dense(np.eye(4)))
    with pytest.raises(InvalidInputError, match="mine holds codes of 4 bits, but i has codes of 3"):
        compared.check_codes_fit(rows, index, "i")
    rows = Compared("mine", Codes.from_dense(np.eye(3)), made_by="y")
    with pytest.raises(InvalidInputError, match="was made by encoder y, but i by x"):
        compared.check_codes_fit(rows, index, "i")
    compared.check_codes_fit(Compared("mine", np.eye(5)), index, "i")


def test_a_table_of_texts_alone_needs_the_name_of_their_column(tmp_path):
    (tmp_path / "x.csv").write_text("id,title\n1,red\n")
    with pytest.raises(InvalidInputError, match="Name a column of texts with --text, or one of"):
        compared.read(str(tmp_path / "x.csv"), Described(Looked()))
