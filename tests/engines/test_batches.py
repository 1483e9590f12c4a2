import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kinhash.engines.batches import encode_batches, encode_parquet, encoded_schema
from kinhash.engines.layout import Layout
from kinhash.errors import InvalidInputError, NotFittedError
from kinhash.methods import LSH, ClassCode, Nested


@pytest.fixture(scope="module")
def X():  # noqa: N802 - vectors
    return np.random.default_rng(5).normal(size=(50, 6)).astype(np.float32)


@pytest.fixture(scope="module")
def model(X):
    return LSH(n_bits=70, seed=0).fit(X)


def table(X, ids=None, **more):
    embedding = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
    ids = range(len(X)) if ids is None else ids
    return pa.table({"id": pa.array(ids), "embedding": embedding, **more})


def decoded(batches, layout):
    made = pa.Table.from_batches(batches)
    return layout.codes({name: made[name].to_numpy() for name in layout.columns})


def test_codes_are_those_of_the_whole_in_batches_of_any_size(X, model):
    for size in (1, 7, 50):
        batches = table(X).to_batches(max_chunksize=size)
        encoded = list(encode_batches(model, batches))
        assert [batch.num_rows for batch in encoded] == [batch.num_rows for batch in batches]
        assert decoded(encoded, Layout(70)) == model.encode(X)
        assert pa.Table.from_batches(encoded)["id"].to_pylist() == list(range(50))


def test_rank_bits_and_encoders_themselves_are_taken(X):
    y = np.arange(50) % 3
    nested = Nested(bucket=ClassCode(), n_bits=40, n_rank_bits=5).fit(X, y)
    encoded = list(encode_batches(nested.encoder_, table(X).to_batches(), keep=[]))
    assert encoded[0].schema.names == ["w0", "r0"]
    assert decoded(encoded, Layout(40, n_rank_bits=5)) == nested.encode(X)


def test_columns_of_numbers_make_vectors_too(X, model):
    columns = {f"e{i}": X[:, i] for i in range(6)}
    batches = pa.table({"sku": ["a"] * 50, **columns}).to_batches()
    encoded = list(encode_batches(model, batches, vector=list(columns)))
    assert encoded[0].schema.names == ["sku", "w0", "w1"]
    assert decoded(encoded, Layout(70)) == model.encode(X)


def test_the_schema_is_known_before_and_says_the_lengths(X, model):
    batches = table(X, price=pa.array(np.ones(50))).to_batches()
    schema = encoded_schema(model, batches[0].schema, keep=["price"])
    assert schema.names == ["price", "w0", "w1"]
    assert Layout.from_metadata(schema.metadata) == Layout(70)
    [encoded] = encode_batches(model, batches, keep=["price"])
    assert encoded.schema.equals(schema, check_metadata=True)


def test_a_batch_without_rows_stays_one(X, model):
    empty = table(X[:0]).schema.empty_table().to_batches()
    empty = empty or [pa.RecordBatch.from_pylist([], schema=table(X).schema)]
    batches = [*empty, *table(X).to_batches()]
    assert [batch.num_rows for batch in encode_batches(model, batches)] == [0, 50]


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (
            {},
            {"vector": "Embedding"},
            "`vector` 'Embedding' is no column.*Did you mean 'embedding'",
        ),
        ({}, {"keep": ["price"]}, "`keep` 'price' is no column"),
        ({"embedding": pa.array(["x"] * 50)}, {}, "`embedding` must hold .* got string"),
        ({"embedding": pa.array([[1.0]] * 50)}, {}, "`embedding` must have 6 numbers .* got 1"),
        ({"w1": pa.array(range(50))}, {}, "two columns `w1`: the codes take w0, w1"),
        ({}, {"keep": ["id", "id"]}, "two columns `id`"),
        ({}, {"n_threads": 0}, "`n_threads` must be an integer of at least 1, got 0"),
    ],
)
def test_columns_that_do_not_fit_are_named(X, model, change, options, message):
    columns = dict(zip(table(X).column_names, table(X).columns, strict=True)) | change
    with pytest.raises(InvalidInputError, match=message):
        list(encode_batches(model, pa.table(columns).to_batches(), **options))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "`embedding` in the table must have a list in each row, .*: the first in row 43"),
        ([0.0, 0, 0, 0, 0, np.nan], "contains NaN in row 43, column 5"),
        ([0.0], "must hold lists of one length, got 6 in row 40 and 1 in row 43"),
    ],
)
def test_a_vector_that_is_none_is_named_by_its_row_among_all_batches(X, model, value, message):
    rows = X.tolist()
    rows[43] = value
    batches = pa.table({"embedding": pa.array(rows, pa.list_(pa.float32()))}).to_batches(10)
    with pytest.raises(InvalidInputError, match=message):
        list(encode_batches(model, batches))


