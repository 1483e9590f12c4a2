"""Tables of each library as Arrow, and what their columns hold."""

import decimal
import subprocess
import sys

import datasets
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash import tables
from kinhash.errors import InvalidInputError

V = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture
def table():
    """A column of vectors, one of texts and one of numbers."""
    lists = pa.FixedSizeListArray.from_arrays(pa.array(V.ravel()), 3)
    return pa.table({"v": lists, "title": ["a", "b", None, "d"], "n": [4, 3, 2, 1]})


def hugging_face(table):
    return datasets.Dataset(table)


LIBRARIES = {
    "table": lambda table: table,
    "batch": lambda table: table.to_batches()[0],
    "reader": lambda table: table.to_reader(max_chunksize=3),
    "polars": pl.from_arrow,
    "lazy": lambda table: pl.from_arrow(table).lazy(),
    "pandas": lambda table: table.to_pandas(),
    "pandas with an index": lambda table: table.to_pandas().set_index(pd.Index([9, 8, 7, 6])),
    "duckdb": duckdb.from_arrow,
    "hugging face": hugging_face,
    "hugging face, chosen rows": lambda table: hugging_face(
        pa.concat_tables([table, table])
    ).select([4, 1, 6, 3]),
}


@pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES)
def test_a_table_of_any_library_is_the_same_table(table, make):
    found = tables.as_table(make(table))
    assert isinstance(found, pa.Table)
    assert found.column_names == ["v", "title", "n"]
    assert found.column("n").to_pylist() == [4, 3, 2, 1]
    assert tables.texts(found.column("title"), "`title`") == ["a", "b", "", "d"]
    np.testing.assert_array_equal(tables.vectors(found, ["v"]), V)
    assert tables.vectors(found, ["v"]).dtype == np.float32


COLUMNS = {
    "array": lambda table: table.column("v").chunk(0),
    "chunks": lambda table: table.column("v"),
    "polars": lambda table: pl.from_arrow(table)["v"],
    "pandas": lambda table: table.to_pandas()["v"],
    "hugging face": lambda table: hugging_face(table)["v"],
}


@pytest.mark.parametrize("make", COLUMNS.values(), ids=COLUMNS)
def test_a_single_column_is_a_table_of_one(table, make):
    found = tables.as_table(make(table))
    assert len(found.column_names) == 1
    np.testing.assert_array_equal(tables.vectors(found), V)


@pytest.mark.parametrize("make", ["table", "batch", "reader", "polars", "lazy"])
def test_vectors_that_lie_ready_are_not_copied(table, make):
    before = LIBRARIES[make](table.select(["v"]))
    if make == "reader":
        before = table.select(["v"]).to_reader()
    own = table.column("v").chunk(0).flatten().to_numpy()
    assert np.shares_memory(tables.vectors(tables.as_table(before)), own)


def test_the_unnamed_index_of_pandas_is_no_column():
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=[4, 7])
    assert tables.as_table(frame).column_names == ["a"]
    assert tables.as_table(frame["a"]).column_names == ["a"]


@pytest.mark.parametrize("data", [V, [[1.0]], "text", None, 3, pa.Table, {"a": [1]}], ids=str)
def test_what_is_no_table_is_none(data):
    assert tables.as_table(data) is None


def test_one_of_several_data_sets_must_be_chosen(table):
    with pytest.raises(InvalidInputError, match=r"several data sets, train, test\. Choose one"):
        tables.as_table(datasets.DatasetDict(train=hugging_face(table), test=hugging_face(table)))
    with pytest.raises(InvalidInputError, match=r"no length\. Load it without streaming=True"):
        tables.as_table(hugging_face(table).to_iterable_dataset())


def test_a_frame_that_arrow_cannot_hold_is_named():
    with pytest.raises(InvalidInputError, match="The DataFrame cannot be read as a table: "):
        tables.as_table(pd.DataFrame({"a": [1, "b", [3]]}))


KINDS = (pa.float32(), pa.float64(), pa.float16(), pa.int16(), pa.uint8())


