"""Exact answers by DuckDB, over tables and Parquet files larger than memory.

Tables of codes have a column of ids and the columns of `kinhash.engines.layout.Layout`, as `load`
and `encode` make them. Wherever a table is wanted, a Parquet file of such columns or a folder of
them will do. Needs duckdb and pyarrow (the extra `duckdb`).
"""

import contextlib
import dataclasses
import os
import re
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from kinhash import tables
from kinhash.arguments import check_choice, check_integer
from kinhash.codes import Codes, StoredCodes
from kinhash.engines import batches, components, sql, text
from kinhash.engines.layout import Layout
from kinhash.engines.versions import check_version
from kinhash.errors import InvalidInputError, MissingExtraError
from kinhash.index.hamming import HammingIndex
from kinhash.linkage import LINKAGES, Linkage, warn_if_large
from kinhash.progress import Report, silent
from kinhash.storage import atomic

Connection = Any  # duckdb.DuckDBPyConnection; duckdb is an extra, and types must not need it
Relation = Any  # duckdb.DuckDBPyRelation
Source = str | os.PathLike[str]

TESTED, OLDEST = ("1.4", "2.0"), "1.4"

_QUIET = "SET enable_progress_bar = false"  # it would go to stdout


def connect(
    database: str | os.PathLike[str] = ":memory:",
    *,
    memory_limit: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    n_threads: int | None = None,
) -> Connection:
    """Return a connection to DuckDB that spills to disk what does not fit.

    Args:
        database: A file, or ":memory:".
        memory_limit: Such as "4GB"; by default DuckDB's, most of the machine's memory.
        folder: Where it spills to; by default a new folder in that of temporary files, which goes
            with the connection.
        n_threads: Threads to use; all cores by default.

    Raises:
        InvalidInputError: DuckDB cannot open the file, or a setting is none.
        MissingExtraError: DuckDB is not installed.

    Example:
        >>> connection = connect(memory_limit="1GB")
        >>> load(connection, "items", Codes.from_dense([[0, 1], [1, 1], [0, 1]]))
        Layout(n_bits=2, signed=False, n_rank_bits=0)
        >>> radius_join(connection, "items", radius=1, pairs="items").fetchall()
        [(0, 2, 0), (0, 1, 1), (1, 2, 1)]
    """
    module = _duckdb()
    if n_threads is not None:
        check_integer("n_threads", n_threads, 1)
    if folder is None:
        folder = Path(tempfile.gettempdir(), f"kinhash-duckdb-{secrets.token_hex(8)}")
    settings: dict[str, Any] = {
        "temp_directory": os.fspath(folder),
        "preserve_insertion_order": "false",  # would hold back what could be written
        "python_enable_replacements": "false",  # a name is a table, never a Python variable
    }
    settings |= {} if memory_limit is None else {"memory_limit": str(memory_limit)}
    settings |= {} if n_threads is None else {"threads": int(n_threads)}
    check_version("DuckDB", module.__version__, tested=TESTED, oldest=OLDEST)
    with _told():
        connection = module.connect(os.fspath(database), config=settings)
        connection.execute(_QUIET)
    return connection


def load(
    connection: Connection,
    name: str,
    items: Codes | StoredCodes | HammingIndex,
    ids: npt.ArrayLike | None = None,
) -> Layout:
    """Create the table `name` of ids and codes, or replace it; return how its codes lie.

    Args:
        connection: What `connect` returns, or any other connection to DuckDB.
        name: The table.
        items: Codes, what `kinhash.load` gives of a file of codes, or an index.
        ids: Of `Codes`: integers or strings, all different; 0, 1, 2, ... by default.

    Raises:
        InvalidInputError: There are not as many ids as codes, or DuckDB refuses.
    """
    reader = batches.code_reader(items, ids)
    _create(connection, text.checked_name("name", name), reader)
    return Layout.of(items.codes if isinstance(items, StoredCodes) else items)


