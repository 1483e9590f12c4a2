import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from kinhash.datasets.user_files.columnar import arrow_source, parquet_source
from kinhash.errors import InvalidInputError

N = 50
TABLE = pa.table(
    {
        "id": [f"i{i}" for i in range(N)],
        "v": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(2.0 * N), pa.float32()), 2),
        "rest": ["x" * 10] * N,
    }
)
ROLES = {"v": "features", "id": "ids"}


def write_parquet(path):
    pyarrow.parquet.write_table(TABLE, path, row_group_size=7)
    return parquet_source(path)


def write_file(path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=7)
    return arrow_source(path)


def write_stream(path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=7)
    return arrow_source(path)


def write_feather(path):
    pyarrow.feather.write_feather(TABLE, str(path), chunksize=7, compression="zstd")
    return arrow_source(path)


WRITERS = [write_parquet, write_file, write_stream, write_feather]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("n_rows", [5, 8, None])
def test_pieces_are_the_rows_in_order_and_only_the_columns_asked_for(tmp_path, write, n_rows):
    source = write(tmp_path / "items")
    assert source.schema == TABLE.schema
    rows, values, ids = 0, [], []
    for piece in source.pieces(ROLES, n_rows):
        assert piece.first_row == rows
        assert sorted(piece.table.schema.names) == ["id", "v"]
        assert n_rows is None or piece.table.num_rows <= n_rows
        rows += piece.table.num_rows
        values += piece.table.column("v").to_pylist()
        ids += piece.table.column("id").to_pylist()
    assert np.ravel(values).tolist() == list(range(2 * N))
    assert ids == TABLE.column("id").to_pylist()


def test_vectors_of_an_arrow_file_stay_on_disk(tmp_path):
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(10**6, np.float32)), 2)
    table = pa.table({"v": lists})
    path = tmp_path / "items.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    before = pa.total_allocated_bytes()
    (piece,) = arrow_source(path).pieces({"v": "features"}, None)
    assert piece.table.equals(table)
    assert pa.total_allocated_bytes() - before < 10_000


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("kept", [0.0, 0.3, 0.9, 0.99])
def test_a_file_cut_short_is_named(tmp_path, write, kept):
    path = tmp_path / "items"
    write(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept)])
    opened = parquet_source if write is write_parquet else arrow_source
    with pytest.raises(InvalidInputError, match=r"items cannot be read: .*\."):
        list(opened(path).pieces(ROLES, None))


def test_feathers_first_version_is_refused(tmp_path):
    path = tmp_path / "old.feather"
    path.write_bytes(b"FEA1....")
    with pytest.raises(InvalidInputError, match=r"old\.feather is of Feather's first version"):
        arrow_source(path)