@given(st.integers(1, 4), st.lists(st.integers(0, 5), min_size=1, max_size=4), st.data())
def test_lists_are_vectors_however_they_are_stored(width, lengths, data):
    wanted, chunks = [], []
    inner = data.draw(st.sampled_from(KINDS))
    outer = data.draw(
        st.sampled_from([pa.list_(inner), pa.large_list(inner), pa.list_(inner, width)])
    )
    for length in lengths:
        rows = data.draw(
            st.lists(
                st.lists(st.integers(0, 99), min_size=width, max_size=width),
                min_size=length + 2,
                max_size=length + 2,
            )
        )
        made = [[np.float16(x) if inner == pa.float16() else x for x in row] for row in rows]
        chunks.append(pa.array(made, outer).slice(1, length))  # an offset before, values after
        wanted += rows[1 : length + 1]
    column = pa.chunked_array(chunks)
    if not wanted:
        with pytest.raises(InvalidInputError, match="at least one row, but has none"):
            tables.vectors(pa.table({"v": column}))
        return
    found = tables.vectors(pa.table({"v": column}))
    assert found.dtype == np.float32
    assert found.tolist() == wanted


def test_numeric_columns_are_vectors_in_the_order_asked_for():
    table = pa.table(
        {
            "a": [1, 2],
            "b": [True, None],
            "c": pa.array([5, 6]).dictionary_encode(),
            "d": [decimal.Decimal("1.25"), decimal.Decimal("2.50")],
            "e": [1e300, 0.5],
        }
    )
    np.testing.assert_array_equal(
        tables.vectors(table), [[1, 1, 5, 1.25, np.inf], [2, np.nan, 6, 2.5, 0.5]]
    )
    np.testing.assert_array_equal(tables.vectors(table, ["d", "a"]), [[1.25, 1], [2.5, 2]])


def test_two_columns_of_one_name_are_both_taken():
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    np.testing.assert_array_equal(tables.vectors(table), [[1, 2]])


def test_a_tensor_column_is_its_lists():
    column = pa.FixedShapeTensorArray.from_numpy_ndarray(V)
    np.testing.assert_array_equal(tables.vectors(pa.table({"v": column})), V)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"v": [[1.0], [1.0, 2.0]]}, "one length, got 1 in row 0 and 2 in row 1"),
        ({"v": pa.chunked_array([[[1.0]], [[1.0], [2.0, 3.0]]])}, "got 1 in row 0 and 2 in row 2"),
        ({"v": [[1.0], None, None]}, r"2 of 3 are empty: the first in row 1\."),
        ({"v": pa.array([[], []], pa.list_(pa.float32()))}, "lists of at least one number"),
        ({"v": [[1.0]], "w": [[2.0]]}, "several columns of lists: v, w. Choose one"),
        ({"x": ["1.5", None, "red rose"]}, "must hold numbers, got the text 'red rose' in row 2"),
        ({"x": [1], "day": pa.array([3], pa.date32())}, "`day` in .* got date32"),
        ({"v": [["a"], ["b"]]}, r"must hold lists of numbers, got list<.*string>"),
        ({}, "must have numeric columns for the vectors, but has none"),
    ],
)
def test_what_cannot_be_vectors_is_said_with_its_row(columns, message):
    with pytest.raises(InvalidInputError, match=message):
        tables.vectors(pa.table(columns))


def test_a_column_that_is_not_there_is_answered_with_the_nearest(table):
    with pytest.raises(InvalidInputError, match=r"'titles' is no column\. .* mean 'title'\?"):
        tables.vectors(table, ["titles"])


def test_lists_beside_numbers_are_not_mixed(table):
    with pytest.raises(InvalidInputError, match=r"`v` in .* whole vectors\. Choose it alone"):
        tables.vectors(table, ["n", "v"])


def test_texts_may_be_categories():
    assert tables.texts(pa.array(["a", None]).dictionary_encode(), "`t`") == ["a", ""]
    with pytest.raises(InvalidInputError, match="`t` must hold texts, got int64"):
        tables.texts(pa.array([1]), "`t`")