def test_what_is_no_fitted_model_is_refused_before_any_batch(X):
    with pytest.raises(NotFittedError, match="LSH is not fitted"):
        encode_batches(LSH(n_bits=3), [])
    with pytest.raises(InvalidInputError, match=r"`model` must be a fitted model .* got dict"):
        encode_batches({}, [])


def test_a_parquet_file_becomes_one_with_codes(X, model, tmp_path):
    pq.write_table(table(X), tmp_path / "items.parquet", row_group_size=20)
    n = encode_parquet(model, tmp_path / "items.parquet", tmp_path / "codes.parquet", batch_rows=7)
    found = pq.read_table(tmp_path / "codes.parquet")
    assert (n, found.column_names) == (50, ["id", "w0", "w1"])
    assert Layout.from_metadata(found.schema.metadata) == Layout(70)
    assert decoded(found.to_batches(), Layout(70)) == model.encode(X)


def test_a_folder_of_parts_is_read_in_the_order_of_names(X, model, tmp_path):
    for name, rows in (("b", slice(20, 50)), ("a", slice(0, 20))):
        pq.write_table(table(X[rows], range(50)[rows]), tmp_path / f"{name}.parquet")
    encode_parquet(model, tmp_path, tmp_path.parent / "codes.parquet")
    found = pq.read_table(tmp_path.parent / "codes.parquet")
    assert found["id"].to_pylist() == list(range(50))


def test_a_file_that_cannot_be_used_leaves_no_output(X, model, tmp_path):
    out = tmp_path / "codes.parquet"
    foreign = tmp_path / "foreign.parquet"
    foreign.write_text("PAR1 no")
    with pytest.raises(InvalidInputError, match=r"foreign.parquet cannot be read: "):
        encode_parquet(model, foreign, out)
    with pytest.raises(InvalidInputError, match=r"no such file"):
        encode_parquet(model, tmp_path / "none.parquet", out)
    (tmp_path / "parts").mkdir()
    with pytest.raises(InvalidInputError, match=r"must have Parquet files"):
        encode_parquet(model, tmp_path / "parts", out)
    pq.write_table(table(X), tmp_path / "parts" / "a.parquet")
    pq.write_table(table(X).drop(["id"]), tmp_path / "parts" / "b.parquet")
    with pytest.raises(
        InvalidInputError, match=r"`id` must be of type int64 .* b.parquet it is missing"
    ):
        encode_parquet(model, tmp_path / "parts", out)
    rows = X.tolist()
    rows[43] = None
    pq.write_table(pa.table({"embedding": rows}), tmp_path / "null.parquet")
    with pytest.raises(InvalidInputError, match="row 43"):
        encode_parquet(model, tmp_path / "null.parquet", out, batch_rows=10)
    assert not out.exists()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path):
    rng = np.random.default_rng(0)
    model = LSH(n_bits=16, seed=0).fit(rng.normal(size=(50, 256)).astype(np.float32))
    block = rng.normal(size=(20_000, 256)).astype(np.float32)
    with pq.ParquetWriter(tmp_path / "items.parquet", table(block).schema) as writer:
        for _ in range(10):  # 200 MB of vectors
            writer.write_table(table(block), row_group_size=20_000)
    encode_parquet(model, tmp_path / "items.parquet", tmp_path / "warm.parquet", batch_rows=2000)
    with pq.ParquetWriter(tmp_path / "more.parquet", table(block).schema) as writer:
        for _ in range(40):  # 800 MB
            writer.write_table(table(block), row_group_size=20_000)
    Path("/proc/self/clear_refs").write_text("5", "ascii")  # the peak begins anew
    before = kilobytes("VmRSS")
    encode_parquet(model, tmp_path / "more.parquet", tmp_path / "codes.parquet", batch_rows=2000)
    assert kilobytes("VmHWM") - before < 100 * 1024


def kilobytes(name):
    return int(re.search(rf"{name}:\s*(\d+) kB", Path("/proc/self/status").read_text("ascii"))[1])
