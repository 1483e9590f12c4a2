"""Small data and a tiny trained model for the tests; and no silent skips in continuous checks."""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kinhash import SparseHash, datasets
from kinhash.errors import InvalidInputError

ENGINES = {
    "postgres",
    "spark",
    "spark_cluster",
}  # fixtures that start what is not in the repository
BUILT_IN = {"digits", "digits-words"}  # data sets that every machine has


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """With KINHASH_NO_SKIPS set, a skipped test is a failed one."""
    outcome = yield
    report = outcome.get_result()
    if os.environ.get("KINHASH_NO_SKIPS") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and nothing may be skipped here: {report.longrepr}"


@pytest.fixture(autouse=True)
def no_data_set_without_marker(request, monkeypatch, tmp_path_factory):
    """Fail a test that asks for a data set of this machine and is not marked `data`."""
    if request.node.get_closest_marker("data"):
        return
    nowhere = tmp_path_factory.getbasetemp() / "no-data-sets"
    monkeypatch.setenv("KINHASH_DATA", str(nowhere))

    def guarded(name, loader):
        def load(root, *options):
            if root == nowhere:
                pytest.fail(f"This test asks for {name!r}: mark it with `pytest.mark.data`.")
            return loader(root, *options)

        return load

    for name, loader in list(datasets.DATASETS.items()):
        if name not in BUILT_IN:
            monkeypatch.setitem(datasets.DATASETS, name, guarded(name, loader))


@pytest.fixture(scope="session")
def real_data():
    """Return a data set of this machine, or skip the test and say what was looked for and where."""

    def load(name, features=None):
        try:
            return datasets.load(name, features=features)
        except InvalidInputError as error:
            if " was not found: looked for " not in str(error):
                raise
            pytest.skip(str(error))

    return load


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items):
    """Mark each test that asks for an engine of this machine, so that none can be forgotten."""
    for item in items:
        asked = ENGINES & set(getattr(item, "fixturenames", ()))
        if asked:
            item.add_marker(pytest.mark.engine)
        if asked & {"spark", "spark_cluster"} and item.config.pluginmanager.hasplugin("xdist"):
            # One process runs them all: Spark takes seconds to start, and hundreds of megabytes.
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def postgres():
    """Start a PostgreSQL server of our own on loopback; give its URL, with a password."""
    with tempfile.TemporaryDirectory(prefix="kinhash-postgres-") as folder, server(folder) as url:
        yield url


@contextlib.contextmanager
def server(folder):
    programs = next((Path(path).parent for path in postgres_programs()), None)
    if programs is None:
        pytest.skip(
            "PostgreSQL was not found: looked for pg_ctl on the PATH and below "
            "/usr/lib/postgresql. Install the package postgresql."
        )
    as_user = {}
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        as_user = {"user": "postgres", "group": "postgres", "extra_groups": []}
        shutil.chown(folder, "postgres", "postgres")

    def call(program, *words):
        done = subprocess.run(
            [programs / program, *words],
            cwd=folder,
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if program == "initdb" else subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            **as_user,
        )
        assert done.returncode == 0, f"{program}: {done.stdout or Path(folder, 'log').read_text()}"

    password = secrets.token_hex(8)
    secret = Path(folder, "password")
    secret.write_text(password)
    call("initdb", "-D", "data", "-U", "kinhash", "-A", "scram-sha-256", f"--pwfile={secret}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = f"-h 127.0.0.1 -p {port} -k {folder} -c fsync=off"
    call("pg_ctl", "start", "-w", "-D", "data", "-l", "log", "-o", settings)
    try:
        yield f"postgresql://kinhash:{password}@127.0.0.1:{port}/postgres"
    finally:
        call("pg_ctl", "stop", "-w", "-m", "immediate", "-D", "data")


def postgres_programs():
    """Return the paths of pg_ctl, the newest version first."""
    own = shutil.which("pg_ctl")
    debian = Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")
    by_version = sorted(debian, key=lambda path: int(path.parts[4]), reverse=True)
    return [*by_version, *([own] if own else [])]


@pytest.fixture(scope="session")
def spark_installed():
    """Skip the test unless PySpark and Java are here."""
    pytest.importorskip("pyspark", reason="PySpark was not found: pip install 'kinhash[spark]'.")
    if shutil.which("java") is None:
        pytest.skip("Java was not found on the PATH. Install the package openjdk-17-jre-headless.")


@pytest.fixture(scope="session")
def spark(spark_installed, tmp_path_factory):
    """Start Spark on two cores of this machine."""
    from kinhash.engines.spark import session

    settings = {
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("spark")),
    }
    started = session("local[2]", settings=settings)
    started.sparkContext.setLogLevel("OFF")  # failures are under test, too
    yield started
    started.stop()


@pytest.fixture(scope="session")
def spark_cluster(spark_installed, tmp_path_factory):
    """Start a standalone master of Spark and two workers on loopback; give the master's URL."""
    folder = tmp_path_factory.mktemp("spark-cluster")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"
    where = ("--host", "127.0.0.1", "--webui-port", "0")
    worker = ("worker.Worker", *where, "--cores", "1", "--memory", "1g", "--work-dir", folder, url)
    with contextlib.ExitStack() as stack:
        master = ("master.Master", *where, "--port", str(port))
        stack.enter_context(spark_daemon(folder / "master", "I have been elected leader", *master))
        for name in ("first", "second"):
            registered = "Successfully registered with master"
            stack.enter_context(spark_daemon(folder / name, registered, *worker))
        yield url


@contextlib.contextmanager
def spark_daemon(log, ready, name, *words):
    """Run a master or a worker until the block is over, which starts when its log says so."""
    import pyspark

    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    command = [program, f"org.apache.spark.deploy.{name}", *map(str, words)]
    with log.open("w") as out:
        daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        for _ in range(600):
            if ready in log.read_text() or daemon.poll() is not None:
                break
            time.sleep(0.1)
        assert ready in log.read_text(), log.read_text()
        yield
    finally:
        daemon.terminate()
        daemon.wait(30)


@pytest.fixture(scope="session")
def digits():
    X, y = load_digits(return_X_y=True)
    varying = (X[:200].std(axis=0) > 0) & (X[:300].std(axis=0) > 0)
    return X[:, varying].astype(np.float32), y


@pytest.fixture(scope="session")
def tiny_model(digits):
    pytest.importorskip("torch")  # all but .ci/floors have it
    X, y = digits
    return SparseHash(n_bits=24, recipe="paper", max_steps=150, seed=1).fit(X[:600], y[:600])


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def ignore_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
