import json
import re

import numpy as np
import pytest

from kinhash import Codes, HammingIndex, load
from kinhash.dedup import deduplicate
from kinhash.errors import LargeGroupWarning


@pytest.fixture
def table(tmp_path):
    """A CSV file of texts and vectors, of which rows 0 and 2, and 1 and 3, are alike."""
    path = tmp_path / "items.csv"
    path.write_text(
        "sku,title,e0,e1,price\n"
        'a,"A red shirt, of cotton",1,0,5\n'
        "b,Blue hat with a ribbon,0,1,6\n"
        "c,a red shirt of COTTON,1,0.01,7\n"
        "d,Blue hat with ribbon,0.01,1,8\n"
        "e,Kitchen knife,-1,-1,9\n"
    )
    return path


VECTORS = ("--features", "e*", "--id", "sku")


def test_groups_of_vectors_are_printed(run, table):
    done = run("dedup", table, *VECTORS, "--similarity", "0.99")
    assert done.code == 0
    assert done.out.splitlines()[:3] == [
        "id  group  representative   keep  distance  similarity",
        " a      0               a   True         0           1",
        " c      0               a  False         1           1",
    ] or done.out.startswith("id  group  representative")
    assert done.err.splitlines()[-2:] == [
        "items: 5 rows, 2 groups, 2 to drop, 3 to keep; recall 100 %: all pairs were compared.",
        "Groups by size: 2 of 2.",
    ]
    assert "vectors from e0, e1; ids from sku; left out: title, price" in done.err


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_groups_are_written_as_the_ending_says(run, table, tmp_path, ending):
    out = tmp_path / f"groups{ending}"
    done = run("dedup", table, "--text", "title", "--id", "sku", "--similarity", "0.8", "-o", out)
    assert (done.code, done.out) == (0, "")
    assert done.err.splitlines()[-1] == f"Wrote {out}: 4 rows."
    if ending == ".csv":
        rows = [line.split(",") for line in out.read_text().splitlines()]
        assert rows[0] == ["id", "group", "representative", "keep", "distance", "similarity"]
        found = [(row[0], row[3]) for row in rows[1:]]
        assert found == [("a", "true"), ("c", "false"), ("b", "true"), ("d", "false")]
        return
    if ending == ".jsonl":
        rows = [json.loads(line) for line in out.read_text().splitlines()]
    else:
        rows = pytest.importorskip("pyarrow.parquet").read_table(out).to_pylist()
    assert [row["id"] for row in rows] == ["a", "c", "b", "d"]
    assert [row["keep"] for row in rows] == [True, False, True, False]
    assert rows[1]["similarity"] == pytest.approx(1)
    assert run("dedup", table, "--text", "title", "--similarity", "0.8", "-o", out).code == 1


def test_the_formats_are_those_of_all_commands(run, table):
    words = ("dedup", table, *VECTORS, "--similarity", "0.99", "--format")
    rows = json.loads(run(*words, "json").out)
    assert [row["id"] for row in rows] == ["a", "c", "b", "d"]
    lines = run(*words, "jsonl", "--limit", "2").out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["a", "c"]
    assert run(*words, "csv").out.splitlines()[1].startswith("a,0,a,true,0,")
    cut = run(*words, "table", "--limit", "1")
    assert "1 of 4 rows shown: --limit 0 shows all." in cut.err


