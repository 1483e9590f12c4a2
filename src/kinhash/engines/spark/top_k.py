"""The nearest items of each item, on Spark."""

from typing import Any

from kinhash.arguments import check_integer
from kinhash.engines.layout import Layout
from kinhash.engines.spark import columns
from kinhash.engines.spark.encoding import map_arrow
from kinhash.engines.spark.known import MOST_SENT, Finder, sent_codes
from kinhash.engines.spark.session import Frame, failures, pyspark, task_cpus


def top_k_join(
    left: Frame,
    right: Frame,
    k: int,
    *,
    id: str = "id",  # noqa: A002 - the column's name
    layout: Layout | None = None,
) -> Frame:
    """Return the first `k` items of `right` for each item of `left`, exact.

    They come in the order of distance, rank distance and id, as from `HammingIndex.search_top_k`;
    fewer than `k` items are all returned. Each different code is searched once. An index of
    `right` goes to each worker, in parts of 2,097,152 items; of equal codes only the `k` lowest
    ids. It is collected now, part by part; the search waits for an action.

    Args:
        left: A frame of ids and codes; other columns do not matter.
        right: Another, with codes of the same lengths.
        k: How many items each gets, at least 1.
        id: The column of ids, which must all be different, in both frames.
        layout: How the codes lie in both; by default as in `radius_join`.

    Returns:
        `left_id`, `right_id`, `distance` and, with rank bits, `rank_distance`, ordered by
        `left_id`, then as said.

    Raises:
        MissingExtraError: PySpark is not installed.
        InvalidInputError: `k` is no integer of at least 1, a column is missing or of the wrong
            type, or the frames have codes of different lengths.
    """
    check_integer("k", k, 1)
    x, known = columns.items("left", left, id, layout)
    q, other = columns.items("right", right, id, layout)
    columns.check_same(known, other)
    with failures():
        parts = [_found(x, part, known, k, q.schema[id]) for part in _parts(q, known, id, k)]
        nearest = parts[0]
        for part in parts[1:]:
            nearest = nearest.unionByName(part)
        order = ["distance", *(["rank_distance"] if known.n_rank_bits else []), "right_id"]
        if len(parts) > 1:
            nearest = _first(nearest, known.columns, order, k)
        named = x.withColumnRenamed(id, "left_id").join(nearest, [*known.columns])
        return named.select("left_id", "right_id", *order[:-1]).orderBy("left_id", *order)


def _parts(items: Frame, layout: Layout, id_: str, k: int) -> list[Any]:
    """Return the items that may be found, as tables of Arrow in the order of their ids."""
    functions = pyspark("sql.functions")
    wanted = _first(items.dropna(), layout.columns, [id_], k)
    found = wanted.limit(MOST_SENT + 1).toArrow()
    if found.num_rows <= MOST_SENT:
        return [found.sort_by(id_)]
    n_parts = -(-wanted.count() // MOST_SENT) + 1  # they differ in size
    part = functions.pmod(functions.xxhash64(id_), functions.lit(n_parts))
    parts = (wanted.where(part == i).toArrow() for i in range(n_parts))
    return [part.sort_by(id_) for part in parts]


def _first(df: Frame, group: tuple[str, ...], order: list[str], k: int) -> Frame:
    """Return the first `k` rows of each group."""
    functions, window = pyspark("sql.functions"), pyspark("sql.window").Window
    place = functions.row_number().over(window.partitionBy(*group).orderBy(*order))
    return df.withColumn("place", place).where(f"place <= {k}").drop("place")


def _found(left: Frame, part: Any, layout: Layout, k: int, name: Any) -> Frame:  # noqa: ANN401 - untyped
    """Return what each different code of the left finds in a part, with the code."""
    session, types = left.sparkSession, pyspark("sql.types")
    n_threads = task_cpus(session)
    distances = ["distance", "rank_distance"] if layout.n_rank_bits else ["distance"]
    fields = [left.schema[column] for column in layout.columns]
    fields.append(types.StructField("right_id", name.dataType))
    fields += [types.StructField(distance, types.IntegerType()) for distance in distances]
    finder = Finder(
        sent_codes(session, part, layout, name.name),
        layout,
        lambda index, codes: index.search_top_k(codes, k, n_threads=n_threads),
        keep=layout.columns,
        names=[field.name for field in fields],
    )
    return map_arrow(left.dropna().select(*layout.columns).distinct(), finder, fields)
