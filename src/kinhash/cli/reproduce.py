"""`kinhash reproduce`: the paper's tables and figures beside our own."""

from pathlib import Path
from typing import Annotated

import typer

from kinhash.cli import options


def reproduce(
    experiment: Annotated[
        str,
        typer.Argument(
            metavar="EXPERIMENT",
            help="A data set: cifar10; or with pictures and texts, wikipedia, fashion-products, "
            "corel5k or nus-wide.",
        ),
    ],
    *,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="The folder to write; records in it are not computed again.",
            show_default=False,
        ),
    ],
    splits: Annotated[
        int | None,
        typer.Option(
            "--splits",
            metavar="N",
            min=1,
            help="Random splits (where the split is given: seeds) to average over; if left out, 5 "
            "for cifar10 and 3 for the others.",
            show_default=False,
        ),
    ] = None,
    output: options.Output = options.Format.TABLE,
    root: options.Root = None,
    _debug: options.Debug = False,
) -> None:
    """Run the paper's experiments, and show its numbers beside ours.

    Writes a record for each method and split, the figures, and a report. You can stop it at any
    time: the same command continues where it stopped.
    """
    from kinhash.cli.data import load_data
    from kinhash.cli.messages import kept, note
    from kinhash.cli.results import emit, shown
    from kinhash.progress import progress_bar
    from kinhash.studies import experiments
    from kinhash.studies.paper.reproduction import REPORT

    experiments.check_name(experiment)  # an unknown one is refused before anything is loaded
    data = load_data(experiment, features=None, labels=None, ids=None, root=root)
    with kept(f"the records in {out} are kept."), progress_bar("Reproducing") as report:
        found = experiments.reproduce(experiment, data, out, splits=splits, report=report)
    rows = found.shown if output is options.Format.TABLE else found.numbers
    emit(shown(rows, output))
    note(f"Wrote {out / REPORT}: open it in a browser.")
