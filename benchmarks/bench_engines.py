"""Exact answers by other engines, against what the same engine does without deletion keys.

    python benchmarks/bench_engines.py [--only PART,PART] [--quick] [--record FILE]

The parts are duckdb, postgres, spark and shuffles. Each replaces its own rows of the record,
results/engines.jsonl, and leaves those of others.
PostgreSQL and Spark are started on loopback and stopped; what runs on Spark is in
engines_spark.py. --quick takes a tenth of the items, for a first look, and writes no record unless
told where. Answers are compared before they are timed.
"""

import argparse
import datetime as dt
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import index_sets
import numpy as np

from kinhash import Codes, HammingIndex, sql
from kinhash.engines.layout import Layout
from kinhash.storage import atomic

HERE = Path(__file__).parent
RECORD = HERE / "results" / "engines.jsonl"
PARTS = ("duckdb", "postgres", "spark", "shuffles")


def row(part, what, value, unit, *, must=None, aim=None, at_most=False, **more):
    """Return a line of the record and print it; a value reaches a goal from above or below."""
    reached = None if must is None else bool(value <= must if at_most else value >= must)
    line = {"part": part, "what": what, "value": float(f"{value:.4g}"), "unit": unit}
    line |= {"must": must, "aim": aim, "reached": reached, "at_most": at_most, "more": more}
    mark = {None: "", True: "reached", False: "MISSED"}[reached]
    print(f"{part:9s} {what:70s} {line['value']:>12,.4g} {unit:6s} {mark} {more or ''}", flush=True)
    return line


# DuckDB


def self_join(folder, radius):
    """Join clustered codes with themselves under 4 GB, in this process; print what it took."""
    from kinhash.engines import duckdb  # noqa: PLC0415 - in a process of its own

    words = np.load(f"{folder}/items.npy", mmap_mode="r")
    with duckdb.connect(memory_limit="4GB", folder=f"{folder}/spill") as connection:
        layout = duckdb.load(connection, "items", Codes(words, 64))
        start = time.perf_counter()
        joined = sql.join(layout, radius=radius)
        connection.execute(f"CREATE TABLE pairs AS {joined}")
        taken = time.perf_counter() - start
        [[n_pairs]] = connection.execute("SELECT COUNT(*) FROM pairs").fetchall()
        [[n_items]] = connection.execute(
            "SELECT SUM(CAST(x.n AS HUGEINT) * q.n) FROM pairs p"
            " JOIN (SELECT MIN(id) AS code, COUNT(*) AS n FROM items GROUP BY w0) x"
            " ON x.code = left_code"
            " JOIN (SELECT MIN(id) AS code, COUNT(*) AS n FROM items GROUP BY w0) q"
            " ON q.code = right_code"
        ).fetchall()
    # Not ru_maxrss, which begins with the memory of the process that started this one.
    peak = int(re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())[1]) / 2**20
    answer = {"seconds": taken, "n_pairs": n_pairs, "n_item_pairs": int(n_items), "peak_gb": peak}
    print(json.dumps(answer))


