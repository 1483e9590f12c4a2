"""What the text says; that its answers are exact, tests/contracts/test_engines.py shows."""

import re

import pytest

from kinhash import sql
from kinhash.errors import InvalidInputError


def test_each_stored_bit_has_one_row():
    text = sql.join(sql.Layout(66), radius=1)
    assert text.count("\n    (") == 9  # 66 rows, 8 on a line
    assert "(63, (-9223372036854775807 - 1), 0)" in text
    assert "(65, 0, 2)" in text


def test_candidates_come_from_keys_up_to_radius_3_and_from_chunks_beyond():
    layout = sql.Layout(64)
    assert "bits(n, b0)" in sql.join(layout, radius=3)
    assert "bits(n, b0)" not in sql.join(layout, radius=4)
    assert "bits(n, b0)" not in sql.join(layout, radius=1, by="chunks")
    assert "bits(n, b0)" in sql.join(layout, radius=4, by="keys")


def test_a_table_joined_with_itself_removes_at_most_half_on_one_side():
    branches = re.findall(r"FROM (codes\w*) x JOIN (codes\w*) q", sql.join(sql.Layout(8), radius=3))
    assert branches == [
        ("codes", "codes_1"),
        ("codes", "codes_2"),
        ("codes", "codes_3"),
        ("codes_1", "codes_1"),
        ("codes_1", "codes_2"),
    ]


def test_names_of_tables_and_columns_are_used_as_given():
    text = sql.join(sql.Layout(8), left="shop.items", right="b", radius=0, id="item", pairs="items")
    assert "FROM shop.items" in text
    assert "MIN(item) AS code" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radius": -1}, "`radius` must be an integer of at least 0, got -1"),
        ({"radius": 1.5}, "`radius` must be an integer, got 1.5"),
        ({"left": "items; DROP TABLE items"}, "`items` must be a plain SQL name"),
        ({"right": 'a"b'}, "`items` must be a plain SQL name"),
        ({"id": ""}, "`id` must be a plain SQL name"),
        ({"by": "chunk"}, "Unknown by 'chunk'. Did you mean 'chunks'?"),
        ({"pairs": "rows"}, "Unknown pairs 'rows'"),
        ({"dialect": "mysql"}, "Unknown dialect 'mysql'"),
    ],
)
def test_what_cannot_be_written_is_refused(options, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        sql.join(sql.Layout(8), **{"radius": 1, **options})


def test_groups_in_a_dialect_without_endless_recursion_are_refused():
    assert "GROUP BY" in sql.group(sql.Layout(8), radius=0, dialect="spark")
    with pytest.raises(InvalidInputError, match="Groups with `radius` 1 take a recursion"):
        sql.group(sql.Layout(8), radius=1, dialect="spark")
