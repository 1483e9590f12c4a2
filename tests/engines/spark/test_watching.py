import time

import pyarrow as pa
import pytest

from kinhash.engines.spark.encoding import map_arrow
from kinhash.engines.spark.watching import watched


def slow(batches):
    time.sleep(0.4)
    for batch in batches:
        yield pa.record_batch({"id": batch["id"]})


def test_tasks_of_running_stages_are_told_until_the_block_is_over(spark, monkeypatch):
    monkeypatch.setattr("kinhash.engines.spark.watching.INTERVAL", 0.05)
    told = []
    with watched(spark, lambda done, total, note="": told.append((done, total, note))):
        map_arrow(spark.range(0, 8, 1, 8), slow, list(spark.range(1).schema)).collect()
    assert {total for _, total, _ in told} == {8}
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)
    assert len({done for done, _, _ in told}) > 2
    assert told[0][2].startswith("stage ")
    n_told = len(told)
    spark.range(10).count()
    assert len(told) == n_told


def test_what_is_waited_for_may_fail_and_nothing_keeps_watching(spark):
    import threading

    before = threading.active_count()
    with pytest.raises(OSError, match="full"), watched(spark, lambda *_: None):
        raise OSError("full")
    assert threading.active_count() == before
