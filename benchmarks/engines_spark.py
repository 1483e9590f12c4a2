"""Spark's rows of bench_engines.py: encoding files, and joins against what Spark has itself.

All of it runs on local[2], in turns with what it is compared with. Joins are timed to the number
of their pairs of items.
"""

import functools
import tempfile
import time
from pathlib import Path

import index_sets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from bench_engines import row

from kinhash import Codes
from kinhash.engines import spark as engine
from kinhash.engines.batches import encode_parquet
from kinhash.engines.layout import Layout
from kinhash.methods import ITQ

N_FEATURES, N_BITS = 384, 64
N_FILES = 16
N_QUERIES = 10_000
SHARE = 10  # of the queries, for brute force: its time is proportional
LSH_SHARE = 100  # of them, for MinHashLSH, whose time is not scaled
SETTINGS = {"spark.driver.memory": "4g", "spark.driver.maxResultSize": "2g"}


def spark_rows(size):
    """Measure encoding and joins on Spark."""
    with tempfile.TemporaryDirectory() as folder:
        settings = SETTINGS | {"spark.local.dir": folder, "spark.sql.warehouse.dir": folder}
        session = engine.session("local[2]", settings=settings)
        session.sparkContext.setLogLevel("ERROR")
        try:
            yield from encoding(session, Path(folder), 1_000_000 // size)
            yield from joins(session, Path(folder), size)
        finally:
            session.stop()


def shuffle_rows(size):
    """Measure what a self-join by keys sends between workers, which is how large joins run."""
    name = "clustered1m" if size == 1 else "clustered100k"
    words = index_sets.make(name).items.words[:, 0]
    with tempfile.TemporaryDirectory() as folder:
        settings = SETTINGS | {"spark.local.dir": folder, "spark.sql.warehouse.dir": folder}
        session = engine.session("local[2]", settings=settings)
        session.sparkContext.setLogLevel("ERROR")
        try:
            items = stored(session, Path(folder) / "items", words)
            items.groupBy("w0").count().count()  # starts what there is to start
            for radius in (1, 2):
                before = shuffled(session)
                join = engine.radius_join(items, radius=radius, by="keys")
                taken, n_pairs = seconds(join.count)
                per_item = (shuffled(session) - before) / len(words)
                what = (
                    f"self-join of {len(words):,} clustered codes by keys, r = {radius}: shuffled"
                )
                told = {"seconds": float(f"{taken:.3g}"), "n_pairs": n_pairs}
                yield row("shuffles", f"{what} per item", per_item, "bytes", **told)
        finally:
            session.stop()


def shuffled(session):
    """Return how many bytes all shuffles have written."""
    time.sleep(1)  # the last tasks are told a moment after they end
    executors = session.sparkContext._jsc.sc().statusStore().executorList(False)  # noqa: FBT003, SLF001 - Spark has no other way
    return sum(executors.apply(i).totalShuffleWrite() for i in range(executors.size()))


def seconds(work):
    """Return how long it takes, and what it gives."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def encoding(session, folder, n):
    """Encode Parquet to Parquet on Spark and in one process, in turns; the codes are compared."""
    rng = np.random.default_rng(0)
    source = folder / "vectors"
    source.mkdir()
    step = n // N_FILES
    for i in range(N_FILES):
        flat = pa.array(rng.standard_normal(step * N_FEATURES, np.float32))
        vectors = pa.FixedSizeListArray.from_arrays(flat, N_FEATURES).cast(pa.list_(pa.float32()))
        table = pa.table({"id": np.arange(i * step, (i + 1) * step), "embedding": vectors})
        pq.write_table(table, source / f"{i:02d}.parquet")
    model = ITQ(n_bits=N_BITS, seed=0).fit(flat.to_numpy().reshape(-1, N_FEATURES)[:5000])
    n, times = step * N_FILES, {"spark": [], "frame": [], "process": [], "memory": []}
    frame = session.read.parquet(str(source))
    engine.encode(frame.limit(2000), model).count()  # starts the workers
    one = folder / "codes.parquet"
    for i in range(3):
        out = str(folder / f"codes-{i}")
        write = engine.encode_files(session, str(source), model).write
        times["spark"].append(seconds(lambda write=write, out=out: write.parquet(out))[0])
        write, of_frame = engine.encode(frame, model).write, str(folder / f"frame-{i}")
        work = functools.partial(write.parquet, of_frame)
        times["frame"].append(seconds(work)[0])
        times["process"].append(seconds(lambda: encode_parquet(model, source, one))[0])
        table = pq.read_table(source / "00.parquet", columns=["embedding"])
        X = table["embedding"].combine_chunks().flatten().to_numpy().reshape(-1, N_FEATURES)
        times["memory"].append(seconds(lambda X=X: model.encode(X))[0] * N_FILES)
    found = session.read.parquet(out).orderBy("id").toArrow()["w0"].to_numpy()
    assert np.array_equal(found, pq.read_table(one)["w0"].to_numpy()), "codes differ"
    best = {name: min(each) for name, each in times.items()}
    about = {f"{name}_seconds": float(f"{value:.3g}") for name, value in best.items()}
    what = f"encoding {n:,} x {N_FEATURES} Parquet to Parquet: share of one process's rate"
    share = best["process"] / best["spark"]
    rate = {"rows_per_second": round(n / best["spark"])}
    yield row("spark", what, share, "times", must=0.5, aim=0.8, **about, **rate)
    what = "the same of a frame, whose rows Spark reads: share of one process's rate"
    yield row("spark", what, best["process"] / best["frame"], "times")


def joins(session, folder, size):
    """Join items with queries by radius, against comparing all pairs and against MinHashLSH."""
    name = "clustered1m" if size == 1 else "clustered100k"
    words = index_sets.make(name).items.words[:, 0].copy()
    words = words[words != 0]  # MinHashLSH refuses the empty set
    rng = np.random.default_rng(1)
    asked = words[rng.integers(0, len(words), N_QUERIES)]
    changed = np.flatnonzero(rng.random(N_QUERIES) < index_sets.ONE_MORE_FLIP)
    asked[changed] |= index_sets.single_bits(rng, len(changed))
    parts = {"items": words, "queries": asked, "few": asked[::SHARE]}
    items, queries, few = (stored(session, folder / name, own) for name, own in parts.items())
    about = f"{len(words):,} clustered codes against {N_QUERIES:,}"
    ours = {}
    for radius in (1, 2):
        n_few = near(items, few, radius).count()
        times = [seconds(near(items, queries, radius).count) for _ in range(2)]
        taken, n_pairs = min(times)
        brute, n_brute = seconds(compared(items, few, radius).count)
        assert n_few == n_brute, "keys and bit_count differ"
        ours[radius] = {"seconds": float(f"{taken:.3g}")}
        told = {"n_pairs": n_pairs, "brute_seconds": float(f"{brute * SHARE:.3g}")}
        what = f"{about}, r = {radius}: against bit_count"
        ratio = brute * SHARE / taken
        seen = {"seconds": ours[radius]["seconds"]}
        yield row("spark", what, ratio, "times", must=5, aim=20, **seen, **told)
    fewer = stored(session, folder / "fewer", asked[::LSH_SHARE])
    vectors = [sets(session, each) for each in (words, asked[::LSH_SHARE])]
    theirs, found = seconds(hashed(*vectors).collect)
    for radius, own in ours.items():
        recall = found[0][radius - 1] / near(items, fewer, radius).count()
        told = {"lsh_seconds": float(f"{theirs:.3g}"), "lsh_recall": float(f"{recall:.3g}")}
        what = f"{about}, r = {radius}: against MinHashLSH with {N_QUERIES // LSH_SHARE:,} of them"
        yield row("spark", what, theirs / own["seconds"], "times", must=2, aim=10, **own, **told)


def stored(session, path, words):
    """Return a frame of ids and codes in Parquet files."""
    columns = Layout(N_BITS).arrays(Codes(np.ascontiguousarray(words)[:, None], N_BITS))
    path.mkdir(exist_ok=True)
    for i, rows in enumerate(np.array_split(np.arange(len(words)), 8)):
        table = pa.table({"id": rows, **{name: own[rows] for name, own in columns.items()}})
        pq.write_table(table, path / f"{i}.parquet")
    return session.read.parquet(str(path))


def near(items, queries, radius):
    """Return our pairs of items."""
    return engine.radius_join(items, queries, radius=radius, pairs="items")


def compared(items, queries, radius):
    """Return the same by comparing all pairs."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - an extra

    q = f.broadcast(queries.withColumnsRenamed({"id": "q_id", "w0": "q_w0"}))
    return items.crossJoin(q).where(f"bit_count(w0 ^ q_w0) <= {radius}")


def sets(session, words):
    """Return a cached frame of codes as sparse vectors, as MinHashLSH takes them."""
    from pyspark.ml.functions import array_to_vector  # noqa: PLC0415

    words = np.ascontiguousarray(words)
    bits = np.unpackbits(words.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    lists = pa.FixedSizeListArray.from_arrays(pa.array(bits.ravel().astype(float)), N_BITS)
    ids = np.arange(len(words))  # equal rows would be one
    table = pa.table(
        {"id": ids, "w0": words.view(np.int64), "bits": lists.cast(pa.list_(pa.float64()))}
    )
    frame = session.createDataFrame(table).repartition(8)
    found = frame.select("id", "w0", array_to_vector("bits").alias("features")).cache()
    found.count()
    return found


def hashed(items, queries):
    """Return how many pairs within radius 1 and 2 MinHashLSH finds with its defaults.

    Its limit is on the Jaccard distance, here that of two sets that differ in 2 of 3: all pairs
    that are found beyond the radius are left out after it, and its candidates do not depend on it.
    """
    from pyspark.ml.feature import MinHashLSH  # noqa: PLC0415

    model = MinHashLSH(inputCol="features", outputCol="hashes", seed=1).fit(items)
    found = model.approxSimilarityJoin(items, queries, 2 / 3 + 1e-9)
    apart = "bit_count(datasetA.w0 ^ datasetB.w0)"
    return found.selectExpr(f"count_if({apart} <= 1)", f"count_if({apart} <= 2)")
