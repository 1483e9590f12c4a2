"""Arrow batches: of vectors in, with the columns of their codes out; needs pyarrow."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kinhash import tables
from kinhash.arguments import check_integer
from kinhash.arrays import Array, Floats
from kinhash.codes import Codes, StoredCodes
from kinhash.encoders import Encoder
from kinhash.encoders.vectors import check_finite
from kinhash.engines.layout import Layout
from kinhash.errors import InvalidInputError, NotFittedError
from kinhash.index.hamming import HammingIndex
from kinhash.progress import Report, silent
from kinhash.storage import atomic, check_is_file

# pyarrow has no types
ArrowBatch = Any
ArrowReader = Any
ArrowSchema = Any

BATCH_ROWS = 2**16  # of a file: few enough to hold many at once, enough for all threads


def encode_batches(
    model: object,
    batches: Iterable[ArrowBatch],
    *,
    vector: str | Sequence[str] = "embedding",
    keep: Sequence[str] | None = None,
    n_threads: int | None = None,
) -> Iterator[ArrowBatch]:
    """Give each batch with the columns of its codes, as `Layout` names them, in place of vectors.

    One batch at a time is held. The schema of what comes out is `encoded_schema`'s.

    Args:
        model: A fitted model of one modality, or an encoder.
        batches: `pyarrow.RecordBatch`es of one schema.
        vector: The column of lists with the vectors, or several columns of numbers.
        keep: The columns that stay, in this order; by default all but the vectors.
        n_threads: Threads to use; all cores by default.

    Raises:
        InvalidInputError: A column is missing or of the wrong type or width, or a vector is null
            or has a NaN: then with its row, counted over all batches.
        NotFittedError: The model is not fitted.

    Example:
        >>> import numpy as np, pyarrow as pa
        >>> from kinhash.methods import LSH
        >>> model = LSH(n_bits=2, seed=0).fit(np.eye(3, dtype=np.float32))
        >>> batch = pa.record_batch({"sku": [7, 8], "embedding": [[1.0, 0, 0], [0, 0, 1.0]]})
        >>> [encoded] = encode_batches(model, [batch])
        >>> encoded.schema.names
        ['sku', 'w0']
    """
    vectors = [vector] if isinstance(vector, str) else list(vector)
    return _encoded(encoder_of(model), batches, vectors, keep, n_threads)


def _encoded(
    encoder: Encoder,
    batches: Iterable[ArrowBatch],
    vectors: Sequence[str],
    keep: Sequence[str] | None,
    n_threads: int | None,
) -> Iterator[ArrowBatch]:
    first_row, schema, kept = 0, None, []
    for batch in batches:
        if schema is None:
            schema = encoded_schema(encoder, batch.schema, vector=vectors, keep=keep)
            kept = schema.names[: -len(Layout.of(encoder).columns)]
        codes = _codes(encoder, batch, vectors, first_row, n_threads)
        yield _batch(schema, [batch.column(name) for name in kept], codes)
        first_row += batch.num_rows


def encoded_schema(
    model: object,
    schema: ArrowSchema,
    *,
    vector: str | Sequence[str] = "embedding",
    keep: Sequence[str] | None = None,
) -> ArrowSchema:
    """Return the schema of what `encode_batches` gives for batches of this one.

    It says how long the codes are, as `Layout.from_metadata` reads it.

    Raises:
        InvalidInputError: A column is missing, is no vector, or has the name of one of the codes.
        NotFittedError: The model is not fitted.
    """
    pa = tables.arrow()
    layout = Layout.of(encoder_of(model))
    vectors = [vector] if isinstance(vector, str) else list(vector)
    for option, names in (("vector", vectors), ("keep", keep or ())):
        for name in names:
            if name not in schema.names:
                raise tables.no_column(option, name, schema.names)
    for name in vectors:
        _check_kind(name, schema.field(name).type, is_alone=len(vectors) == 1)
    kept = [name for name in schema.names if name not in vectors] if keep is None else list(keep)
    doubled = [name for name in layout.columns if name in kept]
    if doubled or len(set(kept)) != len(kept):
        name = doubled[0] if doubled else next(name for name in kept if kept.count(name) > 1)
        raise InvalidInputError(
            f"There would be two columns `{name}`: the codes take {', '.join(layout.columns)}. "
            "Rename yours, or leave it out of `keep`."
        )
    fields = [schema.field(name) for name in kept]
    fields += [pa.field(name, pa.int64()) for name in layout.columns]
    return pa.schema(fields, metadata=layout.metadata())


def encode_parquet(
    model: object,
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    vector: str | Sequence[str] = "embedding",
    keep: Sequence[str] | None = None,
    n_threads: int | None = None,
    batch_rows: int = BATCH_ROWS,
    report: Report = silent,
) -> int:
    """Write a Parquet file's rows with their codes in place of vectors; return how many.

    Memory holds a few batches, however large the files are.

    Args:
        model: A fitted model of one modality, or an encoder.
        source: A Parquet file, or a folder of them, read in the order of their names.
        out: The file to write; it appears whole or not at all.
        vector: The column of lists with the vectors, or several columns of numbers.
        keep: The columns that stay, in this order; by default all but the vectors.
        n_threads: Threads to use; all cores by default.
        batch_rows: How many rows are held at a time.
        report: Told how many of how many rows are done.

    Raises:
        InvalidInputError: As `encode_batches`; or a file cannot be read or written.
        NotFittedError: The model is not fitted.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    check_integer("batch_rows", batch_rows, 1)
    encoder = encoder_of(model)
    vectors = [vector] if isinstance(vector, str) else list(vector)
    paths = parquet_files(Path(source))
    with _opened(paths[0]) as file:
        schema = file.schema_arrow
    encoded = encoded_schema(encoder, schema, vector=vectors, keep=keep)
    kept = encoded.names[: -len(Layout.of(encoder).columns)]
    columns = [schema.field(name) for name in dict.fromkeys([*kept, *vectors])]
    batches = _batches(paths, columns, batch_rows)
    n_rows, n_all = 0, _n_rows(paths)
    with atomic(out) as part, pq.ParquetWriter(part, encoded) as writer:
        for batch in _encoded(encoder, batches, vectors, kept, n_threads):
            writer.write_batch(batch)
            n_rows += batch.num_rows
            report(n_rows, n_all, "rows encoded")
    return n_rows