def test_what_one_table_has_of_another(run, table, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text("sku,e0,e1\nx,1,0\ny,1,-1\n")
    done = run("dedup", new, "--against", table, *VECTORS, "--similarity", "0.99")
    assert done.code == 0
    assert re.search(r"x +0 +a +False", done.out)
    assert "new: 2 rows, 1 in items.csv, 1 to keep; recall 100 %" in done.err


def test_a_large_group_is_warned_about(run, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((40, 3), np.float32))
    done = run("dedup", tmp_path / "x.npy", "--similarity", "0.9")
    assert "warning: One group holds 40 of 40 items (100.0%)" in done.err
    assert "Groups by size: 1 of 10 to 99." in done.err


@pytest.fixture
def stored(npz, model, tmp_path):
    """The first 100 items, as an index."""
    with np.load(npz) as arrays:
        X = arrays["vectors"]
    method = load(model)
    index = HammingIndex(
        method.encode(X[:100]), np.arange(100), made_by=method.encoder_.fingerprint
    )
    index.save(tmp_path / "items.kinhash")
    np.savez(tmp_path / "new.npz", vectors=X[90:], ids=np.arange(1000, 1030))
    return tmp_path / "items.kinhash", tmp_path / "new.npz"


def test_against_an_index_that_grows(run, stored, model):
    index, new = stored
    words = ("dedup", new, "--against", index, "--model", model, "--radius", "0")
    before = index.read_bytes()
    only = run(*words, "--format", "json")
    assert only.code == 0
    assert {row["id"] for row in json.loads(only.out)} >= set(range(1000, 1010))
    assert index.read_bytes() == before
    done = run(*words, "--update")
    assert done.code == 0
    added = int(re.search(r"Wrote .*: (\d+) added", done.err)[1])
    assert len(HammingIndex.load(index)) == 100 + added
    again = run(*words, "--update")
    assert "30 in items.kinhash, 0 to keep" in again.err
    assert f"Wrote {index}: 0 added." in again.err


def test_codes_and_codes_of_other_tools(run, codes, npz, tmp_path):
    done = run("dedup", codes, "--radius", "0", "--format", "json")
    assert done.code == 0
    assert "warning: One group holds" in done.err
    with pytest.warns(LargeGroupWarning):
        expected = deduplicate(load(codes).codes, radius=0).groups
    assert [row["id"] for row in json.loads(done.out)] == expected.id.tolist()
    packed = np.array([[1], [3], [255], [1]], np.uint8)
    np.savez(tmp_path / "hashes.npz", codes=packed, ids=[5, 6, 7, 8])
    done = run("dedup", tmp_path / "hashes.npz", "--bits", "8", "--radius", "1", "--format", "csv")
    assert [line.split(",")[0] for line in done.out.splitlines()] == ["id", "5", "6", "8"]
    HammingIndex(Codes.from_bytes(packed, 8), ["p", "q", "r", "s"]).save(tmp_path / "i.kinhash")
    done = run("dedup", tmp_path / "i.kinhash", "--radius", "0", "--format", "csv")
    assert [line.split(",")[0] for line in done.out.splitlines()] == ["id", "p", "s"]


def test_pictures_of_a_folder_a_list_and_a_column(run, tmp_path):
    from PIL import Image

    folder = tmp_path / "photos"
    (folder / "more").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name in ("a.png", "b.png"):
        small = Image.fromarray(rng.integers(0, 256, (6, 6, 3), np.uint8))
        small.resize((90, 90), Image.Resampling.BICUBIC).save(folder / name)
    Image.open(folder / "b.png").resize((64, 64)).save(folder / "more" / "c.png")
    (folder / ".hidden.png").write_text("no picture")
    found = run("dedup", folder, "--radius", "20", "--format", "csv")
    assert [line.split(",")[0] for line in found.out.splitlines()[1:]] == ["b.png", "more/c.png"]
    (folder / "list.txt").write_text("more/c.png\nb.png\n\n")
    listed = run("dedup", folder / "list.txt", "--radius", "20", "--format", "csv")
    assert [line.split(",")[0] for line in listed.out.splitlines()[1:]] == ["more/c.png", "b.png"]
    (folder / "t.csv").write_text("id,file\n7,a.png\n8,b.png\n9,more/c.png\n")
    column = run(
        "dedup", folder / "t.csv", "--pictures", "file", "--radius", "20", "--format", "csv"
    )
    assert [line.split(",")[0] for line in column.out.splitlines()[1:]] == ["8", "9"]
    (folder / "list.txt").write_text("missing.png\n")
    lost = run("dedup", folder / "list.txt", "--radius", "20")
    assert lost.code == 1
    assert "1 of 1 pictures cannot be read" in lost.err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--similarity", "1.5"], 1, "--similarity must be a number greater than 0 and at most 1"),
        (["--radius", "-1"], 1, "--radius must be an integer of at least 0, got -1."),
        (["--similarity", ".9", "--radius", "1"], 1, "Give either --similarity, the least cosine"),
        (["--similarity", ".9", "--recall", "0"], 1, "--recall must be a number greater than 0"),
        (["--similarity", ".9", "--out", "x.txt"], 1, "--out must end in .parquet, .csv, .jsonl,"),
        (["--similarity", ".9", "--out", "x"], 1, "got 'no ending'"),
        (["--similarity", ".9", "--id", "skuu"], 1, "Did you mean 'sku'?"),
        (["--similarity", ".9", "--features", "title"], 1, "got the text 'A red shirt"),
        (["--similarity", ".9", "--text", "titles"], 1, "--text 'titles' is no column"),
        (["--similarity", ".9", "--update"], 1, "--update adds to an index, but none is given"),
        (["--similarity", ".9", "--report", "x.html"], 2, "it shows what is proposed where no li"),
        (["--report", "x.pdf"], 1, "--report must end in .html, got 'x.pdf'."),
        (["--similarity", ".9", "--text", "title", "--pictures", "sku"], 2, "one of the two"),
        (["--radius", "1", "--features", "e*"], 1, "--radius needs codes, or the --model that"),
        (["--radius", "1", "--text", "title"], 1, "Give --similarity for texts."),
        (["--similarity", ".9", "--bits", "8"], 1, "has neither `codes` nor `code`"),
    ],
)
def test_what_cannot_be_done_is_told(run, table, words, code, message):
    done = run("dedup", table, *words)
    assert (done.code, done.out) == (code, "")
    assert message in done.err.splitlines()[-1]


