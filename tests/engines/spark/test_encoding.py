import numpy as np
import pyarrow as pa
import pytest

from kinhash.engines.layout import Layout
from kinhash.engines.spark import encode
from kinhash.engines.spark.columns import layout_of
from kinhash.engines.spark.session import failures
from kinhash.errors import InvalidInputError, NotFittedError
from kinhash.methods import ITQ, LSH, ClassCode, Nested


def frame(spark, X, **more):
    rows = {"id": np.arange(len(X)), "embedding": list(X), **more}
    return spark.createDataFrame(pa.table(rows)).repartition(3)


def codes_of(df, layout):
    found = df.orderBy("id").toArrow()
    return layout.codes({name: found[name].to_numpy() for name in layout.columns})


def test_codes_are_those_of_the_model_and_other_columns_stay(spark, X, model):
    found = encode(frame(spark, X, price=np.arange(300.0)), model)
    assert found.columns == ["id", "price", "w0", "w1"]
    assert codes_of(found, Layout(70)) == model.encode(X)
    assert found.where("price <> id").count() == 0


def test_rank_bits_and_columns_of_numbers_are_taken(spark, X):
    nested = Nested(bucket=ClassCode(), rank=ITQ(), n_bits=40, n_rank_bits=5)
    nested.fit(X, np.arange(300) % 3)
    columns = {f"e{i}": X[:, i].astype(float) for i in range(6)}
    table = spark.createDataFrame(pa.table({"id": np.arange(300), **columns}))
    found = encode(table, nested.encoder_, vector=list(columns), keep=["id"])
    assert found.columns == ["id", "w0", "r0"]
    assert codes_of(found, Layout(40, n_rank_bits=5)) == nested.encode(X)


def test_the_columns_say_how_long_codes_are_and_parquet_keeps_it(spark, X, model, tmp_path):
    found = encode(frame(spark, X), model)
    found.write.parquet(str(tmp_path / "codes"))
    read = spark.read.parquet(str(tmp_path / "codes"))
    assert layout_of("df", read) == Layout(70)
    assert codes_of(read, Layout(70)) == model.encode(X)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (
            {},
            {"vector": "embeddinx"},
            "`vector` 'embeddinx' is no column of `df`. Did you mean 'embedding'",
        ),
        ({}, {"keep": ["price"]}, "`keep` 'price' is no column of `df`. The columns: id"),
        ({"embedding": ["x"] * 9}, {}, "`embedding` must hold arrays of numbers, got string"),
        ({"w1": range(9)}, {}, "two columns `w1`: the codes take w0, w1"),
        ({}, {"vector": []}, r"`vector` must name different columns, got \[\]"),
        ({}, {"vector": ["id", "price"]}, "must be 6, as the model takes, got 2"),
    ],
)
def test_columns_that_do_not_fit_are_named_at_once(spark, X, model, change, options, message):
    columns = {"id": range(9), "embedding": list(X[:9])} | change
    if options.get("vector") == ["id", "price"]:
        columns["price"] = range(9)
    with pytest.raises(InvalidInputError, match=message):
        encode(spark.createDataFrame(pa.table(columns)), model, **options)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "`embedding` in the table must have a list in each row, .*: the first in row 43"),
        ([0.0, 0, 0, 0, 0, np.nan], "contains NaN in row 43, column 5"),
        ([0.0], "must hold lists of one length, got 6 in row 0 and 1 in row 43"),
    ],
)
def test_a_row_without_a_vector_is_named_by_the_action(spark, X, model, value, message):
    rows = X[:50].tolist()
    rows[43] = value
    table = pa.table({"embedding": pa.array(rows, pa.list_(pa.float32()))})
    found = encode(spark.createDataFrame(table).coalesce(1), model)
    with pytest.raises(InvalidInputError, match=f"{message}.* Rows are those of partition 0."):  # noqa: SIM117
        with failures():
            found.collect()


def test_vectors_of_another_length_fail_the_action(spark, X, model):
    found = encode(frame(spark, X[:, :5]), model)
    message = "`embedding` must have 6 numbers a row, as the model takes, got 5"
    with pytest.raises(InvalidInputError, match=message), failures():
        found.collect()


def test_what_is_no_frame_or_no_model_is_refused(spark, X, model):
    with pytest.raises(InvalidInputError, match="`df` must be a Spark DataFrame, got Table"):
        encode(pa.table({"embedding": list(X)}), model)
    with pytest.raises(NotFittedError, match="LSH is not fitted"):
        encode(frame(spark, X), LSH(n_bits=3))
