"""`kinhash sql`: the text of exact joins and groups, and of tables that answer queries."""

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kinhash.cli import options

if TYPE_CHECKING:
    from kinhash.codes import StoredCodes
    from kinhash.engines.layout import Layout
    from kinhash.index.hamming import HammingIndex


class What(enum.StrEnum):
    """Which text."""

    JOIN = "join"
    GROUP = "group"
    CREATE = "create"


class Dialect(enum.StrEnum):
    """Who reads it: the names of `kinhash.engines.dialects.DIALECTS`."""

    DUCKDB = "duckdb"
    SPARK = "spark"
    POSTGRES = "postgres"
    SQLITE = "sqlite"


class Pairs(enum.StrEnum):
    """Pairs of what a join gives."""

    CODES = "codes"
    ITEMS = "items"


def sql(
    what: Annotated[
        What, typer.Argument(metavar="join|group|create", help="Which text.", show_default=False)
    ],
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="A model, codes, an index or a Parquet file of codes, which says how long codes "
            "are.",
            show_default=False,
        ),
    ] = None,
    *,
    dialect: Annotated[Dialect, typer.Option("--dialect", help="Who reads it.")] = Dialect.DUCKDB,
    n_bits: Annotated[
        int | None,
        typer.Option(
            "--n-bits", "--bits", metavar="N", help="Instead of FILE: bits of a code, in all."
        ),
    ] = None,
    n_rank_bits: Annotated[
        int, typer.Option("--n-rank-bits", "--rank-bits", metavar="N", help="Rank bits among them.")
    ] = 0,
    signed: Annotated[
        bool, typer.Option("--signed", help="Entries of a code may also be -1.")
    ] = False,
    radius: Annotated[
        int, typer.Option("--radius", metavar="R", help="Largest distance of a join or a group.")
    ] = 0,
    left: Annotated[str, typer.Option("--left", metavar="TABLE", help="Table of items.")] = "items",
    right: Annotated[
        str | None,
        typer.Option("--right", metavar="TABLE", help="Table to join it with. [default: the same]"),
    ] = None,
    id_column: Annotated[
        str, typer.Option("--id", metavar="NAME", help="Column of ids of both.")
    ] = "id",
    pairs: Annotated[
        Pairs, typer.Option("--pairs", help="Pairs of codes, or of items.")
    ] = Pairs.CODES,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="With create and FILE: write create.sql and the items as items.copy here.",
            show_default=False,
        ),
    ] = None,
    force: options.Force = False,
    _debug: options.Debug = False,
) -> None:
    """Print SQL: exact joins by radius, groups, or tables.

    Tables have a column of ids and the columns of codes: w0, w1, ... of the bucket, r0, ... of the
    rank bits, each a BIGINT. create prints, for PostgreSQL and SQLite, tables, indexes and queries
    that need no extension; for DuckDB and Spark, the table of items.
    """
    from kinhash import sql as text
    from kinhash.cli.results import emit

    options.check_one_of({"FILE": file, "--n-bits": n_bits})
    if file is not None:
        layout = _layout_of(file)
    else:
        layout = text.Layout(n_bits or 0, signed=signed, n_rank_bits=n_rank_bits)
    if out is not None:
        _write(what, file, layout, dialect, out, force=force)
    elif what is What.CREATE:
        emit(_creation(layout, dialect, left, id_column))
    elif what is What.JOIN:
        told = text.join(
            layout,
            left=left,
            right=right,
            radius=radius,
            pairs=pairs.value,
            id=id_column,
            dialect=dialect.value,
        )
        emit(f"{told};")
    else:
        told = text.group(layout, items=left, radius=radius, id=id_column, dialect=dialect.value)
        emit(f"{told};")


def _creation(layout: "Layout", dialect: Dialect, table: str, id_column: str) -> str:
    from kinhash.engines import lookups
    from kinhash.engines.text import checked_name

    if dialect.value in lookups.DIALECTS:
        return lookups.script(layout, dialect=dialect.value)
    columns = ", ".join(
        f"{name} BIGINT" for name in (checked_name("id", id_column), *layout.columns)
    )
    return f"CREATE TABLE {checked_name('left', table)} ({columns});"


def _layout_of(file: Path) -> "Layout":
    from kinhash.cli import inputs
    from kinhash.codes import StoredCodes
    from kinhash.engines.duckdb import layout_of_files
    from kinhash.engines.layout import Layout
    from kinhash.errors import InvalidInputError
    from kinhash.index.hamming import HammingIndex
    from kinhash.loading import load

    if file.suffix == ".parquet":
        told = layout_of_files(file)
        if told is None:
            raise InvalidInputError(f"{file} does not say how long its codes are. Use --n-bits.")
        return told
    found = load(file)
    if isinstance(found, HammingIndex):
        return Layout.of(found)
    if isinstance(found, StoredCodes):
        return Layout.of(found.codes)
    return Layout.of(inputs.encoder_of(found, None))


def _write(
    what: What, file: Path | None, layout: "Layout", dialect: Dialect, out: Path, *, force: bool
) -> None:
    """Write the script and the items of a file to a folder."""
    from kinhash.cli import outputs
    from kinhash.cli.messages import counted, note
    from kinhash.engines import batches, lookups
    from kinhash.errors import InvalidInputError
    from kinhash.storage import atomic

    if what is not What.CREATE or file is None or dialect.value not in lookups.DIALECTS:
        raise typer.BadParameter(
            "goes with create, FILE and --dialect postgres or sqlite", param_hint="'--out'"
        )
    items = _items(file)
    script, copied = out / "create.sql", out / "items.copy"
    with outputs.new_folder(out):
        out.mkdir(exist_ok=True)
        for path in (script, copied):
            outputs.check_output(path, force=force, inputs=(file,))
        n_items = 0
        with atomic(copied) as part, part.open("w", encoding="ascii") as written:
            for batch in batches.code_reader(items):
                columns = {name: batch.column(name).to_numpy() for name in layout.columns}
                ids = batch.column("id")
                if str(ids.type) != "int64":
                    raise InvalidInputError(
                        f"{file} must have ids that are integers, but they are strings. Number "
                        "the items."
                    )
                codes = layout.codes(columns)
                written.write(lookups.copy_lines(layout, ids.to_numpy(), codes))
                n_items += len(codes)
        with atomic(script) as part:
            told = lookups.script(layout, dialect=dialect.value, copied=copied.name)
            part.write_text(f"{told}\n", encoding="ascii")
    note(f"Wrote {script} and {copied}: {counted(n_items, 'item')}.")
    tool = "psql DATABASE -v ON_ERROR_STOP=1 -f create.sql"
    if dialect is Dialect.SQLITE:
        tool = "sqlite3 items.db < create.sql"
    note(f"Load them: cd {out} && {tool}")


def _items(file: Path) -> "StoredCodes | HammingIndex":
    from kinhash.cli import inputs
    from kinhash.index.hamming import HammingIndex

    if inputs.holds_index(file):
        return HammingIndex.load(file)
    return inputs.load_codes(file, "an index or codes, such as `kinhash index` or `encode` writes")
