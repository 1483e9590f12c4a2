"""Labels keep their types, and missing ones are told, whatever holds them."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from kinhash.errors import InvalidInputError
from kinhash.labels import check_complete, class_numbers, joined, label_array, missing_rows

NAT = np.datetime64("NaT")
DAY = np.datetime64("2024-02-29")

# Four labels each, of which those in rows 1 and 3 are missing.
INCOMPLETE = {
    "None in a list": ["a", None, "b", None],
    "NaN among strings": ["a", float("nan"), "b", np.nan],
    "NaN among integers": [1, np.nan, 2, float("nan")],
    "None among integers": [1, None, 2, None],
    "None and NaN in a tuple": (1, None, "b", np.nan),
    "pandas.NA in a list": ["a", pd.NA, "b", pd.NA],
    "pandas.NaT in a list": [pd.Timestamp("2024-02-29"), pd.NaT, "b", pd.NaT],
    "an array of objects": np.array(["a", None, 2, np.nan], dtype=object),
    "an array of floats": np.array([0.0, np.nan, 1.0, np.nan]),
    "an array of float32": np.array([0, np.nan, 1, np.nan], np.float32),
    "an array of dates": np.array([DAY, NAT, DAY, NAT]),
    "an array of strings that may be missing": np.array(
        ["a", None, "b", None], dtype=np.dtypes.StringDType(na_object=None)
    ),
    "a masked array": np.ma.array([1, 2, 3, 4], mask=[False, True, False, True]),
    "pandas objects": pd.Series(["a", None, "b", np.nan], dtype=object),
    "pandas strings": pd.Series(["a", None, "b", None], dtype="string"),
    "pandas text": pd.Series(["a", None, "b", None]),
    "pandas integers": pd.Series([1, None, 2, None], dtype="Int64"),
    "pandas booleans": pd.Series([True, None, False, None], dtype="boolean"),
    "pandas categories": pd.Series(["a", None, "b", None], dtype="category"),
    "pandas categories of numbers": pd.Categorical([1, None, 2, None]),
    "pandas dates": pd.Series(pd.to_datetime(["2024-02-29", None, "2024-03-01", None])),
    "a pandas frame of one column": pd.DataFrame({"label": ["a", None, "b", None]}),
    "Polars strings": pl.Series(["a", None, "b", None]),
    "Polars integers": pl.Series([1, None, 2, None]),
    "Polars floats": pl.Series([1.0, None, 2.0, float("nan")]),
    "Polars booleans": pl.Series([True, None, False, None]),
    "Polars categories": pl.Series(["a", None, "b", None], dtype=pl.Categorical),
    "Polars dates": pl.Series([dt.date(2024, 2, 29), None] * 2),
    "a Polars frame of one column": pl.DataFrame({"label": ["a", None, "b", None]}),
    "tags in a list": [[0, 1], [None, 1], [1, 0], [0, None]],
    "tags in an array": np.array([[0, 1], [np.nan, 1], [1, 0], [0, np.nan]]),
    "tags in a pandas frame": pd.DataFrame({"x": [0, None, 1, 0], "y": [1, 1, 0, None]}),
    "tags in a Polars frame": pl.DataFrame({"x": [0, None, 1, 0], "y": [1, 1, 0, None]}),
    "sparse tags": scipy.sparse.csr_array([[0, 1], [np.nan, 1], [1, 0], [0, np.nan]]),
}


@pytest.mark.parametrize("labels", INCOMPLETE.values(), ids=INCOMPLETE)
def test_missing_labels_are_found(labels):
    assert missing_rows(label_array("`y`", labels)).tolist() == [False, True, False, True]


COMPLETE = {
    "strings": ["a", "b", "nan", "None"],
    "an empty string": ["a", "", "b", "b"],
    "integers": [1, 2, 3, 4],
    "booleans": np.array([True, False, True, True]),
    "bytes": [b"a", b"b", b"", b"c"],
    "objects": [1, "1", 2.5, ("a", 1)],
    "infinity": [0.0, np.inf, 1.0, 1.0],
    "dates": np.array([DAY] * 4),
    "pandas categories": pd.Series(list("abab"), dtype="category"),
    "Polars strings": pl.Series(list("abab")),
    "tags": np.eye(4),
    "sparse tags": scipy.sparse.csr_array(np.eye(4)),
}


@pytest.mark.parametrize("labels", COMPLETE.values(), ids=COMPLETE)
def test_other_labels_are_not_missing(labels):
    if labels is COMPLETE["objects"]:
        labels = pd.Series(labels, dtype=object)
    assert not missing_rows(label_array("`y`", labels)).any()


def test_a_complaint_says_how_many_are_missing_where_and_what_to_do():
    missing = np.zeros(200, bool)
    check_complete("`y`", missing, drop="Drop those rows from `X` and `y`")
    missing[17] = True
    message = (
        r"^`y` must have a label in each row, but 1 of 200 are missing: in row 17 \(counted from "
        r"0\)\. Drop those rows from `X` and `y`, or mark them with a label of their own\.$"
    )
    with pytest.raises(InvalidInputError, match=message):
        check_complete("`y`", missing, drop="Drop those rows from `X` and `y`")
    missing[::20] = True
    message = r"11 of 200 are missing: in rows 0, 17, 20, 40, 60, \.\.\. \(counted from 0\)"
    with pytest.raises(InvalidInputError, match=message):
        check_complete("`y`", missing, drop="Drop them")


@pytest.mark.parametrize(
    ("labels", "numbers"),
    [
        ([10, 2, 10], [1, 0, 1]),
        (["b", "a", "b"], [1, 0, 1]),
        ([1, "1", 1, "1"], [0, 1, 0, 1]),
        ([b"1", "1", 1], [2, 1, 0]),
        ([1, 1.0, True], [0, 0, 0]),
        (np.array([2, "a", ("a", 1), 2], dtype=object), [1, 2, 0, 1]),
        (pd.Series([1, "1", 1], dtype=object), [0, 1, 0]),
        (pl.Series(["b", "a"]), [1, 0]),
        (np.array([DAY, DAY + 1, DAY]), [0, 1, 0]),
    ],
    ids=str,
)
def test_classes_are_numbered_and_different_labels_stay_different(labels, numbers):
    assert class_numbers(label_array("`y`", labels)).tolist() == numbers


def test_numbers_and_strings_that_look_the_same_do_not_become_one_when_joined():
    both = joined([np.array([1, 2]), np.array(["1", "2"])])
    assert class_numbers(both).tolist() == [0, 2, 1, 3]
    numbers = joined([np.array([1, 2]), np.array([1.0, 2.5])])
    assert class_numbers(numbers).tolist() == [0, 1, 0, 2]
    assert joined([np.array(["a"]), np.array(["bc"])]).tolist() == ["a", "bc"]


def test_labels_that_cannot_be_compared_are_refused():
    labels = np.empty(2, dtype=object)
    labels[:] = [[1], [2]]
    with pytest.raises(InvalidInputError, match=r"A label must be a number, a string .*'list'"):
        class_numbers(labels)


def test_rows_of_different_lengths_are_refused():
    with pytest.raises(InvalidInputError, match="`y` must hold one label per row, or rows of tags"):
        label_array("`y`", [[0, 1], [1]])
