import decimal
import os

import pyarrow as pa
import pytest

from kinhash.datasets.user_files.sources import TableSource, kind_of, readable
from kinhash.errors import InvalidInputError


def test_a_table_comes_in_pieces_or_whole():
    source = TableSource("t", pa.table({"a": range(5)}))
    pieces = list(source.pieces({"a": "features"}, 2))
    assert [(piece.first_row, piece.table.num_rows, piece.source) for piece in pieces] == [
        (0, 2, "t"),
        (2, 2, "t"),
        (4, 1, "t"),
    ]
    assert [piece.table.num_rows for piece in source.pieces({}, None)] == [5]
    assert list(TableSource("t", pa.table({"a": []})).pieces({}, None)) == []


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([1.5]), "number"),
        (pa.array([True]), "number"),
        (pa.array([1], pa.int8()), "integer"),
        (pa.array([decimal.Decimal("1.25")]), "decimal"),
        (pa.array([[1.5]]), "list"),
        (pa.array(["a"]).dictionary_encode(), "text"),
        (pa.array([["a"]]), "other"),
        (pa.array([1], pa.date32()), "other"),
    ],
)
def test_the_type_of_a_column_says_what_it_can_be_read_as(column, kind):
    assert kind_of(column.type) == kind


def test_what_a_library_raises_becomes_one_sentence(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("a")
    with pytest.raises(InvalidInputError, match=r"csv cannot be read: no cell\.$"), readable(path):
        raise pa.ArrowInvalid("no cell.\nmore")
    with pytest.raises(InvalidInputError, match="ours"), readable(path):
        raise InvalidInputError("ours")
    path.unlink()
    with pytest.raises(InvalidInputError, match="cannot be read: No such file"), readable(path):
        pass


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("a")
    with pytest.raises(InvalidInputError, match="changed while it was read"), readable(path):
        path.write_text("ab")
    with pytest.raises(InvalidInputError, match=r"csv changed while it was.*Wait"), readable(path):
        os.utime(path, (1, 1))