def code_reader(
    items: Codes | StoredCodes | HammingIndex, ids: npt.ArrayLike | None = None
) -> ArrowReader:
    """Return a `pyarrow.RecordBatchReader` of ids and codes: `id`, then the columns of `Layout`.

    Args:
        items: Codes, what `kinhash.load` gives of a file of codes, or an index.
        ids: Of `Codes`: integers or strings; 0, 1, 2, ... by default.

    Raises:
        InvalidInputError: There are not as many ids as codes, or the items have their own.
    """
    pa = tables.arrow()
    own = getattr(items, "ids", None)
    if ids is not None and not isinstance(items, Codes):
        raise InvalidInputError("`ids` go with codes alone; these items have their own.")
    like = items.codes if isinstance(items, StoredCodes) else items
    n = len(like)
    given = np.arange(n) if ids is None and own is None else np.asarray(own if ids is None else ids)
    if given.shape != (n,):
        raise InvalidInputError(f"`ids` must be one for each of the {n} codes, got {given.shape}.")
    layout = Layout.of(like)
    kind = pa.int64() if given.dtype.kind in "iu" else pa.string()
    fields = [pa.field("id", kind), *(pa.field(name, pa.int64()) for name in layout.columns)]
    schema = pa.schema(fields, metadata=layout.metadata())
    return pa.RecordBatchReader.from_batches(schema, _code_batches(schema, like, given, layout))


def _code_batches(
    schema: ArrowSchema, items: Codes | HammingIndex, ids: Array, layout: Layout
) -> Iterator[ArrowBatch]:
    pa = tables.arrow()
    for start in range(0, len(ids), BATCH_ROWS):
        own = ids[start : start + BATCH_ROWS]
        codes = items.codes(own) if isinstance(items, HammingIndex) else items[start:][: len(own)]
        arrays = [pa.array(own, schema.field("id").type)]
        arrays += [pa.array(column) for column in layout.arrays(codes).values()]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def encoder_of(model: object) -> Encoder:
    """Return the encoder that a fitted model has, or the encoder itself.

    Raises:
        InvalidInputError: It is something else, such as a model of several modalities.
        NotFittedError: The model is not fitted.
    """
    found = getattr(model, "encoder_", model)
    if isinstance(found, Encoder):
        return found
    if hasattr(model, "encoders_"):
        raise InvalidInputError(
            "`model` has several modalities. Give the encoder of one, such as "
            f"model.encoders_[{next(iter(model.encoders_))!r}]."
        )
    if hasattr(model, "fit"):
        raise NotFittedError(
            f"This {type(model).__name__} is not fitted yet. Call fit, or load a model."
        )
    raise InvalidInputError(
        f"`model` must be a fitted model or an encoder, got {type(model).__name__}."
    )


