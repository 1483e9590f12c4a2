"""A progress bar on stderr, shown only to a person at a terminal."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Protocol

import rich.progress
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

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
    """Give a function that moves the bar; it does nothing when stderr is not a terminal."""
    console = Console(stderr=True)
    if not shown or not console.is_terminal:
        yield silent
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
