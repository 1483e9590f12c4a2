import re
import socket
import sys

import pyarrow as pa
import pytest

from kinhash.engines.spark import radius_join, session
from kinhash.engines.spark.encoding import map_arrow
from kinhash.engines.spark.session import check_frame, failures, opened, task_cpus
from kinhash.errors import (
    InvalidInputError,
    KinhashError,
    MissingExtraError,
    UntestedVersionWarning,
)


def test_without_pyspark_the_message_has_the_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    for call in (session, lambda: radius_join(None, radius=1)):
        with pytest.raises(MissingExtraError, match=r"pip install 'kinhash\[spark\]'"):
            call()


def test_a_version_that_was_not_tested_is_told(spark, monkeypatch):
    df = spark.range(2)
    monkeypatch.setattr(spark, "version", "4.9.0")
    with pytest.warns(UntestedVersionWarning, match=r"Spark 4.9.0 has not .* Spark 4.0 to 4.3 has"):
        check_frame("df", df)
    with pytest.warns(UntestedVersionWarning):
        session()
    monkeypatch.setattr(spark, "version", "3.5.9")
    with pytest.raises(InvalidInputError, match=r"Spark 3.5.9 is too old: 4.0 or newer is needed"):
        check_frame("df", df)


@pytest.mark.engine
@pytest.mark.parametrize("home", [None, "/nowhere"])
def test_without_java_one_sentence_says_what_to_install(spark_installed, monkeypatch, home):
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    if home:
        monkeypatch.setenv("JAVA_HOME", home)
    where = r"\$JAVA_HOME/bin, which is /nowhere/bin" if home else "the PATH, and JAVA_HOME is not"
    with pytest.raises(InvalidInputError, match=f"needs Java 17 .* no `java` in {where}"):
        session("local[1]")


def test_a_running_session_is_the_one(spark):
    assert session() is spark
    assert spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert spark.conf.get("spark.ui.enabled") == "false"
    assert task_cpus(spark) == 1


def test_what_is_no_frame_of_the_driver_is_refused(spark):
    assert check_frame("df", spark.range(2)).count() == 2
    with pytest.raises(InvalidInputError, match="`df` must be a Spark DataFrame, got int"):
        check_frame("df", 3)


def test_what_spark_refuses_is_one_sentence_of_bad_input(spark, tmp_path):
    with pytest.raises(InvalidInputError, match=r"^Spark failed: Path does not exist: [^\n]*\.$"):  # noqa: SIM117
        with failures():
            spark.read.parquet(str(tmp_path / "none"))


def failing(error):
    def fail(batches):
        for _ in batches:
            raise error
        yield pa.record_batch({"id": []})

    return fail


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (InvalidInputError("Row 3 is odd."), InvalidInputError, r"^Row 3 is odd\.$"),
        (
            ModuleNotFoundError("No module named 'kinhash'"),
            InvalidInputError,
            "The Python of Spark's workers has no kinhash. Install it there, or name",
        ),
        (OSError("No space left"), KinhashError, "^Spark failed: "),
    ],
)
def test_what_fails_in_a_worker_is_told_here(spark, error, kind, message):
    df = map_arrow(spark.range(1), failing(error), list(spark.range(1).schema))
    with pytest.raises(kind, match=message) as caught, failures():
        df.collect()
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)


def test_a_running_session_stays_when_a_command_is_over(spark):
    with opened("local[1]") as found:
        assert found is spark
    assert spark.range(3).count() == 3


@pytest.mark.engine
@pytest.mark.parametrize("place", ["127.0.0.1:{nobody}", "127.0.0.1"])
def test_a_master_that_is_down_is_tried_a_few_times_then_told(spark_installed, monkeypatch, place):
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        master = f"spark://{place.format(nobody=free.getsockname()[1])}"
        reason = "connection refused" if "nobody" in place else "it is no spark://HOST:PORT"
        message = f"No Spark master answers at {master} after 5 attempts: {reason}. Start it"
        with pytest.raises(InvalidInputError, match=re.escape(message)):
            session(master)


def test_a_context_that_has_stopped_is_told_in_one_sentence(spark):
    from pyspark.errors import PySparkRuntimeError

    with pytest.raises(KinhashError, match=r"^Spark has stopped before the work was done"):  # noqa: SIM117
        with failures():
            raise PySparkRuntimeError("Cannot call methods on a stopped SparkContext. More.")
