"""`kinhash spark`: encode, join, group and measure tables of any size on Apache Spark."""

import contextlib
import enum
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kinhash.cli import options
from kinhash.cli.sql import Pairs

if TYPE_CHECKING:
    from kinhash.engines.layout import Layout


class Linkage(enum.StrEnum):
    """How groups are made of links: the names of `kinhash.linkage.LINKAGES`."""

    STAR = "star"
    CONNECTED = "connected"


class By(enum.StrEnum):
    """How pairs are found: the names of `kinhash.engines.spark.radius.BY`."""

    BROADCAST = "broadcast"
    KEYS = "keys"
    CHUNKS = "chunks"


def _files(metavar: str, about: str) -> Any:  # noqa: ANN401 - as Typer has it
    return typer.Argument(metavar=metavar, help=f"{about}: Parquet files, as Spark takes a path.")


Items = Annotated[str, _files("ITEMS", "Ids and codes")]
Out = Annotated[
    str, typer.Option("--out", "-o", metavar="FOLDER", help="The folder of Parquet to write.")
]
Id = Annotated[str, typer.Option("--id", metavar="NAME", help="The column of ids.")]
Ways = Annotated[
    By | None,
    typer.Option(
        "--by",
        help="How pairs are found: an index in each worker, or joins of keys or of chunks. "
        "[default: an index, up to 2,097,152 different codes]",
        show_default=False,
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="Where to run, such as local[4] or spark://host:7077. [default: what spark-submit or "
        "Spark's configuration says, else all cores of this machine]",
        show_default=False,
    ),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(
        "--conf",
        metavar="KEY=VALUE",
        help="A setting of Spark, such as spark.driver.memory=8g. May be repeated.",
        show_default=False,
    ),
]


def encode(
    model: options.Model,
    data: Annotated[str, _files("DATA", "Vectors")],
    *,
    out: Out,
    features: Annotated[
        str | None,
        typer.Option(
            "--features",
            metavar="NAME",
            help="The column of arrays that holds the vectors; or columns of numbers: names or "
            "patterns such as 'e*', separated by commas. [default: the only column of arrays]",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep",
            metavar="NAMES",
            help="The columns that stay: names or patterns, separated by commas. [default: all but "
            "the vectors]",
            show_default=False,
        ),
    ] = None,
    modality: options.Modality = None,
    master: Master = None,
    conf: Conf = None,
    force: options.Force = False,
    _debug: options.Debug = False,
) -> None:
    """Write rows with their codes in place of their vectors.

    The model is sent once to each executor, whose Python must have kinhash. Codes are columns of
    64-bit integers: w0, w1, ... of the bucket, r0, ... of the rank bits.
    """
    from kinhash.cli import inputs
    from kinhash.engines.spark import encode_files

    encoder = inputs.encoder_of(inputs.load_fitting_model(model, modality), modality)
    with _running("Encoding", master, conf) as spark:
        rows = spark.read(data, out, force=force)
        vector = _vector_columns(rows, features)
        kept = None if keep is None else _matching(rows.columns, keep, "keep")
        found = encode_files(rows.sparkSession, data, encoder, vector, keep=kept)
        spark.write(found, out, "row", force=force)


def join(
    left: Annotated[str, _files("LEFT", "Ids and codes, of the larger side")],
    right: Annotated[
        str | None,
        typer.Argument(metavar="[RIGHT]", help="The other side. [default: LEFT with itself]"),
    ] = None,
    *,
    out: Out,
    radius: Annotated[
        int | None,
        typer.Option("--radius", metavar="R", help="Give all pairs within this distance."),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option("--top-k", metavar="K", help="Give the first K items of RIGHT for each item."),
    ] = None,
    pairs: Annotated[
        Pairs, typer.Option("--pairs", help="With --radius: pairs of codes, or of items.")
    ] = Pairs.CODES,
    by: Ways = None,
    id_column: Id = "id",
    master: Master = None,
    conf: Conf = None,
    force: options.Force = False,
    _debug: options.Debug = False,
) -> None:
    """Write all pairs of codes or items within a radius, or each item's nearest, exact.

    A code is named by the lowest id that has it. A table with itself gives each pair once.
    """
    from kinhash.engines import spark as engine

    options.check_one_of({"--radius": radius, "--top-k": k})
    if k is not None and right is None:
        raise typer.BadParameter("goes with RIGHT", param_hint="'--top-k'")
    with _running("Joining", master, conf) as spark:
        x = spark.read(left, out, force=force)
        y = None if right is None else spark.read(right, out, force=force)
        if k is not None:
            found = engine.top_k_join(x, y, k, id=id_column)
        else:
            found = engine.radius_join(
                x,
                y,
                radius=radius or 0,
                pairs=pairs.value,
                by=by.value if by else None,
                id=id_column,
            )
        spark.write(found, out, "pair", force=force)


