import decimal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from kinhash.datasets import load
from kinhash.datasets.user_files.reader import open_items
from kinhash.errors import InvalidInputError


def csv(tmp_path, text):
    path = tmp_path / "mine.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def parquet(tmp_path, columns):
    path = tmp_path / "mine.parquet"
    pyarrow.parquet.write_table(pa.table(columns), path)
    return path


@pytest.fixture(params=["csv", "parquet"])
def write(request, tmp_path):
    """Write a table of plain columns in either format; return its path."""

    def write(columns):
        if request.param == "parquet":
            return parquet(tmp_path, columns)
        path = tmp_path / "mine.csv"
        pd.DataFrame(columns).to_csv(path, index=False)
        return path

    return write


def test_numeric_columns_are_the_vector_in_the_files_order(write):
    data = load(write({"b": [1, 2], "label": [7, 8], "a": [0.5, 1.5], "c": [True, False]}))
    np.testing.assert_array_equal(data.vectors, [[1, 0.5, 1], [2, 1.5, 0]])
    assert data.vectors.dtype == np.float32
    np.testing.assert_array_equal(data.labels, [7, 8])
    assert data.labels.dtype == np.int64
    assert data.names is None
    assert data.ids is None
    assert data.name == "mine"


def test_text_labels_become_numbers_in_alphabetical_order(write):
    data = load(write({"x": [1.0, 2.0, 3.0], "label": ["dog", "ant", "dog"]}))
    np.testing.assert_array_equal(data.labels, [1, 0, 1])
    assert data.names == ("ant", "dog")


def test_columns_can_be_chosen_by_name(write):
    path = write({"x": [1, 2], "kind": ["u", "v"], "label": [3, 4], "number": [30, 20]})
    data = load(path, labels="kind", ids="number")
    np.testing.assert_array_equal(data.vectors, [[1, 3], [2, 4]])
    np.testing.assert_array_equal(data.labels, [0, 1])
    np.testing.assert_array_equal(data.ids, [30, 20])


def test_a_column_called_id_is_no_part_of_the_vector(write):
    data = load(write({"id": [5, 6], "x": [1, 2]}))
    np.testing.assert_array_equal(data.ids, [5, 6])
    np.testing.assert_array_equal(data.vectors, [[1], [2]])


def test_an_empty_cell_of_the_vector_becomes_nan(write):
    data = load(write({"x": [1.0, None], "y": pd.array([None, 3], dtype="Int64")}))
    np.testing.assert_array_equal(data.vectors, [[1, np.nan], [np.nan, 3]])


def test_a_value_beyond_float32_becomes_infinite_without_a_warning(write):
    np.testing.assert_array_equal(load(write({"x": [1e300, 1.0]})).vectors, [[np.inf], [1]])


def test_a_column_that_is_not_there_is_answered_with_those_that_are(write):
    with pytest.raises(InvalidInputError, match=r"`labels` 'z' is no column of .*: x, y\."):
        load(write({"x": [1], "y": [2]}), labels="z")


@pytest.mark.parametrize(
    "labels",
    [
        pd.array([1, None, 2, None], dtype="Int64"),
        [1.0, None, 2.0, float("nan")],
        ["a", None, "b", ""],
        pd.array([True, None, False, None], dtype="boolean"),
        pd.Categorical(["a", None, "b", None]),
    ],
    ids=["integers", "floats", "text", "booleans", "categories"],
)
def test_missing_labels_are_refused_with_their_rows(write, labels):
    message = (
        r"^`label` in .* must have a label in each row, but 2 of 4 are missing: in rows 1, 3 "
        r"\(counted from 0\)\. Remove those rows from the file, or mark them with a label"
    )
    with pytest.raises(InvalidInputError, match=message):
        load(write({"x": [1, 2, 3, 4], "label": labels}))
    with pytest.raises(InvalidInputError, match=message):
        load(write({"x_0": [1, 2, 3, 4], "label": labels}), modalities=["x"])


def test_a_column_of_labels_with_nothing_in_it_is_refused(write):
    with pytest.raises(InvalidInputError, match=r"`label` in .* 2 of 2 are missing: in rows 0, 1 "):
        load(write({"x": [1, 2], "label": [None, None]}))


def test_an_empty_id_is_refused(write):
    with pytest.raises(InvalidInputError, match=r"`id` in .* 1 of 3 are empty"):
        load(write({"x": [1, 2, 3], "id": pd.array([1, None, 2], dtype="Int64")}))


