import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kinhash
from kinhash import HammingIndex
from kinhash.cli import main
from kinhash.methods import LSH

pytest.importorskip("duckdb")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Vectors in two Parquet files with ids that are strings, a model, and codes of it."""
    path = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8)).astype(np.float32)
    X[40:] = X[:20] + 0.001
    LSH(16).fit(X).save(path / "model.kinhash")
    (path / "vectors").mkdir()
    ids = [f"sku-{i:02}" for i in range(60)]
    for part, rows in enumerate((slice(0, 30), slice(30, 60))):
        table = {"sku": ids[rows], "price": np.arange(60.0)[rows], "embedding": list(X[rows])}
        pq.write_table(pa.table(table), path / "vectors" / f"{part}.parquet")
    codes = kinhash.load(path / "model.kinhash").encode(X)
    codes.save(path / "codes.kinhash", ids)
    words = ["export", str(path / "codes.kinhash"), "--to", "sql"]
    assert main([*words, "--out", str(path / "codes.parquet")]) == 0
    return path


def grouped(run, out, *words):
    done = run("dedup", *words, "--engine", "duckdb", "--radius", "1", "--out", out)
    assert done.code == 0, done.err
    return pq.read_table(out).to_pydict(), done.err


@pytest.mark.parametrize("of", ["vectors", "codes"])
def test_the_groups_are_those_of_one_process(run, folder, tmp_path, of):
    model, words = folder / "model.kinhash", (folder / "codes.parquet",)
    if of == "vectors":
        words = (folder / "vectors", "--model", model, "--features", "embedding", "--id", "sku")
    found, said = grouped(run, tmp_path / "out.parquet", *words, "--memory-limit", "200MB")
    stored = kinhash.load(folder / "codes.kinhash")
    expected = HammingIndex(stored.codes, stored.ids).duplicates(radius=1)
    assert found == {name: getattr(expected, name).tolist() for name in found}
    dropped = int((~expected.keep).sum())
    assert f"60 rows, {len(expected)} groups, {dropped:,} to drop, {60 - dropped} to keep" in said
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("{folder}/x.csv", "--radius", "1", "--out", "{out}"), 1, "must be a .parquet file or a"),
        (("{folder}/x.parquet", "--out", "{out}"), 2, "'--radius': is missing"),
        (("{folder}/x.parquet", "--radius", "1"), 2, "'--out': must name a .parquet file"),
        (("{folder}/x.parquet", "--radius", "1", "--out", "{out}"), 1, "x.parquet"),
        (("x.parquet", "--similarity", "0.9", "--out", "{out}"), 2, "'--similarity': leave it out"),
        (("x.parquet", "--radius", "1", "--update"), 2, "'--update': leave it out"),
        (
            ("{folder}/vectors", "--radius", "1", "--out", "{out}", "--ids", "skuu"),
            1,
            "Did you mean 'sku'?",
        ),
        (
            ("{folder}/vectors", "--radius", "1", "--out", "{out}", "--model", "{folder}/x"),
            1,
            "no such file",
        ),
    ],
)
def test_what_does_not_go_with_the_engine_is_one_sentence(
    run, folder, tmp_path, words, code, message
):
    out = tmp_path / "out.parquet"
    done = run("dedup", *(w.format(folder=folder, out=out) for w in words), "--engine", "duckdb")
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not out.exists()


def test_a_memory_limit_is_that_of_the_engine(run, folder):
    done = run("dedup", folder / "codes.kinhash", "--radius", "1", "--memory-limit", "1GB")
    assert done.code == 2
    assert "'--memory-limit': it is a limit of DuckDB: add --engine duckdb" in done.err
