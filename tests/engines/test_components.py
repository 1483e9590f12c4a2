import itertools

import duckdb
import numpy as np
import pytest
import scipy.sparse.csgraph

from kinhash.engines.components import group_codes
from kinhash.errors import InvalidInputError


class Tables:
    """DuckDB, and a record of which tables there were."""

    def __init__(self):
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")

    def create(self, name, select):
        self.connection.execute(f"CREATE OR REPLACE TEMPORARY TABLE {name} AS {select}")

    def drop(self, name):
        self.connection.execute(f"DROP TABLE {name}")

    def number(self, select):
        return self.connection.execute(select).fetchone()[0]

    def load(self, n_items, pairs):
        columns = "code BIGINT, n_items BIGINT"
        self.connection.execute(f"CREATE OR REPLACE TABLE codes ({columns})")
        self.connection.execute("CREATE OR REPLACE TABLE pairs (left_code INT, right_code INT)")
        if n_items:
            self.connection.executemany("INSERT INTO codes VALUES (?, ?)", list(n_items.items()))
        if len(pairs):
            self.connection.executemany("INSERT INTO pairs VALUES (?, ?)", pairs)

    def representatives(self, linkage):
        rounds = group_codes(self, "chosen", linkage=linkage)
        rows = self.connection.execute("SELECT code, representative FROM chosen").fetchall()
        assert len(dict(rows)) == len(rows)
        return dict(rows), rounds


@pytest.fixture
def tables():
    return Tables()


def visited_one_by_one(n_items, pairs, linkage):
    """Return the representative of each code with a pair, and the order of visits."""
    near = {code: {a + b - code for a, b in pairs if code in (a, b)} for code in n_items}
    count = {code: n - 1 + sum(n_items[o] for o in near[code]) for code, n in n_items.items()}
    order = sorted(n_items, key=lambda code: (-count[code], code))
    chosen = {}
    if linkage == "star":
        for code in order:
            if code not in chosen:
                chosen |= {other: code for other in {code} | near[code] if other not in chosen}
    else:
        place = {code: i for i, code in enumerate(n_items)}
        links = [(place[a], place[b]) for a, b in pairs]
        graph = scipy.sparse.coo_array(
            (np.ones(len(links)), tuple(np.array(links).reshape(-1, 2).T)), (len(place),) * 2
        )
        label = scipy.sparse.csgraph.connected_components(graph, directed=False)[1]
        first = {}
        for code in order:
            first.setdefault(label[place[code]], code)
        chosen = {code: first[label[i]] for code, i in place.items()}
    return {code: chosen[code] for code in n_items if near[code]}


@pytest.mark.parametrize("linkage", ["star", "connected"])
@pytest.mark.parametrize("seed", range(8))
def test_groups_are_those_of_visiting_codes_one_by_one(tables, linkage, seed):
    rng = np.random.default_rng(seed)
    codes = rng.choice(1000, 60, replace=False).tolist()
    n_items = {code: int(rng.integers(1, 4)) for code in codes}
    n_pairs = int(rng.choice([20, 50, 150]))
    ends = {tuple(sorted(rng.choice(codes, 2, replace=False).tolist())) for _ in range(n_pairs)}
    pairs = [end if rng.random() < 0.5 else end[::-1] for end in sorted(ends)]
    tables.load(n_items, pairs)
    found, _ = tables.representatives(linkage)
    assert found == visited_one_by_one(n_items, pairs, linkage)


def test_by_hand(tables):
    # 1 - 2 - 3 - 4, and code 3 has 5 items: it counts for 5 as a neighbour.
    tables.load({1: 1, 2: 1, 3: 5, 4: 1, 9: 1}, [(2, 1), (2, 3), (4, 3)])
    # Neighbours: 1 has 1, 2 has 6, 3 has 4 + 2, 4 has 5. 2 comes first and takes 1 and 3.
    assert tables.representatives("star")[0] == {1: 2, 2: 2, 3: 2, 4: 4}
    assert tables.representatives("connected")[0] == dict.fromkeys([1, 2, 3, 4], 2)


def test_a_long_path_takes_few_rounds(tables):
    rng = np.random.default_rng(0)
    path = rng.permutation(1024).tolist()
    tables.load(dict.fromkeys(path, 1), list(itertools.pairwise(path)))
    found, rounds = tables.representatives("connected")
    assert len(set(found.values())) == 1
    assert rounds <= 10  # of a path of 2 ** 10
    _, rounds = tables.representatives("star")
    assert rounds <= 20


@pytest.mark.parametrize("linkage", ["star", "connected"])
def test_without_pairs_there_is_nothing_to_do(tables, linkage):
    tables.load({1: 3, 2: 1}, [])
    assert tables.representatives(linkage) == ({}, 0)


@pytest.mark.parametrize("linkage", ["star", "connected"])
def test_no_table_is_left_but_the_answer(tables, linkage):
    tables.load({1: 1, 2: 1, 3: 1}, [(1, 2), (2, 3)])
    tables.representatives(linkage)
    names = {row[0] for row in tables.connection.execute("SHOW TABLES").fetchall()}
    assert names == {"codes", "pairs", "chosen"}


def test_names_and_choices_are_checked_before_anything_is_created(tables):
    with pytest.raises(InvalidInputError, match="Unknown linkage 'single'"):
        group_codes(tables, "chosen", linkage="single")
    with pytest.raises(InvalidInputError, match="`pairs` must be a plain SQL name"):
        group_codes(tables, "chosen", pairs="a; b")
