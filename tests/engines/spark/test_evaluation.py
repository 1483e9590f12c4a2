import numpy as np
import pyarrow as pa
import pytest

from kinhash.engines.layout import Layout
from kinhash.engines.spark import evaluate
from kinhash.errors import InvalidInputError
from kinhash.metrics import evaluate_codes


@pytest.fixture
def labelled(spark):
    """Return what makes a frame of codes and labels."""

    def make(codes, labels):
        columns = {**Layout.of(codes).arrays(codes), "label": labels}
        return spark.createDataFrame(pa.table(columns)).repartition(3)

    return make


@pytest.mark.filterwarnings("ignore:.* queries have no relevant item")
@pytest.mark.parametrize(("n_rank_bits", "order"), [(0, "nested"), (5, "nested"), (5, "total")])
def test_measures_are_those_of_evaluate_codes(labelled, clustered, n_rank_bits, order, monkeypatch):
    """In several passes, over several chunks."""
    queries = clustered(30, 20, seed=1, n_rank_bits=n_rank_bits)
    items = clustered(200, 20, seed=2, n_rank_bits=n_rank_bits)
    names = np.array(["a", "b", "c", "d"])
    of_queries, of_items = names[np.arange(30) % 4], names[np.arange(200) % 3]
    options = {"radii": (0, 1, 3), "at": (1, 50), "order": order}
    expected = evaluate_codes(queries, of_queries, items, of_items, **options)
    monkeypatch.setattr("kinhash.engines.spark.evaluation.MOST_COUNTS", 21 * (n_rank_bits + 1) * 20)
    found = evaluate(
        labelled(queries, of_queries),
        labelled(items, of_items),
        layout=Layout.of(items),
        **options,
    )
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected, rel=1e-12)


def test_labels_may_be_several(labelled, clustered):
    queries, items = clustered(20, 70, seed=1, signed=True), clustered(90, 70, seed=2, signed=True)
    rng = np.random.default_rng(0)
    tags = [rng.integers(0, 2, (n, 4)) | [[1, 0, 0, 0]] for n in (20, 90)]
    lists = [[np.flatnonzero(row).tolist() for row in side] for side in tags]
    found = evaluate(
        labelled(queries, lists[0]), labelled(items, lists[1]), layout=Layout.of(items)
    )
    assert found == pytest.approx(evaluate_codes(queries, tags[0], items, tags[1]), rel=1e-12)


def test_queries_without_a_relevant_item_are_told(labelled, clustered):
    codes, layout = clustered(9, 20), Layout(20)
    with pytest.warns(UserWarning, match="9 of 9 queries have no relevant item"):
        found = evaluate(labelled(codes, [1] * 9), labelled(codes, [2] * 9), layout=layout)
    assert np.isnan(found["map"])


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"label": None}, {}, "`label` 'label' is no column of `items`. The columns: w0"),
        ({"label": 1.5}, {}, "`label` of `items` must be TINYINT .*, got double"),
        ({"label": "x"}, {}, "must be of one type in both frames, got bigint .* and string"),
        (
            {},
            {"layout": None},
            "`queries` does not say how many bits its codes have, at most 64. Give",
        ),
        ({}, {"radii": [-1]}, "`radii` must be a sequence of integers of at least 0"),
        ({}, {"order": "random"}, "Unknown order 'random'"),
    ],
)
def test_what_cannot_be_measured_is_refused(spark, change, options, message):
    queries = spark.createDataFrame([(1, 2)], "w0 bigint, label bigint")
    values = {"w0": 2, "label": 2} | change
    columns = {name: [value] for name, value in values.items() if value is not None}
    items = spark.createDataFrame(pa.table(columns))
    with pytest.raises(InvalidInputError, match=message):
        evaluate(queries, items, **({"layout": Layout(9)} | options))


def test_rows_without_a_label_and_frames_without_rows_are_refused(spark):
    layout = Layout(9)
    df = spark.createDataFrame([(1, 2)], "w0 bigint, label bigint")
    partly = spark.createDataFrame([(1, 2), (1, None)], "w0 bigint, label bigint").coalesce(1)
    with pytest.raises(InvalidInputError, match="`label` of `items` must not be NULL, but is in 1"):
        evaluate(df, partly, layout=layout)
    with pytest.raises(InvalidInputError, match="`label` of `queries` must not be NULL"):
        evaluate(partly, df, layout=layout)
    with pytest.raises(InvalidInputError, match="`items` must have at least one row"):
        evaluate(df, df.where("w0 < 0"), layout=layout)
    with pytest.raises(InvalidInputError, match="`queries` must have at least one row"):
        evaluate(df.where("w0 < 0"), df, layout=layout)
