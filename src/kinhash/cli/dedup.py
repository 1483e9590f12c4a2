"""`kinhash dedup`: groups of near-duplicates, or what data has of other data."""

import enum
from pathlib import Path
from typing import Annotated

import typer

from kinhash.cli import completion, options


class Linkage(enum.StrEnum):
    """What makes a group: the names of `kinhash.linkage.LINKAGES`."""

    STAR = "star"
    CONNECTED = "connected"


class Engine(enum.StrEnum):
    """What compares: this process, or DuckDB where data do not fit memory."""

    MEMORY = "memory"
    DUCKDB = "duckdb"


def dedup(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Vectors, texts or paths of pictures in a file or a data set; a folder of "
            "pictures, or a .txt list of them; codes, or an index. - reads CSV from stdin.",
            autocompletion=completion.data,
        ),
    ],
    *,
    similarity: Annotated[
        float | None,
        typer.Option(
            "--similarity",
            metavar="S",
            help="Least cosine of duplicates, of vectors and texts.",
            show_default=False,
        ),
    ] = None,
    radius: Annotated[
        int | None,
        typer.Option(
            "--radius",
            metavar="R",
            help="Largest distance of the codes of duplicates, of pictures and codes, or with "
            "--model.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write the groups to a .parquet, .csv or .jsonl file instead of printing them.",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="DATA2",
            help="Find what DATA has of this: data of the same kind, or an index.",
            autocompletion=completion.data,
            show_default=False,
        ),
    ] = None,
    update: Annotated[
        bool,
        typer.Option(
            "--update",
            help="With --against and an index: add the rows to keep to it, all or none.",
        ),
    ] = False,
    linkage: Annotated[
        Linkage,
        typer.Option(
            "--linkage",
            help="star: each member is within the limit of the one to keep. connected: chains, "
            "too.",
        ),
    ] = Linkage.STAR,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            metavar="FILE",
            help="What makes the codes of vectors. [default: learned from a sample]",
            show_default=False,
        ),
    ] = None,
    recall: Annotated[
        float,
        typer.Option(
            "--recall",
            metavar="SHARE",
            help="How large a share of the similar pairs codes should find.",
        ),
    ] = 0.99,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Draws the samples.")] = 0,
    features: options.Features = None,
    labels: options.Labels = None,
    ids: options.Ids = None,
    text: Annotated[
        str | None,
        typer.Option(
            "--text",
            metavar="NAME",
            help="The column of texts to compare; with --features, vectors are compared.",
            show_default=False,
        ),
    ] = None,
    pictures: Annotated[
        str | None,
        typer.Option(
            "--pictures",
            metavar="NAME",
            help="The column of paths of pictures to compare, seen from the folder of DATA.",
            show_default=False,
        ),
    ] = None,
    column: options.Column = None,
    n_bits: Annotated[
        int | None,
        typer.Option(
            "--bits",
            "--n-bits",
            metavar="N",
            min=1,
            max=4096,
            help="DATA holds another tool's codes of this length, as for index.",
            show_default=False,
        ),
    ] = None,
    delimiter: options.Delimiter = None,
    root: options.Root = None,
    threads: options.Threads = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Without a limit: write what is proposed as one page, with texts or pictures side "
            "by side.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            min=0,
            help="Print this many rows at most, 0 for all. [default: 50 in a table, else all]",
            show_default=False,
        ),
    ] = None,
    output: options.Output = options.Format.TABLE,
    engine: Annotated[
        Engine,
        typer.Option(
            "--engine",
            help="duckdb: for Parquet files larger than memory, of codes, or of vectors with "
            "--model; writes --out.",
        ),
    ] = Engine.MEMORY,
    memory_limit: Annotated[
        str | None,
        typer.Option(
            "--memory-limit",
            metavar="SIZE",
            help="With --engine duckdb: how much memory it may take, such as 4GB; the rest goes to "
            "disk, beside --out. [default: most of the machine's]",
            show_default=False,
        ),
    ] = None,
    force: options.Force = False,
    _debug: options.Debug = False,
) -> None:
    """Find near-duplicates in DATA, or what it has of other data.

    Writes or prints a row for each member of a group: id, group, representative, keep, distance of
    codes, similarity of vectors. Without the rows whose keep is false, no duplicates are left. How
    many rows and groups there are, and how many pairs may be missing, is said on stderr.

    Without --similarity or --radius no groups are made: what limits would do is printed, with pairs
    near some of them, and one is proposed.
    """
    from kinhash.cli import grouped_files
    from kinhash.cli.compared import Described
    from kinhash.cli.data import Looked
    from kinhash.cli.deduplicating import Job, Wanted, check_limits, deduplicated, single_model

    in_memory = {
        "--similarity": similarity,
        "--against": against,
        "--update": update or None,
        "--text": text,
        "--pictures": pictures,
        "--report": report,
        "--column": column,
        "--bits": n_bits,
    }
    grouped_files.check_options(engine, memory_limit, in_memory)
    _check_together(text, pictures, report, has_limit=(similarity, radius) != (None, None))
    check_limits(similarity, radius, linkage.value, recall, seed)
    wanted = Wanted(out, report, limit, output, update=update)
    wanted.check_outputs(force=force, inputs=(data, against, model))
    looked = Looked(features, labels, ids, text, delimiter, root)
    method = None if model is None else single_model(model)
    job = Job(similarity, radius, linkage.value, recall, seed, threads, method)
    if engine is Engine.DUCKDB:
        grouped_files.group_files(data, out, looked, job, memory_limit)
    else:
        deduplicated(data, against, Described(looked, pictures, column, n_bits), job, wanted)


def _check_together(
    text: str | None, pictures: str | None, report: Path | None, *, has_limit: bool
) -> None:
    """Raise unless options that depend on each other go together.

    Raises:
        typer.BadParameter: They do not.
    """
    if text is not None and pictures is not None:
        raise typer.BadParameter("choose one of the two", param_hint="'--text' / '--pictures'")
    if report is not None and has_limit:
        raise typer.BadParameter(
            "it shows what is proposed where no limit is given", param_hint="'--report'"
        )
