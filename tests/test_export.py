import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from kinhash import Codes, HammingIndex
from kinhash.codes import StoredCodes
from kinhash.engines.layout import Layout
from kinhash.errors import InvalidInputError
from kinhash.export import TARGETS, export

KINDS = [  # bucket bits, rank bits, signed
    (1, 0, False),
    (8, 0, False),
    (13, 0, False),
    (64, 0, False),
    (100, 37, False),
    (30, 32, False),
    (11, 5, True),
    (70, 0, True),
]


def made(n_bits, n_rank_bits, signed, n=50):
    rng = np.random.default_rng(n_bits)
    dense = rng.integers(-1 if signed else 0, 2, (n, n_bits))
    rank = rng.integers(0, 2, (n, n_rank_bits)) if n_rank_bits else None
    return Codes.from_dense(dense, signed=signed, rank=rank)


def stored(codes, ids=None):
    return StoredCodes(codes, None if ids is None else np.asarray(ids), None)


def stored_bits(codes):
    """Return bucket bits (plus, then minus) and rank bits as lists, entry by entry."""
    rows = []
    for bucket, rank in zip(codes.to_dense().tolist(), codes.rank_to_dense().tolist(), strict=True):
        bits = [int(x == 1) for x in bucket] + ([int(x == -1) for x in bucket] * codes.signed)
        rows.append((bits, rank))
    return rows


