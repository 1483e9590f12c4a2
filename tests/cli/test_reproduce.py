import pytest

from kinhash.evaluation import reproduction


def test_an_unknown_experiment_is_refused_before_anything_is_made(run, tmp_path):
    done = run("reproduce", "mnist", "--out", tmp_path / "new")
    assert done.code == 1
    assert "Unknown experiment 'mnist'" in done.err
    assert not (tmp_path / "new").exists()


def test_missing_data_is_named(run, tmp_path):
    done = run("reproduce", "cifar10", "--out", tmp_path / "new", "--root", tmp_path)
    assert done.code == 1
    assert "data_batch_1" in done.err
    assert not (tmp_path / "new").exists()


@pytest.mark.data
def test_the_papers_rows_are_run(run, tmp_path, monkeypatch):
    few = [{"method": "l2"}, {"method": "lsh", "n_bits": 48}]
    plan = reproduction.plan
    monkeypatch.setattr(reproduction, "plan", lambda name: plan(name) and few)
    monkeypatch.setattr(reproduction, "unseen_plan", lambda: few[1:])
    done = run("reproduce", "cifar10", "--out", tmp_path / "new", "--splits", "1")
    assert done.code == 0
    assert "17.42" in done.out
    assert (tmp_path / "new" / "report.html").is_file()
