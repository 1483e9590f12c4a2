import contextlib
import decimal
import warnings

import numpy as np
import pyarrow as pa
import pytest

from kinhash.datasets.user_files.columns import Columns
from kinhash.datasets.user_files.doubtful import warn_of_doubtful
from kinhash.datasets.user_files.sources import Piece

RNG = np.random.default_rng(0)
N = 300


def told(columns, unnamed=None):
    names = tuple(columns)
    chosen = Columns(features=names, unnamed=names if unnamed is None else unnamed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_doubtful(chosen, Piece(pa.table(columns), "items.csv", 0))
    return [str(one.message) for one in caught]


@pytest.mark.parametrize(
    ("name", "look"),
    [
        ("id", "an id"),
        ("product_id", "an id"),
        ("productId", "an id"),
        ("SKU", "an id"),
        ("unitPrice", "a price"),
        ("price_eur", "a price"),
        ("created_at", "a date"),
        ("Year", "a date"),
    ],
)
def test_a_name_tells(name, look):
    (message,) = told({name: [0.5], "e0": [1]})
    assert f"Of the features in items.csv, `{name}` looks like {look}. Choose" in message


@pytest.mark.parametrize(
    ("values", "look"),
    [
        (np.arange(1000, 1000 + N), "an id"),
        (RNG.permutation(10**6)[:N], "an id"),
        (RNG.permutation(10**6)[:N].astype(float), "an id"),
        (1_700_000_000 + RNG.integers(10**7, size=N), "a date"),
        (1_700_000_000_000 + RNG.integers(10**7, size=N), "a date"),
        (RNG.choice([20240131, 19991231, 20200229], size=N), "a date"),
        ([decimal.Decimal("1.25")] * N, "a price"),
    ],
)
def test_values_tell(values, look):
    (message,) = told({"a": pa.array(values)})
    assert f"`a` looks like {look}" in message


@pytest.mark.parametrize(
    "values",
    [
        RNG.normal(size=N),
        RNG.integers(256, size=N),
        RNG.integers(2, size=N).astype(bool),
        np.arange(5),
        np.full(N, np.nan),
        np.sort(RNG.normal(size=N)),
    ],
)
def test_what_looks_like_a_feature_brings_no_warning(values):
    assert told({"a": pa.array(values)}) == []


def test_parts_of_a_vector_bring_no_warning():
    assert told({f"key_{i}": [0.5] for i in range(3)}) == []
    assert len(told({"key_1": [0.5], "e1": [1]})) == 1


def test_what_was_named_brings_no_warning():
    assert told({"price": [3], "year": [2000]}, unnamed=()) == []
    (message,) = told({"price": [3], "year": [2000]}, unnamed=("year",))
    assert "price" not in message


def test_all_are_in_one_warning():
    (message,) = told({"price": [3], "year": [2000]})
    assert "`price` looks like a price, `year` looks like a date." in message


def test_nothing_fails_on_odd_columns():
    with contextlib.suppress(UserWarning):
        assert told({"a": pa.array([None] * N, pa.int64()), "b": [float("inf")] * N}) == []
