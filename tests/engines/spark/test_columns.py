import pytest

from kinhash.engines.layout import Layout
from kinhash.engines.spark.columns import exact_layout, items, layout_of, metadata
from kinhash.errors import InvalidInputError


def frame(spark, layout):

    df = spark.createDataFrame([(1, 2, 3)], "id bigint, w0 bigint, r0 bigint")
    return df.withMetadata("w0", metadata(layout))


def test_a_frame_says_how_its_codes_lie_unless_told_otherwise(spark):
    df = frame(spark, Layout(9, n_rank_bits=4))
    assert layout_of("df", df) == exact_layout("df", df) == Layout(9, n_rank_bits=4)
    assert layout_of("df", df, Layout(5)) == exact_layout("df", df, Layout(5)) == Layout(5)


def test_columns_alone_mean_all_their_bits(spark):
    df = spark.createDataFrame([(1, 2, 3)], "w1 bigint, r0 bigint, w0 bigint")
    assert layout_of("df", df) == Layout(192, n_rank_bits=64)
    with pytest.raises(InvalidInputError, match=r"at most 192\. Give their lengths as `layout`"):
        exact_layout("df", df)


@pytest.mark.parametrize(
    "told", ["7", "[7]", '{"kinhash.n_bits": "x"}', "{"], ids=["number", "list", "text", "cut"]
)
def test_what_makes_no_lengths_is_refused(spark, told):
    df = spark.createDataFrame([(1,)], "w0 bigint").withMetadata("w0", {"kinhash": told})
    with pytest.raises(InvalidInputError, match="metadata of `w0` must say how long"):
        layout_of("df", df)


def test_a_layout_that_would_miss_bits_is_refused(spark):
    df = spark.createDataFrame([(1, 2), (5, 4), (6, -8)], "id bigint, w0 bigint")
    assert items("df", df, "id", Layout(64))[1] == Layout(64)
    with pytest.raises(InvalidInputError, match=r"codes of Layout\(n_bits=3, .* but 1 of its rows"):
        items("df", df, "id", Layout(3))
