import ast
import contextlib
import inspect
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from sklearn.datasets import load_iris

import kinhash
from kinhash.cli import app, main
from kinhash.show.tables import Format as TableFormat

COMMANDS = typer.main.get_command(app.app).commands
DOCS = Path(__file__).parents[2] / "docs" / "cli.md"


def test_the_commands_are_those_of_the_contract():
    basic = {"demo", "train", "encode", "index", "search", "evaluate"}
    more = {"add", "remove", "merge", "compare", "tune", "reproduce", "export", "sql", "spark"}
    assert basic | more | {"info"} <= set(COMMANDS)


@pytest.mark.parametrize("command", app.EXAMPLES, ids=lambda command: command.__name__)
def test_a_command_parses_calls_and_prints(command):
    """A body is short; what it decides belongs into the library, where a program has it, too."""
    (function,) = ast.parse(inspect.getsource(command)).body
    statements = [node for node in ast.walk(function) if isinstance(node, ast.stmt)]
    counted = [s for s in statements[1:] if not isinstance(s, ast.Import | ast.ImportFrom)]
    assert len(counted) - 1 <= 15  # all but the docstring


def test_version(run):
    done = run("--version")
    assert (done.code, done.out) == (0, f"kinhash {kinhash.__version__}\n")


def test_without_a_command_the_help_goes_to_stderr_and_the_exit_code_is_2(run):
    done = run()
    assert (done.code, done.out) == (2, "")
    assert done.err == run("--help").out


@pytest.mark.parametrize("name", COMMANDS)
def test_each_help_ends_with_an_example_of_that_command(run, name):
    done = run(name, "--help")
    assert (done.code, done.err) == (0, "")
    example, line = done.out.rstrip().splitlines()[-2:]
    assert example.strip() == "Example:"
    assert line.strip().startswith(f"kinhash {name}")


def test_the_main_help_ends_with_an_example(run):
    assert run("--help").out.rstrip().endswith("Example:\n    kinhash demo")


def test_no_summary_is_cut_off(run):
    assert "..." not in run("--help").out.partition("Commands:")[2]


def test_the_examples_run_one_after_the_other(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command, example in app.EXAMPLES.items():
        words = shlex.split(example)[1:]
        if command.__name__ in {"demo", "reproduce"}:  # have tests of their own
            continue
        if command.__name__ == "train":
            words += ["--set", "recipe=paper", "--set", "max_steps=50"]
        if command.__name__ == "add":  # other items, which users have
            stored = kinhash.load("codes.kinhash")
            more = stored.codes[:5], np.arange(5000, 5005)
            stored.codes[:5].save("new-codes.kinhash", np.arange(6000, 6005))
            kinhash.HammingIndex(*more).save("more-items.kinhash")
        done = run(*words)
        assert done.code == 0, done.err


def test_help_imports_nothing_heavy():
    code = "import sys; from kinhash.cli import main; main(['--help']); print(*sys.modules)"
    done = subprocess.run((sys.executable, "-c", code), check=True, capture_output=True, text=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "kinhash.cli.train" in loaded
    assert not loaded & {"torch", "sklearn", "scipy", "numpy", "pyarrow", "matplotlib", "rich"}


def test_a_shell_can_ask_for_completions(tmp_path):
    done = subprocess.run(
        (sys.executable, "-m", "kinhash"),
        env={
            "_KINHASH_COMPLETE": "complete_bash",
            "COMP_WORDS": "kinhash ev",
            "COMP_CWORD": "1",
            "HOME": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["evaluate"]


def test_formats_are_those_of_the_tables():
    from typing import get_args

    from kinhash.cli.options import Format

    assert tuple(Format) == get_args(TableFormat)


def sections():
    """The text of each `## kinhash NAME` section of the documentation."""
    parts = re.split(r"^## `kinhash (\w+)`$", DOCS.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_each_command_has_its_section_and_no_other():
    assert sorted(sections()) == sorted(COMMANDS)


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"spark"}))  # has tests of its own
def test_each_option_and_argument_is_documented(name):
    text = sections()[name]
    for parameter in COMMANDS[name].params:
        words = [word for word in parameter.opts + parameter.secondary_opts if word != "--help"]
        asked = (parameter.metavar or "").strip("[].").split("|")
        for word in words if parameter.param_type_name == "option" else asked:
            assert f"`{word}" in text, f"{word} of kinhash {name}"
    cells = "".join(re.findall(r"^\| (`-[^|]*)\|", text, flags=re.MULTILINE))
    known = {w for p in COMMANDS[name].params for w in (*p.opts, *p.secondary_opts)}
    assert set(re.findall(r"`(--?[a-z-]+)", cells)) == known - {"DATA", "--help"} - arguments(name)


def arguments(name):
    return {p.name for p in COMMANDS[name].params if p.param_type_name == "argument"}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("width", [80, 100])
def test_help_fits_a_terminal(run, name, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = run(name, "--help").out.splitlines()
    example = lines.pop()  # can be pasted, so it is never wrapped
    assert "kinhash" in example
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("name", COMMANDS)
def test_each_section_shows_a_run(name):
    assert f"$ kinhash {name}" in sections()[name]


def words(text):
    """Return the words of an output without its numbers, which vary between machines."""
    return re.sub(r"\d[\d,]*(\.\d+)?", "#", text).split()


@pytest.mark.slow
def test_what_the_page_shows_is_what_a_terminal_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    iris = load_iris()
    rows = [",".join(map(str, row)) for row in iris.data]
    lines = [f"{row},{iris.target_names[y]}" for row, y in zip(rows, iris.target, strict=True)]
    header = "sepal_length,sepal_width,petal_length,petal_width,species"
    Path("iris.csv").write_text("\n".join([header, *lines]) + "\n")
    rng, kinds = np.random.default_rng(0), ("cup", "lamp", "sofa")
    rows = [rng.normal(3 * (i % 3), 1, 3).round(3) for i in range(60)]
    lines = [
        f"{kinds[i % 3]}-{i},{row[0]},{row[1]},{row[2]},{i}.99,A {kinds[i % 3]},{kinds[i % 3]}"
        for i, row in enumerate(rows)
    ]
    Path("shop.csv").write_text("\n".join(["sku,e0,e1,e2,price,title,kind", *lines]) + "\n")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", DOCS.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for language, content in blocks:
        if language == "toml":
            Path("train.toml").write_text(content)
        if language == "console":
            command, _, shown = content.partition("\n")
            out = io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                assert main(shlex.split(command)[2:]) == 0, out.getvalue()
            assert words(out.getvalue()) == words(shown), command
