"""The measures of retrieval over frames too large for one machine, on Spark."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinhash import tables
from kinhash.arguments import check_choice
from kinhash.arrays import Array
from kinhash.codes import ORDERS, Codes, Order
from kinhash.engines.layout import Layout
from kinhash.engines.spark import columns
from kinhash.engines.spark.encoding import map_arrow
from kinhash.engines.spark.known import as_bytes, told_layout
from kinhash.engines.spark.sending import Sent
from kinhash.engines.spark.session import Frame, check_frame, failures, pyspark, task_cpus
from kinhash.engines.spark.views import views
from kinhash.errors import InvalidInputError
from kinhash.metrics.checks import checked_integers
from kinhash.metrics.retrieval import (
    PairTable,
    distance_table,
    farthest_distance,
    measures_of_counts,
    pair_tables,
)

ArrowBatch = Any  # pyarrow has no types
ArrowColumn = Any

MOST_COUNTS = 2**22  # in a worker at a time, each two numbers of 64 bits
CHUNK_ROWS = 2**17  # items counted at a time

_KINDS = ("tinyint", "smallint", "int", "bigint", "string", "boolean", "date")
_LABELS = (*_KINDS, *(f"array<{kind}>" for kind in _KINDS))


def evaluate(
    queries: Frame,
    items: Frame,
    *,
    label: str = "label",
    radii: Sequence[int] = (0, 2),
    at: Sequence[int] = (10, 5000),
    order: Order = "nested",
    layout: Layout | None = None,
) -> dict[str, float]:
    """Return every retrieval measure of searching `items` with `queries`, now.

    The same as `kinhash.metrics.evaluate_codes`. The queries go to the workers, which count how
    many items, and how many with a label of the query, lie at each distance of each. Of codes
    with rank bits, so many queries at a time that a worker has 4,194,304 counts, and `items` are
    read once for these.

    Args:
        queries: A frame of codes and labels, which fits one machine.
        items: Another, of any size.
        label: The column of labels in both: class labels (relevant: the same class), or arrays of
            labels (relevant: at least one in common).
        radii: As in `evaluate_codes`.
        at: As in `evaluate_codes`.
        order: As in `evaluate_codes`.
        layout: How the codes lie in both; by default as the columns say that `encode` gives.

    Raises:
        MissingExtraError: PySpark is not installed.
        InvalidInputError: A frame is empty, has codes of another length, or a row without a code
            or a label; a column is missing or of the wrong type; or a radius, a ranking length or
            `order` is not as in `evaluate_codes`.
    """
    radii = checked_integers("radii", radii, least=0)
    at = checked_integers("at", at, least=1)
    check_choice("order", order, ORDERS)
    frames = [check_frame("queries", queries), check_frame("items", items)]
    layouts = [columns.exact_layout(n, df, layout) for n, df in zip(_SIDES, frames, strict=True)]
    columns.check_same(*layouts, sides=_SIDES)
    for side, frame in zip(_SIDES, frames, strict=True):
        columns.check_column(side, frame, label, option="label", kinds=_LABELS)
    asked, searched = (frame.select(*layouts[0].columns, label) for frame in frames)
    kinds = [frame.schema[label].dataType.simpleString() for frame in (asked, searched)]
    if kinds[0] != kinds[1]:
        raise InvalidInputError(
            f"`{label}` must be of one type in both frames, got {kinds[0]} in `queries` and "
            f"{kinds[1]} in `items`. Cast one of them."
        )
    with failures():
        content = _content(searched, layouts[0])
        counts = _Counts(asked.toArrow(), searched, layouts[0], label)
        return counts.measures(radii, at, order) | content


_SIDES = ("queries", "items")


def _content(items: Frame, layout: Layout) -> dict[str, float]:
    """Return what is measured of the items' codes alone."""
    n_active = " + ".join(f"bit_count({word})" for word in layout.words)
    with views(items) as [name]:
        row = items.sparkSession.sql(
            f"SELECT COUNT(DISTINCT {', '.join(layout.words)}), AVG({n_active}), "
            f"STDDEV_POP({n_active}), COUNT(*) FROM {name}"
        ).collect()[0]
    if not row[3]:
        raise InvalidInputError("`items` must have at least one row, but has none.")
    names = ("unique_codes", "mean_active", "sd_active")
    return dict(zip(names, map(float, row[:3]), strict=True))


