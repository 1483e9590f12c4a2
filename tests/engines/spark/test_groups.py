import numpy as np
import pytest

from kinhash import HammingIndex
from kinhash.engines.spark import group_duplicates
from kinhash.errors import InvalidInputError, LargeGroupWarning


def rows(df):
    return sorted(tuple(row) for row in df.collect())


def expected_of(codes, ids, radius, linkage):
    groups = HammingIndex(codes, ids).duplicates(radius, linkage=linkage)
    found = zip(groups.id, groups.representative, groups.keep, groups.distance, strict=True)
    lowest = [int(min(group)) for group in groups for _ in group]
    return sorted(
        (low, int(i), int(r), bool(keep), int(d))
        for low, (i, r, keep, d) in zip(lowest, found, strict=True)
    )


@pytest.mark.filterwarnings("ignore::kinhash.errors.LargeGroupWarning")
@pytest.mark.parametrize(
    ("radius", "linkage", "by"),
    [(0, "star", None), (1, "star", "keys"), (1, "connected", None), (2, "star", None)],
)
def test_groups_are_those_of_the_index(frame, clustered, radius, linkage, by):
    codes, ids = clustered(120, 66, n_rank_bits=3), np.arange(120) * 7 % 120 - 50
    found = group_duplicates(frame(codes, ids), radius, linkage=linkage, by=by)
    assert found.columns == ["group_id", "id", "representative", "keep", "distance"]
    assert rows(found) == expected_of(codes, ids, radius, linkage)


def test_a_session_with_a_checkpoint_directory_keeps_rounds_there(
    spark, frame, clustered, tmp_path
):
    codes = clustered(60, 200, seed=3)
    context = spark.sparkContext
    context.setCheckpointDir(str(tmp_path))
    try:
        found = group_duplicates(frame(codes, np.arange(60)), 0)
        assert rows(found) == expected_of(codes, np.arange(60), 0, "star")
    finally:
        # Spark has no call for that.
        getattr(context._jsc.sc(), "checkpointDir_$eq")(context._jvm.scala.Option.empty())
    assert list(tmp_path.rglob("part-*"))


def test_one_large_group_warns(frame, clustered):
    codes = clustered(40, 3)
    with pytest.warns(LargeGroupWarning, match="One group holds 40 of 40 items"):
        group_duplicates(frame(codes, np.arange(40)), 3)


def test_wrong_arguments_are_refused_before_anything_runs(frame, clustered):
    df = frame(clustered(4, 20), np.arange(4))
    with pytest.raises(InvalidInputError, match=r"Unknown linkage 'stars'\. Did you mean 'star'"):
        group_duplicates(df, linkage="stars")
    with pytest.raises(InvalidInputError, match=r"`radius` must be an integer, got 1\.5"):
        group_duplicates(df, 1.5)
    assert [table.name for table in df.sparkSession.catalog.listTables()] == []
