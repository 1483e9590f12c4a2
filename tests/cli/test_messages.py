import doctest
import logging
import warnings

import pytest

import kinhash.cli.messages
from kinhash.cli.messages import as_lines, counted, note


def test_a_note_is_one_line_on_stderr(capsys):
    note("first\nsecond")
    assert capsys.readouterr() == ("", "first second\n")


def test_warnings_and_logged_warnings_are_lines(capsys):
    with as_lines():
        warnings.warn("many\nwords", UserWarning, stacklevel=1)
        logging.getLogger("kinhash.codes").warning("%d rows", 3)
        logging.getLogger("kinhash.codes").info("not shown")
    assert capsys.readouterr() == ("", "warning: many words\nwarning: 3 rows\n")


@pytest.mark.parametrize("category", [DeprecationWarning, PendingDeprecationWarning, FutureWarning])
def test_warnings_for_developers_are_not_shown(capsys, category):
    with as_lines():
        warnings.warn("old", category, stacklevel=1)
    assert capsys.readouterr().err == ""


def test_what_the_user_asked_python_for_comes_first(monkeypatch):
    monkeypatch.setattr("sys.warnoptions", ["error"])

    def fails():
        with as_lines():
            warnings.simplefilter("error")
            warnings.warn("strict", UserWarning, stacklevel=1)

    with pytest.raises(UserWarning, match="strict"):
        fails()


def test_afterwards_all_is_as_it_was(capsys):
    logger = logging.getLogger("kinhash")
    before = logger.handlers[:], logger.propagate, warnings.showwarning, warnings.filters[:]

    def fails():
        with as_lines():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fails()
    after = logger.handlers[:], logger.propagate, warnings.showwarning, warnings.filters[:]
    assert after == before


def test_a_number_agrees_with_its_noun():
    assert [counted(n, "row") for n in (0, 1, 2, 1797)] == [
        "0 rows",
        "1 row",
        "2 rows",
        "1,797 rows",
    ]
    assert counted(1, "match", "matches") == "1 match"
    assert counted(2, "match", "matches") == "2 matches"


def test_examples_run():
    assert doctest.testmod(kinhash.cli.messages).failed == 0
