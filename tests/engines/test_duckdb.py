import subprocess
import sys

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kinhash import Codes, HammingIndex
from kinhash.codes import StoredCodes
from kinhash.engines import duckdb as engine
from kinhash.engines.batches import code_reader, encode_parquet
from kinhash.engines.layout import Layout
from kinhash.errors import (
    InvalidInputError,
    LargeGroupWarning,
    NotFittedError,
    UntestedVersionWarning,
)
from kinhash.index import reference
from kinhash.methods import LSH


@pytest.fixture
def connection():
    with engine.connect(n_threads=1) as opened:
        yield opened


@pytest.fixture
def codes(rng):
    centres = rng.random((60, 48)) < 0.1
    return Codes.from_dense(centres[rng.integers(0, 60, 200)] ^ (rng.random((200, 48)) < 0.02))


def write(codes, path, ids=None):
    with pq.ParquetWriter(path, (reader := code_reader(codes, ids)).schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
    return path


def near(left, right, radius):
    distance = reference.distances(left, right)
    return {(i, j, int(distance[i, j])) for i, j in np.argwhere(distance <= radius).tolist()}


@pytest.mark.parametrize("radius", [0, 1, 2, 3, 5])
def test_a_join_gives_all_pairs_of_two_tables(connection, codes, radius):
    assert engine.load(connection, "items", codes) == Layout(48)
    engine.load(connection, "others", codes[:50])
    found = engine.radius_join(connection, "items", "others", radius=radius, pairs="items")
    assert set(found.fetchall()) == near(codes, codes[:50], radius)


def test_parquet_files_are_joined_where_they_are(connection, codes, tmp_path):
    (tmp_path / "it's").mkdir()
    write(codes[:120], tmp_path / "it's" / "1.parquet", range(120))
    write(codes[120:], tmp_path / "it's" / "2.parquet", range(120, 200))
    engine.load(connection, "others", codes[:50])
    found = engine.radius_join(connection, tmp_path / "it's", "others", radius=2, pairs="items")
    assert set(found.fetchall()) == near(codes, codes[:50], 2)


@pytest.mark.parametrize("kind", ["stored", "index"])
def test_files_of_codes_and_indexes_are_loaded_with_their_ids(connection, codes, rng, kind):
    ids = rng.permutation(10**6)[:200]
    items = StoredCodes(codes, ids, None) if kind == "stored" else HammingIndex(codes, ids)
    assert engine.load(connection, "items", items) == Layout(48)
    rows = connection.sql("SELECT id, w0 FROM items").fetchall()
    assert dict(rows) == dict(zip(ids.tolist(), codes.words[:, 0].tolist(), strict=True))


def test_ids_may_be_strings(connection, codes):
    engine.load(connection, "items", codes[:3], ["a", "b", "c"])
    found = engine.radius_join(connection, "items", radius=48, pairs="items", by="chunks")
    assert sorted(row[:2] for row in found.fetchall()) == [("a", "b"), ("a", "c"), ("b", "c")]


@pytest.mark.parametrize("radius", [0, 2])
@pytest.mark.parametrize("linkage", ["star", "connected"])
def test_groups_are_those_of_an_index(connection, codes, rng, radius, linkage):
    ids = rng.permutation(1000)[:200]
    engine.load(connection, "items", codes, ids)
    found = engine.group_duplicates(connection, "items", radius=radius, linkage=linkage)
    rows = found.fetchnumpy()
    expected = HammingIndex(codes, ids).duplicates(radius, linkage=linkage)
    assert len(expected) > 3
    for name in ("id", "representative", "keep", "distance"):
        assert np.array_equal(rows[name], getattr(expected, name)), name
    lowest = [group.min() for group in expected]
    assert np.array_equal(rows["group_id"], np.array(lowest)[expected.group])
    names = {row[0] for row in connection.execute("SHOW TABLES").fetchall()}
    assert len(names) == 2  # the items, and the rows that were returned


def test_a_group_with_a_large_share_of_the_items_warns(connection):
    engine.load(connection, "items", Codes.from_dense(np.eye(4000)[np.r_[:4000, [0] * 60]]))
    with pytest.warns(LargeGroupWarning, match=r"One group holds 61 of 4,060 items \(1.5%\)"):
        engine.group_duplicates(connection, "items")


def test_rows_of_a_group_follow_each_other_with_the_representative_first(connection):
    codes = Codes.from_dense([[1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0], [1, 1, 1]])
    engine.load(connection, "items", codes, [10, 40, 30, 20, 50])
    found = engine.group_duplicates(connection, "items", radius=1)
    assert found.columns == ["group_id", "id", "representative", "keep", "distance"]
    assert found.fetchall() == [
        (10, 20, 20, True, 0),
        (10, 10, 20, False, 1),
        (10, 30, 20, False, 1),
        (10, 40, 20, False, 0),
    ]


def test_a_table_is_encoded_batch_by_batch(connection, rng, tmp_path):
    X = rng.normal(size=(500, 8)).astype(np.float32)
    model = LSH(n_bits=70, seed=0).fit(X)
    vectors = pa.table({"id": range(500), "embedding": list(X)})
    connection.register("x", vectors)
    connection.execute("CREATE TABLE vectors AS SELECT * FROM x")
    assert engine.encode(connection, "vectors", model, "codes") == Layout(70)
    pq.write_table(vectors, tmp_path / "vectors.parquet")
    engine.encode(connection, tmp_path / "vectors.parquet", model, "again", keep=["id"])
    for table in ("codes", "again"):
        rows = connection.sql(f"SELECT id, w0, w1 FROM {table} ORDER BY id").fetchnumpy()  # noqa: S608
        assert Layout(70).codes(rows) == model.encode(X)


def test_what_says_how_long_codes_are(connection, codes, tmp_path):
    write(codes, tmp_path / "items.parquet")
    engine.load(connection, "items", codes)  # a table does not say: as many bits as fit
    for source in (tmp_path / "items.parquet", "items"):
        assert len(engine.radius_join(connection, source, radius=1, pairs="items").fetchall())
    write(Codes.from_dense(np.eye(9)), tmp_path / "others.parquet")
    with pytest.raises(InvalidInputError, match=r"codes of one length, got .*48.* and .*n_bits=9"):
        engine.radius_join(
            connection, tmp_path / "items.parquet", tmp_path / "others.parquet", radius=1
        )
    with pytest.raises(InvalidInputError, match=r"one length, but there are .*48.* and .*=9"):
        engine.radius_join(connection, tmp_path, radius=1)


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"id": "1"}, {}, r"items has no columns of codes, w0, w1, ...; the columns: id"),
        ({"id": "1", "w0": "1.5"}, {}, r"`w0` in items must be a BIGINT, got DECIMAL"),
        ({"id": "1", "w0": "1::BIGINT"}, {"layout": Layout(70)}, "`w1` .* BIGINT, there is none"),
        (
            {"id": "1", "w0": "8::BIGINT"},
            {"layout": Layout(3)},
            "1 of its rows have other bits",
        ),
        ({"sku": "1", "w0": "1::BIGINT"}, {}, "`id` 'id' is no column"),
        ({"id": "1", "w0": "1::BIGINT"}, {"radius": -1}, "`radius` must be an integer of at least"),
        ({"id": "1", "w0": "1::BIGINT"}, {"left": "goods"}, "DuckDB: .*goods does not exist"),
        ({"id": "1", "w0": "1::BIGINT"}, {"left": "a b"}, "`items` must be a plain SQL name"),
        ({"id": "1", "w0": "1::BIGINT"}, {"left": "no.parquet"}, "Cannot read no.parquet: no such"),
    ],
)
def test_tables_that_hold_no_codes_are_refused(connection, columns, options, message):
    told = ", ".join(f"{value} AS {name}" for name, value in columns.items())
    connection.execute(f"CREATE TABLE items AS SELECT {told}")
    with pytest.raises(InvalidInputError, match=message):
        engine.radius_join(connection, **{"left": "items", "radius": 1, **options})


