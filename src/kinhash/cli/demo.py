"""`kinhash demo`: train, compare and search on built-in data, with a report."""

from pathlib import Path
from typing import Annotated

import typer

from kinhash.cli import options


def demo(
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder to write.")
    ] = Path("kinhash-demo"),
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="Makes the demo repeatable.")
    ] = 0,
    output: options.Output = options.Format.TABLE,
    force: options.Force = False,
    _debug: options.Debug = False,
) -> None:
    """Compare sparse and dense codes on built-in data.

    Trains on digits, prints the measures, and writes a report with pictures and a model.
    """
    from kinhash.cli import outputs
    from kinhash.cli.messages import note
    from kinhash.cli.results import emit
    from kinhash.evaluation.demo import run_demo
    from kinhash.evaluation.tables import render
    from kinhash.progress import progress_bar

    with outputs.new_folder(out), progress_bar("Demo") as report:
        result = run_demo(out, seed=seed, force=force, report=report)
    emit(render(result.rows, output.value))
    note(f"Wrote {result.report}: open it in a browser.")
    note(f"Wrote {result.model}: try kinhash info {result.model}")