def dedup(
    items: Items,
    *,
    out: Out,
    radius: Annotated[
        int, typer.Option("--radius", metavar="R", help="Largest distance of a link.")
    ] = 0,
    linkage: Annotated[
        Linkage,
        typer.Option("--linkage", help="Stars around a representative, or connected components."),
    ] = Linkage.STAR,
    by: Ways = None,
    id_column: Id = "id",
    master: Master = None,
    conf: Conf = None,
    force: options.Force = False,
    _debug: options.Debug = False,
) -> None:
    """Write the groups of two or more items whose codes are near.

    A row has the lowest id of the group (group_id), an id, the id that stands for the group
    (representative), whether it is this one (keep), and the distance from it.
    """
    from kinhash.engines.spark import group_duplicates

    with _running("Grouping", master, conf) as spark:
        rows = spark.read(items, out, force=force)
        found = group_duplicates(
            rows, radius, linkage=linkage.value, by=by.value if by else None, id=id_column
        )
        spark.write(found, out, "row", force=force)


def evaluate(
    queries: Annotated[str, _files("QUERIES", "Codes and labels, which fit one machine")],
    items: Annotated[str, _files("ITEMS", "Codes and labels, of any size")],
    *,
    label: Annotated[
        str, typer.Option("--labels", metavar="NAME", help="The column of labels of both.")
    ] = "label",
    radii: Annotated[
        str, typer.Option("--radii", metavar="R,...", help="Radii to measure.")
    ] = "0,2",
    at: Annotated[
        str, typer.Option("--at", metavar="N,...", help="Lengths of rankings to measure.")
    ] = "10,5000",
    order: options.Ranking = options.Order.NESTED,
    n_bits: Annotated[
        int | None,
        typer.Option(
            "--n-bits",
            "--bits",
            metavar="N",
            help="Bits of a code, in all. [default: as files say that spark encode wrote]",
            show_default=False,
        ),
    ] = None,
    n_rank_bits: Annotated[
        int, typer.Option("--n-rank-bits", "--rank-bits", metavar="N", help="Rank bits among them.")
    ] = 0,
    signed: Annotated[
        bool, typer.Option("--signed", help="Entries of a code may also be -1.")
    ] = False,
    output: options.Output = options.Format.TABLE,
    master: Master = None,
    conf: Conf = None,
    _debug: options.Debug = False,
) -> None:
    """Measure how well codes of QUERIES find items of their label among ITEMS.

    The measures are those of kinhash evaluate.
    """
    from kinhash.cli.results import emit
    from kinhash.engines.spark import evaluate as measured

    wanted: dict[str, Any] = {
        "radii": options.whole_numbers(radii, "--radii", low=0, example="0,2"),
        "at": options.whole_numbers(at, "--at", low=1, example="10,5000"),
        "order": order.value,
        "layout": _layout(n_bits, n_rank_bits, signed=signed),
    }
    with _running("Evaluating", master, conf) as spark:
        sides = spark.read(queries), spark.read(items)
        found = measured(*sides, label=label, **wanted)
    emit(_shown(found, output))


EXAMPLES: dict[Callable[..., None], str] = {
    encode: "kinhash spark encode model.kinhash items.parquet --out codes --master 'local[2]'",
    join: "kinhash spark join codes --radius 1 --out pairs --master 'local[2]'",
    dedup: "kinhash spark dedup codes --radius 1 --out groups --master 'local[2]'",
    evaluate: "kinhash spark evaluate query-codes codes --master 'local[2]'",
}
"""Each of these commands, in order, and the example that ends its help."""

