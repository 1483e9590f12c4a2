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


def test_nothing_is_shown_of_short_work_when_stderr_is_no_terminal(capsys):
    with progress_bar("Working") as report:
        report(1, 2, "half of it")
    with progress_bar("Working", shown=False) as report:
        assert report is silent
        report(1, 2)
    assert capsys.readouterr() == ("", "")


def test_a_file_gets_a_line_now_and_then(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress_bar("Working") as report:
        for seconds, done in ((29, 100), (31, 500), (40, 700), (61.5, 999), (99, 2000)):
            now[0] = 100.0 + seconds
            report(done, 2000, "loss 0.5" if done == 999 else "")
    now[0] += 100
    with progress_bar("Counting") as report:
        now[0] += 31
        report(7, 0)
    assert capsys.readouterr().err.splitlines() == [
        "Working: 25%, 500 of 2,000",
        "Working: 50%, 999 of 2,000; loss 0.5",
        "Working: 100%, 2,000 of 2,000",
        "Counting: 7 of 0",
    ]


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