def test_other_columns_are_left(write):
    path = write({"x": [1], "title": ["a"], "colour": ["red"], "label": [0]})
    items = open_items(path)
    np.testing.assert_array_equal(items.read().vectors, [[1]])
    assert items.columns.left == ("title", "colour")


def test_numbers_that_look_like_something_else_bring_a_warning(write):
    path = write({"x": [0.5, 1.5], "price": [3, 4], "text": ["a", "b"]})
    with pytest.warns(UserWarning, match=r"Of the features in .*, `price` looks like a price\. Ch"):
        data = load(path)
    np.testing.assert_array_equal(data.vectors, [[0.5, 3], [1.5, 4]])
    np.testing.assert_array_equal(load(path, features="x,price").vectors, [[0.5, 3], [1.5, 4]])
    np.testing.assert_array_equal(load(path, features="x").vectors, [[0.5], [1.5]])


def test_ids_may_be_strings(write):
    assert load(write({"x": [1, 2], "sku": ["a", "007"]}), ids="sku").ids.tolist() == ["a", "007"]


def test_nothing_about_ids_can_be_wrong_where_they_are_not_wanted(write):
    items = open_items(write({"x": [1, 2], "id": [1.5, None]}))
    assert items.read(with_ids=False).ids is None
    with pytest.raises(InvalidInputError, match="id"):
        items.read()


def test_texts_are_read_alone_or_beside_vectors(write):
    path = write({"x": [1, 2], "title": ["red", "blue"]})
    assert load(path, text="title").texts == ("red", "blue")
    assert load(path, text="title").vectors is None
    both = load(path, text="title", features="x")
    assert (both.texts, both.vectors.tolist()) == (("red", "blue"), [[1], [2]])
    with pytest.raises(InvalidInputError, match=r"`x` in .* must hold texts, got double"):
        load(parquet(path.parent, {"x": [1.5]}), text="x")


def test_texts_and_features_can_be_named_for_modalities(write):
    path = write({"e0": [1, 2], "e1": [3, 4], "name": ["red", "blue"]})
    data = load(path, modalities=["photo", "text"], features="e*", text="name")
    assert data.modalities["text"] == ("red", "blue")
    assert data.modalities["photo"].tolist() == [[1, 3], [2, 4]]


def test_batches_are_the_rows_in_order(write):
    n = 100
    path = write({"id": [f"i{i}" for i in range(n)], "x0": range(n), "x1": range(n, 2 * n)})
    items = open_items(path, features="x0,x1")
    batches = list(items.batches(30))
    assert [batch.first_row for batch in batches] == [0, 30, 60, 90]
    vectors = np.concatenate([batch.vectors for batch in batches])
    np.testing.assert_array_equal(vectors, np.arange(2 * n).reshape(2, n).T)
    assert vectors.dtype == np.float32
    assert [one for batch in batches for one in batch.ids] == [f"i{i}" for i in range(n)]


def test_labels_are_not_read_for_batches(write):
    items = open_items(write({"x": [1, 2], "label": ["a", None]}))
    assert next(items.batches()).vectors.tolist() == [[1], [2]]


def test_each_column_is_looked_at_a_few_times_however_many_there_are(monkeypatch):
    """Time in proportion to the square of the columns takes a minute with 3,000 of them."""
    n = 3000
    table = pa.table({f"x_{i}": [i, 0.5] for i in range(n)} | {"label": ["a", "b"], "id": [7, 8]})
    start = time.perf_counter()
    for options in ({}, {"modalities": ["x"]}, {"features": "x*"}):
        data = open_items(table, **options).read()
        np.testing.assert_array_equal(data.vectors, [np.arange(n), np.full(n, 0.5)])
    assert time.perf_counter() - start < 10


def test_fractions_are_no_class_numbers(write):
    with pytest.raises(InvalidInputError, match=r"`part` in .* whole numbers .* got 0\.5 in row 0"):
        load(write({"x": [1, 2], "part": [0.5, 1.0]}), labels="part")


def test_a_table_without_vectors_is_refused(write):
    with pytest.raises(InvalidInputError, match="must have numeric columns for the vectors"):
        load(write({"label": [1, 2], "id": [1, 2]}))


def test_a_table_without_rows_is_refused(write):
    with pytest.raises(InvalidInputError, match="must have at least one row, but has none"):
        load(write({"x": pd.array([], dtype="float64")}))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_index_that_pandas_writes_is_no_part_of_the_vector(tmp_path, suffix):
    frame = pd.DataFrame({"x": [1.0, 2.0]}, index=[4, 7])
    path = tmp_path / f"mine.{suffix}"
    frame.to_csv(path) if suffix == "csv" else frame.to_parquet(path)
    np.testing.assert_array_equal(load(path).vectors, [[1], [2]])
    name = "" if suffix == "csv" else "__index_level_0__"
    assert open_items(path).columns.left == (name,)


