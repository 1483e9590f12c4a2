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


# Groups of files


def written(path):
    found = pq.read_table(path)
    assert found.column_names == ["id", "group", "representative", "keep", "distance"]
    return {name: found[name].to_numpy() for name in found.column_names}


def check_groups(path, groups):
    assert len(groups) > 3
    for name, values in written(path).items():
        assert np.array_equal(values, getattr(groups, name)), name


@pytest.mark.parametrize("radius", [0, 2])
@pytest.mark.parametrize("linkage", ["star", "connected"])
def test_groups_of_files_are_those_of_one_process(codes, rng, tmp_path, radius, linkage):
    ids = rng.permutation(1000)[:200]
    (tmp_path / "items").mkdir()
    write(codes[:120], tmp_path / "items" / "1.parquet", ids[:120])
    write(codes[120:], tmp_path / "items" / "2.parquet", ids[120:])
    options = {"radius": radius, "linkage": linkage, "memory_limit": "200MB", "n_threads": 1}
    found = engine.group_files(tmp_path / "items", tmp_path / "groups.parquet", **options)
    groups = HammingIndex(codes, ids).duplicates(radius, linkage=linkage)
    check_groups(tmp_path / "groups.parquet", groups)
    assert found == engine.GroupedFiles(200, len(groups), groups.n_items)


def test_rows_without_ids_are_numbered_over_all_files(codes, tmp_path):
    (tmp_path / "items").mkdir()
    for i in range(3):  # ids that start anew: not those to group by
        write(codes[80 * i : 80 * i + 80], tmp_path / "items" / f"{i}.parquet")
    engine.group_files(tmp_path / "items", tmp_path / "groups.parquet", id=None, radius=1)
    check_groups(tmp_path / "groups.parquet", HammingIndex(codes).duplicates(1))


@pytest.mark.parametrize("id_column", ["id", None])
def test_vectors_are_encoded_on_the_way(rng, tmp_path, id_column):
    X = rng.normal(size=(300, 8)).astype(np.float32)[rng.integers(0, 60, 300)]
    model = LSH(n_bits=70, seed=0).fit(X)
    ids = np.arange(300)[::-1] * 3 if id_column else np.arange(300)
    pq.write_table(pa.table({"id": ids, "e": list(X), "price": X[:, 0]}), tmp_path / "x.parquet")
    told = []
    found = engine.group_files(
        tmp_path / "x.parquet",
        tmp_path / "groups.parquet",
        model=model,
        vector="e",
        id=id_column,
        folder=tmp_path,
        report=lambda *words: told.append(words),
    )
    groups = HammingIndex(model.encode(X), ids).duplicates(0)
    check_groups(tmp_path / "groups.parquet", groups)
    rows = found.n_members
    assert told == [(300, 300, "rows encoded"), (rows, rows, "rows written")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["groups.parquet", "x.parquet"]


def test_string_ids_and_no_groups_at_all(tmp_path):
    write(Codes.from_dense([[1, 0], [0, 1], [1, 0]]), tmp_path / "a.parquet", ["c", "b", "a"])
    engine.group_files(tmp_path / "a.parquet", tmp_path / "groups.parquet")
    found = written(tmp_path / "groups.parquet")
    assert (found["id"].tolist(), found["representative"].tolist()) == (["a", "c"], ["a", "a"])
    write(Codes.from_dense(np.eye(5)), tmp_path / "b.parquet")
    found = engine.group_files(tmp_path / "b.parquet", tmp_path / "groups.parquet")
    assert (found.n_items, found.n_groups, found.n_members) == (5, 0, 0)
    assert len(written(tmp_path / "groups.parquet")["id"]) == 0


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"id": [1, 2, 1]}, {}, "`id` in .*items.parquet holds 1 more than once"),
        ({"id": [1, None, 3]}, {}, "`id` in .* must not be null, but is in 1 of its rows"),
        ({"id": [1.5, 2, 3]}, {}, "`id` in .* must hold integers or strings, got DOUBLE"),
        ({"w0": [1, None, None]}, {}, "`w0` in .* must not be null, but is in 2 of its rows"),
        ({"w0": [1.5, 2, 3]}, {}, "`w0` in .* must be a BIGINT, got DOUBLE"),
        ({}, {"id": "sku"}, "`id` 'sku' is no column. The columns: id, w0"),
        ({}, {"radius": -1}, "`radius` must be an integer of at least 0"),
        ({}, {"linkage": "stars"}, "Unknown linkage 'stars'"),
        ({}, {"layout": Layout(1)}, "must hold codes of .*n_bits=1.*, but 2 of its rows"),
        ({}, {"memory_limit": "much"}, "DuckDB: "),
        ({}, {"folder": "/nowhere"}, "`folder` /nowhere must be a folder that can be written"),
        ({}, {"model": LSH(n_bits=3)}, "LSH is not fitted yet"),
    ],
)
def test_files_that_cannot_be_grouped_leave_no_output(tmp_path, change, options, message):
    columns = {"id": [1, 2, 3], "w0": [1, 2, 3]} | change
    pq.write_table(pa.table(columns), tmp_path / "items.parquet")
    with pytest.raises((InvalidInputError, NotFittedError), match=message):
        engine.group_files(tmp_path / "items.parquet", tmp_path / "groups.parquet", **options)
    assert [path.name for path in tmp_path.iterdir()] == ["items.parquet"]


# Not ru_maxrss, which begins with the memory of the process that started this one.
LIMITED = """
import re, sys
from kinhash.engines.duckdb import group_files

found = group_files(*sys.argv[1:3], radius=1, memory_limit="200MB", n_threads=1, folder=sys.argv[3])
peak = re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]
print(found.n_items, found.n_groups, peak)
"""


@pytest.mark.slow
def test_a_file_larger_than_the_limit_is_grouped_under_it(tmp_path, rng):
    words = np.uint64(1) << rng.integers(0, 64, (1_500_000, 5), dtype=np.uint64)
    codes = Codes(np.bitwise_or.reduce(words, axis=1)[:, None], 64)
    write(codes, tmp_path / "items.parquet")
    call = (sys.executable, "-c", LIMITED, tmp_path / "items.parquet", tmp_path / "groups.parquet")
    done = subprocess.run((*call, tmp_path), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    n_items, n_groups, kilobytes = map(int, done.stdout.split())
    expected = HammingIndex(codes).duplicates(1)
    assert (n_items, n_groups) == (1_500_000, len(expected))
    check_groups(tmp_path / "groups.parquet", expected)
    assert kilobytes < 700 * 1024  # Python and its libraries among them
    assert sorted(path.name for path in tmp_path.iterdir()) == ["groups.parquet", "items.parquet"]
