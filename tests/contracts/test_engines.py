"""One text, each engine: the pairs and groups of `index/reference.py` on generated codes."""

import contextlib
import sqlite3

import duckdb
import numpy as np
import pytest
import scipy.sparse.csgraph

from kinhash import Codes, sql
from kinhash.engines.components import group_codes
from kinhash.engines.text import literal
from kinhash.index import reference
from kinhash.methods import ITQ, ClassCode, Nested


class Engine:
    """A connection, a table of codes at a time, and answers as sorted rows."""

    def __init__(self, name, connection):
        self.name, self.connection = name, connection

    def load(self, table, layout, codes, ids):
        columns = ", ".join(f"{column} BIGINT" for column in ("id", *layout.columns))
        arrays = [np.asarray(ids), *layout.arrays(codes).values()]
        rows = ", ".join(f"({', '.join(map(number, row))})" for row in zip(*arrays, strict=True))
        cursor = self.connection.cursor()
        cursor.execute(f"DROP TABLE IF EXISTS {table}")
        cursor.execute(f"CREATE TEMPORARY TABLE {table} ({columns})")
        if rows:
            cursor.execute(f"INSERT INTO {table} VALUES {rows}")  # noqa: S608 - own numbers

    def execute(self, text):
        cursor = self.connection.cursor()
        cursor.execute(text)
        return cursor

    def create(self, name, select):
        self.drop(name)
        self.execute(f"CREATE TEMPORARY TABLE {name} AS {select}")

    def drop(self, name):
        self.execute(f"DROP TABLE IF EXISTS {name}")

    def number(self, select):
        return int(self.execute(select).fetchone()[0])

    def rows(self, text):
        cursor = self.execute(text)
        return [tuple(int(value) for value in row) for row in cursor.fetchall()]


def number(value):
    return literal(int(value) % 2**64)


class OneCursor:
    """DuckDB's cursors are connections of their own, with temporary tables of their own."""

    def __init__(self, connection):
        self.connection = connection

    def cursor(self):
        return self.connection


@pytest.fixture(
    scope="module", params=["duckdb", "sqlite", pytest.param("postgres", marks=pytest.mark.engine)]
)
def engine(request):
    with contextlib.ExitStack() as stack:
        if request.param == "duckdb":
            connection = OneCursor(stack.enter_context(duckdb.connect()))
            connection.connection.execute("SET threads = 1")
        elif request.param == "sqlite":
            connection = stack.enter_context(contextlib.closing(sqlite3.connect(":memory:")))
        else:
            psycopg = pytest.importorskip("psycopg")
            url = request.getfixturevalue("postgres")
            connection = stack.enter_context(psycopg.connect(url, autocommit=True))
            connection.execute("SET jit = off")  # compiling takes longer than these few rows
        yield Engine(request.param, connection)


# Sets of codes, the same for all engines


def random_codes(rng, n, n_bits, *, signed, n_rank_bits, n_active=4):
    """Draw codes around few centres: some equal, some near, some empty."""
    low = -1 if signed else 0
    centres = np.zeros((3, n_bits), np.int8)
    for centre in centres[1:]:
        at = rng.choice(n_bits, min(n_bits, n_active), replace=False)
        centre[at] = rng.choice([low, 1], len(at)) if signed else 1
    dense = centres[rng.integers(0, 3, n)]
    for row in dense:
        at = rng.choice(n_bits, min(n_bits, rng.integers(0, 4)), replace=False)
        row[at] = rng.integers(low, 2, len(at))
    ranks = rng.integers(0, 2, (n, n_rank_bits)) if n_rank_bits else None
    return Codes.from_dense(dense, signed=signed, rank=ranks)


CASES = [
    # n_bits of the bucket, signed, n_rank_bits
    (1, False, 0),
    (7, False, 3),
    (24, True, 0),
    (63, False, 64),
    (64, False, 0),
    (64, True, 5),
    (65, False, 0),
    (128, True, 70),
    (256, False, 0),
    "learned",
]


def learned_codes(digits):
    """Return what a model makes of rows that it was not fitted on: many equal, some near."""
    X, y = digits
    model = Nested(bucket=ClassCode(), rank=ITQ(), n_bits=36, n_rank_bits=6).fit(X[:400], y[:400])
    return model.encode(X[400:440]), model.encode(X[440:465])


def told(case):
    return case if isinstance(case, str) else f"{case[0]}{'-signed' if case[1] else ''}-{case[2]}"