def test_an_empty_csv_file_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"mine\.csv cannot be read: Empty CSV file\."):
        load(csv(tmp_path, ""))


def test_a_csv_line_of_another_length_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"cannot be read: .*Expected 2 columns, got 3"):
        load(csv(tmp_path, "a,b\n1,2\n1,2,3\n"))


@pytest.mark.parametrize("text", ["0.5,1.5\n2,3\n", "4,7\n2,3\n"])
def test_a_csv_file_without_a_header_is_refused_rather_than_losing_its_first_item(tmp_path, text):
    with pytest.raises(InvalidInputError, match="must start with a line of column names"):
        load(csv(tmp_path, text))


@pytest.mark.parametrize(
    "text", ["x,label\r\n5,a\r\n", "\ufeffx,label\n5,a", 'x,"label"\n5,"a"\n\n']
)
def test_the_usual_dialects_of_csv_are_understood(tmp_path, text):
    data = load(csv(tmp_path, text))
    np.testing.assert_array_equal(data.vectors, [[5]])
    assert data.names == ("a",)


@pytest.mark.parametrize("header", ["0,1", "1,2"])
def test_csv_columns_may_be_numbered(tmp_path, header):
    np.testing.assert_array_equal(load(csv(tmp_path, f"{header}\n5,6\n")).vectors, [[5, 6]])


def test_a_csv_column_of_the_same_name_twice_counts_twice_in_the_vector(tmp_path):
    data = load(csv(tmp_path, "x,x,label\n1,2,0\n"))
    np.testing.assert_array_equal(data.vectors, [[1, 2]])
    with pytest.raises(InvalidInputError, match="has label and label, of which only one"):
        load(csv(tmp_path, "x,label,label\n1,2,0\n"))


def test_csv_names_that_are_not_text_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match=r"mine\.csv cannot be read: .*utf-8"):
        load(csv(tmp_path, b"x,\xff\n1,2\n"))


def test_csv_bytes_that_are_not_text_are_refused(tmp_path):
    with pytest.raises(
        InvalidInputError, match=r"`label` in .* in UTF-8, got b'.xff.xfe' in row 0"
    ):
        load(csv(tmp_path, b"x,label\n1,\xff\xfe\n"))


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32(), 3), pa.list_(pa.float64()), pa.large_list(pa.int16())]
)
def test_a_parquet_column_of_lists_is_the_vectors(tmp_path, kind):
    lists = pa.array([[1, 2, 3], [4, 5, 6]], kind)
    data = load(
        parquet(tmp_path, {"id": [8, 9], "title": ["a", "b"], "price": [1.0, 2], "v": lists})
    )
    np.testing.assert_array_equal(data.vectors, [[1, 2, 3], [4, 5, 6]])
    assert data.vectors.dtype == np.float32
    np.testing.assert_array_equal(data.ids, [8, 9])


def test_lists_in_several_row_groups_stay_in_order(tmp_path):
    values = np.random.default_rng(0).random((100, 4)).astype(np.float32)
    path = tmp_path / "mine.parquet"
    table = pa.table({"v": pa.array(list(values)), "label": [str(i % 3) for i in range(100)]})
    pyarrow.parquet.write_table(table, path, row_group_size=7)
    data = load(path)
    np.testing.assert_array_equal(data.vectors, values)
    np.testing.assert_array_equal(data.labels, np.arange(100) % 3)


def test_the_name_of_a_folder_is_no_part_of_the_vector(tmp_path):
    folder = tmp_path / "year=2024"
    folder.mkdir()
    np.testing.assert_array_equal(load(parquet(folder, {"x": [1, 2]})).vectors, [[1], [2]])


def test_several_columns_of_lists_must_be_chosen_from(tmp_path):
    path = parquet(tmp_path, {"v": [[1.0, 2.0]], "w": [[3.0]]})
    with pytest.raises(InvalidInputError, match=r"several columns of lists: v, w\. Name one"):
        load(path)
    np.testing.assert_array_equal(load(path, features="w").vectors, [[3]])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([[1.0], [1.0, 2.0]], "lists of one length, got 1 in row 0 and 2 in row 1"),
        ([[1.0], None], "1 of 2 are empty"),
        ([["a"], ["b"]], r"must hold lists of numbers, got list<.*string>"),
        ([[], []], "lists of at least one number, got empty ones"),
    ],
)
def test_impossible_lists_are_refused(tmp_path, column, message):
    kind = pa.list_(pa.float32()) if column == [[], []] else None
    path = parquet(tmp_path, {"v": pa.array(column, kind), "x": [1, 2]})
    with pytest.raises(InvalidInputError, match=message):
        load(path, features="v")


