"""`kinhash dedup --engine duckdb`: groups of Parquet files that need not fit memory."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kinhash.cli.data import columns_of
from kinhash.cli.messages import counted, note
from kinhash.errors import InvalidInputError
from kinhash.progress import progress_bar

if TYPE_CHECKING:
    from kinhash.cli.data import Looked
    from kinhash.cli.deduplicating import Job

DUCKDB = "duckdb"


def check_options(engine: str, memory_limit: str | None, others: Mapping[str, object]) -> None:
    """Raise unless options go with the engine.

    Args:
        engine: The name of the engine.
        memory_limit: Of DuckDB.
        others: Options that only work in memory, and what is given; None if nothing is.

    Raises:
        typer.BadParameter: One of them does not.
    """
    if engine != DUCKDB:
        if memory_limit is not None:
            raise _wrong("--memory-limit", "it is a limit of DuckDB: add --engine duckdb")
        return
    for option, given in others.items():
        if given is not None:
            raise _wrong(option, "leave it out: --engine duckdb compares codes within --radius")


def group_files(
    data: str, out: Path | None, looked: "Looked", job: "Job", memory_limit: str | None
) -> None:
    """Write the groups of a Parquet file, or of a folder of them.

    Args:
        data: Codes, or vectors if the job has a model.
        out: The Parquet file to write.
        looked: Which columns are what.
        job: The comparison.
        memory_limit: Of DuckDB; None for its own.

    Raises:
        KinhashError: A file cannot be read or written, or has no such columns.
        typer.BadParameter: No radius, or no .parquet file to write is given.
    """
    if job.radius is None:
        raise _wrong("--radius", "is missing: it says how near codes may be")
    if out is None or out.suffix.lower() != ".parquet":
        raise _wrong("--out", "must name a .parquet file, with --engine duckdb")
    path = Path(data).expanduser()
    if not path.is_dir() and path.suffix.lower() != ".parquet":
        raise InvalidInputError(
            f"{data} must be a .parquet file or a folder of them, with --engine duckdb."
        )
    from kinhash.engines import duckdb

    ids, vector = _columns(data, looked, has_model=job.model is not None)
    with progress_bar(f"Comparing {path.name}") as report:
        found = duckdb.group_files(
            path,
            out,
            model=job.model,
            vector=vector,
            radius=job.radius,
            linkage=job.linkage,
            id=ids,
            memory_limit=memory_limit,
            folder=out.absolute().parent,
            n_threads=job.n_threads,
            report=report,
        )
    dropped = found.n_members - found.n_groups
    note(
        f"{path.name}: {counted(found.n_items, 'row')}, {counted(found.n_groups, 'group')}, "
        f"{dropped:,} to drop, {found.n_items - dropped:,} to keep; all pairs were compared."
    )
    note(f"Wrote {out}: {counted(found.n_members, 'row')}.")


def _columns(data: str, looked: "Looked", *, has_model: bool) -> tuple[str | None, str | list[str]]:
    """Return the column of ids, None for row numbers, and those of the vectors."""
    if not has_model:
        return _id_column(data, looked.ids), []
    columns = columns_of(data, looked)
    names = list(columns.features)
    return columns.ids, names[0] if len(names) == 1 else names


def _id_column(data: str, asked: str | None) -> str | None:
    """Return the column of the ids of Parquet files of codes: the one asked for, or the usual one.

    Raises:
        InvalidInputError: There is none of the name asked for.
    """
    import pyarrow.parquet

    from kinhash.datasets.user_files.columns import USUAL_IDS, choose
    from kinhash.engines.batches import parquet_files

    first = parquet_files(Path(data).expanduser())[0]
    return choose("ids", asked, USUAL_IDS, pyarrow.parquet.read_schema(first).names, data)


def _wrong(option: str, reason: str) -> typer.BadParameter:
    return typer.BadParameter(reason, param_hint=f"'{option}'")
