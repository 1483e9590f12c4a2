"""Items in SQLite and PostgreSQL: the answers of `index/reference.py` on generated codes."""

import secrets
import sqlite3

import numpy as np
import pytest

from kinhash import Codes, HammingIndex
from kinhash.engines import lookups, sqlite
from kinhash.engines.layout import Layout
from kinhash.errors import FormatError, InvalidInputError

CASES = [
    # n_bits of the bucket, signed, n_rank_bits
    (1, False, 0),
    (7, False, 3),
    (24, True, 0),
    (64, False, 0),
    (64, True, 5),
    (100, False, 64),
    (256, False, 0),
]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.engine)])
def place(request, tmp_path):
    """Return what opens a store of our own, and what runs a statement beside it."""
    if request.param == "sqlite":
        path = tmp_path / "items.db"

        def run(text):
            with sqlite3.connect(path) as connection:
                connection.execute(text)
            connection.close()

        return lambda *args, **options: sqlite.open_store(path, *args, **options), run
    psycopg = pytest.importorskip("psycopg")
    from kinhash.engines import postgres

    url, schema = request.getfixturevalue("postgres"), f"own_{secrets.token_hex(4)}"
    own = f"{url}?options=-csearch_path%3D{schema}"

    def run(text):
        with psycopg.connect(own, autocommit=True) as connection:
            connection.execute(text)

    run(f"CREATE SCHEMA {schema}")
    return lambda *args, **options: postgres.open_store(own, *args, **options), run


def near_codes(rng, n, n_bits, *, signed, n_rank_bits):
    low = -1 if signed else 0
    centres = np.where(rng.random((12, n_bits)) < 5 / n_bits, rng.choice([low, 1], n_bits), 0)
    centres[0] = 0
    dense = centres[rng.integers(0, 12, n)]
    for row in dense:
        at = rng.choice(n_bits, min(n_bits, rng.integers(0, 4)), replace=False)
        row[at] = rng.integers(low, 2, len(at))
    ranks = rng.integers(0, 2, (n, n_rank_bits)) if n_rank_bits else None
    return Codes.from_dense(dense, signed=signed, rank=ranks)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_answers_are_those_of_an_index(place, rng, case):
    n_bits, signed, n_rank_bits = case
    codes = near_codes(rng, 300, n_bits, signed=signed, n_rank_bits=n_rank_bits)
    queries = near_codes(rng, 15, n_bits, signed=signed, n_rank_bits=n_rank_bits)
    ids = rng.permutation(1000)[:300] - 500
    index = HammingIndex(codes, ids)
    open_store, _ = place
    with open_store(Layout.of(codes)) as store:
        store.add(codes[:200], ids[:200])
        store.add(codes[200:], ids[200:])
        assert len(store) == 300
        for radius in range(5):
            found = store.search_radius(queries, radius)
            expected = index.search_radius(queries, radius, sort=True)
            assert np.array_equal(found.offsets, expected.offsets)
            assert np.array_equal(found.ids, expected.ids)
            assert np.array_equal(found.distances, expected.distances)
            if n_rank_bits:
                assert np.array_equal(found.rank_distances, expected.rank_distances)


@pytest.mark.parametrize("n_changed", [0, 20, 64])
def test_how_many_bits_have_keys_changes_no_answer(place, rng, n_changed):
    codes = near_codes(rng, 200, 64, signed=False, n_rank_bits=0)
    open_store, _ = place
    with open_store(Layout(64), n_changed=n_changed) as store:
        store.add(codes)
        for radius in (1, 2):
            found = store.search_radius(codes[:20], radius)
            expected = HammingIndex(codes).search_radius(codes[:20], radius, sort=True)
            assert np.array_equal(found.ids, expected.ids)


def test_equal_codes_are_stored_once(place, rng):
    codes = Codes.from_dense(np.tile([[1, 1, 0, 0]], (500, 1)))
    open_store, _ = place
    with open_store(Layout(4)) as store:
        store.add(codes[:1], [7])
        store.add(codes[:499], range(100, 599))
        rows = store._session.run(lambda on: on.rows("SELECT code FROM kinhash_codes"))
        assert len(rows) == 1
        assert len(store.search_radius(codes[:1], 0).ids) == 500


def test_a_store_is_found_again_with_its_lengths(place):
    open_store, _ = place
    with pytest.raises(InvalidInputError, match=r"no tables of kinhash. Give `layout`"):
        open_store()
    layout = Layout(70, signed=True, n_rank_bits=3)
    with open_store(layout):
        pass
    with open_store() as store:
        assert store.layout == layout
    with pytest.raises(InvalidInputError, match=r"hold codes of .*n_bits=70.* is .*n_bits=8"):
        open_store(Layout(8))


def test_tables_of_a_newer_version_are_refused(place):
    open_store, run = place
    open_store(Layout(8)).close()
    run("UPDATE kinhash_about SET value = 9 WHERE name = 'version'")
    with pytest.raises(FormatError, match=r"have version 9; this release reads version 1. Upgrade"):
        open_store()


def test_what_does_not_fit_changes_nothing(place):
    open_store, _ = place
    codes = Codes.from_dense(np.eye(8))
    with open_store(Layout(8)) as store:
        store.add(codes, range(8))
        for wrong, ids, message in (
            (codes, range(5, 13), "`ids` hold 3 that are stored already, the lowest is 5"),
            (codes, [1] * 8, "`ids` hold 1 more than once"),
            (codes, list("abcdefgh"), "`ids` must be 8 integers"),
            (Codes.from_dense(np.eye(9)), None, "n_bits=9"),
        ):
            with pytest.raises(InvalidInputError, match=message):
                store.add(wrong, ids)
        with pytest.raises(InvalidInputError, match="`radius` must be an integer of at least 0"):
            store.search_radius(codes, -1)
        assert len(store) == 8
        rows = store._session.run(lambda on: on.rows("SELECT COUNT(*) FROM kinhash_new"))
        assert rows[0][0] == 0


def test_dialects_without_such_tables_are_refused():
    with pytest.raises(InvalidInputError, match="no tables for queries in spark"):
        lookups.create(Layout(8), dialect="spark")