def test_an_empty_value_inside_a_list_becomes_nan(tmp_path):
    data = load(parquet(tmp_path, {"v": [[1.0, None], [3.0, 4.0]]}))
    np.testing.assert_array_equal(data.vectors, [[1, np.nan], [3, 4]])


def test_parquet_categories_and_decimals_are_understood(tmp_path):
    path = parquet(
        tmp_path,
        {
            "e": pa.array([decimal.Decimal("1.25"), decimal.Decimal("2.50")]),
            "label": pa.array(["u", "t"]).dictionary_encode(),
        },
    )
    data = load(path, features="e")
    np.testing.assert_array_equal(data.vectors, [[1.25], [2.5]])
    np.testing.assert_array_equal(data.labels, [1, 0])
    assert data.names == ("t", "u")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"a,b\n1,2\n" * 10])
def test_a_foreign_parquet_file_is_named(tmp_path, content):
    path = tmp_path / "mine.parquet"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"mine\.parquet cannot be read: "):
        load(path)


def test_a_damaged_parquet_file_is_named(tmp_path):
    path = parquet(tmp_path, {"x": np.random.default_rng(0).random(1000)})
    content = bytearray(path.read_bytes())
    content[4:200] = bytes(196)
    path.write_bytes(bytes(content))
    with pytest.raises(InvalidInputError, match=r"mine\.parquet cannot be read: "):
        load(path)


def test_without_pyarrow_the_extra_is_named(tmp_path):
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from kinhash.datasets import load\n"
        "from kinhash.errors import MissingExtraError\n"
        "try: load(sys.argv[1])\n"
        "except MissingExtraError as error: sys.stdout.write(str(error))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, csv(tmp_path, "x\n1\n")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == (
        "Reading tables needs pyarrow. Install it with: pip install 'kinhash[files]'"
    )


def test_columns_make_up_the_modalities(write):
    data = load(
        write(
            {
                "title": ["red rose", "blue sky"],
                "photo_0": [1, 2],
                "price": [7, 8],
                "photo_1": [0.5, 1.5],
                "label": ["a", "b"],
                "id": [5, 6],
            }
        ),
        modalities=["photo", "title"],
    )
    np.testing.assert_array_equal(data.modalities["photo"], [[1, 0.5], [2, 1.5]])
    assert data.modalities["title"] == ("red rose", "blue sky")
    assert (data.names, data.ids.tolist()) == (("a", "b"), [5, 6])


def test_a_text_that_is_not_there_is_empty(write):
    path = write({"title": ["red", None, "blue"], "x_0": [1, 2, 3], "x_1": [3, 2, 1]})
    assert load(path, modalities=["x", "title"]).modalities["title"] == ("red", "", "blue")


def test_a_list_column_is_a_modality(tmp_path):
    path = parquet(tmp_path, {"photo": [[1.0, 2.0], [3.0, 4.0]], "title": ["a", "b"]})
    data = load(path, modalities=["photo", "title"])
    np.testing.assert_array_equal(data.modalities["photo"], [[1, 2], [3, 4]])


def test_one_modality_may_be_the_numbers_of_a_table(write):
    data = load(write({"a": [1, 2], "b": [3, 4], "label": [0, 1]}), modalities=["image"])
    np.testing.assert_array_equal(data.modalities["image"], [[1, 3], [2, 4]])


def test_a_modality_without_columns_is_named_with_what_there_is(write):
    path = write({"title": ["red", "blue"], "a": [1, 2]})
    with pytest.raises(InvalidInputError) as caught:
        load(path, modalities=["photo", "title"])
    assert str(caught.value) == (
        f"{path} has no modality 'photo': neither a column of that name nor photo_0, photo_1, .... "
        "Its columns: title, a."
    )


def test_a_modality_of_a_single_number_is_refused(write):
    path = write({"title": ["red", "blue"], "photo": [1, 2]})
    with pytest.raises(InvalidInputError, match=r"texts or lists of numbers, got \w+\. Num"):
        load(path, modalities=["photo", "title"])


def test_a_modality_in_two_columns_is_refused(tmp_path):
    path = csv(tmp_path, "title,title,photo_0\na,b,1\nc,d,2\n")
    with pytest.raises(InvalidInputError, match=r"has two columns 'title'\. Rename one\."):
        load(path, modalities=["photo", "title"])