def _check_kind(name: str, kind: Any, *, is_alone: bool) -> None:  # noqa: ANN401 - untyped
    if tables.is_number(kind) or (is_alone and tables.is_vector(kind)):
        return
    expected = "numbers or lists of numbers" if is_alone else "numbers"
    raise InvalidInputError(f"`{name}` must hold {expected}, got {kind}.")


def _codes(
    encoder: Encoder, batch: ArrowBatch, names: Sequence[str], first_row: int, n_threads: int | None
) -> Codes | None:
    """Return the codes of a batch, or None if it has no rows."""
    if not batch.num_rows:
        return None
    places = [batch.schema.get_field_index(name) for name in names]
    vectors = tables.vectors_at(batch, places, source="the table", first_row=first_row)
    what = f"`{names[0]}`" if len(names) == 1 else "The columns of the vectors"
    if vectors.shape[1] != encoder.n_features:
        raise InvalidInputError(
            f"{what} must have {encoder.n_features} numbers a row, as the model takes, got "
            f"{vectors.shape[1]}."
        )
    try:
        return encoder.encode(vectors, n_threads=n_threads)
    except InvalidInputError as error:
        raise _with_row(error, vectors, first_row) from error


def _with_row(error: InvalidInputError, vectors: Floats, first_row: int) -> InvalidInputError:
    """Return the error of a batch with the row counted over all batches."""
    try:
        check_finite(vectors, first_row=first_row)
    except InvalidInputError as found:
        return found
    if not first_row:
        return error
    return InvalidInputError(f"{error} Rows are counted from row {first_row} here.")


def _batch(schema: ArrowSchema, kept: list[Any], codes: Codes | None) -> ArrowBatch:
    pa = tables.arrow()
    n_columns = len(schema) - len(kept)
    if codes is None:
        words = [pa.array([], pa.int64())] * n_columns
    else:
        words = [pa.array(column) for column in Layout.of(codes).arrays(codes).values()]
    return pa.RecordBatch.from_arrays([*kept, *words], schema=schema)


def parquet_files(source: Path) -> list[Path]:
    """Return a Parquet file itself, or those in a folder in the order of their names.

    Raises:
        InvalidInputError: There is no such file, or none in the folder.
    """
    if not source.is_dir():
        check_is_file(source)
        return [source]
    found = sorted(path for path in source.glob("*.parquet") if path.is_file())
    if not found:
        raise InvalidInputError(f"{source} must have Parquet files (*.parquet), but has none.")
    return found


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a Parquet file; what goes wrong with it is one sentence."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    pa = tables.arrow()
    try:
        # Buffered before it is read, a file would be in memory as a whole.
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=2**20) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        raise InvalidInputError(f"{path} cannot be read: {tables.first_line(error)}.") from error


def _n_rows(paths: Sequence[Path]) -> int:
    """Return how many rows files have."""
    n_rows = 0
    for path in paths:
        with _opened(path) as file:
            n_rows += file.metadata.num_rows
    return n_rows


def _batches(paths: Sequence[Path], columns: Sequence[Any], n_rows: int) -> Iterator[ArrowBatch]:
    """Give the rows of files, each of which must have these fields."""
    names = [column.name for column in columns]
    for path in paths:
        with _opened(path) as file:
            found = file.schema_arrow
            for column in columns:
                kind = found.field(column.name).type if column.name in found.names else "missing"
                if kind != column.type:
                    raise InvalidInputError(
                        f"`{column.name}` must be of type {column.type} in each file, as in "
                        f"{paths[0].name}, but in {path.name} it is {kind}."
                    )
            for batch in file.iter_batches(batch_size=n_rows, columns=names):
                yield batch.select(names)
