"""A standalone master with two workers: the answers of one process, even if an executor dies."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kinhash import Codes, HammingIndex
from kinhash.methods import LSH

SETTINGS = {"spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "4"}
CONF = [word for name, value in SETTINGS.items() for word in ("--conf", f"{name}={value}")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Vectors in a file of many row groups, a model, and what it makes of them."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("cluster")
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(80, 12))
    X = (centres[rng.integers(0, 80, 4000)] + 0.05 * rng.normal(size=(4000, 12))).astype(np.float32)
    model = LSH(n_bits=40, seed=0).fit(X)
    model.save(folder / "model.kinhash")
    (folder / "items").mkdir()
    for part in range(40):
        rows = slice(100 * part, 100 * part + 100)
        table = pa.table({"id": range(rows.start, rows.stop), "embedding": list(X[rows])})
        pq.write_table(table, folder / "items" / f"{part:02d}.parquet")
    np.save(folder / "words.npy", model.encode(X).words)
    return folder


def codes_of(folder):
    return Codes(np.load(folder / "words.npy"), 40)


def called(*words, cwd, **env):
    done = subprocess.run(
        [*map(str, words)],
        cwd=cwd,
        env=os.environ | env,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done


def rows_of(folder, order):
    import pyarrow.parquet as pq

    found = pq.read_table(folder).sort_by([(name, "ascending") for name in order])
    return {name: found[name].to_numpy() for name in found.column_names}


def check_groups(found, codes, radius):
    groups = HammingIndex(codes).duplicates(radius)
    order = np.argsort(groups.id)
    assert len(groups) > 20
    for name in ("id", "representative", "keep", "distance"):
        assert np.array_equal(found[name], getattr(groups, name)[order]), name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::kinhash.errors.LargeGroupWarning")
def test_the_command_line_gives_the_answers_of_one_process(folder, spark_cluster, tmp_path):
    command = (sys.executable, "-m", "kinhash", "spark")
    where = ("--master", spark_cluster, *CONF)
    made = ("encode", folder / "model.kinhash", folder / "items", "--out", "codes")
    done = called(*command, *made, *where, cwd=tmp_path)
    assert (done.stdout, done.stderr.splitlines()[-1]) == ("", "Wrote codes: 4,000 rows.")
    codes = codes_of(folder)
    assert np.array_equal(rows_of(tmp_path / "codes", ["id"])["w0"], codes.words[:, 0])
    # As spark-submit runs it, which starts Python files only.
    (tmp_path / "kinhash-spark.py").write_text(submitted())
    submit = Path(sys.modules["pyspark"].__file__).parent / "bin" / "spark-submit"
    call = (submit, *where, "kinhash-spark.py", "spark", "dedup", "codes", "--radius", 1)
    done = called(*call, "--out", "groups", cwd=tmp_path, PYSPARK_PYTHON=sys.executable)
    assert done.stdout.splitlines()[-1].startswith("Wrote groups: ")  # Spark joins both streams
    check_groups(rows_of(tmp_path / "groups", ["id"]), codes, 1)


def submitted():
    """Return the Python file that the page tells to write for spark-submit."""
    page = Path(__file__).parents[2] / "docs" / "engines.md"
    [line] = [x for x in page.read_text("utf-8").splitlines() if x.endswith("> kinhash-spark.py")]
    return line.partition("'")[2].rpartition("'")[0] + "\n"


KILLED = """
import json, os, signal, sys
from pathlib import Path
import pyarrow as pa
from pyspark.sql import types
from kinhash import load
from kinhash.engines import spark
from kinhash.engines.spark import groups
from kinhash.engines.spark.encoding import map_arrow

master, folder, settings = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
session = spark.session(master, settings=settings)

def executor(batches):  # the parent of the daemon that is the parent of this worker
    status = Path(f"/proc/{os.getppid()}/status").read_text()
    for _ in batches:
        pass
    yield pa.record_batch({"pid": [int(status.partition("PPid:")[2].split()[0])]})

def executors():
    field = types.StructField("pid", types.LongType())
    return {row.pid for row in map_arrow(session.range(0, 64, 1, 16), executor, [field]).collect()}

while len(before := executors()) < 2:  # the second may register late
    pass
stored, n_stored = groups._stored, []

def store(df):
    kept = stored(df)
    n_stored.append(df)
    if len(n_stored) == 4:  # in the middle: what was stored there is needed again
        os.kill(min(before), signal.SIGKILL)
    return kept

groups._stored = store
codes = spark.encode(session.read.parquet(str(folder / "items")), load(folder / "model.kinhash"))
found = spark.group_duplicates(codes, 1, by="keys").orderBy("id").toPandas()
after = executors()
columns = {name: found[name].tolist() for name in found.columns}
print(json.dumps({"n_stored": len(n_stored), "gone": min(before) not in after, **columns}))
session.stop()
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::kinhash.errors.LargeGroupWarning")
def test_an_executor_that_dies_in_the_middle_changes_no_group(folder, spark_cluster, tmp_path):
    """It dies between two rounds, and takes with it what it has stored of those before."""
    if not Path("/proc/self/status").exists():
        pytest.skip("Which process is an executor is read from /proc, which is not here.")
    words = (sys.executable, "-W", "ignore", "-c", KILLED, spark_cluster, folder)
    done = called(*words, json.dumps(SETTINGS), cwd=tmp_path)
    found = json.loads(done.stdout)
    assert found.pop("gone")
    assert found.pop("n_stored") > 6, "rounds came after it"
    check_groups({name: np.array(values) for name, values in found.items()}, codes_of(folder), 1)


ENCODED = """
import json, os, signal, sys, time, threading
from pathlib import Path
from kinhash import load
from kinhash.engines import spark

master, folder, out, settings = *map(str, sys.argv[1:4]), json.loads(sys.argv[4])
session = spark.session(master, settings=settings)
tracker = session.sparkContext.statusTracker()
killed = []

def kill():
    while not killed:
        for stage in map(tracker.getStageInfo, tracker.getActiveStageIds()):
            if stage and 2 <= stage.numCompletedTasks <= stage.numTasks - 10:
                here = [p for p in Path("/proc").glob("[0-9]*/cmdline") if own(p)]
                if here:
                    os.kill(int(here[0].parent.name), signal.SIGKILL)
                    killed.append([stage.numCompletedTasks, stage.numTasks])
                    return
        time.sleep(0.01)

def own(path):
    try:
        words = path.read_bytes().split(b"\\0")
    except OSError:
        return False
    return app in words and b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in words

app = session.sparkContext.applicationId.encode()
threading.Thread(target=kill, daemon=True).start()
frame = session.read.parquet(f"{folder}/items").repartition(60)
spark.encode(frame, load(f"{folder}/model.kinhash")).write.parquet(out)
print(json.dumps(killed))
session.stop()
"""


@pytest.mark.slow
def test_an_executor_that_dies_while_it_encodes_loses_and_doubles_no_row(
    folder, spark_cluster, tmp_path
):
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("Which process is an executor is read from /proc, which is not here.")
    words = (sys.executable, "-c", ENCODED, spark_cluster, folder, tmp_path / "codes")
    done = called(*words, json.dumps(SETTINGS), cwd=tmp_path)
    [[n_done, n_tasks]] = json.loads(done.stdout)
    assert 0 < n_done < n_tasks
    found = rows_of(tmp_path / "codes", ["id"])
    assert np.array_equal(found["id"], np.arange(4000))
    assert np.array_equal(found["w0"], codes_of(folder).words[:, 0])
    shutil.rmtree(tmp_path / "codes")
