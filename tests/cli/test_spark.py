import dataclasses
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer

import kinhash
from kinhash import HammingIndex
from kinhash.cli import app as commands
from kinhash.cli import spark as command
from kinhash.engines.spark.radius import BY
from kinhash.linkage import LINKAGES
from kinhash.metrics import evaluate_codes

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"
SUBCOMMANDS = typer.main.get_command(commands.app).commands["spark"].commands


@pytest.fixture
def parquet(items, tmp_path):
    """The items of all tests as a Parquet file, in the folder where commands run."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    vectors, labels = items
    columns = {f"e{i}": vectors[:, i] for i in range(6)}
    table = pa.table({"id": range(120), "label": labels, "embedding": list(vectors), **columns})
    pq.write_table(table, tmp_path / "items.parquet")
    return tmp_path / "items.parquet"


@pytest.fixture
def go(run, tmp_path):
    """Run a command of Spark; words that start with ./ are in the folder of the test.

    A running Spark keeps the folder that it was started in.
    """

    def go(*words):
        words = [f"{tmp_path}{word[1:]}" if str(word)[:2] == "./" else word for word in words]
        done = run("spark", *words)
        return dataclasses.replace(done, err=done.err.replace(f"{tmp_path}/", "./"))

    return go


@pytest.fixture
def encoded(go, model, parquet, spark):
    done = go("encode", model, parquet, "--keep", "id,label", "--out", "./codes")
    assert (done.code, done.out) == (0, "")
    assert "Wrote ./codes: 120 rows." in done.err
    return parquet.parent / "codes"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def rows(folder, *order):
    import pyarrow.parquet as pq

    found = pq.read_table(folder)
    return found.sort_by([(name, "ascending") for name in order]) if order else found


def test_choices_are_those_of_the_library():
    assert [one.value for one in command.By] == list(BY)
    assert [one.value for one in command.Linkage] == list(LINKAGES)


def test_rows_are_encoded_as_by_the_model(go, encoded, model, items, parquet):
    found = rows(encoded, "id")
    assert found.column_names == ["id", "label", "w0"]
    expected = kinhash.load(model).encode(items[0])
    assert np.array_equal(found["w0"].to_numpy(), expected.words[:, 0].view(np.int64))
    words = ("--features", "e*", "--keep", "id", "--out", "./again")
    assert go("encode", model, parquet, *words[:1], "e?", *words[2:]).code == 0
    assert rows("again", "id").select(["id", "w0"]) == found.select(["id", "w0"])


def test_pairs_are_those_of_an_index(go, encoded, model, items):
    codes = kinhash.load(model).encode(items[0])
    index = HammingIndex(codes)
    words = ("--radius", 1, "--pairs", "items", "--out", "./pairs")
    assert go("join", encoded, encoded, *words).code == 0
    near = index.search_radius(codes, 1)
    found = rows("pairs", "left_id", "right_id")
    assert found.num_rows == len(near.ids)
    expected = sorted((i, j) for i in range(120) for j in near[i][0].tolist())
    assert list(zip(*(found[n].to_pylist() for n in ("left_id", "right_id")), strict=True)) == (
        expected
    )
    done = go("join", encoded, encoded, "--top-k", 3, "--out", "./near")
    assert "Wrote ./near: 360 pairs." in done.err
    first = index.search_top_k(codes, 3)
    assert rows("near", "left_id", "distance", "right_id")["right_id"].to_pylist() == (
        first.ids.tolist()
    )


@pytest.mark.filterwarnings("ignore::kinhash.errors.LargeGroupWarning")
@pytest.mark.parametrize("linkage", LINKAGES)
def test_groups_are_those_of_an_index(go, encoded, model, items, linkage):
    words = ("--radius", 1, "--linkage", linkage, "--out", "./groups")
    assert go("dedup", encoded, *words).code == 0
    groups = HammingIndex(kinhash.load(model).encode(items[0])).duplicates(1, linkage=linkage)
    found = rows("groups", "id")
    order = np.argsort(groups.id)
    assert np.array_equal(found["id"].to_numpy(), groups.id[order])
    assert np.array_equal(found["representative"].to_numpy(), groups.representative[order])


def test_measures_are_those_of_evaluate_codes(go, encoded, model, items):
    done = go("evaluate", encoded, encoded, "--radii", "0,1", "--at", 5, "--format=json")
    codes = kinhash.load(model).encode(items[0])
    expected = evaluate_codes(codes, items[1], codes, items[1], radii=(0, 1), at=(5,))
    assert json.loads(done.out) == pytest.approx(expected)
    table = go("evaluate", encoded, encoded).out
    assert "\nmap " in table
    assert go("evaluate", encoded, encoded, "--format", "csv").out.startswith("map,")


def test_files_that_do_not_say_how_long_codes_are_take_an_option(go, encoded, spark):
    frame = spark.read.parquet(str(encoded))
    frame.withMetadata("w0", {}).write.parquet(str(encoded.parent / "plain"))
    done = go("evaluate", "./plain", encoded)
    told = "error: QUERIES does not say how many bits its codes have, at most 64."
    assert (done.code, done.err) == (1, f"{told} Give their lengths as --n-bits.\n")
    done = go("evaluate", "./plain", encoded, "--n-bits", 16, "--format", "json")
    assert json.loads(done.out) == json.loads(
        go("evaluate", encoded, encoded, "--format", "json").out
    )


def test_what_exists_is_replaced_only_with_force_and_whole_or_not_at_all(
    go, encoded, model, parquet
):
    done = go("dedup", encoded, "--out", "./codes")
    assert (done.code, done.err) == (
        1,
        "error: ./codes exists already. Pass --force to replace it.\n",
    )
    before = rows(encoded, "id")
    table = rows(parquet).to_pylist()
    table[43]["embedding"] = None
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(table), "wrong.parquet")
    done = go("encode", model, "./wrong.parquet", "--out", "./codes", "--force")
    assert done.code == 1
    assert "must have a list in each row" in done.err
    assert "the first in row 43. Rows are those of partition 0." in done.err
    assert rows(encoded, "id") == before
    assert sorted(path.name for path in Path().iterdir()) == [
        "codes",
        "items.parquet",
        "wrong.parquet",
    ]
    assert go("encode", model, parquet, "--out", "./codes", "--force").code == 0
    assert "e0" in rows(encoded).column_names


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("join", "./codes", "--out", "./x"), 2, "give exactly one of the two"),
        (("join", "./codes", "--top-k", 3, "--out", "./x"), 2, "goes with RIGHT"),
        (
            ("join", "./codes", "--radius", -1, "--out", "./x"),
            1,
            "--radius must be an integer of at",
        ),
        (
            ("join", "./codes", "./codes", "--top-k", 0, "--out", "./x"),
            1,
            "--top-k must be an integer",
        ),
        (
            ("dedup", "./codes", "--id", "sku", "--out", "./x"),
            1,
            "--id 'sku' is no column of ITEMS",
        ),
        (("dedup", "./none", "--out", "./x"), 1, "error: Spark failed: Path does not exist: file:"),
        (("dedup", "./items.parquet", "--out", "./x"), 1, "ITEMS has no columns of codes, w0, w1"),
        (("dedup", "./codes", "--out", "./x", "--conf", "8g"), 2, "expected KEY=VALUE, such as"),
        (
            ("dedup", "./codes", "--out", "./items.parquet", "--force"),
            1,
            "items.parquet is a file.",
        ),
        (("evaluate", "./codes", "./codes", "--signed"), 2, "goes with --n-bits"),
        (("evaluate", "./codes", "./codes", "--labels", "no"), 1, "--labels 'no' is no column of"),
        (
            ("encode", "MODEL", "./codes", "--out", "./x"),
            1,
            "must have one column of arrays, the vect",
        ),
        (
            ("encode", "MODEL", "./items.parquet", "--features", "f*", "--out", "./x"),
            1,
            "--features 'f*' matches no column of DATA. The columns: id, label, embedding",
        ),
        (
            ("encode", "MODEL", "./items.parquet", "--features", "id,label", "--out", "./x"),
            1,
            "The columns of the vectors must be 6, as the model takes, got 2.",
        ),
        (("encode", "./items.parquet", "./items.parquet", "--out", "./x"), 1, "items.parquet"),
        (("measure",), 2, "No such command 'measure'"),
        ((), 2, "Usage: kinhash spark"),
    ],
)
def test_wrong_usage_is_one_sentence(go, encoded, model, words, code, message):
    done = go(*(model if word == "MODEL" else word for word in words))
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert "Traceback" not in done.err
    assert not Path("x").exists()


@pytest.mark.engine
def test_it_runs_as_a_plain_command(spark_installed, model, parquet):
    words = ("encode", model, parquet, "--keep", "id", "--out", "./codes", "--master", "local[2]")
    done = subprocess.run(
        [sys.executable, "-m", "kinhash", "spark", *map(str, words)],
        env=os.environ | {"PYSPARK_SUBMIT_ARGS": "pyspark-shell"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines()[-1] == "Wrote ./codes: 120 rows."
    assert "error:" not in done.stderr
    assert rows("codes").num_rows == 120


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_each_help_ends_with_an_example(go, name):
    done = go(name, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.rstrip().splitlines()[-1].strip().startswith(f"kinhash spark {name} ")


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_each_option_and_argument_is_documented(name):
    text = DOCS.read_text("utf-8").partition("## `kinhash spark`")[2].partition("\n## ")[0]
    assert f"kinhash spark {name} " in text
    for parameter in SUBCOMMANDS[name].params:
        spelled = [word for word in parameter.opts if word != "--help"]
        for word in spelled if parameter.param_type_name == "option" else [parameter.metavar]:
            assert f"`{word.strip('[]')}" in text, f"{word} of kinhash spark {name}"
    cells = "".join(re.findall(r"^\| (`-[^|]*)\|", text, flags=re.MULTILINE))
    known = {word for each in SUBCOMMANDS.values() for p in each.params for word in p.opts}
    assert set(re.findall(r"`(--?[a-z-]+)", cells)) <= known