@pytest.fixture(params=CASES, ids=told)
def tables(request, engine, digits):
    """Two tables of codes in the engine, and what they hold."""
    if request.param == "learned":
        rng = np.random.default_rng(0)
        items, others = learned_codes(digits)
        assert 1 < items.n_unique < len(items)
    else:
        n_bits, signed, n_rank_bits = request.param
        rng = np.random.default_rng(n_bits + signed)
        items, others = (
            random_codes(rng, n, n_bits, signed=signed, n_rank_bits=n_rank_bits) for n in (40, 25)
        )
    layout = sql.Layout.of(items)
    ids = [rng.permutation(200)[: len(codes)] - 50 for codes in (items, others)]
    engine.load("items", layout, items, ids[0])
    engine.load("others", layout, others, ids[1])
    return layout, (items, ids[0]), (others, ids[1])


def item_pairs(left, right, radius):
    """Return what a join of two tables must give, by comparing every two items."""
    near = [reference.distances(left[0], right[0]), reference.rank_distances(left[0], right[0])]
    with_rank = left[0].n_rank_bits > 0
    rows = []
    for i, j in np.argwhere(near[0] <= radius).tolist():
        pair = (int(left[1][i]), int(right[1][j]), int(near[0][i, j]))
        rows.append((*pair, int(near[1][i, j])) if with_rank else pair)
    return sorted(rows, key=lambda row: (row[0], *row[2:], row[1]))


def lowest_ids(codes, ids):
    """Return the name of each item's code: the lowest id that has it."""
    names = {}
    for word, id_ in sorted(zip(map(bytes, codes.words), ids.tolist(), strict=True)):
        names.setdefault(word, id_)
    return [names[bytes(word)] for word in codes.words]


@pytest.mark.parametrize(
    ("radius", "by"), [(0, None), (1, None), (2, None), (3, None), (3, "chunks"), (5, None)]
)
def test_two_tables_give_every_pair(engine, tables, radius, by):
    layout, left, right = tables
    options = {"right": "others", "radius": radius, "by": by, "dialect": engine.name}
    expected = item_pairs(left, right, radius)
    assert engine.rows(sql.join(layout, pairs="items", **options)) == expected
    names = [
        dict(zip(ids.tolist(), lowest_ids(codes, ids), strict=True)) for codes, ids in (left, right)
    ]
    codes = {(names[0][row[0]], names[1][row[1]], row[2]) for row in expected}
    assert sorted(engine.rows(sql.join(layout, **options))) == sorted(codes)


@pytest.mark.parametrize(
    ("radius", "by"), [(0, None), (1, None), (2, None), (3, None), (2, "chunks"), (4, None)]
)
def test_a_table_with_itself_gives_each_pair_once(engine, tables, radius, by):
    layout, items, _ = tables
    options = {"radius": radius, "by": by, "dialect": engine.name}
    expected = [row for row in item_pairs(items, items, radius) if row[0] < row[1]]
    assert engine.rows(sql.join(layout, pairs="items", **options)) == expected
    name = dict(zip(items[1].tolist(), lowest_ids(*items), strict=True))
    codes = {(*sorted((name[row[0]], name[row[1]])), row[2]) for row in expected if row[2] > 0}
    found = engine.rows(sql.join(layout, **options))
    assert sorted((*sorted(row[:2]), row[2]) for row in found) == sorted(codes)


@pytest.mark.parametrize("radius", [0, 2, 4])
@pytest.mark.parametrize("others", ["others", None])
def test_stored_codes_give_the_pairs_of_a_join(engine, tables, radius, others):
    layout = tables[0]
    for name in ("items", "others"):
        engine.create(f"{name}_codes", sql.codes(layout, items=name, dialect=engine.name))
    right = others and "others_codes"
    options = {"radius": radius, "dialect": engine.name}
    text = sql.code_pairs(layout, left="items_codes", right=right, **options)
    expected = engine.rows(sql.join(layout, right=others, **options))
    assert sorted(engine.rows(text)) == sorted(expected)


@pytest.mark.parametrize("radius", [0, 1, 2, 4])
def test_groups_are_connected_components(engine, tables, radius):
    layout, (items, ids), _ = tables
    near = reference.distances(items, items) <= radius
    component = scipy.sparse.csgraph.connected_components(near, directed=False)[1]
    expected = []
    for number in range(component.max() + 1):
        members = sorted(ids[component == number].tolist())
        expected += [(members[0], member) for member in members if len(members) > 1]
    text = sql.group(layout, radius=radius, dialect=engine.name)
    assert engine.rows(text) == sorted(expected)


