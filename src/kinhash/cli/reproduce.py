"""`kinhash reproduce`: the paper's tables and figures beside our own."""

from pathlib import Path
from typing import Annotated

import typer

from kinhash.cli import options


def reproduce(
    experiment: Annotated[
        str, typer.Argument(metavar="EXPERIMENT", help="The data set of the paper: cifar10.")
    ],
    *,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="The folder to write; records that it holds are not computed again.",
            show_default=False,
        ),
    ],
    splits: Annotated[
        int, typer.Option("--splits", metavar="N", min=1, help="Random splits to average over.")
    ] = 5,
    output: options.Output = options.Format.TABLE,
    root: options.Root = None,
    _debug: options.Debug = False,
) -> None:
    """Run the paper's experiments, and show its numbers beside ours.

    Writes a record for each method and split, the figures, and a report. It may be stopped at any
    time: the same command goes on where it was.
    """
    from kinhash.cli import inputs
    from kinhash.cli.messages import note
    from kinhash.cli.results import emit
    from kinhash.evaluation import reproduction
    from kinhash.evaluation.tables import render
    from kinhash.progress import progress_bar

    reproduction.plan(experiment)  # an unknown one is refused before anything is loaded
    data = inputs.load_data(experiment, features=None, labels=None, ids=None, root=root)
    with progress_bar("Reproducing") as report:
        compared = reproduction.reproduce(
            experiment,
            data,
            out,
            seeds=range(splits),
            unseen_seeds=range(min(splits, 2)),
            report=report,
        )
    as_rows = reproduction.shown if output is options.Format.TABLE else reproduction.table
    emit(render(as_rows(experiment, compared), output.value))
    note(f"Wrote {out / reproduction.REPORT}: open it in a browser.")