def encode(
    connection: Connection,
    source: Source,
    model: object,
    name: str,
    *,
    vector: str | Sequence[str] = "embedding",
    keep: Sequence[str] | None = None,
    n_threads: int | None = None,
) -> Layout:
    """Create the table `name` of the rows of a table with their codes in place of vectors.

    Args:
        connection: What `connect` returns, or any other connection to DuckDB.
        source: The table, not a temporary one, or Parquet files.
        model: A fitted model of one modality, or an encoder.
        name: The table to create, or replace.
        vector: The column of lists with the vectors, or several columns of numbers.
        keep: The columns that stay, in this order; by default all but the vectors.
        n_threads: Threads to encode with; all cores by default.

    Raises:
        InvalidInputError: A column is missing or of the wrong type, a vector is null or of another
            length, or DuckDB refuses.
        NotFittedError: The model is not fitted.
    """
    pa = tables.arrow()
    text.checked_name("name", name)
    layout = Layout.of(batches.encoder_of(model))
    with contextlib.closing(connection.cursor()) as cursor:
        with _told():
            cursor.execute(_QUIET)
            reader = _reader(cursor.sql(f"SELECT * FROM {_from(source)}"), batches.BATCH_ROWS)
        schema = batches.encoded_schema(model, reader.schema, vector=vector, keep=keep)
        encoded = batches.encode_batches(
            model, reader, vector=vector, keep=keep, n_threads=n_threads
        )
        failures: list[Exception] = []
        guarded = pa.RecordBatchReader.from_batches(schema, _guarded(encoded, failures))
        try:
            _create(connection, name, guarded)
        except InvalidInputError:
            if failures:  # DuckDB tells it in words of its own
                raise failures[0] from None
            raise
    return layout


def radius_join(
    connection: Connection,
    left: Source,
    right: Source | None = None,
    *,
    radius: int,
    pairs: Literal["codes", "items"] = "codes",
    layout: Layout | None = None,
    id: str = "id",  # noqa: A002 - the column's name
    by: text.By | None = None,
) -> Relation:
    """Return every pair within `radius`, as `kinhash.sql.join` specifies them.

    Args:
        connection: What `connect` returns, or any other connection to DuckDB.
        left: A table of codes, or Parquet files of such columns.
        right: Another; the same again by default.
        radius: Largest accepted distance; 0 means equal buckets.
        pairs: "codes" or "items".
        layout: How codes lie in both; by default what Parquet files say, or what fits the columns.
        id: The column of ids, which must all be different, in both tables.
        by: How candidates are found: "keys" or "chunks".

    Returns:
        A relation of DuckDB, whose rows are found when they are asked for.

    Raises:
        InvalidInputError: A column is missing or of the wrong type, rows are no codes of this
            layout, or a choice is unknown.
    """
    check_choice("pairs", pairs, ("codes", "items"))
    opened = [_opened(connection, source, id) for source in (left, right) if source is not None]
    layout = _checked_layout(connection, opened, layout)
    others = opened[1].name if len(opened) > 1 else None
    joined = sql.join(
        layout, left=opened[0].name, right=others, radius=radius, pairs=pairs, id=id, by=by
    )
    with _told():
        return connection.sql(joined)


def group_duplicates(
    connection: Connection,
    items: Source,
    *,
    radius: int = 0,
    linkage: Linkage = "star",
    layout: Layout | None = None,
    id: str = "id",  # noqa: A002 - the column's name
) -> Relation:
    """Return the items of all groups of two or more, as `HammingIndex.duplicates` has them.

    Codes are joined, not items, so a million equal codes cost no more than one. The rows are in a
    temporary table of the connection.

    Args:
        connection: What `connect` returns, or any other connection to DuckDB.
        items: A table of codes, or Parquet files of such columns.
        radius: Largest distance of an edge; 0 means equal buckets.
        linkage: "star": every member is within `radius` of its representative. "connected": groups
            are connected components.
        layout: How the codes lie; by default what Parquet files say, or what fits the columns.
        id: The column of ids, which must all be different.

    Returns:
        A relation of DuckDB, ordered by group, representatives first, with the columns `group_id`
        (the lowest id of the group), `id`, `representative`, `keep` and `distance`.

    Raises:
        InvalidInputError: As `radius_join`, or memory and disk are too small.
    """
    check_choice("linkage", linkage, LINKAGES)
    text.checked_radius(radius)
    opened = _opened(connection, items, id)
    layout = _checked_layout(connection, [opened], layout)
    with _Steps(connection) as steps:
        codes, pairs, chosen = (steps.named(name) for name in ("codes", "pairs", "chosen"))
        steps.create(codes, sql.codes(layout, items=opened.name, id=id))
        steps.create(pairs, sql.code_pairs(layout, left=codes, radius=radius))
        components.group_codes(steps, chosen, codes=codes, pairs=pairs, linkage=linkage)
        steps.drop(pairs)
        members = sql.members(layout, items=opened.name, codes=codes, chosen=chosen, id=id)
        groups = steps.named("groups")
        steps.create(groups, members)
        sizes = f"SELECT COUNT(*) AS size FROM {groups} GROUP BY group_id"
        largest = steps.number(f"SELECT COALESCE(MAX(size), 0) FROM ({sizes})")
        n_items = steps.number(f"SELECT COALESCE(SUM(n_items), 0) FROM {codes}")
        steps.keep(groups)
    warn_if_large(np.array([largest]), n_items)
    with _told():
        return connection.sql(f"SELECT * FROM {groups} ORDER BY group_id, keep DESC, id")


