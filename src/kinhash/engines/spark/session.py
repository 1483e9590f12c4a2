"""Spark sessions: how one starts, which versions are known, and failures as one sentence."""

import contextlib
import importlib
import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from kinhash.engines.versions import check_version
from kinhash.errors import InvalidInputError, KinhashError, MissingExtraError

# PySpark is an extra, and types must not depend on whether it is there.
Session = Any  # pyspark.sql.SparkSession
Frame = Any  # pyspark.sql.DataFrame

TESTED, OLDEST = ("4.0", "4.3"), "4.0"

ATTEMPTS = 5  # to reach a master
_FIRST_WAIT, _TIMEOUT = 0.1, 5  # seconds: between attempts, doubled each time; of one attempt

# Spark's page would listen everywhere.
_LOOPBACK = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
}
# What may lead to a master that nobody has named.
_CONFIGURED_BY = ("SPARK_HOME", "SPARK_CONF_DIR", "MASTER")


def pyspark(module: str = "sql") -> ModuleType:
    """Return a module of PySpark, which is an extra and slow to import.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        return importlib.import_module(f"pyspark.{module}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"pyspark", "py4j"}:
            raise
        raise MissingExtraError("Answers on Spark need pyspark", "spark") from error


def session(
    master: str | None = None,
    *,
    settings: Mapping[str, str] | None = None,
    name: str = "kinhash",
) -> Session:
    """Return the running session, or start one.

    What runs on this machine alone listens on loopback only, and its workers run this Python.

    Args:
        master: Where to run, such as "local[4]" or "spark://host:7077"; by default what
            `spark-submit` or Spark's configuration says, else all cores of this machine.
        settings: Spark's own, by their names; these win.
        name: What Spark calls the application.

    Raises:
        MissingExtraError: PySpark is not installed.
        InvalidInputError: There is no Java, or Spark does not start with these settings.
    """
    builder = pyspark().SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master)
    for key, value in (_own_settings(master) | dict(settings or {})).items():
        builder = builder.config(key, value)
    with failures():
        found = builder.getOrCreate()
    check_version("Spark", found.version, tested=TESTED, oldest=OLDEST)
    return found


@contextlib.contextmanager
def opened(
    master: str | None = None, *, settings: Mapping[str, str] | None = None
) -> Iterator[Session]:
    """Give the running session, or one of our own that stops when the block is over.

    Raises:
        KinhashError: As `session`.
    """
    is_running = pyspark().SparkSession.getActiveSession() is not None
    found = session(master, settings=settings)
    try:
        yield found
    finally:
        if not is_running:
            with contextlib.suppress(Exception):  # what went wrong before says more
                found.stop()


def _own_settings(master: str | None) -> dict[str, str]:
    """Return what a new session needs here, and nothing for one that exists already."""
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if is_submitted or pyspark().SparkSession.getActiveSession() is not None:
        return {}
    _check_java()
    _check_master(master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    is_local = not any(name in os.environ for name in _CONFIGURED_BY)
    if master is not None:
        is_local = master.startswith("local")
    return {"spark.ui.showConsoleProgress": "false"} | (_LOOPBACK if is_local else {})


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    path = os.path.join(home, "bin") if home else None  # noqa: PTH118 - as `which` takes it
    if shutil.which("java", path=path) is None:
        where = f"$JAVA_HOME/bin, which is {path}" if home else "the PATH, and JAVA_HOME is not set"
        raise InvalidInputError(
            f"Spark needs Java 17 or newer, but there is no `java` in {where}. Install it, such as "
            "the package openjdk-17-jre-headless."
        )


def _check_master(master: str | None) -> None:
    """Raise InvalidInputError if nobody listens where a standalone master should be.

    Spark itself tries for a minute, and then says only that its context has stopped.
    """
    if master is None or not master.startswith("spark://"):
        return
    places = [place.rpartition(":") for place in master.removeprefix("spark://").split(",")]
    reason = "it is no spark://HOST:PORT"
    for attempt in range(ATTEMPTS):
        time.sleep(_FIRST_WAIT * 2 ** (attempt - 1) if attempt else 0)
        for host, _, port in places:
            try:
                socket.create_connection((host, int(port)), _TIMEOUT).close()
            except (OSError, ValueError, OverflowError) as error:
                if isinstance(error, OSError):
                    reason = (error.strerror or str(error)).lower()
            else:
                return
    raise InvalidInputError(
        f"No Spark master answers at {master} after {ATTEMPTS} attempts: {reason}. Start it, or "
        "name another."
    )


def task_cpus(session: Session) -> int:
    """Return how many threads a task may use."""
    return int(session.conf.get("spark.task.cpus", "1"))


def check_frame(name: str, df: object) -> Frame:
    """Return `df`, which must be a frame of Spark, and warn if its Spark is an unknown one.

    Raises:
        MissingExtraError: PySpark is not installed.
        InvalidInputError: It is something else, or of Spark Connect.
    """
    if not isinstance(df, pyspark().DataFrame):
        raise InvalidInputError(f"`{name}` must be a Spark DataFrame, got {type(df).__name__}.")
    found: Frame = df
    if not isinstance(df, pyspark("sql.classic.dataframe").DataFrame):
        raise InvalidInputError(
            f"`{name}` is of Spark Connect, which has no broadcasts. Use a session that runs in "
            "the driver, such as kinhash.engines.spark.session() gives."
        )
    check_version("Spark", found.sparkSession.version, tested=TESTED, oldest=OLDEST)
    return found


@contextlib.contextmanager
def failures() -> Iterator[None]:
    """Turn what Spark raises in the block into one sentence, if need be that of a worker.

    Raises:
        InvalidInputError: A worker has raised it, or Spark refuses what it is asked.
        KinhashError: Anything else has gone wrong in Spark.
    """
    pyspark()
    from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with PySpark
    from pyspark.errors import AnalysisException, PySparkException  # noqa: PLC0415 - an extra

    try:
        yield
    except (PySparkException, Py4JError) as error:
        message, is_own = _told(str(error))
        wrong = is_own or isinstance(error, AnalysisException)
        raise (InvalidInputError if wrong else KinhashError)(message) from error


def _told(text: str) -> tuple[str, bool]:
    """Return the sentence for a failure, and whether kinhash has raised it in a worker."""
    own = re.findall(r"^kinhash\.errors\.\w+: (.+)$", text, re.MULTILINE)
    if own:
        return own[-1].strip(), True
    if "No module named 'kinhash'" in text:
        remedy = "Install it there, or name another Python as PYSPARK_PYTHON."
        return f"The Python of Spark's workers has no kinhash. {remedy}", True
    if "stopped SparkContext" in text:
        remedy = "Look at what Spark has written, and whether its master still runs."
        return f"Spark has stopped before the work was done. {remedy}", False
    java = re.search(r"^: (?:[\w.$]+: )?(.+)$", text, re.MULTILINE)
    line = java[1] if java else text.strip().partition("\n")[0]
    line = re.sub(r"^\[[\w.]+\] ?|\s*SQLSTATE: \w+\s*$", "", line).rstrip(".")
    return f"Spark failed: {line}.", False
