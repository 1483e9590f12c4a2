"""Codes that each Python worker has an index of, and what it finds there."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinhash import tables
from kinhash.codes import Codes
from kinhash.engines.layout import Layout
from kinhash.engines.spark.sending import Sent
from kinhash.engines.spark.session import Session
from kinhash.index.hamming import HammingIndex
from kinhash.matches import Matches

ArrowTable = Any  # pyarrow has no types
ArrowBatch = Any
ArrowColumn = Any

MOST_SENT = 2**21  # codes: with an index of them, some 150 MB in each worker
QUERIES = 256  # searched at a time, so that what they find stays small

Search = Callable[[HammingIndex, Codes], Matches]


class Known(NamedTuple):
    """Codes in a worker: an index of their places in the table, and the name of each."""

    places: HammingIndex
    names: ArrowColumn


def sent_codes(session: Session, table: ArrowTable, layout: Layout, name: str) -> Sent[Known]:
    """Send codes to the workers.

    Args:
        session: Theirs.
        table: The columns of `layout` and one of names, in the order in which equally near codes
            are found.
        layout: How the codes lie.
        name: The column of names.
    """
    return Sent(session, as_bytes(table, layout, name), _opened)


def as_bytes(table: ArrowTable, layout: Layout, name: str) -> bytes:
    """Return the columns of codes, then that one, as bytes that say how the codes lie."""
    pa = tables.arrow()
    columns = table.select([*layout.columns, name]).replace_schema_metadata(layout.metadata())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, columns.schema) as writer:
        writer.write_table(columns)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def told_layout(table: ArrowTable) -> Layout:
    """Return how codes lie in a table that `as_bytes` has written."""
    layout = Layout.from_metadata(table.schema.metadata)
    if layout is None:
        raise AssertionError(table.schema)
    return layout


def _opened(data: bytes) -> Known:
    table = tables.arrow().ipc.open_stream(data).read_all()
    layout = told_layout(table)
    codes = layout.codes({name: table[name].to_numpy() for name in layout.columns})
    return Known(HammingIndex(codes), table.column(len(layout.columns)).combine_chunks())


class Finder:
    """What a worker does with the batches of a partition: finds what was sent near each row.

    A row of the answer has the kept columns of a row, the name of what was found, its distance
    and, with rank bits, its rank distance.

    Args:
        sent: What is searched.
        layout: How the codes of the rows lie.
        search: Of an index and queries.
        keep: The columns of the rows that stay.
        names: What the columns of the answer are called.
    """

    def __init__(
        self,
        sent: Sent[Known],
        layout: Layout,
        search: Search,
        *,
        keep: Sequence[str],
        names: Sequence[str],
    ) -> None:
        self._sent, self._layout, self._search = sent, layout, search
        self._keep, self._names = tuple(keep), tuple(names)

    def __call__(self, batches: Iterator[ArrowBatch]) -> Iterator[ArrowBatch]:
        """Give the batches of the answer."""
        known = self._sent.opened()
        for batch in batches:
            for start in range(0, batch.num_rows, QUERIES):
                yield self._found(batch.slice(start, QUERIES), known)

    def _found(self, batch: ArrowBatch, known: Known) -> ArrowBatch:
        pa = tables.arrow()
        codes = self._layout.codes({c: batch[c].to_numpy() for c in self._layout.columns})
        near = self._search(known.places, codes)
        rows = pa.array(np.repeat(np.arange(len(codes)), near.counts))
        found = [batch[name].take(rows) for name in self._keep]
        found += [known.names.take(pa.array(near.ids)), pa.array(near.distances)]
        if near.rank_distances is not None:
            found.append(pa.array(near.rank_distances))
        return pa.record_batch(found, self._names)
