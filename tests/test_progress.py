import io

import pytest
from rich.console import Console

from kinhash import progress
from kinhash.progress import progress_bar, silent


@pytest.fixture
def terminal(monkeypatch):
    """What a person at a terminal of 80 columns would see."""
    screen = io.StringIO()

    def console(**_):
        return Console(file=screen, force_terminal=True, width=80)

    monkeypatch.setattr(progress, "Console", console)
    return screen


def test_nothing_is_shown_when_stderr_is_no_terminal(capsys):
    with progress_bar("Working") as report:
        assert report is silent
        report(1, 2, "half of it")
    assert capsys.readouterr() == ("", "")


def test_a_person_sees_the_title_the_share_and_the_note(terminal):
    with progress_bar("Working") as report:
        report(1, 2, "loss 0.5")
        report(2, 2)
    shown = terminal.getvalue()
    assert "Working" in shown
    assert "100 %" in shown


def test_a_bar_that_is_not_wanted_is_not_shown(terminal):
    with progress_bar("Working", shown=False) as report:
        report(1, 2)
    assert terminal.getvalue() == ""


def test_a_failure_passes_through_and_ends_the_bar(terminal):
    def work():
        with progress_bar("Working") as report:
            report(1, 2)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert terminal.getvalue().endswith("\x1b[2K")  # the line is erased
