import gzip

import pytest

from kinhash.datasets.user_files import delimited
from kinhash.datasets.user_files.delimited import delimited_source
from kinhash.datasets.user_files.reader import open_items
from kinhash.errors import InvalidInputError

ROLES = {"x": "features", "id": "ids"}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a text file that is read in blocks of a few lines."""
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 64)

    def write(text, name="items.csv"):
        path = tmp_path / name
        raw = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return path

    return write


def rows(source, roles, n_rows=None):
    found = [piece.table.to_pylist() for piece in source.pieces(roles, n_rows)]
    return [row for part in found for row in part]


def lines(values):
    return "id,x\n" + "".join(f"{i},{value}\n" for i, value in enumerate(values))


def test_later_blocks_may_have_fractions_and_words_for_ids(write):
    text = lines([*range(50), "0.5"]) + "sku-1,7\n"
    found = rows(delimited_source(write(text)), ROLES)
    assert [row["x"] for row in found] == [*range(50), 0.5, 7]
    assert [row["id"] for row in found] == [*map(str, range(51)), "sku-1"]


@pytest.mark.parametrize(("name", "sign"), [("items.tsv", "\t"), ("items.tsv.gz", "\t")])
def test_the_ending_says_what_separates_cells(write, name, sign):
    source = delimited_source(write(lines([1, 2]).replace(",", sign), name))
    assert rows(source, {"x": "features"}) == [{"x": 1}, {"x": 2}]


def test_pieces_have_the_number_of_their_first_row(write):
    source = delimited_source(write(lines(range(60))))
    row = 0
    for piece in source.pieces(ROLES, 3):
        assert (piece.first_row, piece.table.num_rows <= 3) == (row, True)
        row += piece.table.num_rows
    assert row == 60


def test_truth_values_are_numbers(write):
    source = delimited_source(write("x,y\ntrue,1\nfalse,2\n"))
    assert rows(source, {"x": "features"}) == [{"x": True}, {"x": False}]


@pytest.mark.parametrize("row", [0, 3, 57])
def test_a_word_among_numbers_is_named_with_its_row_and_column(write, row):
    values = [str(i) for i in range(60)]
    values[row], values[row - 1] = "red rose", "NaN"
    path = write("id,y,x\n" + "".join(f"a,b,{one}\n" for one in values))
    with pytest.raises(InvalidInputError) as caught:
        open_items(path, features="x").read()
    text = f"`x` in {path} must hold numbers, got the text 'red rose' in row {row}."
    assert str(caught.value).removesuffix(" Choose the columns that do.") == text


def test_ids_that_are_no_text_are_named_with_their_row(write):
    source = delimited_source(write(b"id,x\na,1\n\xff,2\n"))
    with pytest.raises(InvalidInputError, match=r"`id` .* text in UTF-8, got b'\\xff' in row 1\."):
        rows(source, ROLES)


def test_a_line_of_another_length_is_named(write):
    source = delimited_source(write(lines(range(50)) + "7,8,9\n"))
    with pytest.raises(InvalidInputError, match=r"cannot be read: .*Expected 2 columns, got 3"):
        rows(source, ROLES)


def test_a_compressed_file_cut_short_is_named(write):
    path = write(lines(range(5000)), "items.csv.gz")
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(InvalidInputError, match=r"items\.csv\.gz cannot be read: "):
        rows(delimited_source(path), ROLES)


def test_a_file_without_rows_is_refused(write):
    with pytest.raises(InvalidInputError, match="must have at least one row, but has none"):
        delimited_source(write("id,x\n"))


def test_two_columns_of_one_name_are_both_read(write):
    source = delimited_source(write("x,x,id\n1,2,3\n"))
    (piece,) = source.pieces(ROLES, None)
    assert [column.to_pylist() for column in piece.table.columns] == [[1], [2], ["3"]]


def test_another_sign_is_suggested_where_there_is_one_column(write):
    path = write("a|b\n1|2\n")
    with pytest.raises(InvalidInputError, match=r"'a\|b'\. .* separated by '\|', pass it as `deli"):
        delimited_source(path)
    assert delimited_source(path, "|").schema.names == ["a", "b"]
