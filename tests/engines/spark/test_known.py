import numpy as np
import pyarrow as pa

from kinhash import Codes
from kinhash.engines.layout import Layout
from kinhash.engines.spark.known import QUERIES, Finder, as_bytes, sent_codes, told_layout

CODES = Codes.from_dense([[1, 0, 1], [0, 0, 1], [1, 1, 1]])
LAYOUT = Layout(3)


def table(codes, **more):
    return pa.table({**LAYOUT.arrays(codes), **more})


def test_bytes_say_how_codes_lie_and_how_they_are_called():
    data = as_bytes(table(CODES, sku=["a", "b", "c"], price=[1, 2, 3]), LAYOUT, "sku")
    read = pa.ipc.open_stream(data).read_all()
    assert told_layout(read) == LAYOUT
    assert read.column_names == ["w0", "sku"]


def test_each_row_finds_what_was_sent_by_its_name(spark):
    sent = sent_codes(spark, table(CODES, sku=["a", "b", "c"]), LAYOUT, "sku")
    finder = Finder(
        sent,
        LAYOUT,
        lambda index, codes: index.search_radius(codes, 1),
        keep=["place"],
        names=["place", "sku", "distance"],
    )
    n = 3 * QUERIES  # more than are searched at a time
    rows = CODES[np.arange(n) % 3]
    [batch] = table(rows, place=np.arange(n)).to_batches()
    found = pa.Table.from_batches(list(finder(iter([batch, batch.slice(0, 0)]))))
    expected = [[("a", 0), ("b", 1), ("c", 1)], [("a", 1), ("b", 0)], [("a", 1), ("c", 0)]]
    assert sorted(tuple(row.values()) for row in found.to_pylist()) == [
        (place, *pair) for place in range(n) for pair in expected[place % 3]
    ]
