"""Failures as a user meets them: most run in a process of their own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kinhash.cli import app, main

KINHASH = (sys.executable, "-m", "kinhash")
# A shell may start background jobs with Ctrl-C ignored: here it must work all the same.
START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from kinhash.cli import main
sys.exit(main())
"""


@pytest.fixture
def fails(monkeypatch):
    """Make every command line fail with the given exception."""

    def install(error):
        def run(_words):
            raise error

        monkeypatch.setattr(app, "run", run)

    return install


def test_an_unexpected_failure_is_one_sentence(run, fails):
    fails(ZeroDivisionError("division\nby zero"))
    done = run("info", "x")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "error: unexpected failure: ZeroDivisionError: division by zero; "
        "run again with --debug for the traceback\n"
    )


def test_debug_shows_the_traceback_and_then_the_sentence(run):
    for words in (("info", "nowhere", "--debug"), ("--debug", "info", "nowhere")):
        done = run(*words)
        assert done.code == 1
        assert "Traceback (most recent call last)" in done.err
        assert done.err.endswith("error: Cannot read nowhere: no such file or directory.\n")


def test_an_interrupt_is_one_sentence(run, fails):
    fails(KeyboardInterrupt())
    done = run("info", "x")
    assert (done.code, done.err) == (1, "error: interrupted; nothing was written.\n")


def test_a_logged_warning_is_a_line(run, monkeypatch):
    import logging

    def warn(_words):
        logging.getLogger("kinhash.somewhere").warning("The %s is full.", "cache")
        return 0

    monkeypatch.setattr(app, "run", warn)
    assert run().err == "warning: The cache is full.\n"
    assert not logging.getLogger("kinhash").handlers


def test_warnings_of_other_libraries_for_their_developers_are_not_shown(run, monkeypatch):
    import warnings

    def warn(_words):
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        warnings.warn("two\nlines", UserWarning, stacklevel=1)
        return 0

    monkeypatch.setattr(app, "run", warn)
    assert run().err == "warning: two lines\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("tran",), "No such command 'tran'. Did you mean 'train'? See kinhash --help."),
        (("--versoin",), "No such option: --versoin. Did you mean --version? See kinhash --help."),
        (("train",), "Missing argument 'DATA'. See kinhash train --help."),
        (("train", "digits"), "Missing option '--out' / '-o'. See kinhash train --help."),
        (
            ("train", "digits", "--margn", "3"),
            "No such option: --margn. Did you mean --margin? See kinhash train --help.",
        ),
        (
            ("train", "digits", "--out", "x", "--set", "max_step=3"),
            "'--set': Unknown parameter of sparsehash 'max_step'. Did you mean 'max_steps'?",
        ),
        (("info", "x", "--format", "xml"), "'xml' is not one of 'table', 'json', 'jsonl', 'csv'."),
        (("info", "x", "y"), "unexpected extra argument"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_2(run, words, message):
    done = run(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert message in done.err


@pytest.mark.parametrize("delay", [0.0, 3.0], ids=["at once", "while training"])
def test_ctrl_c_leaves_nothing_behind(tmp_path, delay):
    words = ("train", "digits", "--out", "model.kinhash", "--set", "patience=1000000")
    words += ("--set", "max_steps=1000000", "--max-epochs", "1000000", "--set", "recipe=paper")
    process = subprocess.Popen(
        (sys.executable, "-c", START, *words), cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr.readline().startswith("Training sparsehash on digits")
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err.endswith("error: interrupted; nothing was written.\n")
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


def test_a_reader_that_leaves_early_is_no_news(codes, model, npz):
    words = ("search", codes, "--model", model, "--queries", npz, "--radius", "16")
    process = subprocess.Popen(
        (*KINHASH, *words, "--format", "csv"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "query,id,distance\n"
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    process.wait(timeout=60)
    assert err == ""


def test_a_full_disk_is_said(model):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            (*KINHASH, "info", model), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr == "error: Cannot print the results: no space left on device.\n"


def test_a_closed_stdout_is_said(model):
    done = subprocess.run(
        ("/bin/sh", "-c", '"$0" -m kinhash info "$1" >&-', sys.executable, model),
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "error: Cannot print the results: standard output is closed.\n"


def test_a_closed_stderr_sends_nothing_to_stdout(tmp_path):
    done = subprocess.run(
        ("/bin/sh", "-c", '"$0" -m kinhash info "$1" 2>&-', sys.executable, tmp_path / "nowhere"),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")


def test_a_read_only_folder_is_said_before_training(run, npz, tmp_path, monkeypatch):
    if os.geteuid() == 0:  # root may write anywhere, so answer as for somebody else
        monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    tmp_path.chmod(0o555)
    try:
        done = run("train", npz, "--out", tmp_path / "model.kinhash")
    finally:
        tmp_path.chmod(0o755)
    assert done.code == 1
    assert "is not writable" in done.err
    assert "Training" not in done.err


def test_main_without_arguments_takes_those_of_the_process(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["kinhash", "--version"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("kinhash ")


@pytest.mark.parametrize("command", ["compare", "reproduce"])
def test_interrupted_experiments_say_what_is_kept_and_how_to_go_on(
    run, tmp_path, monkeypatch, command
):
    from kinhash.studies import comparison, experiments

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "compare", interrupted)
    monkeypatch.setattr(experiments, "reproduce", interrupted)
    monkeypatch.setattr(experiments, "check_name", lambda _: None)
    words = (command, "digits", "--out", str(tmp_path / "my out"))
    done = run(*words)
    told = f"error: interrupted; the records in {tmp_path / 'my out'} are kept. Go on with: "
    assert done.err.endswith(f"{told}kinhash {command} digits --out '{tmp_path / 'my out'}'\n")
