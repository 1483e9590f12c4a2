import numpy as np
import pytest

import kinhash
from kinhash.cli.export import Tool
from kinhash.export import TARGETS, export


@pytest.mark.parametrize("to", Tool)
def test_codes_and_their_index_are_written_alike(run, codes, tmp_path, to):
    assert run("index", codes, "--out", tmp_path / "items.kinhash").code == 0
    export(kinhash.HammingIndex.load(tmp_path / "items.kinhash"), tmp_path / "expected", to=to)
    out = tmp_path / "out"
    done = run("export", tmp_path / "items.kinhash", "--to", to, "--out", out)
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith(f"Wrote {out}: 120 codes.\nLoad it: ")
    assert str(out) in done.err.splitlines()[1] or to in {"milvus", "qdrant"}
    assert out.read_bytes() == (tmp_path / "expected").read_bytes()
    done = run("export", codes, "--to", to, "--out", tmp_path / "of-codes")
    assert done.code == 0
    if to != "faiss":  # where numbers that are given and numbers by default differ
        assert (tmp_path / "of-codes").read_bytes() == out.read_bytes()


def test_the_tools_are_those_of_the_library():
    assert [tool.value for tool in Tool] == list(TARGETS)


def test_a_model_is_no_codes(run, model, tmp_path):
    done = run("export", model, "--to", "faiss", "--out", tmp_path / "out")
    assert done.code == 1
    assert "must hold an index or codes" in done.err
    assert "but it holds a model" in done.err


def test_nothing_is_replaced_without_force(run, codes, tmp_path):
    out = tmp_path / "out"
    out.write_text("mine")
    done = run("export", codes, "--to", "qdrant", "--out", out)
    assert (done.code, out.read_text()) == (1, "mine")
    assert "Pass --force" in done.err
    assert run("export", codes, "--to", "qdrant", "--out", out, "--force").code == 0
    assert out.read_text().startswith('{"vectors":')


def test_an_unknown_tool_is_wrong_usage(run, codes, tmp_path):
    assert run("export", codes, "--to", "excel", "--out", tmp_path / "out").code == 2


def test_faiss_finds_what_the_command_line_finds(run, codes, model, npz, tmp_path):
    faiss = pytest.importorskip("faiss")
    assert run("export", codes, "--to", "faiss", "--out", tmp_path / "codes.faiss").code == 0
    index = faiss.read_index_binary(str(tmp_path / "codes.faiss"))
    stored = kinhash.load(codes).codes
    distances, _ = index.search(stored.to_bytes(), 5)
    words = ("--model", model, "--queries", npz, "--top-k", "5", "--format", "csv")
    lines = run("search", codes, *words).out.splitlines()[1:]
    assert [int(line.split(",")[2]) for line in lines] == distances.ravel().tolist()
    assert np.all(distances[:, 0] == 0)
