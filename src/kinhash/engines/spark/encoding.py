"""Codes of vectors in a Spark frame, made by its Python workers from Arrow batches."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kinhash import storage
from kinhash.encoders import Encoder, restored_encoder
from kinhash.engines.batches import encode_batches, encoder_of
from kinhash.engines.layout import Layout
from kinhash.engines.spark import columns
from kinhash.engines.spark.sending import Sent
from kinhash.engines.spark.session import Frame, Session, check_frame, pyspark, task_cpus
from kinhash.errors import InvalidInputError

ArrowBatch = Any  # pyarrow has no types

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean")


def encode(
    df: Frame,
    model: object,
    vector: str | Sequence[str] = "embedding",
    *,
    keep: Sequence[str] | None = None,
) -> Frame:
    """Return the rows with their codes in place of their vectors; nothing runs before an action.

    The model is broadcast once per executor and opened once per Python worker, where kinhash must
    be installed; no code in it is run. What is wrong with a row fails the action that needs it,
    with the row and its partition.

    Args:
        df: Rows with vectors.
        model: A fitted model of one modality, or an encoder.
        vector: The column of arrays with the vectors, or several columns of numbers.
        keep: The columns that stay, in this order; by default all but the vectors.

    Returns:
        A frame with these columns and those of `Layout`; they say how long the codes are, and
        Parquet files that Spark writes keep that.

    Raises:
        MissingExtraError: PySpark is not installed.
        InvalidInputError: A column is missing or of the wrong type, or `model` is no such thing.
        NotFittedError: The model is not fitted.
    """
    frame = check_frame("df", df)
    encoder = encoder_of(model)
    layout = Layout.of(encoder)
    vectors = [vector] if isinstance(vector, str) else list(vector)
    _check_vectors(frame, vectors, encoder)
    kept = [c for c in frame.columns if c not in vectors] if keep is None else list(keep)
    for column in kept:
        columns.check_column("df", frame, column, option="keep")
    taken = next((column for column in layout.columns if column in kept), None)
    if taken is not None:
        raise InvalidInputError(
            f"There would be two columns `{taken}`: the codes take {', '.join(layout.columns)}. "
            "Rename yours, or leave it out of `keep`."
        )
    used = frame.select(*dict.fromkeys([*kept, *vectors]))
    schema = [used.schema[column] for column in kept] + _code_fields(layout)
    return map_arrow(used, encoding_of(frame.sparkSession, encoder, vectors, kept), schema)


def encoding_of(
    session: Session, encoder: Encoder, vectors: list[str], kept: list[str]
) -> "_Encoding":
    """Return what a worker does with the batches of a partition; the encoder is sent."""
    sent = Sent(session, _encoder_bytes(encoder), _opened_encoder)
    return _Encoding(sent, vectors, kept, task_cpus(session))


class _Encoding:
    """What a worker does with the batches of a partition."""

    def __init__(
        self, sent: Sent[Encoder], vectors: list[str], kept: list[str], n_threads: int
    ) -> None:
        self._sent, self._vectors, self._kept, self._n_threads = sent, vectors, kept, n_threads

    def __call__(self, batches: Iterator[ArrowBatch]) -> Iterator[ArrowBatch]:
        """Give the batches of the answer."""
        encoder = self._sent.opened()
        try:
            yield from encode_batches(
                encoder,
                batches,
                vector=self._vectors,
                keep=self._kept,
                n_threads=self._n_threads,
            )
        except InvalidInputError as error:
            partition = pyspark("taskcontext").TaskContext.get().partitionId()
            raise InvalidInputError(f"{error} Rows are those of partition {partition}.") from error


def _check_vectors(df: Frame, vectors: Sequence[str], encoder: Encoder) -> None:
    if len(set(vectors)) != len(vectors) or not vectors:
        raise InvalidInputError(f"`vector` must name different columns, got {list(vectors)}.")
    numbers = [*_NUMBERS] if len(vectors) > 1 or encoder.n_features == 1 else []
    lists = [f"array<{kind}>" for kind in _NUMBERS] if len(vectors) == 1 else []
    for column in vectors:
        columns.check_column("df", df, column, option="vector")
        kind = df.schema[column].dataType.simpleString()
        if kind not in (*lists, *numbers) and not kind.startswith("decimal"):
            expected = "arrays of numbers" if lists else "numbers"
            hint = " Use pyspark.ml.functions.vector_to_array." if kind == "vector" else ""
            raise InvalidInputError(f"`{column}` must hold {expected}, got {kind}.{hint}")
    if len(vectors) > 1 and len(vectors) != encoder.n_features:
        raise InvalidInputError(
            f"The columns of the vectors must be {encoder.n_features}, as the model takes, got "
            f"{len(vectors)}."
        )


def _code_fields(layout: Layout) -> list[Any]:
    types = pyspark("sql.types")
    told = [columns.metadata(layout)] + [None] * (len(layout.columns) - 1)
    return [
        types.StructField(column, types.LongType(), metadata=note)
        for column, note in zip(layout.columns, told, strict=True)
    ]


def map_arrow(
    df: Frame, function: Callable[[Iterator[ArrowBatch]], Iterator[ArrowBatch]], schema: list[Any]
) -> Frame:
    """Return what a function of a partition's Arrow batches gives, a frame of these fields."""
    with warnings.catch_warnings():
        # PySpark warns of pandas 3, which takes no part in this.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        return df.mapInArrow(function, pyspark("sql.types").StructType(schema))


def _encoder_bytes(encoder: Encoder) -> bytes:
    header = {"encoder": encoder.kind, "settings": encoder.settings()}
    return storage.packed({"kind": "encoder", **header}, encoder.arrays())


def _opened_encoder(data: bytes) -> Encoder:
    header, arrays = storage.unpacked(data, "The broadcast encoder")
    return restored_encoder(header, arrays)
