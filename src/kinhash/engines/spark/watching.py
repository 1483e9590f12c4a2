"""How far Spark's work is, for whoever waits for it."""

import contextlib
import threading
from collections.abc import Iterator

from kinhash.engines.spark.session import Session
from kinhash.progress import Report

INTERVAL = 0.5  # seconds between two looks


@contextlib.contextmanager
def watched(session: Session, report: Report) -> Iterator[None]:
    """Report the tasks of the stages that run while the block does.

    How many stages there will be, Spark does not know before: each starts from zero.

    Args:
        session: Where the block's work runs.
        report: Told, from a thread of its own, how many of how many tasks are done.
    """
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(session, report, over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _watch(session: Session, report: Report, over: threading.Event) -> None:
    with contextlib.suppress(Exception):  # such as a session that stops: the block tells it
        tracker = session.sparkContext.statusTracker()
        while not over.wait(INTERVAL):
            found = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            stages = [stage for stage in found if stage is not None and stage.numTasks]
            if stages:
                done = sum(stage.numCompletedTasks for stage in stages)
                total = sum(stage.numTasks for stage in stages)
                report(done, total, f"stage {max(stage.stageId for stage in stages)}")
