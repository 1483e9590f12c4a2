"""Columns of some items by their ids."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from kinhash.datasets.user_files.beside import columns_of
from kinhash.errors import InvalidInputError


def test_only_rows_of_the_items_are_kept(tmp_path):
    numbers = list(range(1000))
    table = pa.table({"id": numbers, "a": [f"t{n}" for n in numbers], "b": numbers, "c": numbers})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=100)
    names, rows = columns_of(tmp_path / "t.parquet", ["b", "a"], [7, 999, 5000])
    assert names == ["b", "a"]
    assert rows == {7: {"b": 7, "a": "t7"}, 999: {"b": 999, "a": "t999"}}


def test_arrays_are_no_table(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3))
    with pytest.raises(InvalidInputError, match="must be a table with named columns, got arrays"):
        columns_of(tmp_path / "x.npy", "a", [1])


def test_an_item_may_have_one_row_only(tmp_path):
    (tmp_path / "t.csv").write_text("id,a\n1,x\n2,y\n1,z\n")
    assert columns_of(tmp_path / "t.csv", "a", [2])[1] == {2: {"a": "y"}}
    with pytest.raises(InvalidInputError, match="but row 2 has 1 again"):
        columns_of(tmp_path / "t.csv", "a", [1])