@dataclasses.dataclass(frozen=True)
class GroupedFiles:
    """What `group_files` has written.

    Args:
        n_items: How many rows there were.
        n_groups: How many groups of two or more.
        n_members: How many rows these have: those of the file.
    """

    n_items: int
    n_groups: int
    n_members: int


def group_files(
    source: Source,
    out: Source,
    *,
    model: object | None = None,
    vector: str | Sequence[str] = "embedding",
    radius: int = 0,
    linkage: Linkage = "star",
    id: str | None = "id",  # noqa: A002 - the column's name
    layout: Layout | None = None,
    memory_limit: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    n_threads: int | None = None,
    report: Report = silent,
) -> GroupedFiles:
    """Write the groups of Parquet files that need not fit memory; the groups of one process.

    The rows and columns are those of `kinhash.linkage.Groups`: `id`, `group` (0, 1, ... in the
    order of their lowest ids), `representative`, `keep`, `distance`; representatives first. Ids
    that are strings have the order of their letters.

    Args:
        source: A Parquet file, or a folder of them: of codes, or with `model` of vectors.
        out: The Parquet file to write; it appears whole or not at all.
        model: A fitted model of one modality, or an encoder.
        vector: With a model: the column of lists with the vectors, or several columns of numbers.
        radius: Largest distance of a link; 0 means equal buckets.
        linkage: "star" or "connected", as in `group_duplicates`.
        id: The column of ids, integers or strings, all different; None: the numbers of the rows.
        layout: Without a model: how codes lie, by default as files say or as fits the columns.
        memory_limit: DuckDB's, such as "4GB"; by default most of the machine's memory. Encoding
            holds some batches of 65,536 vectors besides.
        folder: Where DuckDB spills to, and where codes lie in the meantime; by default that of
            temporary files.
        n_threads: Threads to use; all cores by default.
        report: Told how many rows are done: first of those encoded, then of those written.

    Raises:
        InvalidInputError: A column is missing or of the wrong type, an id is missing or there
            twice, a vector or a code is null, or memory and disk are too small.
        NotFittedError: The model is not fitted.
    """
    with (
        tempfile.TemporaryDirectory(prefix="kinhash-", dir=_spill_folder(folder)) as spill,
        connect(memory_limit=memory_limit, folder=spill, n_threads=n_threads) as connection,
    ):
        if model is not None:
            given, source = source, Path(spill, "codes.parquet")
            batches.encode_parquet(
                model,
                given,
                source,
                vector=vector,
                keep=[] if id is None else [id],
                n_threads=n_threads,
                report=report,
            )
        known = layout_of_files(source) if layout is None or model is not None else layout
        items = _items(connection, source, id)
        groups = group_duplicates(
            connection, items, radius=radius, linkage=linkage, layout=known, id=id or "id"
        )
        n_items = _number(connection, f"SELECT COUNT(*) FROM {items}")
        n_members = _number(connection, f"SELECT COUNT(*) FROM ({groups.sql_query()})")
        with _told():
            reader = _reader(groups, batches.BATCH_ROWS)
            n_groups = _write_groups(reader, out, n_members, report)
    return GroupedFiles(n_items, n_groups, n_members)


def _spill_folder(folder: str | os.PathLike[str] | None) -> str | None:
    if folder is not None and not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInputError(f"`folder` {folder} must be a folder that can be written to.")
    return None if folder is None else os.fspath(folder)


_IDS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "VARCHAR")


def _items(connection: Connection, source: Source, id_column: str | None) -> str:
    """Return the name of a view of files, whose ids and codes are known and whose ids differ."""
    files = batches.parquet_files(Path(source))
    name = f"kinhash_{secrets.token_hex(4)}"
    if id_column is None:
        rows, id_column = _numbered(files), "id"
    else:
        rows = f"SELECT * FROM {_from(Path(source))}"
    with _told():
        connection.execute(f"CREATE TEMPORARY VIEW {name} AS {rows}")
    opened = _opened(connection, name, id_column)
    kind = opened.kinds[id_column]
    if kind not in _IDS:
        raise InvalidInputError(
            f"`{id_column}` in {source} must hold integers or strings, got {kind}."
        )
    codes = [column for column in opened.kinds if _CODE.fullmatch(column)]
    for column in (id_column, *codes):
        n_null = _number(connection, f"SELECT COUNT(*) FROM {name} WHERE {column} IS NULL")
        if n_null:
            raise InvalidInputError(
                f"`{column}` in {source} must not be null, but is in {n_null} of its rows."
            )
    with _told():
        doubled = connection.execute(
            f"SELECT {id_column} FROM {name} GROUP BY {id_column} HAVING COUNT(*) > 1 "
            f"ORDER BY {id_column} LIMIT 1"
        ).fetchall()
    if doubled:
        raise InvalidInputError(f"`{id_column}` in {source} holds {doubled[0][0]} more than once.")
    return name


