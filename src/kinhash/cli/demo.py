"""`kinhash demo`: train, compare and search on built-in data, with a report."""

from pathlib import Path
from typing import Annotated

import typer

from kinhash.cli import options


def demo(
    *,
    multimodal: Annotated[
        bool,
        typer.Option("--multimodal", help="Find pictures by words and words by pictures instead."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="The folder to write. [default: kinhash-demo, or kinhash-demo-multimodal]",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="Makes the demo repeatable.")
    ] = 0,
    output: options.Output = options.Format.TABLE,
    force: options.Force = False,
    _debug: options.Debug = False,
) -> None:
    """Compare sparse codes with rivals on built-in data.

    Trains on digits, prints the measures, and writes a report with pictures and a model. With
    --multimodal, trains on digits and made-up words instead (the data set digits-words).
    """
    from kinhash.cli import outputs
    from kinhash.cli.messages import note
    from kinhash.cli.results import emit, shown
    from kinhash.progress import progress_bar
    from kinhash.studies import demo as single
    from kinhash.studies.multimodal import demo as several

    run = several.run_multimodal_demo if multimodal else single.run_demo
    folder = out or Path("kinhash-demo-multimodal" if multimodal else "kinhash-demo")
    with outputs.new_folder(folder), progress_bar("Demo") as report:
        result = run(folder, seed=seed, force=force, report=report)
    emit(shown(result.rows, output))
    note(f"Wrote {result.report}: open it in a browser.")
    note(f"Wrote {result.model}: try kinhash info {result.model}")
