"""Vectors of Parquet files that workers read themselves: Spark would hand them over row by row."""

import os
import urllib.parse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kinhash.engines.batches import encoder_of
from kinhash.engines.spark.encoding import encode, encoding_of, map_arrow
from kinhash.engines.spark.files import read_parquet
from kinhash.engines.spark.session import Frame, Session, pyspark

ArrowBatch = Any  # pyarrow has no types

_BATCH_ROWS = 2**14
_TASK_BYTES = 2**27  # of a file, which a task reads at the least


def encode_files(
    session: Session,
    path: str,
    model: object,
    vector: str | Sequence[str] = "embedding",
    *,
    keep: Sequence[str] | None = None,
) -> Frame:
    """Return the rows of Parquet files as `encode` does, faster where it can be.

    Files of the machine's own file system are read by the workers, which must find them under the
    same path, as Spark must. All others, and columns of other kinds than numbers, strings, bytes
    and booleans, are read by Spark.

    Args:
        session: A session of Spark.
        path: A Parquet file or a folder of them, as Spark takes it.
        model: As for `encode`.
        vector: As for `encode`.
        keep: As for `encode`.

    Raises:
        InvalidInputError: There are no such files, or as `encode`.
        NotFittedError: The model is not fitted.
    """
    frame = read_parquet(session, path)
    encoded = encode(frame, model, vector, keep=keep)
    vectors = [vector] if isinstance(vector, str) else list(vector)
    kept = [name for name in frame.columns if name not in vectors] if keep is None else list(keep)
    pieces = _pieces(frame, kept, vectors)
    if not pieces:
        return encoded
    n_tasks = min(len(pieces), max(session.sparkContext.defaultParallelism, _n_large(pieces)))
    types = pyspark("sql.types")
    fields = [("path", types.StringType()), ("first", types.LongType()), ("end", types.LongType())]
    schema = types.StructType([types.StructField(*field) for field in fields])
    rows = session.sparkContext.parallelize([piece[:3] for piece in pieces], n_tasks)
    work = _Reading(encoding_of(session, encoder_of(model), vectors, kept), [*kept, *vectors])
    return map_arrow(session.createDataFrame(rows, schema), work, list(encoded.schema.fields))


def _n_large(pieces: Sequence[tuple[str, int, int, int]]) -> int:
    return sum(n_bytes for *_, n_bytes in pieces) // _TASK_BYTES


def _pieces(
    frame: Frame, kept: Sequence[str], vectors: Sequence[str]
) -> list[tuple[str, int, int, int]]:
    """Return row groups of files: path, first, end and bytes; none if only Spark can read them."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    to_arrow_type = pyspark("sql.pandas.types").to_arrow_type
    wanted = {name: to_arrow_type(frame.schema[name].dataType) for name in kept}
    found = []
    for uri in sorted(frame.inputFiles()):
        path = _local_path(uri)
        if path is None or not os.access(path, os.R_OK):
            return []
        about = pq.read_metadata(path)
        schema = about.schema.to_arrow_schema()
        if not {*kept, *vectors} <= set(schema.names):  # columns that the folders' names tell
            return []
        if any(not _is_plain(schema.field(name).type, wanted[name]) for name in kept):
            return []
        sizes = [about.row_group(i).total_byte_size for i in range(about.num_row_groups)]
        found += [(str(path), i, i + 1, size) for i, size in enumerate(sizes)]
    return found


def _local_path(uri: str) -> Path | None:
    parts = urllib.parse.urlsplit(uri)
    if parts.scheme != "file" or parts.netloc:
        return None
    return Path(urllib.parse.unquote(parts.path))


def _is_plain(kind: Any, wanted: Any) -> bool:  # noqa: ANN401 - Arrow types
    """Return whether Arrow's values of this type are Spark's as they are."""
    import pyarrow.types as known  # noqa: PLC0415 - an extra

    checks = (known.is_integer, known.is_floating, known.is_boolean)
    plain = any(check(kind) for check in (*checks, known.is_string, known.is_binary))
    return bool(plain and kind == wanted)


class _Reading:
    """What a worker does with the names of files."""

    def __init__(self, encoding: Any, columns: Sequence[str]) -> None:  # noqa: ANN401 - as `encoding_of` gives it
        self._encoding, self._columns = encoding, list(columns)

    def __call__(self, pieces: Iterator[ArrowBatch]) -> Iterator[ArrowBatch]:
        """Give the batches of the answer."""
        yield from self._encoding(self._batches(pieces))

    def _batches(self, pieces: Iterator[ArrowBatch]) -> Iterator[ArrowBatch]:
        import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

        for piece in pieces:
            for path, first, end in zip(*(c.to_pylist() for c in piece.columns), strict=True):
                groups = list(range(first, end))
                with pq.ParquetFile(path) as file:
                    yield from file.iter_batches(
                        _BATCH_ROWS, row_groups=groups, columns=self._columns
                    )
