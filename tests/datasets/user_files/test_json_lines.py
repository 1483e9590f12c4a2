import gzip
import json

import pytest

from kinhash.datasets.user_files import json_lines
from kinhash.datasets.user_files.json_lines import json_lines_source
from kinhash.errors import InvalidInputError

ROLES = {"v": "features", "id": "ids"}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file that is read in blocks of a few lines."""
    monkeypatch.setattr(json_lines, "BLOCK_BYTES", 64)

    def write(items, name="items.jsonl"):
        path = tmp_path / name
        raw = items
        if not isinstance(items, bytes):
            raw = "".join(json.dumps(item) + "\n" for item in items).encode()
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return path

    return write


def rows(source, roles, n_rows=None):
    found = [piece.table.to_pylist() for piece in source.pieces(roles, n_rows)]
    return [row for part in found for row in part]


@pytest.mark.parametrize("name", ["items.jsonl", "items.jsonl.gz"])
def test_lists_of_numbers_are_read_whatever_the_first_ones_were(write, name):
    items = [{"id": f"i{i}", "v": [i, 2], "more": {"a": 1}} for i in range(50)]
    items += [{"v": [0.5, None], "id": "last", "new": 3}]
    source = json_lines_source(write(items, name))
    found = rows(source, ROLES)
    assert [row["v"] for row in found] == [item["v"] for item in items]
    assert [row["id"] for row in found] == [item["id"] for item in items]


def test_pieces_have_the_number_of_their_first_row(write):
    source = json_lines_source(write([{"v": [1.0]}] * 60))
    row = 0
    for piece in source.pieces({"v": "features"}, 3):
        assert (piece.first_row, piece.table.num_rows <= 3) == (row, True)
        row += piece.table.num_rows
    assert row == 60


def test_texts_that_look_like_dates_are_texts(write):
    source = json_lines_source(write([{"id": "2024-01-31 10:00:00", "v": 1}]))
    assert rows(source, ROLES) == [{"v": 1, "id": "2024-01-31 10:00:00"}]


def test_a_field_that_a_line_lacks_is_empty(write):
    source = json_lines_source(write([{"v": 1, "id": 2}, {"id": 3}, {"v": None, "id": 4}]))
    assert [row["v"] for row in rows(source, ROLES)] == [1, None, None]


@pytest.mark.parametrize(
    ("last", "message"),
    [
        (
            {"id": "a", "v": ["x"]},
            r"`v` in .* hold lists of numbers in all rows, got \"x\" in r",
        ),
        ({"id": "a", "v": 3}, r"`v` in .* hold lists of numbers in all rows, got 3 in row 40"),
        ({"id": 7, "v": [3]}, r"`id` in .* must hold texts in all rows, got 7 in row 40"),
        ([1], r"must hold a JSON object in each line, got '\[1\]' in row 40"),
    ],
)
def test_a_value_of_another_kind_is_named_with_its_row_and_field(write, last, message):
    source = json_lines_source(write([{"id": "a", "v": [1]}] * 40 + [last]))
    with pytest.raises(InvalidInputError, match=message):
        rows(source, ROLES)


def test_a_line_that_is_no_json_is_named(write):
    lines = b'{"v": [1]}\n' * 40
    source = json_lines_source(write(lines + b"{'v': [1]}\n"))
    with pytest.raises(InvalidInputError, match=r"but row 40 is none: Expecting property name"):
        rows(source, {"v": "features"})


def test_a_file_that_is_being_written_is_told_by_its_last_line(write):
    source = json_lines_source(write(b'{"v": [1]}\n' * 40 + b'{"v": ['))
    with pytest.raises(InvalidInputError, match=r"row 40 is none: .* may be cut short: it has no"):
        rows(source, {"v": "features"})


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_a_file_without_rows_is_refused(write, content):
    with pytest.raises(InvalidInputError, match="must have at least one row, but has none"):
        json_lines_source(write(content))


def test_a_compressed_file_cut_short_is_named(write):
    path = write([{"v": [i, i * i]} for i in range(5000)], "items.jsonl.gz")
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(InvalidInputError, match=r"items\.jsonl\.gz cannot be read: "):
        rows(json_lines_source(path), {"v": "features"})
