import os
from pathlib import Path

import pyarrow as pa

from kinhash.engines.spark.encoding import map_arrow
from kinhash.engines.spark.sending import MOST_OPEN, Sent


def test_bytes_are_opened_once_in_each_worker_of_all_jobs(spark, tmp_path):
    from pyspark.sql import types

    log = str(tmp_path / "opened")

    def opened(data):
        with Path(log).open("a") as file:
            file.write(f"{os.getpid()}\n")
        return int(data)

    sent = Sent(spark, b"7", opened)

    def use(batches):
        n_rows = sum(batch.num_rows for batch in batches)
        yield pa.record_batch({"pid": [os.getpid()], "found": [sent.opened() * n_rows]})

    fields = [types.StructField(name, types.LongType()) for name in ("pid", "found")]
    rows = []
    for _ in range(2):
        rows += map_arrow(spark.range(0, 40, 1, 8), use, fields).collect()
    assert [row.found for row in rows] == [35] * 16
    pids = [int(line) for line in Path(log).read_text().split()]
    assert len(pids) == len(set(pids)) < 16
    assert {row.pid for row in rows} == set(pids)


def test_a_worker_keeps_only_the_latest_open(spark):
    n_opened = []

    def opened(data):
        n_opened.append(data)
        return data

    sent = [Sent(spark, bytes([65 + i]), opened) for i in range(MOST_OPEN + 1)]
    for one in sent:
        one.opened()
    sent[-1].opened()
    assert n_opened == [b"A", b"B", b"C"]
    sent[0].opened()
    sent[-1].opened()
    assert n_opened == [b"A", b"B", b"C", b"A"]
