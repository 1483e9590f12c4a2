import doctest

import pytest

import kinhash.cli.names
from kinhash.cli.names import in_options

TRAIN = ("train", "items.npz", "--out", "model.kinhash")
PAPER = ("--set", "recipe=paper", "--set", "max_steps=9")


@pytest.mark.parametrize(
    ("words", "message", "told"),
    [
        ((*TRAIN, "--bits", "0"), "`n_bits` must be 1, got 0.", "--bits must be 1, got 0."),
        ((*TRAIN, "--bits=0"), "`n_bits` must be 1.", "--bits must be 1."),
        (TRAIN, "Lower `n_bits` or add rows.", "Lower --n-bits or add rows."),
        (TRAIN, "raise `lam` (now 0.01) to 0.1.", "raise --lam (now 0.01) to 0.1."),
        (TRAIN, "`max_steps` must be 1.", "--set max_steps must be 1."),
        (TRAIN, "Pass encoder='cod', or n_anchors=0.", "Pass --encoder cod, or --set n_anchors=0."),
        (TRAIN, "Pass `signed=True`.", "Pass --signed."),
        (TRAIN, "3 of 64 columns of `X` are constant.", "3 of 64 columns of DATA are constant."),
        (TRAIN, "X has 5 features.", "DATA has 5 features."),
        (TRAIN, "Input X contains NaN in row 3.", "DATA contains NaN in row 3."),
        (TRAIN, "`y` has a single class.", "--labels has a single class."),
        (TRAIN, "Or leave `y` out.", "Or leave the labels out of DATA."),
        (
            TRAIN,
            "KSH requires y to be passed, but the target y is None. Pass class labels, or tags.",
            "KSH needs class labels, but DATA has none. Name them with --labels, or tags.",
        ),
        (
            (*TRAIN, "--method", "nested", "--set", "bucket.levels=0"),
            "`levels` must be an integer of at least 1, got 0.",
            "--set bucket.levels must be an integer of at least 1, got 0.",
        ),
        (("compare", "digits"), "Lower `n_bits`.", "Lower --bits."),
        (("search", "i", "--top-k", "0"), "`k` must be 1.", "--top-k must be 1."),
        (("search", "i"), "X has 5 features.", "--queries has 5 features."),
        (("evaluate", "m", "d"), "X has 5 features.", "DATA has 5 features."),
        (("evaluate", "--queries", "q"), "X has 5.", "DATA or --queries has 5."),
        (
            ("evaluate", "m", "d"),
            "`query_labels` are text but `db_labels` are numbers.",
            "The labels of --queries are text but the labels of DATA are numbers.",
        ),
        (("--debug", "encode", "m"), "Name one with `features`.", "Name one with --features."),
        (("demo",), "Pass `force=True` to overwrite.", "Pass --force to overwrite."),
    ],
)
def test_a_message_names_options(words, message, told):
    assert in_options(message, words) == told


@pytest.mark.parametrize(
    "message",
    [
        "`labels` in items.npz must be one-dimensional.",
        "items.npz must have an array `vectors`.",
        "`unheard_of` is new, and so is unheard_of=3.",
        "m.kinhash must hold codes, such as `kinhash encode` writes.",
    ],
)
def test_names_of_other_things_stay(message):
    assert in_options(message, TRAIN) == message


def test_what_a_config_file_sets_keeps_its_name():
    words = (*TRAIN, "--config", "train.toml", "--margin", "3")
    assert in_options("Raise `lam` or `margin`.", words) == "Raise `lam` or --margin."


@pytest.mark.parametrize("words", [(), ("--help",), ("tran", "x")])
def test_without_a_command_nothing_is_renamed(words):
    assert in_options("`n_bits` must be 1.", words) == "`n_bits` must be 1."


def test_errors_and_warnings_of_a_run_name_options(run, npz, tmp_path):
    done = run("train", npz, "--out", tmp_path / "m", "--bits", "0")
    assert done.err.endswith("error: --bits must be an integer in [1, 4096], got 0.\n")
    done = run("train", npz, "--out", tmp_path / "m", *PAPER, "--lam", "0.001")
    assert "raise --lam (now 0.001) to 0.1." in done.err


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("--margin", "11"), "--margin"),
        (("--set", "margin=11"), "--margin"),
        (("--no-signed",), "--signed"),
        (("--set", "patience=3"), "--set patience"),
    ],
)
def test_a_parameter_of_the_other_recipe_says_how_to_choose_that(run, npz, tmp_path, words, option):
    done = run("train", npz, "--out", tmp_path / "m", *words)
    assert (done.code, done.out) == (1, "")
    assert done.err.endswith(
        f"error: {option} belongs to --set recipe=paper, but --set recipe is 'strong'. "
        f"Add --set recipe=paper, or leave {option} out.\n"
    )
    assert not (tmp_path / "m").exists()


def test_a_config_file_with_a_parameter_of_the_other_recipe_is_told_in_its_words(
    run, npz, tmp_path
):
    config = tmp_path / "train.toml"
    config.write_text("margin = 11\n")
    done = run("train", npz, "--out", tmp_path / "m", "--config", config)
    assert done.err.endswith("Add recipe='paper', or leave `margin` out.\n")
    config.write_text('recipe = "paper"\nn_rank_bits = 8\n')
    done = run("train", npz, "--out", tmp_path / "m", "--config", config)
    assert "error: `n_rank_bits` belongs to recipe='strong', but `recipe` is 'paper'." in done.err


def test_an_option_that_the_method_does_not_have_is_named(run, npz, tmp_path):
    done = run("train", npz, "--out", tmp_path / "m", "--method", "lsh", "--margin", "3")
    assert done.err == "error: Method 'lsh' has no --margin. It has --n-bits, --seed.\n"


def test_names_in_a_damaged_file_stay(run, tmp_path, monkeypatch):
    from kinhash.cli import app
    from kinhash.errors import FormatError

    def fail(_words):
        raise FormatError("x: `n_bits` must be in [1, 4096], got 0.")

    monkeypatch.setattr(app, "run", fail)
    assert run("train", "x").err == "error: x: `n_bits` must be in [1, 4096], got 0.\n"


def test_examples_run():
    assert doctest.testmod(kinhash.cli.names).failed == 0