NAMES = ["sku", "e0", "e1", "e10", "price", "a,b", "x[0]"]


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        ("e*", ["e0", "e1", "e10"]),
        ("e?", ["e0", "e1"]),
        ("price, e1", ["price", "e1"]),
        (["e1", "e*"], ["e1", "e0", "e10"]),
        ("a,b", ["a,b"]),
        ("x[0]", ["x[0]"]),
        ("e[01]", ["e0", "e1"]),
    ],
)
def test_columns_are_chosen_by_name_or_pattern(patterns, chosen):
    assert tables.matching(NAMES, patterns, option="features") == chosen


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("f*", r"`features` 'f\*' matches no column\. The columns: sku, e0, e1, e10, price and 2 "),
        ("prize", r"`features` 'prize' is no column\. Did you mean 'price'\? The columns: sku, "),
        ("E0", "'E0' is no column"),
    ],
)
def test_a_pattern_that_matches_nothing_is_said(pattern, message):
    with pytest.raises(InvalidInputError, match=message):
        tables.matching(NAMES, ["sku", pattern], option="features")


def test_the_file_is_named_and_what_has_the_names():
    with pytest.raises(InvalidInputError) as caught:
        tables.matching(["a"], "b", option="features", source="x.npz", kind="array")
    assert str(caught.value) == "`features` 'b' is no array of x.npz. The arrays: a."
    error = tables.no_column("ids", "b", [], source="x.csv")
    assert str(error) == "`ids` 'b' is no column of x.csv. It has no columns."


@pytest.mark.parametrize(
    ("column", "ids"),
    [
        (pa.array([3, 2], pa.uint8()), [3, 2]),
        (pa.array([3.0, 2.0]), [3, 2]),
        (pa.chunked_array([["b"], ["007"]]), ["b", "007"]),
        (pa.array(["b", "a"]).dictionary_encode(), ["b", "a"]),
    ],
)
def test_ids_are_whole_numbers_or_strings(column, ids):
    found = tables.ids(column, "`id`")
    assert found.dtype == (np.int64 if type(ids[0]) is int else object)
    assert found.tolist() == ids


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([1, None, 3]), r"`id` must have an id .* 1 of 3 are empty: the first in row 6\."),
        (pa.array(["a", "b", None]), r"the first in row 7\."),
        (pa.array([1.5]), r"whole numbers that fit into 64 bits, got 1\.5 in row 5"),
        (pa.array([2**63], pa.uint64()), "got 9223372036854775808 in row 5"),
        (pa.array([3], pa.date32()), "must hold whole numbers or texts as ids, got date32"),
        (pa.array([True]), "must hold whole numbers or texts as ids, got bool"),
    ],
)
def test_what_cannot_be_an_id_is_said_with_its_row(column, message):
    with pytest.raises(InvalidInputError, match=message):
        tables.ids(column, "`id`", first_row=5)


def test_lists_keep_the_length_of_the_rows_before():
    table = pa.table({"v": [[1.0, 2.0], [1.0]]})
    with pytest.raises(InvalidInputError, match="got 3 in the rows before and 2 in row 7"):
        tables.vectors_at(table, [0], source="x", first_row=7, width=3)


def test_no_library_is_imported_for_what_is_not_its_own():
    program = (
        "import sys, numpy\n"
        "from kinhash import tables\n"
        "assert tables.as_table(numpy.eye(2)) is None\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not set(done.stdout.split()) & {"pandas", "polars", "pyarrow", "torch", "datasets"}


def test_without_pyarrow_the_extra_is_named():
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from kinhash import tables\n"
        "from kinhash.errors import MissingExtraError\n"
        "class Table: __arrow_c_stream__ = None\n"
        "try: tables.as_table(Table())\n"
        "except MissingExtraError as error: sys.stdout.write(str(error))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        "Reading tables needs pyarrow. Install it with: pip install 'kinhash[files]'"
    )
