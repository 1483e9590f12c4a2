"""A progress bar on stderr, shown only to a person at a terminal."""

import contextlib
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

Report = Callable[[int, int, str], None]  # done, total, a few words on how it goes


@contextlib.contextmanager
def progress_bar(title: str, *, shown: bool = True) -> Iterator[Report]:
    """Give a function that moves the bar; it does nothing when stderr is not a terminal."""
    console = Console(stderr=True)
    if not shown or not console.is_terminal:
        yield lambda _done, _total, _note="": None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(title, total=None, note="")

        def report(done: int, total: int, note: str = "") -> None:
            progress.update(task, completed=done, total=total, note=note)

        yield report
