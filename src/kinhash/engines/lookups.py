"""The text of tables that PostgreSQL and SQLite answer radius queries from, by index probes.

Four tables: `kinhash_codes` has each different bucket once, `kinhash_keys` a key of each code and
of each code without one of its *stored* bits, `kinhash_items` the items with the number of their
code, and `kinhash_bits` says which bits are stored. A query changes up to `radius` of its own bits
and looks all these keys up. Where a code has a stored bit that the query lacks, the key without
that bit is one change nearer; where it has none, only bits that the query has or that are not
stored differ, and these are few. So both sides do a part, and either could be large alone.
"""

from collections.abc import Sequence

from kinhash.arguments import check_integer
from kinhash.arrays import Array
from kinhash.codes import Codes
from kinhash.engines.dialects import dialect_of
from kinhash.engines.layout import Layout
from kinhash.engines.text import all_equal, checked_radius, literal
from kinhash.errors import InvalidInputError

VERSION = 1  # of the tables
DIALECTS = ("postgres", "sqlite")
MOST_PROBED = 2  # the largest radius that is probed; beyond, all different codes are compared
N_CHANGED = 36  # how many of the bits are not stored at most, unless told otherwise

# A key is the code modulo a prime. What has the same key by chance is told apart by its distance.
_PRIME, _BASE = 2147483629, 1103515245


