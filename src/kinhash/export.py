"""Codes as files that other tools load: FAISS, PostgreSQL, vector databases, tables.

In every file bit j of a code is entry j, and bits stand in this order: the bucket (of signed codes
its plus plane, then its minus plane), then the rank bits. In bytes, bit j of a part is the bit of
value `1 << j % 8` in byte `j // 8`, as FAISS has it; the last byte of a part is filled up with
zeros, which no distance sees. The number of differing bits of the bucket is kinhash's distance.
"""

import dataclasses
import json
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from kinhash.arguments import check_choice
from kinhash.arrays import Array, Bytes
from kinhash.codes import Codes, StoredCodes
from kinhash.engines.layout import Layout
from kinhash.errors import InvalidInputError, MissingExtraError
from kinhash.index.hamming import HammingIndex
from kinhash.storage import atomic

PIECE = 2**16  # items that are written at a time
_POINTS = 1000  # of one request to Qdrant


def export(items: StoredCodes | HammingIndex, path: str | os.PathLike[str], *, to: str) -> None:
    r"""Write codes and ids as a file that another tool loads.

    Args:
        items: What `kinhash.load` returns of a file of codes or of an index. Codes without ids are
            numbered from 0.
        path: The file; it appears whole or not at all.
        to: Which tool, a name in `TARGETS`.

    Raises:
        InvalidInputError: An unknown name, ids that the tool does not take, or a folder that
            cannot be written.
        MissingExtraError: The file is Parquet, and pyarrow is not installed.

    Example:
        >>> import tempfile
        >>> items = StoredCodes(Codes.from_dense([[1, 0, 0], [0, 1, 1]]), None, None)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     export(items, f"{folder}/codes.sql", to="pgvector")
        ...     Path(folder, "codes.sql").read_text().splitlines()[7:9]
        ['0\t100', '1\t011']
    """
    check_choice("to", to, tuple(TARGETS))
    source = _Source(items)
    with atomic(path) as part:
        TARGETS[to].write(source, part)


