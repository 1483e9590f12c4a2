"""The table of commands, and how one is run."""

import os
from collections.abc import Callable
from typing import Annotated

import typer

from kinhash.cli import options
from kinhash.cli.add import add
from kinhash.cli.compare import compare
from kinhash.cli.demo import demo
from kinhash.cli.encode import encode
from kinhash.cli.evaluate import evaluate
from kinhash.cli.export import export
from kinhash.cli.index import index
from kinhash.cli.info import info
from kinhash.cli.merge import merge
from kinhash.cli.remove import remove
from kinhash.cli.reproduce import reproduce
from kinhash.cli.search import search
from kinhash.cli.sql import sql
from kinhash.cli.train import train
from kinhash.cli.tune import tune

EXAMPLES: dict[Callable[..., None], str] = {
    demo: "kinhash demo",
    train: "kinhash train digits --out model.kinhash",
    encode: "kinhash encode model.kinhash digits --out codes.kinhash",
    index: "kinhash index codes.kinhash --out items.kinhash",
    add: "kinhash add items.kinhash new-codes.kinhash",
    remove: "kinhash remove items.kinhash 17 42",
    merge: "kinhash merge items.kinhash more-items.kinhash --out all-items.kinhash",
    search: "kinhash search items.kinhash --model model.kinhash --queries digits --radius 2",
    evaluate: "kinhash evaluate model.kinhash digits",
    compare: "kinhash compare digits --methods sparsehash,itq,lsh --out comparison",
    tune: (
        'kinhash tune digits --want "precision>=0.9" --methods classcode,itq --out tuned.kinhash'
    ),
    reproduce: "kinhash reproduce cifar10 --out cifar10",
    export: "kinhash export codes.kinhash --to pgvector --out codes.sql",
    sql: "kinhash sql join --dialect duckdb --n-bits 64 --radius 1",
    info: "kinhash info model.kinhash",
}
"""Each command, in the order of `kinhash --help`, and the example that ends its help."""

# Plain help instead of Rich's panels: half the time to start, and examples that can be pasted.
app = typer.Typer(name="kinhash", rich_markup_mode=None)
for _command, _example in EXAMPLES.items():
    app.command(epilog=f"\b\nExample:\n  {_example}")(_command)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - Typer's call
    if wanted:
        from kinhash import __version__
        from kinhash.cli.results import emit

        emit(f"kinhash {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True, epilog=f"\b\nExample:\n  {EXAMPLES[demo]}")
def _kinhash(
    context: typer.Context,
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
    _debug: options.Debug = False,
) -> None:
    """Learn codes under which similar items collide, and find items by them."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


def run(words: list[str]) -> int:
    """Run one command line and return the exit code it asks for; whatever goes wrong is raised."""
    command = typer.main.get_command(app)
    if "_KINHASH_COMPLETE" in os.environ:  # a shell asks how the line may go on
        command.main(words, prog_name="kinhash")
    try:
        # Not command.main: it turns Ctrl-C into an exit code before we can say what was left.
        with command.make_context("kinhash", words) as context:
            command.invoke(context)
    except typer.Exit as asked:
        return asked.exit_code
    return 0
