import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kinhash.engines.layout import Layout
from kinhash.engines.spark import encode_files
from kinhash.engines.spark.columns import layout_of
from kinhash.engines.spark.session import failures
from kinhash.errors import InvalidInputError


def write(folder, X, *, parts=3, **more):
    """Write rows as several files of several row groups; return the folder as Spark takes it."""
    table = pa.table({"id": np.arange(len(X)), "embedding": list(X), **more})
    folder.mkdir()
    step = -(-len(X) // parts)
    for part in range(parts):
        rows = table.slice(part * step, step)
        pq.write_table(rows, folder / f"a {part}.parquet", row_group_size=30)
    return str(folder)


def is_read_by_workers(found):
    return "Scan parquet" not in found._jdf.queryExecution().toString()


def codes_of(df, layout):
    found = df.orderBy("id").toArrow()
    return layout.codes({name: found[name].to_numpy() for name in layout.columns})


def test_workers_read_files_and_other_columns_stay(spark, X, model, tmp_path):
    kinds = {
        "name": [f"item {i}" for i in range(300)],
        "price": [None if i % 7 == 0 else i / 2 for i in range(300)],
        "new": [i % 2 == 0 for i in range(300)],
    }
    found = encode_files(spark, write(tmp_path / "rows", X, **kinds), model)
    assert is_read_by_workers(found)
    assert found.columns == ["id", "name", "price", "new", "w0", "w1"]
    assert codes_of(found, Layout(70)) == model.encode(X)
    assert found.orderBy("id").toArrow().select([*kinds]).to_pydict() == kinds
    found.write.parquet(str(tmp_path / "codes"))
    assert layout_of("df", spark.read.parquet(str(tmp_path / "codes"))) == Layout(70)


def test_columns_of_numbers_are_vectors_and_kept_ones_have_their_order(spark, X, model, tmp_path):
    columns = {f"e{i}": X[:, i].astype(float) for i in range(6)}
    path = write(tmp_path / "rows", X, parts=1, **columns)
    found = encode_files(spark, path, model, [*columns], keep=["e0", "id"])
    assert is_read_by_workers(found)
    assert found.columns == ["e0", "id", "w0", "w1"]
    assert codes_of(found, Layout(70)) == model.encode(X)


def test_what_only_spark_reads_has_the_same_codes(spark, X, model, tmp_path):
    """Times depend on a session's zone, and columns of folders' names are in no file."""
    times = pa.array(range(300), pa.timestamp("us"))
    found = encode_files(spark, write(tmp_path / "times", X, when=times), model)
    assert not is_read_by_workers(found)
    assert codes_of(found, Layout(70)) == model.encode(X)
    (tmp_path / "years").mkdir()
    write(tmp_path / "years" / "year=1999", X)
    found = encode_files(spark, str(tmp_path / "years"), model)
    assert not is_read_by_workers(found)
    assert found.columns == ["id", "year", "w0", "w1"]
    assert codes_of(found, Layout(70)) == model.encode(X)


def test_a_wrong_row_fails_the_action_and_missing_columns_are_named_at_once(
    spark, X, model, tmp_path
):
    wrong = X.copy()
    wrong[250, 3] = np.nan
    found = encode_files(spark, write(tmp_path / "rows", wrong), model)
    with pytest.raises(InvalidInputError, match=r"NaN in row \d+, column 3"), failures():
        found.count()
    with pytest.raises(InvalidInputError, match="'vectors' is no column"):
        encode_files(spark, str(tmp_path / "rows"), model, "vectors")
    with pytest.raises(InvalidInputError, match="nowhere"):
        encode_files(spark, str(tmp_path / "nowhere"), model)
