import json

import pytest

import kinhash
from kinhash.studies import demo as library
from kinhash.studies.multimodal import demo as multimodal_demo


@pytest.fixture
def calls(monkeypatch):
    """Stand in for the demo itself, which takes a while; note what it is asked for."""
    asked = []

    def run_demo(out, *, seed, force, report):
        asked.append({"out": out, "seed": seed, "force": force})
        report(1, 2, "half way")
        rows = [{"method": "SparseHash", "n_bits": 48, "map": 0.9}]
        return library.DemoResult(out / "report.html", out / "model.kinhash", rows)

    monkeypatch.setattr(library, "run_demo", run_demo)
    return asked


def test_rows_go_to_stdout_and_the_files_names_to_stderr(run, calls, tmp_path):
    out = tmp_path / "demo"
    done = run("demo", "--out", out, "--seed", "3", "--force", "--format", "json")
    assert calls == [{"out": out, "seed": 3, "force": True}]
    assert done.code == 0
    assert json.loads(done.out) == [{"method": "SparseHash", "n_bits": 48, "map": 0.9}]
    assert f"Wrote {out / 'report.html'}: open it in a browser." in done.err
    assert f"kinhash info {out / 'model.kinhash'}" in done.err


def test_without_options_it_writes_to_kinhash_demo(run, calls):
    done = run("demo")
    assert calls == [{"out": type(calls[0]["out"])("kinhash-demo"), "seed": 0, "force": False}]
    assert done.out.splitlines()[-1].split() == ["SparseHash", "48", "90.00"]


def test_an_existing_report_is_kept(run, tmp_path):
    (tmp_path / "report.html").write_text("precious")
    done = run("demo", "--out", tmp_path)
    assert done.code == 1
    assert "already holds report.html" in done.err
    assert "or pass --force to overwrite." in done.err
    assert (tmp_path / "report.html").read_text() == "precious"


def test_multimodal_runs_the_other_demo_in_a_folder_of_its_own(run, calls, monkeypatch):
    asked = []

    def run_multimodal_demo(out, *, seed, force, report):
        asked.append({"out": str(out), "seed": seed, "force": force})
        return library.DemoResult(out / "report.html", out / "model.kinhash", [{"method": "A"}])

    monkeypatch.setattr(multimodal_demo, "run_multimodal_demo", run_multimodal_demo)
    done = run("demo", "--multimodal", "--seed", "2")
    assert done.code == 0
    assert asked == [{"out": "kinhash-demo-multimodal", "seed": 2, "force": False}]
    assert calls == []
    assert "Wrote kinhash-demo-multimodal/report.html: open it in a browser." in done.err


def test_an_existing_report_is_kept_with_multimodal(run, tmp_path):
    (tmp_path / "report.html").write_text("precious")
    done = run("demo", "--multimodal", "--out", tmp_path)
    assert done.code == 1
    assert "already holds report.html" in done.err
    assert (tmp_path / "report.html").read_text() == "precious"


@pytest.mark.slow
def test_the_multimodal_demo_runs_end_to_end(run, tmp_path):
    done = run("demo", "--multimodal", "--out", tmp_path / "demo", "--format", "json")
    assert done.code == 0
    found = {(r["method"], r["query"], r["database"]): r["map"] for r in json.loads(done.out)}
    assert len(found) == 8
    for query, database in (("image", "text"), ("text", "image")):
        ours = found["MultimodalSparseHash", query, database]
        assert ours > found["CMSSH", query, database] > 0.5
    assert kinhash.load(tmp_path / "demo" / "model.kinhash").modalities == ("image", "text")
    assert "<html" in (tmp_path / "demo" / "report.html").read_text()


@pytest.mark.slow
def test_the_demo_runs_end_to_end(run, tmp_path):
    done = run("demo", "--out", tmp_path / "demo", "--format", "json")
    assert done.code == 0
    methods = {row["method"] for row in json.loads(done.out)}
    assert methods == {"SparseHash", "NNHash", "LSH", "ClassCode", "L2", "cosine"}
    assert kinhash.load(tmp_path / "demo" / "model.kinhash").n_bits == 64
    assert "<html" in (tmp_path / "demo" / "report.html").read_text()