def test_signed_codes_that_are_plus_and_minus_at_once_are_refused(connection):
    connection.execute("CREATE TABLE items AS SELECT 1 AS id, 1::BIGINT AS w0, 1::BIGINT AS w1")
    with pytest.raises(InvalidInputError, match="1 of its rows have other bits set"):
        engine.radius_join(connection, "items", radius=1, layout=Layout(3, signed=True))


def test_a_vector_that_is_none_is_told_with_its_row(connection, rng):
    X = rng.normal(size=(50, 8)).astype(np.float32)
    model = LSH(n_bits=7, seed=0).fit(X)
    rows = X.tolist()
    rows[43] = None
    connection.register("x", pa.table({"embedding": pa.array(rows, pa.list_(pa.float32()))}))
    connection.execute("CREATE TABLE vectors AS SELECT * FROM x")
    with pytest.raises(InvalidInputError, match=r"must have a list in each row, .* in row 43"):
        engine.encode(connection, "vectors", model, "codes")
    with pytest.raises(duckdb.CatalogException):
        connection.execute("FROM codes")
    with pytest.raises(NotFittedError):
        engine.encode(connection, "vectors", LSH(n_bits=3), "codes")


def test_settings_that_duckdb_does_not_take_are_told_in_one_sentence(tmp_path):
    with pytest.raises(InvalidInputError, match=r"DuckDB: .*apples"):
        engine.connect(memory_limit="4 apples")
    with pytest.raises(InvalidInputError, match="`n_threads` must be an integer of at least 1"):
        engine.connect(n_threads=0)
    foreign = tmp_path / "items.duckdb"
    foreign.write_text("not a database, but long enough to be read as the header of one " * 99)
    with pytest.raises(InvalidInputError, match=r"DuckDB: .*items.duckdb"):
        engine.connect(foreign)