_CODE = re.compile(r"[wr]\d+")  # a column of `Layout`


def _numbered(files: Sequence[Path]) -> str:
    """Return the text of the codes of files, with the numbers of their rows as ids."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    n_before, parts = 0, []
    for path in files:
        about = pq.read_metadata(path)
        names = [name for name in about.schema.names if _CODE.fullmatch(name)]
        columns = ", ".join([f"file_row_number + {n_before} AS id", *names])
        quoted = str(path).replace("'", "''")
        parts.append(f"SELECT {columns} FROM read_parquet('{quoted}', file_row_number = true)")
        n_before += about.num_rows
    return " UNION ALL ".join(parts)


def _write_groups(reader: Any, out: Source, n_rows: int, report: Report) -> int:  # noqa: ANN401 - untyped
    """Write groups whose rows follow each other, numbered; return how many they are."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    pa = tables.arrow()
    kind = reader.schema.field("id").type
    kinds = (kind, pa.int64(), kind, pa.bool_(), pa.int32())
    names = ("id", "group", "representative", "keep", "distance")
    schema = pa.schema(list(zip(names, kinds, strict=True)))
    n_groups = n_done = 0
    with atomic(out) as part, pq.ParquetWriter(part, schema) as writer:
        for batch in reader:
            # The representative is the first row of each group.
            group = np.cumsum(batch.column("keep").to_numpy(zero_copy_only=False)) + n_groups - 1
            columns = {name: batch.column(name) for name in names if name != "group"}
            columns["group"] = pa.array(group.astype(np.int64))
            columns["distance"] = columns["distance"].cast(pa.int32())
            writer.write_batch(pa.record_batch([columns[name] for name in names], schema=schema))
            n_groups, n_done = int(group[-1]) + 1, n_done + batch.num_rows
            report(n_done, n_rows, "rows written")
    return n_groups


class _Steps:
    """Temporary tables, each from a SELECT, which go when the block is over."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._prefix = connection, f"kinhash_{secrets.token_hex(4)}"
        self._created: set[str] = set()

    def named(self, name: str) -> str:
        """Return a name that nobody else has."""
        return f"{self._prefix}_{name}"

    def create(self, name: str, select: str) -> None:
        """Store the rows of a SELECT."""
        self._created.add(name)
        with _told():
            self._connection.execute(f"CREATE OR REPLACE TEMPORARY TABLE {name} AS {select}")

    def drop(self, name: str) -> None:
        """Remove a table."""
        self._connection.execute(f"DROP TABLE IF EXISTS {name}")
        self._created.discard(name)

    def number(self, select: str) -> int:
        """Return the one number of a SELECT."""
        return _number(self._connection, select)

    def keep(self, name: str) -> None:
        """Leave a table to the connection."""
        self._created.discard(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._created):
            self.drop(name)


@dataclasses.dataclass(frozen=True)
class _Opened:
    """A table of codes: how SQL calls it, how messages do, its columns, what it says of codes."""

    name: str
    told: str
    kinds: dict[str, str]
    layout: Layout | None


def _opened(connection: Connection, source: Source, id_column: str) -> _Opened:
    """Return a table of the connection, or a view of Parquet files."""
    text.checked_name("id", id_column)
    layout, name = None, str(source)
    with _told():
        if _is_path(source):
            layout = layout_of_files(source)
            name = f"kinhash_{secrets.token_hex(4)}"
            connection.execute(f"CREATE TEMPORARY VIEW {name} AS SELECT * FROM {_from(source)}")
        described = connection.execute(f"DESCRIBE {text.checked_name('items', name)}").fetchall()
    kinds = {row[0]: row[1] for row in described}
    if id_column not in kinds:
        raise tables.no_column("id", id_column, list(kinds))
    return _Opened(name, str(source), kinds, layout)


def _is_path(source: Source) -> bool:
    return not isinstance(source, str) or source.endswith(".parquet") or os.sep in source


def _from(source: Source) -> str:
    """Return what stands after FROM: a table, or Parquet files."""
    if not _is_path(source):
        return text.checked_name("source", str(source))
    quoted = (str(path).replace("'", "''") for path in batches.parquet_files(Path(source)))
    paths = ", ".join(f"'{path}'" for path in quoted)
    return f"read_parquet([{paths}])"


def layout_of_files(source: Source) -> Layout | None:
    """Return the one layout that the metadata of Parquet files tell."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    pa = tables.arrow()
    found = {}
    for path in batches.parquet_files(Path(source)):
        try:
            found[Layout.from_metadata(pq.read_schema(path).metadata)] = path
        except (pa.ArrowException, OSError) as error:
            raise InvalidInputError(
                f"{path} cannot be read: {tables.first_line(error)}."
            ) from error
    if len(found) > 1:
        told = " and ".join(f"{layout} in {path.name}" for layout, path in found.items())
        raise InvalidInputError(
            f"{source} must hold codes of one length, but there are {told}. "
            "Encode all with the same encoder."
        )
    return next(iter(found))