def create(layout: Layout, *, dialect: str = "postgres", n_changed: int | None = None) -> list[str]:
    """Return the statements that create the tables, and the one that new items go to.

    Args:
        layout: How the codes lie.
        dialect: "postgres" or "sqlite".
        n_changed: How many of the bits have no stored keys: a query changes them instead. Fewer
            make a query of radius 2 faster, more make the tables smaller.

    Raises:
        InvalidInputError: The dialect has no such tables, or `n_changed` is out of range.
    """
    _check(dialect)
    n_bits = len(layout.bits)
    changed = min(N_CHANGED, n_bits * 9 // 16) if n_changed is None else n_changed
    check_integer("n_changed", changed, 0, n_bits)
    words = [f"{name} BIGINT NOT NULL" for name in layout.words]
    ranks = [f"{name} BIGINT NOT NULL" for name in layout.rank_words]
    masks = [f"b{i} BIGINT NOT NULL" for i in range(len(words))]
    about = {"version": VERSION, "last_code": 0, "n_bits": layout.n_bits}
    about |= {"n_rank_bits": layout.n_rank_bits, "signed": int(layout.signed)}
    is_postgres = dialect == "postgres"
    keys = ["key INTEGER NOT NULL", "code INTEGER NOT NULL"]
    without_rowid = "" if is_postgres else " WITHOUT ROWID"
    return [
        _table("kinhash_about", ["name TEXT PRIMARY KEY", "value BIGINT NOT NULL"]),
        "INSERT INTO kinhash_about VALUES\n"
        + ",\n".join(f"  ('{name}', {value})" for name, value in about.items()),
        _table("kinhash_bits", ["n INTEGER PRIMARY KEY", "stored INTEGER NOT NULL", *masks]),
        "INSERT INTO kinhash_bits VALUES\n" + ",\n".join(_bit_rows(layout, changed)),
        _table("kinhash_codes", ["code INTEGER PRIMARY KEY", *words]),
        _table("kinhash_keys", keys if is_postgres else [*keys, "PRIMARY KEY (key, code)"])
        + without_rowid,
        _table("kinhash_items", ["id BIGINT PRIMARY KEY", "code INTEGER NOT NULL", *ranks]),
        _table("kinhash_new", ["id BIGINT NOT NULL", *words, *ranks]),
    ]


def create_indexes(layout: Layout, *, dialect: str = "postgres") -> list[str]:
    """Return the statements that create the indexes, best after the first items."""
    _check(dialect)
    words = ", ".join(layout.words)
    statements = [
        f"CREATE UNIQUE INDEX IF NOT EXISTS kinhash_codes_words ON kinhash_codes ({words})"
    ]
    if dialect == "postgres":
        full = " WITH (fillfactor = 100)"
        statements.append(
            f"CREATE INDEX IF NOT EXISTS kinhash_keys_key ON kinhash_keys (key){full}"
        )
    statements.append("CREATE INDEX IF NOT EXISTS kinhash_items_code ON kinhash_items (code)")
    if dialect == "postgres":
        tables = ("codes", "keys", "items", "bits")
        statements += [f"ANALYZE kinhash_{table}" for table in tables]
    else:
        statements.append("ANALYZE")
    return statements


def add(layout: Layout, *, dialect: str = "postgres") -> list[str]:
    """Return the statements that move what is in `kinhash_new` into the tables.

    They belong into one transaction. Others that add wait for it; queries do not.
    """
    _check(dialect)
    words = ", ".join(layout.words)
    own = ", ".join(f"n.{name}" for name in layout.words)
    equal = all_equal(layout.words, "n.", "c.")
    ranks = "".join(f", n.{name}" for name in layout.rank_words)
    last = "(SELECT value FROM kinhash_about WHERE name = 'last_code')"
    without = ", ".join(f"c.w{i} & ~b.b{i} AS w{i}" for i in range(len(layout.words)))
    codes = ", ".join(f"c.{name}" for name in layout.words)
    insert_codes = (
        f"INSERT INTO kinhash_codes (code, {words})\n"
        f"SELECT {last} + ROW_NUMBER() OVER (ORDER BY {words}), {words}\n"
        f"FROM (\n  SELECT DISTINCT {own} FROM kinhash_new n\n"
        f"  LEFT JOIN kinhash_codes c ON {equal}\n  WHERE c.code IS NULL\n) x"
    )
    has = _has("c.w", "b.b", layout)
    insert_keys = (
        "INSERT INTO kinhash_keys (key, code)\n"
        f"SELECT DISTINCT {key(layout, 'x.')}, x.code\nFROM (\n"
        f"  SELECT c.code, {codes} FROM kinhash_codes c WHERE c.code > {last}\n"
        f"  UNION ALL\n  SELECT c.code, {without}\n"
        f"  FROM kinhash_codes c JOIN kinhash_bits b ON b.stored = 1 AND {has}\n"
        f"  WHERE c.code > {last}\n) x\nORDER BY 1, 2"
    )
    # PostgreSQL then has the items of a code side by side; SQLite keeps them in the order of ids.
    order = "c.code, n.id" if dialect == "postgres" else "n.id"
    insert_items = (
        f"INSERT INTO kinhash_items\nSELECT n.id, c.code{ranks}\n"
        f"FROM kinhash_new n JOIN kinhash_codes c ON {equal}\nORDER BY {order}"
    )
    update = (
        "UPDATE kinhash_about SET value = (SELECT COALESCE(MAX(code), 0) FROM kinhash_codes)\n"
        "WHERE name = 'last_code'"
    )
    statements = [insert_codes, insert_keys, insert_items, update, "DELETE FROM kinhash_new"]
    if dialect == "postgres":
        statements.insert(0, "LOCK TABLE kinhash_codes IN SHARE ROW EXCLUSIVE MODE")
    return statements


def query(layout: Layout, *, radius: int, dialect: str = "postgres") -> str:
    """Return the text that gives the items within `radius` of a code, by distance.

    Its parameters are the words of the code: $1, $2, ... in PostgreSQL, ?1, ?2, ... in SQLite. The
    columns are `id`, `distance` and, with rank bits, `rank_distance`; rows are ordered by distance,
    rank distance and id. Up to radius 2 it looks keys up; beyond, it compares all different codes.

    Raises:
        InvalidInputError: `radius` is no integer of at least 0, or the dialect has no such tables.
    """
    _check(dialect)
    radius = checked_radius(radius)
    named = dialect_of(dialect)
    sign = "$" if dialect == "postgres" else "?"
    given = ", ".join(
        f"CAST({sign}{i + 1} AS BIGINT) AS {name}" for i, name in enumerate(layout.columns)
    )
    parts = [f"q AS (SELECT {given})"]
    if named.singles:
        bits = ", ".join(f"({literal(1 << bit)})" for bit in range(64))
        parts.insert(0, f"singles(b) AS (VALUES {bits})")

    def differing(columns: Sequence[str], left: str) -> str:
        counts = (named.n_differing.format(f"{left}{name}", f"q.{name}") for name in columns)
        return " + ".join(counts)

    distance = differing(layout.words, "c.")
    found = f"SELECT c.code, {distance} AS distance FROM kinhash_codes c, q"
    if radius == 0:
        found += f" WHERE {all_equal(layout.words, 'c.', 'q.')}"
    else:
        found += f" WHERE {distance} <= {radius}"
    if 0 < radius <= MOST_PROBED:
        parts += _probes(layout, radius)
        keys = _any("k.key", "SELECT key FROM probes", dialect)
        codes = f"SELECT k.code FROM kinhash_keys k WHERE {keys}"
        found += f"\n    AND {_any('c.code', codes, dialect)}"
    parts.append(f"near AS MATERIALIZED (\n  {found}\n)")
    columns, order = "i.id, n.distance", "n.distance"
    if layout.rank_words:
        columns += f", {differing(layout.rank_words, 'i.')} AS rank_distance"
        order += ", rank_distance"
    items = "kinhash_items"
    if dialect == "postgres":  # one index scan per code, however many codes it expects
        items = "LATERAL (SELECT * FROM kinhash_items i WHERE i.code = n.code OFFSET 0)"
    tables = f"near n CROSS JOIN q JOIN {items} i ON i.code = n.code"
    with_ = "WITH " + ",\n".join(parts)
    return f"{with_}\nSELECT {columns}\nFROM {tables}\nORDER BY {order}, i.id"


def key(layout: Layout, prefix: str) -> str:
    """Return the expression of the key of words that have this prefix."""
    made = ""
    for name in layout.words:
        part = f"{prefix}{name} % {_PRIME}"
        made = f"(({made}) * {_BASE} + {part}) % {_PRIME}" if made else part
    return f"CAST({made} AS INTEGER)"


def _probes(layout: Layout, radius: int) -> list[str]:
    """Return the subqueries of the keys that a query looks up."""
    words = range(len(layout.words))
    own = ", ".join(layout.words)
    masks = ", ".join(f"b{i}" for i in words)

    def changed(source: str, bit: str) -> str:
        return ", ".join(
            f"({source}.w{i} | {bit}.b{i}) & ~({source}.w{i} & {bit}.b{i}) AS w{i}" for i in words
        )

    free = (
        f"free AS (\n  SELECT n, {masks} FROM kinhash_bits b, q\n"
        f"  WHERE stored = 0 OR {_has('q.w', 'b.b', layout)}\n)"
    )
    rows = [f"SELECT {own} FROM q"]
    if radius == 1:
        rows.append(f"SELECT {changed('q', 'f')} FROM q, free f")
    else:
        rows.append(f"SELECT {changed('q', 'b')} FROM q, kinhash_bits b")
        once = ", ".join((changed("q", "f"), "f.n"))
        rows.append(
            f"SELECT {changed('o', 'f')} FROM (SELECT {once} FROM q, free f) o\n"
            "  JOIN free f ON f.n > o.n"
        )
    union = "\n  UNION ALL\n  ".join(rows)
    return [free, f"probes AS (\n  SELECT {key(layout, 'x.')} AS key FROM (\n  {union}\n  ) x\n)"]


def _any(column: str, select: str, dialect: str) -> str:
    """Return that a column is among the rows of a SELECT, looked up one by one in its index."""
    # PostgreSQL would rather join, and choose the way by a guess of how many rows there are.
    return (
        f"{column} = ANY(ARRAY({select}))" if dialect == "postgres" else f"{column} IN ({select})"
    )


def _has(words: str, bit: str, layout: Layout) -> str:
    columns = range(len(layout.words))
    return f"({' OR '.join(f'({words}{i} & {bit}{i}) <> 0' for i in columns)})"


def _bit_rows(layout: Layout, n_changed: int) -> list[str]:
    n_bits, rows = len(layout.bits), []
    for n, (word, bit) in enumerate(layout.bits):
        masks = ["0"] * len(layout.words)
        masks[word] = literal(1 << bit)
        # Spread evenly: neighbouring bits often mean like things.
        is_stored = (n + 1) * n_changed // n_bits == n * n_changed // n_bits
        rows.append(f"  ({n}, {int(is_stored)}, {', '.join(masks)})")
    return rows


def _table(name: str, columns: Sequence[str]) -> str:
    return f"CREATE TABLE {name} ({', '.join(columns)})"


def _check(dialect: str) -> None:
    if dialect_of(dialect).name not in DIALECTS:
        raise InvalidInputError(
            f"There are no tables for queries in {dialect}, only in {' and '.join(DIALECTS)}. "
            f"Join tables in {dialect} with kinhash.sql.join."
        )


def script(layout: Layout, *, dialect: str = "postgres", copied: str | None = None) -> str:
    """Return all statements as one script, for `psql -f` or `sqlite3 < FILE`.

    Args:
        layout: How the codes lie.
        dialect: "postgres" or "sqlite".
        copied: The file of the first items, as `copy_lines` gives its lines.
    """
    is_postgres = dialect == "postgres"
    source = copied or "items.copy"
    load = f"\\copy kinhash_new FROM '{source}'"
    if not is_postgres:
        load = f".mode tabs\n.import {source} kinhash_new"
    if copied is None:
        lines = ["New items go to kinhash_new, then into the tables:", *load.splitlines()]
        load = "\n".join(f"-- {line}" for line in lines)
    moved = [f"{text};" for text in add(layout, dialect=dialect)]
    queries = []
    for radius in range(MOST_PROBED + 1):
        text = query(layout, radius=radius, dialect=dialect)
        if is_postgres:
            kinds = ", ".join("bigint" for _ in layout.columns)
            text = f"PREPARE kinhash_radius_{radius}({kinds}) AS\n{text};"
        else:
            text = "\n".join(f"-- {line}" for line in f"Radius {radius}:\n{text};".splitlines())
        queries.append(text)
    parts = [
        "BEGIN;",
        *(f"{text};" for text in create(layout, dialect=dialect)),
        "COMMIT;",
        *([] if is_postgres else [load]),
        "BEGIN;",
        *([load] if is_postgres else []),
        *moved,
        *(f"{text};" for text in create_indexes(layout, dialect=dialect)),
        "COMMIT;",
        *queries,
    ]
    return "\n\n".join(parts)


def copy_lines(layout: Layout, ids: Array, codes: Codes) -> str:
    """Return the lines of items as COPY reads them: ids and words, separated by tabs."""
    columns = [ids, *layout.arrays(codes).values()]
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)
