import json

import pyarrow as pa
import pyarrow.parquet
import pytest

from kinhash.datasets.user_files.folder import part_files
from kinhash.datasets.user_files.reader import open_items
from kinhash.errors import InvalidInputError


def parquet(path, columns):
    pyarrow.parquet.write_table(pa.table(columns), path)


def test_files_come_by_name_without_hidden_ones(tmp_path):
    for name in ("b.csv", "a.csv", ".x.csv", "_SUCCESS"):
        (tmp_path / name).write_text("a")
    assert [path.name for path in part_files(tmp_path)] == ["a.csv", "b.csv"]


def test_folders_in_a_folder_are_refused(tmp_path):
    (tmp_path / "year=2024").mkdir()
    with pytest.raises(InvalidInputError, match="but has the folder year=2024"):
        part_files(tmp_path)


def test_parts_may_have_columns_in_another_order_and_numbers_of_another_width(tmp_path):
    parquet(tmp_path / "0.parquet", {"x": [1, 2], "y": [0.5, 1.5], "id": ["a", "b"]})
    parquet(tmp_path / "1.parquet", {"id": ["c"], "y": pa.array([2], pa.int8()), "x": [3]})
    items = open_items(tmp_path)
    assert items.n_rows == 3
    data = items.read()
    assert data.vectors.tolist() == [[1, 0.5], [2, 1.5], [3, 2]]
    assert data.ids.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [1]}, r"of .*0\.parquet, but .*1\.parquet lacks y\."),
        ({"x": [1], "y": [1], "z": [1]}, r"1\.parquet has also z\."),
        ({"x": [1], "z": [1]}, r"lacks y and has also z\."),
        ({"x": ["a"], "y": [1]}, r"`x` has type int64 there, and string in .*1\.parquet"),
    ],
)
def test_a_part_with_other_columns_is_named(tmp_path, columns, message):
    parquet(tmp_path / "0.parquet", {"x": [1], "y": [2]})
    parquet(tmp_path / "1.parquet", columns)
    with pytest.raises(InvalidInputError, match=message):
        open_items(tmp_path)


def test_parts_of_text_are_read_with_the_kinds_of_the_first(tmp_path):
    (tmp_path / "0.csv").write_text("x,id,note\n1,1,\n2,2,\n")
    (tmp_path / "1.csv").write_text("x,id,note\n0.5,sku,a\n")
    data = open_items(tmp_path).read()
    assert data.vectors.tolist() == [[1], [2], [0.5]]
    assert data.ids.tolist() == ["1", "2", "sku"]


def test_lines_of_json_may_lack_fields(tmp_path):
    (tmp_path / "0.jsonl").write_text(json.dumps({"v": [1, 2], "note": "x"}) + "\n")
    (tmp_path / "1.jsonl").write_text(json.dumps({"v": [0.5, 3]}) + "\n")
    assert open_items(tmp_path).read().vectors.tolist() == [[1, 2], [0.5, 3]]


def test_errors_name_the_part_and_its_own_row(tmp_path):
    parquet(tmp_path / "0.parquet", {"v": [[1.0, 2.0]] * 3})
    parquet(tmp_path / "1.parquet", {"v": [[1.0, 2.0], [3.0]]})
    with pytest.raises(InvalidInputError, match=r"`v` in .*1\.parquet .* got 2 .* and 1 in row 1"):
        open_items(tmp_path).read()