def _checked_layout(
    connection: Connection, opened: Sequence[_Opened], layout: Layout | None
) -> Layout:
    """Return how codes lie in all these tables, whose rows fit it."""
    told = layout or next((one.layout for one in opened if one.layout), None)
    layouts = [layout or one.layout or told or _fitting(one) for one in opened]
    if len(set(layouts)) > 1:
        got = " and ".join(f"{x} in {one.told}" for x, one in zip(layouts, opened, strict=True))
        raise InvalidInputError(
            f"Both tables must hold codes of one length, got {got}. Encode both with the same "
            "encoder, or give `layout`."
        )
    for one in opened:
        for column in layouts[0].columns:
            kind = one.kinds.get(column)
            if kind != "BIGINT":
                got = "there is none" if kind is None else f"got {kind}"
                raise InvalidInputError(f"`{column}` in {one.told} must be a BIGINT, {got}.")
        n_wrong = _number(connection, text.misfits(layouts[0], one.name))
        if n_wrong:
            raise InvalidInputError(
                f"{one.told} must hold codes of {layouts[0]}, but {n_wrong} of its rows have other "
                "bits set. Give the lengths that they were made with as `layout`."
            )
    return layouts[0]


def _fitting(opened: _Opened) -> Layout:
    """Return the layout of as many bits as fit the columns; distances do not depend on it."""
    n_words, n_ranks = (
        next(i for i in range(len(opened.kinds) + 1) if f"{letter}{i}" not in opened.kinds)
        for letter in "wr"
    )
    if not n_words:
        raise InvalidInputError(
            f"{opened.told} has no columns of codes, w0, w1, ...; the columns: "
            f"{tables.listed(list(opened.kinds))}."
        )
    return Layout(64 * (n_words + n_ranks), n_rank_bits=64 * n_ranks)


def _create(connection: Connection, name: str, reader: Any) -> None:  # noqa: ANN401 - untyped
    """Create a table of the batches of a reader, or leave the one that is there."""
    view = f"kinhash_{secrets.token_hex(4)}"
    with _told():
        connection.register(view, reader)
        try:
            connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM {view}")
        finally:
            connection.unregister(view)


def _guarded(rows: Iterator[Any], failures: list[Exception]) -> Iterator[Any]:
    try:
        yield from rows
    except Exception as error:
        failures.append(error)
        raise


def _reader(relation: Relation, n_rows: int) -> Any:  # noqa: ANN401 - untyped
    """Return a reader of batches of so many rows."""
    if hasattr(relation, "to_arrow_reader"):
        return relation.to_arrow_reader(n_rows)
    return relation.fetch_record_batch(n_rows)  # as older versions call it


def _number(connection: Connection, select: str) -> int:
    with _told():
        # All rows: newer versions take a result that is not read to its end for a running one.
        [[number]] = connection.execute(select).fetchall()
    return int(number)


def _duckdb() -> ModuleType:
    try:
        import duckdb  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        if error.name != "duckdb":
            raise
        raise MissingExtraError("DuckDB's Python package is not installed", "duckdb") from error
    return duckdb


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Say in one sentence what DuckDB refuses."""
    module = _duckdb()
    try:
        yield
    except module.OutOfMemoryException as error:
        raise InvalidInputError(
            f"DuckDB ran out of memory or of space to spill to: {tables.first_line(error)}. Raise "
            "`memory_limit`, or give a `folder` with more space."
        ) from error
    except module.Error as error:
        raise InvalidInputError(f"DuckDB: {tables.first_line(error)}.") from error