def duckdb_rows(size):
    """Measure DuckDB: a large self-join, and keys against comparing all pairs."""
    name = "clustered10m" if size == 1 else "clustered1m"
    with tempfile.TemporaryDirectory() as folder:
        n_items = index_sets.save(name, folder)
        for radius in (1, 2):
            command = (sys.executable, __file__, "--self-join", folder, str(radius))
            done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - this script
            found = json.loads(done.stdout)
            minutes = found.pop("seconds") / 60
            goals = {"must": 60, "aim": 5} if radius == 1 else {"must": 60}
            what = f"self-join of {n_items:,} clustered codes at r = {radius} under 4 GB"
            shown = {key: float(f"{value:.3g}") for key, value in found.items()}
            yield row("duckdb", what, minutes, "min", at_most=True, **goals, **shown)
    yield from against_brute_force(300_000 // size)


def against_brute_force(n):
    """Join uniform codes with themselves by keys, and a part of them with all by bit_count."""
    from kinhash.engines import duckdb  # noqa: PLC0415

    rng = np.random.default_rng(n)
    drawn = np.unique(index_sets._random_bits(rng, np.full(n + n // 100, 6)))  # noqa: SLF001
    codes = Codes(rng.permutation(drawn)[:n, None], 64)
    share = 10
    with duckdb.connect() as connection:
        duckdb.load(connection, "items", codes)
        duckdb.load(connection, "part", codes[: n // share])
        text = f"SELECT COUNT(*) FROM ({sql.join(Layout(64), radius=2)})"  # noqa: S608
        times = []
        for _ in range(3):
            start = time.perf_counter()
            [[n_pairs]] = connection.execute(text).fetchall()
            times.append(time.perf_counter() - start)
        brute = (
            "SELECT COUNT(*), COUNT(*) FILTER (x.id < q.id) FROM part x JOIN items q"
            " ON bit_count(xor(x.w0, q.w0)) <= 2"
        )
        start = time.perf_counter()
        [[n_brute, _]] = connection.execute(brute).fetchall()
        taken = (time.perf_counter() - start) * share
        both = sql.join(Layout(64), left="part", right="items", radius=2)
        [[n_keys]] = connection.execute(f"SELECT COUNT(*) FROM ({both})").fetchall()  # noqa: S608
    assert n_keys == n_brute, "keys and bit_count differ"
    start = time.perf_counter()
    index = HammingIndex(codes)
    n_index = sum(len(index.search_radius(codes[i : i + 4096], 2).ids) for i in range(0, n, 4096))
    of_index = time.perf_counter() - start
    assert (n_index - n) // 2 == n_pairs, "DuckDB and the index differ"
    keys = min(times)
    what = f"{n:,} uniform codes with themselves, r = 2: keys against bit_count"
    about = {"seconds": keys, "brute_seconds": taken, "index_seconds": of_index}
    about = {name: float(f"{value:.3g}") for name, value in about.items()}
    yield row("duckdb", what, taken / keys, "times", must=20, aim=100, **about)


# PostgreSQL


def postgres_rows(size):
    """Measure queries by index probes against a scan, bytes per item, and growth."""
    import psycopg  # noqa: PLC0415

    from kinhash.engines import postgres  # noqa: PLC0415

    sys.path.insert(0, str(HERE.parent / "tests"))
    server = importlib.import_module("conftest").server
    names = ("clustered100k", "clustered1m") if size == 1 else ("clustered100k",)
    medians, sizes = {}, {}
    with tempfile.TemporaryDirectory() as folder, server(folder) as url:
        for name in names:
            made = index_sets.make(name)
            queries = made.queries[:300]
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("DROP SCHEMA public CASCADE")
                connection.execute("CREATE SCHEMA public")
            with postgres.open_store(url, Layout(64)) as store:
                store.add(made.items)
                with psycopg.connect(
                    url, autocommit=True, cursor_factory=psycopg.RawCursor
                ) as connection:
                    connection.execute("SET jit = off")
                    connection.execute("VACUUM ANALYZE")
                    sizes[name] = bytes_beside(connection) / len(made.items)
                    scanned = scan_times(connection, store, queries[:15])
                medians[name] = timed(store, queries)
                if name != names[-1]:
                    continue
                for radius, must, aim in ((0, 100, 300), (1, 50, 150), (2, 25, 60)):
                    own = statistics.median(took for took, _ in medians[name][radius])
                    what = f"{len(made.items):,} rows, r = {radius}: probes against a scan"
                    times = {"ms": round(own * 1e3, 3), "scan_ms": round(scanned[radius] * 1e3, 1)}
                    ratio = scanned[radius] / own
                    yield row("postgres", what, ratio, "times", must=must, aim=aim, **times)
    for name, each in sizes.items():
        goals = {"must": 120, "aim": 60} if name == names[-1] else {}
        what = f"bytes per item beside the item, {name}"
        yield row("postgres", what, each, "bytes", at_most=True, **goals)
    if len(names) == 2:
        for radius in (0, 1, 2):
            small, large = (alike(medians[name][radius]) for name in names)
            what = f"growth of r = {radius} from 100K to 1M items, queries with like answers"
            yield row("postgres", what, large / small, "times", must=1.5, aim=1.1, at_most=True)


def bytes_beside(connection):
    """Return the bytes of all tables and indexes but the items and their primary key."""
    tables = ("about", "bits", "codes", "keys")
    names = [f"kinhash_{table}" for table in tables] + ["kinhash_items_code"]
    sizes = [
        connection.execute("SELECT pg_total_relation_size($1::text::regclass)", (name,)).fetchone()
        for name in names
    ]
    return sum(size for (size,) in sizes)


def scan_times(connection, store, queries):
    """Return the median seconds of PostgreSQL's own scan at each radius; check the answers."""
    connection.execute(
        "CREATE TABLE plain AS SELECT id, w0 FROM kinhash_items NATURAL JOIN kinhash_codes"
    )
    connection.execute("VACUUM ANALYZE plain")
    medians = {}
    for radius in (0, 1, 2):
        text = f"SELECT id FROM plain WHERE bit_count((w0 # $1::bigint)::bit(64)) <= {radius}"  # noqa: S608 - our own number
        times = []
        for code, ids in zip(
            queries.words[:, 0].view(np.int64).tolist(),
            store.search_radius(queries, radius),
            strict=True,
        ):
            start = time.perf_counter()
            rows = connection.execute(text, (code,), prepare=True).fetchall()
            times.append(time.perf_counter() - start)
            assert sorted(row[0] for row in rows) == sorted(ids[0].tolist()), "answers differ"
        medians[radius] = statistics.median(times)
    connection.execute("DROP TABLE plain")
    return medians


def timed(store, queries):
    """Return for each radius the seconds and the answers of each query."""
    found = {}
    for radius in (0, 1, 2):
        found[radius] = []
        for i in range(len(queries)):
            start = time.perf_counter()
            answer = store.search_radius(queries[i : i + 1], radius)
            found[radius].append((time.perf_counter() - start, len(answer.ids)))
    return found


def alike(times):
    """Return the median seconds of queries with 50 to 500 answers."""
    return statistics.median(took for took, n_answers in times if 50 <= n_answers <= 500)


def measured(part, size):
    """Return the rows of a part."""
    if part == "duckdb":
        return list(duckdb_rows(size))
    if part == "postgres":
        return list(postgres_rows(size))
    spark = importlib.import_module("engines_spark")
    return list(spark.spark_rows(size) if part == "spark" else spark.shuffle_rows(size))


def machine():
    """Return what the record says of the machine and the versions."""
    import duckdb  # noqa: PLC0415

    about = {"cpu": platform.processor() or platform.machine(), "n_cores": os.cpu_count()}
    versions = {"Python": platform.python_version(), "DuckDB": duckdb.__version__}
    for name, package in (("psycopg", "psycopg"), ("PySpark", "pyspark")):
        if importlib.util.find_spec(package) is not None:
            versions[name] = importlib.metadata.version(package)
    today = dt.datetime.now(dt.UTC).date()
    return {"date": today.isoformat(), **about, "versions": versions}


def main():
    """Measure, print, and bring the record up to date."""
    if sys.argv[1:2] == ["--self-join"]:
        self_join(sys.argv[2], int(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    wanted = options.only.split(",")
    if not set(wanted) <= set(PARTS):
        parser.error(f"--only takes {', '.join(PARTS)}")
    record = options.record or (None if options.quick else RECORD)
    lines = []
    if record is not None and record.exists():
        lines = [json.loads(line) for line in record.read_text("utf-8").splitlines()]
    for part in wanted:
        found = [
            line | {"machine": machine()} for line in measured(part, 10 if options.quick else 1)
        ]
        lines = [line for line in lines if line["part"] != part or not found] + found
        if record is not None:  # after each part: the next may take long
            lines.sort(key=lambda line: PARTS.index(line["part"]))
            with atomic(record) as path:
                path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")


if __name__ == "__main__":
    main()