@pytest.mark.parametrize("radius", [0, 1, 2, 4])
@pytest.mark.parametrize("linkage", ["star", "connected"])
def test_groups_in_rounds_are_those_of_visiting_items_one_by_one(engine, tables, radius, linkage):
    layout, (items, ids), _ = tables
    engine.create("item_codes", sql.codes(layout, dialect=engine.name))
    options = {"radius": radius, "dialect": engine.name}
    engine.create("pairs", sql.code_pairs(layout, left="item_codes", **options))
    group_codes(engine, "chosen", codes="item_codes", linkage=linkage)
    text = sql.members(layout, codes="item_codes", chosen="chosen", dialect=engine.name)
    assert sorted(engine.rows(text)) == visited_one_by_one(items, ids, radius, linkage)


def visited_one_by_one(codes, ids, radius, linkage):
    """Return the rows of all groups, by the definition of both linkages."""
    distance = reference.distances(codes, codes)
    near = distance <= radius
    chosen = np.full(len(ids), -1)
    for i in np.lexsort((ids, -near.sum(axis=1))):
        if chosen[i] < 0:
            chosen[near[i] & (chosen < 0)] = i
    if linkage == "connected":
        component = scipy.sparse.csgraph.connected_components(near, directed=False)[1]
        for i in np.lexsort((ids, -near.sum(axis=1)))[::-1]:
            chosen[component == component[i]] = i
    rows = []
    for i in np.unique(chosen):
        members = np.flatnonzero(chosen == i)
        if len(members) > 1:
            lowest = ids[members].min()
            rows += [(lowest, ids[j], ids[i], i == j, distance[i, j]) for j in members]
    return sorted(tuple(map(int, row)) for row in rows)


def test_codes_have_their_lowest_id_and_how_many_items(engine, tables):
    layout, (items, ids), _ = tables
    name = lowest_ids(items, ids)
    expected = {(own, name.count(own)) for own in name}
    found = engine.rows(sql.codes(layout, dialect=engine.name))
    assert sorted((row[0], row[-1]) for row in found) == sorted(expected)
    words = [row[1:-1] for row in sorted(found)]
    columns = {
        column: np.array(values, np.int64)
        for column, values in zip(layout.words, zip(*words, strict=True), strict=True)
    }
    first = [ids.tolist().index(own) for own, _ in sorted(expected)]
    assert np.array_equal(
        sql.Layout(layout.n_bucket_bits, signed=layout.signed).codes(columns).words,
        items.words[first],
    )


SERIES = {  # the numbers from 0 to a million and a bit
    "duckdb": "SELECT i FROM range(1500000) t(i)",
    "postgres": "SELECT i FROM generate_series(0, 1499999) i",
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1499999)\n"
    "SELECT i FROM n",
}


def test_more_than_a_million_equal_codes_are_one_code(engine):
    codes = Codes.from_dense([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
    layout = sql.Layout.of(codes)
    engine.load("items", layout, codes, [2_000_000, 3_000_000, 4_000_000])
    engine.execute(f"INSERT INTO items SELECT i, 3 FROM ({SERIES[engine.name]}) s")  # noqa: S608 - own text
    found = engine.rows(sql.codes(layout, dialect=engine.name))
    assert sorted(found) == [(0, 3, 1_500_001), (3_000_000, 1, 1), (4_000_000, 0, 1)]
    found = engine.rows(sql.join(layout, radius=2, dialect=engine.name))
    assert sorted(tuple(sorted(row[:2])) + row[2:] for row in found) == [
        (0, 3_000_000, 1),
        (0, 4_000_000, 2),
        (3_000_000, 4_000_000, 1),
    ]


def test_rows_without_a_code_match_nothing(engine):
    layout = sql.Layout(3)
    engine.load("items", layout, Codes.from_dense([[1, 0, 0], [1, 0, 0]]), [1, 2])
    engine.connection.cursor().execute("INSERT INTO items VALUES (3, NULL), (4, NULL)")
    text = sql.join(layout, radius=1, pairs="items", dialect=engine.name)
    assert engine.rows(text) == [(1, 2, 0)]
    assert engine.rows(sql.group(layout, dialect=engine.name)) == [(1, 1), (1, 2)]


def test_an_empty_table_has_no_pairs(engine):
    layout = sql.Layout(70)
    engine.load("items", layout, Codes.from_dense(np.zeros((0, 70))), [])
    for radius in (0, 2, 5):
        assert (
            engine.rows(sql.join(layout, radius=radius, pairs="items", dialect=engine.name)) == []
        )
        assert engine.rows(sql.group(layout, radius=radius, dialect=engine.name)) == []