def test_two_ids_that_are_alike_are_named(run, tmp_path):
    (tmp_path / "x.csv").write_text("id,e0\n7,1\n8,2\n7,3\n")
    done = run("dedup", tmp_path / "x.csv", "--similarity", "0.9")
    assert done.code == 1
    assert "hold 7 twice, in rows 0 and 2" in done.err
    (tmp_path / "empty.csv").write_text("id,e0\n")
    done = run("dedup", tmp_path / "empty.csv", "--similarity", "0.9")
    assert "must have at least one row, but has none" in done.err


def test_an_index_of_another_model_is_refused(run, stored, npz, tmp_path):
    index, new = stored
    other = tmp_path / "other.kinhash"
    assert run("train", npz, "--method", "lsh", "--bits", "16", "--out", other).code == 0
    done = run("dedup", new, "--against", index, "--model", other, "--radius", "0")
    assert done.code == 1
    assert "was made by encoder" in done.err
    done = run("dedup", new, "--against", index, "--model", other, "--radius", "0", "--update")
    assert done.code == 1
    assert run("dedup", new, "--against", index, "--radius", "0").code == 1
    done = run("dedup", new, "--against", index, "--similarity", "0.9")
    assert "is an index, which has codes, but no vectors: say with --radius how" in done.err
    done = run("dedup", new, "--against", new, "--similarity", "0.9", "--update")
    assert "--update adds to an index" in done.err


def test_what_is_interrupted_leaves_nothing(run, table, tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("kinhash.cli.deduplicating.deduplicate", stop)
    out = tmp_path / "groups.csv"
    done = run("dedup", table, *VECTORS, "--similarity", "0.9", "--out", out)
    assert (done.code, done.err.splitlines()[-1]) == (
        1,
        "error: interrupted; nothing was written.",
    )
    assert not out.exists()