class _Counts:
    """What the measures are of: how many items lie at each distance of each query.

    A cell is a distance, or with rank bits a pair of distances, in the nested order.
    """

    def __init__(self, queries: Any, items: Frame, layout: Layout, label: str) -> None:  # noqa: ANN401 - untyped
        if not queries.num_rows:
            raise InvalidInputError("`queries` must have at least one row, but has none.")
        _check_known("queries", queries)
        self._queries, self._items, self._layout, self._label = queries, items, layout, label
        farthest = farthest_distance(_codes(queries.slice(0, 1), layout))
        self._n_distances, self._n_ranks = farthest + 1, layout.n_rank_bits + 1

    def measures(self, radii: Sequence[int], at: Sequence[int], order: Order) -> dict[str, float]:
        """Return the measures of the answers."""
        n = self._queries.num_rows
        step = max(1, MOST_COUNTS // (self._n_distances * self._n_ranks))
        n_all, n_relevant = np.zeros((2, n, self._n_distances), np.int64)
        pairs = []
        for start in range(0, n, step):
            both = self._counted(self._queries.slice(start, step))
            rows = np.arange(start, start + both.shape[1])
            n_all[rows], n_relevant[rows] = both.sum(axis=3)
            if self._n_ranks > 1:
                pairs.append(self._pair_table(rows, both))
        ranked = pairs if self._n_ranks > 1 else None
        return measures_of_counts(n_all, n_relevant, ranked, radii=radii, at=at, order=order)

    def _counted(self, queries: Any) -> Array:  # noqa: ANN401 - untyped
        """Return both counts of some queries: int64, `(2, n, n_distances, n_ranks)`."""
        session, types = self._items.sparkSession, pyspark("sql.types")
        sent = Sent(session, as_bytes(queries, self._layout, self._label), _opened)
        kinds = {"query": types.IntegerType(), "cell": types.IntegerType()}
        kinds |= {"n_all": types.LongType(), "n_relevant": types.LongType()}
        fields = [types.StructField(name, kind) for name, kind in kinds.items()]
        shape = (queries.num_rows, self._n_distances, self._n_ranks)
        counter = _Counter(sent, self._layout, self._label, shape, task_cpus(session))
        found = map_arrow(self._items, counter, fields).groupBy("query", "cell")
        sums = found.sum("n_all", "n_relevant").toArrow()
        query, cell, *counts = (column.to_numpy() for column in sums.columns)
        both = np.zeros((2, shape[0], shape[1] * shape[2]), np.int64)
        both[:, query, cell] = counts
        return both.reshape(2, *shape)

    @staticmethod
    def _pair_table(rows: Array, both: Array) -> PairTable:
        cells = both.reshape(2, len(rows), -1)
        used = np.flatnonzero(cells[0].any(axis=0))
        distances = np.broadcast_to(np.divmod(used, both.shape[3])[0], (len(rows), len(used)))
        ranks = np.broadcast_to(used % both.shape[3], distances.shape)
        return PairTable(rows, distances, ranks, *cells[:, :, used])


class _Queries(NamedTuple):
    """Queries in a worker."""

    codes: Codes
    labels: Array
    known: ArrowColumn  # the labels that any of them has


def _opened(data: bytes) -> _Queries:
    pa = tables.arrow()
    table = pa.ipc.open_stream(data).read_all()
    layout = told_layout(table)
    labels = table.column(len(layout.columns))
    flat = labels.combine_chunks()
    known = (flat.flatten() if tables.is_list(labels.type) else flat).unique()
    return _Queries(_codes(table, layout), _label_array(flat, known), known)


def _codes(table: Any, layout: Layout) -> Codes:  # noqa: ANN401 - untyped
    return layout.codes({name: table[name].to_numpy() for name in layout.columns})


def _label_array(column: ArrowColumn, known: ArrowColumn) -> Array:
    """Return labels as numbers of the known ones, or whether a row has each; -1 for others."""
    import pyarrow.compute as pc  # noqa: PLC0415 - an extra

    if not tables.is_list(column.type):
        numbers: Array = pc.fill_null(pc.index_in(column, known), -1).to_numpy(zero_copy_only=False)
        return numbers.astype(np.int64)
    numbers = pc.fill_null(pc.index_in(column.flatten(), known), -1).to_numpy(zero_copy_only=False)
    rows = pc.list_parent_indices(column).to_numpy(zero_copy_only=False)
    has = np.zeros((len(column), len(known)), np.bool_)
    has[rows[numbers >= 0], numbers[numbers >= 0]] = True
    return has


class _Counter:
    """What a worker does with the items of a partition: counts them by distance."""

    def __init__(
        self,
        sent: Sent[_Queries],
        layout: Layout,
        label: str,
        shape: tuple[int, int, int],
        n_threads: int,
    ) -> None:
        self._sent, self._layout, self._label = sent, layout, label
        self._shape, self._n_threads = shape, n_threads

    def __call__(self, batches: Iterator[ArrowBatch]) -> Iterator[ArrowBatch]:
        """Give the batches of the answer."""
        pa = tables.arrow()
        queries = self._sent.opened()
        both = np.zeros((2, *self._shape), np.int64)
        for chunk in _chunks(batches):
            _check_known("items", chunk)
            labels = _label_array(chunk[self._label].combine_chunks(), queries.known)
            self._count(both, queries, _codes(chunk, self._layout), labels)
        cells = both.reshape(2, self._shape[0], -1)
        query, cell = np.nonzero(cells[0])
        columns = [query.astype(np.int32), cell.astype(np.int32), *cells[:, query, cell]]
        names = ["query", "cell", "n_all", "n_relevant"]
        yield pa.record_batch([pa.array(column) for column in columns], names)

    def _count(self, both: Array, queries: _Queries, codes: Codes, labels: Array) -> None:
        sides = (queries.codes, queries.labels, codes, labels)
        if self._shape[2] == 1:
            counts = distance_table(*sides, n_threads=self._n_threads)
            both[:, :, :, 0] += np.stack(counts)
            return
        for part in pair_tables(*sides, n_threads=self._n_threads):
            # Columns without items have the largest key, which is no distance.
            row, column = np.nonzero(part.n_all)
            at = part.queries[row], part.distances[row, column], part.rank_distances[row, column]
            both[0][at] += part.n_all[row, column]
            both[1][at] += part.n_relevant[row, column]


def _check_known(side: str, rows: Any) -> None:  # noqa: ANN401 - untyped
    for name in rows.column_names:
        if rows[name].null_count:
            raise InvalidInputError(
                f"`{name}` of `{side}` must not be NULL, but is in {rows[name].null_count} of "
                f"{rows.num_rows} rows. Drop those rows."
            )


def _chunks(batches: Iterator[ArrowBatch]) -> Iterator[Any]:
    """Give tables of many rows: the more of them have equal codes, the fewer are compared."""
    pa = tables.arrow()
    held: list[ArrowBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(one.num_rows for one in held) >= CHUNK_ROWS:
            yield pa.Table.from_batches(held)
            held = []
    if sum(one.num_rows for one in held):
        yield pa.Table.from_batches(held)