class _Source:
    """The codes and ids of a file, in pieces."""

    def __init__(self, items: StoredCodes | HammingIndex) -> None:
        self._items = items
        ids = items.ids
        n = len(items.codes) if isinstance(items, StoredCodes) else len(items)
        self.is_numbered = ids is None
        self.ids: Array = np.arange(n) if ids is None else ids
        self.like = items.codes[:0] if isinstance(items, StoredCodes) else items
        self.n_planes = 2 if self.like.signed else 1
        self.n_rank_bits = self.like.n_rank_bits
        self.n_bucket_bits = self.like.n_bits - self.n_rank_bits

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def has_texts(self) -> bool:
        """Whether the ids are strings."""
        return bool(self.ids.dtype.kind not in "iu")

    @property
    def n_bytes(self) -> tuple[int, int]:
        """Bytes of the bucket and of the rank bits of a code."""
        return self.n_planes * -(-self.n_bucket_bits // 8), -(-self.n_rank_bits // 8)

    def pieces(self) -> Iterator[tuple[Array, Codes]]:
        for start in range(0, len(self), PIECE):
            ids = self.ids[start : start + PIECE]
            if isinstance(self._items, StoredCodes):
                yield ids, self._items.codes[start : start + PIECE]
            else:
                yield ids, self._items.codes(ids)


def _parts(codes: Codes) -> tuple[Bytes, Bytes]:
    """Return the bytes of buckets and of rank bits."""
    bucket = codes.without_rank().to_bytes()
    return bucket, codes.to_bytes()[:, bucket.shape[1] :]


def _bits(codes: Codes) -> tuple[Bytes, Bytes]:
    """Return the stored bits of buckets, plane after plane, and of rank bits, as 0 and 1."""
    dense = codes.to_dense()
    planes = [dense == 1, dense == -1] if codes.signed else [dense == 1]
    return np.concatenate(planes, axis=1).astype(np.uint8), codes.rank_to_dense().astype(np.uint8)


def _write_faiss(source: _Source, path: Path) -> None:
    """Write an IndexBinaryFlat, in an IndexBinaryIDMap if items have ids."""
    if source.has_texts:
        raise InvalidInputError(
            "FAISS knows items by integers, but these ids are strings. Export them to parquet, "
            "whose codes are the bytes that FAISS takes, and keep the row numbers."
        )
    n, n_bytes = len(source), sum(source.n_bytes)
    # As faiss.write_index_binary lays it out: dimension, bytes of a code, number, trained, metric.
    header = struct.pack("<iiqBi", 8 * n_bytes, n_bytes, n, 1, 1)
    with path.open("wb") as file:
        if not source.is_numbered:
            file.write(b"IBMp" + header)
        file.write(b"IBxF" + header + struct.pack("<Q", n * n_bytes))
        for _, codes in source.pieces():
            file.write(codes.to_bytes().tobytes())
        if not source.is_numbered:
            file.write(struct.pack("<Q", n) + source.ids.astype("<i8").tobytes())


def _write_pgvector(source: _Source, path: Path) -> None:
    """Write a script for psql: a table with bit(n) columns, filled by COPY."""
    columns = [
        f"id {'text' if source.has_texts else 'bigint'} PRIMARY KEY",
        f"code bit({source.n_planes * source.n_bucket_bits}) NOT NULL",
    ]
    names = "id, code"
    if source.n_rank_bits:
        columns.append(f"rank bit({source.n_rank_bits}) NOT NULL")
        names += ", rank"
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(
            "-- Load it with: psql DATABASE -v ON_ERROR_STOP=1 -f THIS_FILE\n"
            "-- With the extension vector (pgvector), an approximate index is made by:\n"
            "--   CREATE INDEX ON codes USING hnsw (code bit_hamming_ops);\n"
            "SET client_encoding = 'UTF8';\n"
            "BEGIN;\n"
            f"CREATE TABLE codes ({', '.join(columns)});\n"
            f"COPY codes ({names}) FROM stdin;\n"
        )
        for ids, codes in source.pieces():
            told = [_copied(str(item)) for item in ids.tolist()]
            cells = [told, *(_digits(part) for part in _bits(codes) if part.shape[1])]
            file.writelines("\t".join(row) + "\n" for row in zip(*cells, strict=True))
        file.write("\\.\n\nCOMMIT;\n")


def _copied(text: str) -> str:
    """Return a text as COPY reads it."""
    for sign, escaped in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(sign, escaped)
    return text


def _digits(bits: Bytes) -> list[str]:
    """Return each row as a text of 0 and 1."""
    text, width = (bits + ord("0")).tobytes().decode("ascii"), bits.shape[1]
    return [text[at : at + width] for at in range(0, len(text), width)]


def _write_milvus(source: _Source, path: Path) -> None:
    """Write Parquet with binary vectors as lists of bytes."""
    pa = _pyarrow()
    width = pa.list_(pa.uint8())
    _write_parquet(source, path, lambda _: width, _parts, lambda part: _lists(part, width))


def _write_table(source: _Source, path: Path) -> None:
    """Write Parquet with codes of a fixed number of bytes."""
    pa = _pyarrow()

    def column(part: Bytes) -> Any:  # noqa: ANN401 - untyped
        kind = pa.binary(part.shape[1])
        return pa.FixedSizeBinaryArray.from_buffers(
            kind, len(part), [None, pa.py_buffer(np.ascontiguousarray(part))]
        )

    _write_parquet(source, path, pa.binary, _parts, column)


def _write_words(source: _Source, path: Path) -> None:
    """Write Parquet with the words of codes as columns of integers, as engines take them."""
    pa = _pyarrow()
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    layout = Layout.of(source.like)
    fields = [("id", pa.string() if source.has_texts else pa.int64())]
    fields += [(name, pa.int64()) for name in layout.columns]
    schema = pa.schema(fields, metadata=layout.metadata())
    with pq.ParquetWriter(path, schema) as writer:
        for ids, codes in source.pieces():
            columns = [pa.array(ids, type=schema.field("id").type)]
            columns += [pa.array(words) for words in layout.arrays(codes).values()]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def _write_qdrant(source: _Source, path: Path) -> None:
    """Write the bodies of requests: the collection, then points of 0 and 1, a line each."""
    vectors = {"code": {"size": source.n_planes * source.n_bucket_bits}}
    if source.n_rank_bits:
        vectors["rank"] = {"size": source.n_rank_bits}
    # Of 0 and 1, the Manhattan distance is the number of differing bits.
    body = {k: v | {"distance": "Manhattan", "datatype": "uint8"} for k, v in vectors.items()}
    with path.open("w", encoding="utf-8", newline="\n") as file:
        _json_line(file, {"vectors": body})
        first = 0
        for ids, codes in source.pieces():
            parts = [part.tolist() for part in _bits(codes)]
            for start in range(0, len(ids), _POINTS):
                rows = range(start, min(start + _POINTS, len(ids)))
                points = [
                    {
                        "id": first + row,
                        "vector": {name: parts[i][row] for i, name in enumerate(vectors)},
                        "payload": {"id": ids[row : row + 1].tolist()[0]},
                    }
                    for row in rows
                ]
                _json_line(file, {"points": points})
            first += len(ids)


def _json_line(file: IO[str], value: object) -> None:
    file.write(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")


def _write_atlas(source: _Source, path: Path) -> None:
    """Write Parquet with all entries of a code as a list of numbers."""
    pa = _pyarrow()
    kind = pa.list_(pa.float32())

    def entries(codes: Codes) -> tuple[Array]:
        return (np.hstack([codes.to_dense(), codes.rank_to_dense()]).astype(np.float32),)

    _write_parquet(
        source, path, lambda _: kind, entries, lambda part: _lists(part, kind), names=("vector",)
    )


def _lists(rows: Array, kind: Any) -> Any:  # noqa: ANN401 - untyped
    pa = _pyarrow()
    offsets = pa.array(np.arange(len(rows) + 1, dtype=np.int32) * np.int32(rows.shape[1]))
    return pa.ListArray.from_arrays(offsets, pa.array(rows.ravel()), type=kind)


def _write_parquet(
    source: _Source,
    path: Path,
    kind: Callable[[int], Any],
    parts: Callable[[Codes], tuple[Array, ...]],
    column: Callable[[Array], Any],
    *,
    names: tuple[str, ...] = ("code", "rank"),
) -> None:
    """Write `id` and what `parts` gives as columns, leaving out those without bits.

    `kind` gives the Arrow type of a column from its bytes, `column` its values.
    """
    pa = _pyarrow()
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    widths = dict(zip(names, source.n_bytes, strict=False))
    fields = [("id", pa.string() if source.has_texts else pa.int64())]
    fields += [(name, kind(widths[name])) for name in names if widths[name]]
    about = {
        "kinhash.n_bits": str(source.n_bucket_bits + source.n_rank_bits),
        "kinhash.n_rank_bits": str(source.n_rank_bits),
        "kinhash.signed": str(source.like.signed).lower(),
    }
    schema = pa.schema(fields, metadata=about)
    with pq.ParquetWriter(path, schema) as writer:
        for ids, codes in source.pieces():
            arrays = [pa.array(ids, type=schema.field("id").type)]
            arrays += [column(part) for part in parts(codes) if part.shape[1]]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def _pyarrow() -> Any:  # noqa: ANN401 - untyped
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("Writing Parquet needs pyarrow", "files") from error
    return pa


@dataclasses.dataclass(frozen=True)
class Target:
    """A tool that loads what is written.

    Attributes:
        write: Writes the file.
        loads: How it is loaded, with OUT for the file.
    """

    write: Callable[[_Source, Path], None]
    loads: str


TARGETS: dict[str, Target] = {
    "faiss": Target(_write_faiss, 'faiss.read_index_binary("OUT")'),
    "pgvector": Target(_write_pgvector, "psql DATABASE -v ON_ERROR_STOP=1 -f OUT"),
    "milvus": Target(
        _write_milvus, "bulk import into a collection with the field code, a BINARY_VECTOR"
    ),
    "qdrant": Target(
        _write_qdrant,
        "PUT the first line to /collections/NAME, each other line to /collections/NAME/points",
    ),
    "parquet": Target(_write_table, "DuckDB: SELECT * FROM 'OUT'; pandas.read_parquet(\"OUT\")"),
    "sql": Target(
        _write_words, "kinhash dedup OUT --engine duckdb --radius 1 --out groups.parquet"
    ),
    "embedding-atlas": Target(_write_atlas, "embedding-atlas OUT --vector vector"),
}