def read_bits(data, n):
    """Return the first n bits of bytes: bit j is the bit of value 2 ** (j % 8) of byte j // 8."""
    return [data[j // 8] >> (j % 8) & 1 for j in range(n)]


def bucket_of_bytes(data, codes):
    n, width = codes.n_bucket_bits, -(-codes.n_bucket_bits // 8)
    planes = 2 if codes.signed else 1
    assert len(data) == planes * width
    return [bit for p in range(planes) for bit in read_bits(data[p * width : (p + 1) * width], n)]


IDS = np.random.default_rng(5).permutation(50) * 7 - 20
NAMES = np.array([f"sku-{i}\t'\\{i % 3}\n\"ä" for i in range(50)], object)


@pytest.fixture
def faiss():
    return pytest.importorskip("faiss")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ids", [None, IDS])
def test_faiss_loads_it_and_writes_the_same_bytes(faiss, kind, ids, tmp_path):
    codes = made(*kind)
    out = tmp_path / "codes.faiss"
    export(stored(codes, ids), out, to="faiss")
    index = faiss.read_index_binary(str(out))
    data = codes.to_bytes()
    assert (index.d, index.ntotal) == (8 * data.shape[1], 50)
    own = faiss.IndexBinaryFlat(8 * data.shape[1])
    if ids is None:
        own.add(data)
    else:
        with_ids = faiss.IndexBinaryIDMap(own)
        with_ids.add_with_ids(data, ids)
        own = with_ids
    faiss.write_index_binary(own, str(tmp_path / "theirs.faiss"))
    assert out.read_bytes() == (tmp_path / "theirs.faiss").read_bytes()
    # It finds what this index finds: the nearest by the distance of everything stored.
    distances, found = index.search(data[:5], 50)
    matches = HammingIndex(codes, ids).search_top_k(codes[:5], k=50, order="total")
    total = matches.distances + (0 if matches.rank_distances is None else matches.rank_distances)
    assert distances.ravel().tolist() == total.tolist()
    assert sorted(found[0].tolist()) == sorted(range(50) if ids is None else ids)


def test_faiss_takes_no_strings(tmp_path):
    with pytest.raises(InvalidInputError, match="FAISS knows items by integers, but these ids are"):
        export(stored(made(*KINDS[0]), NAMES), tmp_path / "codes.faiss", to="faiss")
    assert not list(tmp_path.iterdir())


def psql(url, *words):
    program = max(Path("/usr/lib/postgresql").glob("*/bin/psql"), default="psql")
    done = subprocess.run(
        [program, url, "-v", "ON_ERROR_STOP=1", "-qAt", "-F", "|", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("ids", [None, IDS, NAMES], ids=["numbered", "integers", "strings"])
@pytest.mark.parametrize("kind", [KINDS[2], KINDS[4], KINDS[6]])
def test_postgresql_loads_it_and_counts_the_same_distances(postgres, kind, ids, tmp_path):
    codes = made(*kind)
    export(stored(codes, ids), tmp_path / "codes.sql", to="pgvector")
    psql(postgres, "-c", "DROP TABLE IF EXISTS codes", "-f", str(tmp_path / "codes.sql"))
    columns = "id, code, rank" if codes.n_rank_bits else "id, code, ''"
    told = psql(postgres, "-c", f"SELECT json_agg(json_build_array({columns})) FROM codes")  # noqa: S608
    rows = {
        item: (list(map(int, code)), list(map(int, rank))) for item, code, rank in json.loads(told)
    }
    names = range(50) if ids is None else ids.tolist()
    assert rows == dict(zip(names, stored_bits(codes), strict=True))
    # The bucket distance is PostgreSQL's own count of differing bits.
    query = "".join(map(str, stored_bits(codes)[7][0]))
    told = psql(postgres, "-c", f"SELECT bit_count(code # B'{query}') FROM codes")  # noqa: S608
    every = HammingIndex(codes).search_top_k(codes[7], k=50)
    by_row = dict(zip(every.ids.tolist(), every.distances.tolist(), strict=True))
    assert list(map(int, told.split())) == [by_row[row] for row in range(50)]


def test_words_are_what_engines_take(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    codes = Codes.from_dense(np.eye(70)[:4], rank=np.ones((4, 3)))
    export(stored(codes, NAMES[:4]), tmp_path / "codes.parquet", to="sql")
    table = pq.read_table(tmp_path / "codes.parquet")
    assert table.column_names == ["id", "w0", "w1", "r0"]
    assert table["w0"].to_pylist() == [1, 2, 4, 8]
    assert table["r0"].to_pylist() == [7] * 4
    assert Layout.from_metadata(table.schema.metadata) == Layout.of(codes)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ids", [None, IDS, NAMES], ids=["numbered", "integers", "strings"])
def test_parquet_has_the_bytes_of_each_part(kind, ids, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    codes = made(*kind)
    export(stored(codes, ids), tmp_path / "codes.parquet", to="parquet")
    table = pq.read_table(tmp_path / "codes.parquet")
    assert table["id"].to_pylist() == (list(range(50)) if ids is None else ids.tolist())
    for row, (bucket, rank) in enumerate(stored_bits(codes)):
        assert bucket_of_bytes(table["code"][row].as_py(), codes) == bucket
        if rank:
            assert read_bits(table["rank"][row].as_py(), len(rank)) == rank
    assert ("rank" in table.column_names) == bool(codes.n_rank_bits)
    about = {k.decode(): v.decode() for k, v in table.schema.metadata.items()}
    assert about["kinhash.n_bits"] == str(codes.n_bits)
    assert about["kinhash.signed"] == ("true" if codes.signed else "false")


def test_duckdb_reads_the_table_and_counts_the_same_distances(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    codes = made(13, 0, signed=False)
    export(stored(codes, IDS), tmp_path / "codes.parquet", to="parquet")
    asked = f"""
        SELECT b.id, bit_count(xor(a.code::BIT, b.code::BIT)) AS apart
        FROM '{tmp_path}/codes.parquet' a, '{tmp_path}/codes.parquet' b
        WHERE a.id = {IDS[3]} ORDER BY apart, b.id
    """  # noqa: S608
    found = HammingIndex(codes, IDS).search_top_k(codes[3], k=50)
    expected = list(zip(found.ids.tolist(), found.distances.tolist(), strict=True))
    assert [(row[0], row[1]) for row in duckdb.sql(asked).fetchall()] == expected


@pytest.mark.parametrize("kind", KINDS)
def test_milvus_gets_lists_of_bytes(kind, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    codes = made(*kind)
    export(stored(codes, NAMES), tmp_path / "codes.parquet", to="milvus")
    table = pq.read_table(tmp_path / "codes.parquet")
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds["id"] == "string"
    assert re.fullmatch(r"list<\w+: uint8>", kinds["code"])
    for row, (bucket, rank) in enumerate(stored_bits(codes)):
        assert bucket_of_bytes(bytes(table["code"][row].as_py()), codes) == bucket
        if rank:
            assert read_bits(bytes(table["rank"][row].as_py()), len(rank)) == rank


@pytest.mark.parametrize("kind", KINDS)
def test_qdrant_gets_a_collection_and_points_of_0_and_1(kind, tmp_path):
    codes = made(*kind, n=2100)
    ids = np.arange(2100) * 3
    export(stored(codes, ids), tmp_path / "codes.jsonl", to="qdrant")
    collection, *requests = map(json.loads, (tmp_path / "codes.jsonl").read_text().splitlines())
    sizes = {name: one["size"] for name, one in collection["vectors"].items()}
    bucket, rank = stored_bits(codes)[0]
    assert sizes == ({"code": len(bucket), "rank": len(rank)} if rank else {"code": len(bucket)})
    assert all(one["distance"] == "Manhattan" for one in collection["vectors"].values())
    points = [point for request in requests for point in request["points"]]
    assert max(len(request["points"]) for request in requests) <= 1000
    assert [point["id"] for point in points] == list(range(2100))
    assert [point["payload"]["id"] for point in points] == ids.tolist()
    for point, (bucket, rank) in zip(points, stored_bits(codes), strict=True):
        assert point["vector"] == ({"code": bucket, "rank": rank} if rank else {"code": bucket})


@pytest.mark.parametrize("kind", KINDS)
def test_the_atlas_gets_all_entries_as_numbers(kind, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    codes = made(*kind)
    export(stored(codes, IDS), tmp_path / "codes.parquet", to="embedding-atlas")
    table = pq.read_table(tmp_path / "codes.parquet")
    assert table.column_names == ["id", "vector"]
    assert str(table.schema.field("vector").type) in ("list<element: float>", "list<item: float>")
    both = np.hstack([codes.to_dense(), codes.rank_to_dense()])
    assert table["vector"].to_pylist() == both.tolist()


@pytest.mark.parametrize("to", sorted(TARGETS))
def test_an_index_gives_the_same_file_as_its_codes(to, tmp_path, monkeypatch):
    monkeypatch.setattr("kinhash.export.PIECE", 16)  # several pieces
    codes, ids = made(30, 32, signed=False), np.sort(IDS)
    index = HammingIndex(codes, ids)
    index.remove(ids[:2])
    export(index, tmp_path / "index", to=to)
    export(stored(codes[2:], ids[2:]), tmp_path / "codes", to=to)
    assert (tmp_path / "index").read_bytes() == (tmp_path / "codes").read_bytes()


@pytest.mark.parametrize("to", sorted(TARGETS))
def test_no_codes_are_a_file_without_rows(to, tmp_path):
    export(stored(made(13, 5, signed=False)[:0]), tmp_path / "nothing", to=to)
    assert (tmp_path / "nothing").exists()


def test_an_unknown_tool_is_refused_with_the_nearest(tmp_path):
    with pytest.raises(InvalidInputError, match=r"Unknown to 'fais'. Did you mean 'faiss'"):
        export(stored(made(*KINDS[0])), tmp_path / "codes", to="fais")
    assert not list(tmp_path.iterdir())