app = typer.Typer(name="spark", rich_markup_mode=None)
for _command, _example in EXAMPLES.items():
    app.command(epilog=f"\b\nExample:\n  {_example}")(_command)


@app.callback(invoke_without_command=True, epilog=f"\b\nExample:\n  {EXAMPLES[encode]}")
def spark(context: typer.Context) -> None:
    """Encode, join, group and measure tables on Apache Spark."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


class _Spark:
    """A session, and the files that a command reads and writes there."""

    def __init__(self, session: Any) -> None:  # noqa: ANN401 - pyspark is an extra
        self._session = session

    def read(self, path: str, out: str | None = None, *, force: bool = False) -> Any:  # noqa: ANN401
        """Return the rows of files, if the output may be written."""
        from kinhash.engines.spark.files import check_free, read_parquet

        if out is not None:
            check_free(self._session, out, force=force)
        return read_parquet(self._session, path)

    def write(self, found: Any, out: str, one: str, *, force: bool) -> None:  # noqa: ANN401
        """Write rows, and say so."""
        from kinhash.cli.messages import counted, note
        from kinhash.engines.spark.files import write_parquet

        n_rows = write_parquet(found, out, force=force)
        note(f"Wrote {out}: {counted(n_rows, one)}.")


@contextlib.contextmanager
def _running(title: str, master: str | None, conf: list[str] | None) -> Iterator[_Spark]:
    """Give Spark, and show how far it is until the block is over."""
    from kinhash.engines.spark.session import opened
    from kinhash.engines.spark.watching import watched
    from kinhash.progress import progress_bar

    # Spark's own words are for those who run a cluster; what fails comes as one sentence.
    settings = {"spark.log.level": "ERROR"}
    for setting in conf or ():
        name, equals, value = setting.partition("=")
        if not name or not equals:
            raise typer.BadParameter(
                f"expected KEY=VALUE, such as spark.driver.memory=8g, got {setting!r}",
                param_hint="'--conf'",
            )
        settings[name.strip()] = value.strip()
    with (
        opened(master, settings=settings) as session,
        progress_bar(title) as report,
        watched(session, report),
    ):
        yield _Spark(session)


def _vector_columns(rows: Any, features: str | None) -> str | list[str]:  # noqa: ANN401
    """Return the column of arrays, or the columns of numbers, that hold the vectors."""
    from kinhash import tables
    from kinhash.errors import InvalidInputError

    if features is not None:
        found = _matching(rows.columns, features, "features")
        return found[0] if len(found) == 1 else found
    arrays: list[str] = [name for name, kind in rows.dtypes if kind.startswith("array<")]
    if len(arrays) != 1:
        told = f"has {', '.join(arrays)}" if arrays else f"has {tables.listed(rows.columns)}"
        raise InvalidInputError(
            f"DATA must have one column of arrays, the vectors, but {told}. Name it, or columns of "
            "numbers, with --features."
        )
    return arrays[0]


def _matching(columns: list[str], patterns: str, option: str) -> list[str]:
    from kinhash import tables

    return tables.matching(columns, patterns, option=option, source="DATA")


def _layout(n_bits: int | None, n_rank_bits: int, *, signed: bool) -> "Layout | None":
    from kinhash.engines.layout import Layout

    if n_bits is None:
        if n_rank_bits or signed:
            raise typer.BadParameter(
                "goes with --n-bits", param_hint="'--signed'" if signed else "'--n-rank-bits'"
            )
        return None
    return Layout(n_bits, signed=signed, n_rank_bits=n_rank_bits)


def _shown(measures: dict[str, float], output: options.Format) -> str:
    from kinhash.cli.results import as_json, shown

    if output is options.Format.JSON:
        return as_json(measures)
    if output is options.Format.TABLE:
        return shown([{"measure": name, "value": measures[name]} for name in measures], output)
    return shown([measures], output)
