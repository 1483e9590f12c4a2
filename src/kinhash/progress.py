"""A progress bar on stderr for a person at a terminal; a line now and then for a file."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Protocol

import rich.progress
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

PATIENCE = 30.0  # seconds between two lines, where stderr is no terminal

Progress = Callable[[int, int], None]  # told how many items of how many are done


class Report(Protocol):
    """Told how far long work is."""

    def __call__(self, done: int, total: int, note: str = "") -> None:
        """Take note of `done` out of `total`, and of a few words on how it goes."""
        ...


def silent(done: int, total: int, note: str = "") -> None:
    """Take no note."""


@contextlib.contextmanager
def progress_bar(title: str, *, shown: bool = True) -> Iterator[Report]:
    """Give a function that moves the bar, or writes lines when stderr is not a terminal."""
    console = Console(stderr=True)
    if not shown or not console.is_terminal:
        yield _Lines(title) if shown and sys.stderr is not None else silent
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with rich.progress.Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(title, total=None, note="")

        def report(done: int, total: int, note: str = "") -> None:
            progress.update(task, completed=done, total=total, note=note)

        yield report


class _Lines:
    """Tells how far long work is in lines, none of which comes soon after another."""

    def __init__(self, title: str) -> None:
        self._title, self._told = title, time.monotonic()

    def __call__(self, done: int, total: int, note: str = "") -> None:
        now = time.monotonic()
        if now < self._told + PATIENCE or sys.stderr is None:
            return
        self._told = now
        share = f"{done / total:.0%}, " if total else ""
        more = f"; {note}" if note else ""
        sys.stderr.write(f"{self._title}: {share}{done:,} of {total:,}{more}\n")
        sys.stderr.flush()