def test_an_untested_version_warns(monkeypatch):
    monkeypatch.setattr(duckdb, "__version__", "99.1.0")
    with pytest.warns(UntestedVersionWarning, match=r"DuckDB 99.1.0 has not been tested"):
        engine.connect().close()


OUT_OF_CORE = """
import sys
from kinhash.engines import duckdb as engine
from kinhash.errors import InvalidInputError

source, folder = sys.argv[1:]
with engine.connect(memory_limit="100MB", n_threads=1, folder=folder) as connection:
    for space in ("1MB", "10GB"):
        connection.execute(f"SET max_temp_directory_size = '{space}'")
        try:
            print(len(engine.group_duplicates(connection, source, radius=2)))
        except InvalidInputError as error:
            print(error)
"""


@pytest.mark.slow
def test_what_does_not_fit_into_memory_is_spilled_to_disk(tmp_path, rng):
    words = np.uint64(1) << rng.integers(0, 64, (400_000, 6), dtype=np.uint64)
    codes = Codes(np.bitwise_or.reduce(words, axis=1)[:, None], 64)
    write(codes, tmp_path / "items.parquet")
    done = subprocess.run(
        (sys.executable, "-c", OUT_OF_CORE, tmp_path / "items.parquet", tmp_path / "spill"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    without_space, n_grouped = done.stdout.splitlines()
    assert without_space.startswith("DuckDB ran out of memory or of space to spill to: ")
    with engine.connect() as connection:
        expected = engine.group_duplicates(connection, tmp_path / "items.parquet", radius=2)
        assert int(n_grouped) == len(expected)
    assert not any((tmp_path / "spill").glob("*"))


def test_a_file_encoded_elsewhere_says_its_lengths(connection, rng, tmp_path):
    X = rng.normal(size=(50, 8)).astype(np.float32)
    model = LSH(n_bits=7, seed=0).fit(X)
    pq.write_table(pa.table({"id": range(50), "embedding": list(X)}), tmp_path / "x.parquet")
    encode_parquet(model, tmp_path / "x.parquet", tmp_path / "codes.parquet")
    found = engine.radius_join(connection, tmp_path / "codes.parquet", radius=1, pairs="items")
    pairs = near(model.encode(X), model.encode(X), 1)
    assert set(found.fetchall()) == {pair for pair in pairs if pair[0] < pair[1]}
