import numpy as np
import pyarrow as pa
import pytest

from kinhash.engines.spark import known, radius_join
from kinhash.errors import InvalidInputError
from kinhash.index import reference
from kinhash.methods import ITQ, ClassCode, Nested


def rows(df):
    return [tuple(row) for row in df.collect()]


def item_pairs(left, right, radius):
    """Return what a join must give, by comparing every two items."""
    near = reference.distances(left[0], right[0])
    ranks = reference.rank_distances(left[0], right[0])
    found = [
        (left[1][i], right[1][j], int(near[i, j]), int(ranks[i, j]))
        for i, j in np.argwhere(near <= radius)
    ]
    return sorted(found, key=lambda row: (row[0], row[2], row[3], row[1]))


@pytest.mark.parametrize("by", ["broadcast", "keys"])
def test_two_frames_give_every_pair_whichever_way(frame, clustered, by):
    left = clustered(60, 70, seed=1, n_rank_bits=9), (np.arange(60) * 7 % 60 - 9).tolist()
    right = clustered(40, 70, seed=2, n_rank_bits=9), (np.arange(40) + 5).tolist()
    frames = frame(*left), frame(*right, other=["x"] * 40)
    expected = item_pairs(left, right, 2)
    found = radius_join(*frames, radius=2, pairs="items", by=by)
    assert found.columns == ["left_id", "right_id", "distance", "rank_distance"]
    assert rows(found) == expected
    lowest = [{}, {}]
    for names, (codes, ids) in zip(lowest, (left, right), strict=True):
        for word, id_ in sorted(zip(map(bytes, codes.words), ids, strict=True)):
            names.setdefault(word, id_)
    named = [
        {id_: names[bytes(word)] for word, id_ in zip(codes.words, ids, strict=True)}
        for names, (codes, ids) in zip(lowest, (left, right), strict=True)
    ]
    codes = {(named[0][row[0]], named[1][row[1]], row[2]) for row in expected}
    found = radius_join(*frames, radius=2, by=by)
    assert found.columns == ["left_code", "right_code", "distance"]
    assert sorted(rows(found)) == sorted(codes)


@pytest.mark.parametrize("by", ["broadcast", "chunks"])
def test_a_frame_with_itself_gives_each_pair_once_and_ids_may_be_texts(frame, clustered, by):
    codes = clustered(50, 24, signed=True)
    ids = [f"sku-{i}" for i in np.random.default_rng(0).permutation(50)]
    expected = [row[:3] for row in item_pairs((codes, ids), (codes, ids), 1) if row[0] < row[1]]
    found = radius_join(frame(codes, ids), radius=1, pairs="items", by=by)
    assert rows(found) == expected


def learned(digits):
    X, y = digits
    model = Nested(bucket=ClassCode(), rank=ITQ(), n_bits=36, n_rank_bits=6).fit(X[:400], y[:400])
    return model.encode(X[400:450]), model.encode(X[450:480])


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [(1, False, 0), (7, False, 3), (63, True, 0), (64, False, 70), (256, False, 0), "learned"],
    ids=str,
)
@pytest.mark.parametrize("by", ["broadcast", "keys"])
def test_codes_of_any_kind_give_every_pair(frame, clustered, digits, case, by):
    if case == "learned":
        codes = learned(digits)
    else:
        n_bits, signed, n_rank_bits = case
        options = {"n_rank_bits": n_rank_bits, "signed": signed}
        codes = [clustered(n, n_bits, seed=n, **options) for n in (50, 30)]
    ids = [(np.arange(len(own)) * 7 % len(own) - 9).tolist() for own in codes]
    left, right = zip(codes, ids, strict=True)
    frames = frame(*left), frame(*right)
    for radius in range(4):
        found = radius_join(*frames, radius=radius, pairs="items", by=by)
        n_columns = 4 if codes[0].n_rank_bits else 3
        assert rows(found) == [row[:n_columns] for row in item_pairs(left, right, radius)]


def test_what_does_not_fit_a_worker_is_joined_by_the_text(frame, clustered, monkeypatch):
    left, right = clustered(30, 40, seed=1), clustered(30, 40, seed=2)
    frames = frame(left, np.arange(30)), frame(right, np.arange(30))
    few = radius_join(*frames, radius=1)
    monkeypatch.setattr("kinhash.engines.spark.radius.MOST_SENT", right.n_unique - 1)
    many = radius_join(*frames, radius=1)
    assert "MapInArrow" in plan(few)
    assert "MapInArrow" not in plan(many)
    assert sorted(rows(few)) == sorted(rows(many))
    assert known.MOST_SENT >= 2**20


def plan(df):
    return df._jdf.queryExecution().simpleString()


def test_a_million_equal_codes_are_one_code_and_rows_without_a_code_match_nothing(spark):
    others = spark.createDataFrame(pa.table({"id": [3000, 3001, 3002], "w0": [1, 0, None]}))
    equal = spark.range(10**6).where("id < 3000 OR id > 3002").selectExpr("id", "3L AS w0")
    df = equal.unionByName(others)
    for by in ("broadcast", "keys"):
        found = rows(radius_join(df, radius=2, by=by))
        assert sorted((*sorted(row[:2]), row[2]) for row in found) == [
            (0, 3000, 1),
            (0, 3001, 2),
            (3000, 3001, 1),
        ]


def test_a_frame_without_rows_has_no_pairs(frame, clustered):
    some = frame(clustered(20, 10), np.arange(20))
    none = some.where("id < 0")
    assert rows(radius_join(some, none, radius=1)) == []
    assert rows(radius_join(none, some, radius=1, pairs="items")) == []


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"radius": -1}, "`radius` must be an integer of at least 0, got -1"),
        ({}, {"by": "magic"}, "Unknown by 'magic'.* Known: broadcast, chunks, keys"),
        ({}, {"pairs": "rows"}, "Unknown pairs 'rows'"),
        ({}, {"id": "sku"}, "`id` 'sku' is no column of `left`. The columns: id, w0"),
        ({}, {"id": "a b"}, "`id` must be a plain SQL name"),
        ({"w0": None}, {}, "`left` has no columns of codes, w0, w1, ...; the columns: id"),
        ({"w0": "x"}, {}, "`w0` of `left` must be BIGINT, got string"),
        ({"w1": 3}, {}, "`left` has codes in w0, w1, but `right` in w0. Encode both"),
    ],
)
def test_what_cannot_be_joined_is_refused_at_once(spark, change, options, message):
    right = spark.createDataFrame([(1, 2)], "id bigint, w0 bigint")
    values = {"id": 1, "w0": 2} | change
    columns = {name: [value] for name, value in values.items() if value is not None}
    with pytest.raises(InvalidInputError, match=message):
        radius_join(spark.createDataFrame(pa.table(columns)), right, **({"radius": 1} | options))
    with pytest.raises(InvalidInputError, match="`right` must be a Spark DataFrame, got list"):
        radius_join(right, [], radius=1)
