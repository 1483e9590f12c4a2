"""Every pair of codes or items within a radius, on Spark."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from kinhash.arguments import check_choice, check_integer
from kinhash.engines import sql
from kinhash.engines.dialects import DIALECTS
from kinhash.engines.layout import Layout
from kinhash.engines.spark import columns
from kinhash.engines.spark.encoding import map_arrow
from kinhash.engines.spark.known import MOST_SENT, Finder, sent_codes
from kinhash.engines.spark.session import Frame, failures, pyspark, task_cpus
from kinhash.engines.spark.views import views
from kinhash.engines.text import Text

By = Literal["broadcast", "keys", "chunks"]
BY = ("broadcast", "keys", "chunks")


def radius_join(
    left: Frame,
    right: Frame | None = None,
    *,
    radius: int,
    pairs: Literal["codes", "items"] = "codes",
    by: By | None = None,
    id: str = "id",  # noqa: A002 - the column's name
    layout: Layout | None = None,
) -> Frame:
    """Return every pair within `radius`: the answer of `kinhash.sql.join`, exact.

    Codes are joined, not items, so that a million equal codes are one. Pairs of codes have the
    columns `left_code`, `right_code` (the lowest id that has the code) and `distance`; pairs of
    items `left_id`, `right_id`, `distance` and, with rank bits, `rank_distance`, in the order of
    `left_id`, distance, rank distance, `right_id`. A frame joined with itself gives each pair
    once, and no code or item with itself.

    Args:
        left: A frame of ids and codes; other columns do not matter. The larger one.
        right: Another; the same again by default.
        radius: Largest accepted distance; 0 means equal buckets.
        pairs: "codes" or "items".
        by: "broadcast": the different codes of `right` are collected, now, and an index of them
            goes to each worker. "keys" and "chunks": the text of `kinhash.sql`, whose joins
            Spark distributes, and nothing runs before an action. By default "broadcast" if
            `right` has at most 2,097,152 different codes, which is looked up now; else as in
            `kinhash.sql.join`.
        id: The column of ids, which must all be different, in both frames.
        layout: How the codes lie in both; by default as the columns say that `encode` gives, and
            else all bits of the columns `w0`, ..., `r0`, ...

    Raises:
        MissingExtraError: PySpark is not installed.
        InvalidInputError: `radius` is no integer of at least 0, a column is missing or of the
            wrong type, the frames have codes of different lengths, or a choice is unknown.
    """
    check_integer("radius", radius, 0)
    check_choice("pairs", pairs, ("codes", "items"))
    check_choice("by", by or "keys", BY)
    x, known = columns.items("left", left, id, layout)
    q = None
    if right is not None:
        q, other = columns.items("right", right, id, layout)
        columns.check_same(known, other)
    join = _Join(x, q, known, id, radius, pairs)
    with failures():
        sent = None if by in ("keys", "chunks") else join.collected(any_number=by is not None)
        return (
            join.by_text(None if by == "broadcast" else by) if sent is None else join.by_index(sent)
        )


class _Join(NamedTuple):
    """What is joined."""

    left: Frame
    right: Frame | None
    layout: Layout
    id: str
    radius: int
    pairs: Literal["codes", "items"]

    @property
    def other(self) -> Frame:
        """The right side, whatever it is."""
        return self.left if self.right is None else self.right

    def by_text(self, by: Literal["keys", "chunks"] | None) -> Frame:
        """Return the answer of the text."""
        frames = [self.left] if self.right is None else [self.left, self.right]
        with views(*frames) as names:
            text = sql.join(
                self.layout,
                left=names[0],
                right=None if self.right is None else names[1],
                radius=self.radius,
                pairs=self.pairs,
                id=self.id,
                by=by,
                dialect="spark",
            )
            return self.left.sparkSession.sql(text)

    def codes(self, items: Frame) -> Frame:
        """Return the different codes of a side: `code`, the words of the bucket, `n_items`."""
        with views(items) as [name]:
            text = sql.codes(self.layout, items=name, id=self.id, dialect="spark")
            return items.sparkSession.sql(text)

    def collected(self, *, any_number: bool) -> Any | None:  # noqa: ANN401 - untyped
        """Return the different codes of the right side as a table of Arrow; None if too many."""
        codes = self.codes(self.other)
        codes = codes.select("code", *self.layout.words)
        found = (codes if any_number else codes.limit(MOST_SENT + 1)).toArrow()
        return found if any_number or found.num_rows <= MOST_SENT else None

    def by_index(self, sent: Any) -> Frame:  # noqa: ANN401 - untyped
        """Return the answer of an index of these codes in each worker."""
        if self.right is not None and self.pairs == "items":
            words = self.layout.words
            different = self.left.select(*words).dropna().distinct()
            return self._items(self._near(different, words, sent), self.right)
        codes = self.codes(self.left)
        named = codes.select(codes["code"].alias("left_code"), *self.layout.words)
        found = self._near(named, ["left_code"], sent)
        if self.right is None:
            found = found.where("left_code < right_code")
        return found if self.pairs == "codes" else self._own_items(codes, found)

    def _near(self, codes: Frame, keep: Sequence[str], sent: Any) -> Frame:  # noqa: ANN401 - untyped
        """Return the codes of the index that each of these is near to, with some of its columns."""
        session, types = self.left.sparkSession, pyspark("sql.types")
        bucket = Layout(self.layout.n_bucket_bits, signed=self.layout.signed)
        radius, n_threads = self.radius, task_cpus(session)
        fields = [
            *(codes.schema[column] for column in keep),
            types.StructField("right_code", self.other.schema[self.id].dataType),
            types.StructField("distance", types.IntegerType()),
        ]
        finder = Finder(
            sent_codes(session, sent, bucket, "code"),
            bucket,
            lambda index, codes: index.search_radius(codes, radius, n_threads=n_threads),
            keep=keep,
            names=[field.name for field in fields],
        )
        return map_arrow(codes, finder, fields)

    def _items(self, found: Frame, right: Frame) -> Frame:
        """Return the items of two frames, of codes of the left and names of those of the right."""
        text = Text(self.layout, DIALECTS["spark"], self.id)
        ranks = ""
        order = "left_id, distance"
        if self.layout.rank_words:
            text.add_singles()
            differing = text.n_differing(self.layout.rank_words, "x.", "q.")
            ranks, order = f", {differing} AS rank_distance", f"{order}, rank_distance"
        with views(self.left, found, right, self.codes(right)) as [x, pairs, q, codes]:
            return self.left.sparkSession.sql(
                text.select(
                    f"SELECT x.{self.id} AS left_id, q.{self.id} AS right_id, p.distance{ranks}\n"
                    f"FROM {pairs} p JOIN {x} x ON {text.equal('x', 'p')}\n"
                    f"JOIN {codes} c ON c.code = p.right_code\n"
                    f"JOIN {q} q ON {text.equal('q', 'c')}\n"
                    f"WHERE x.{self.id} IS NOT NULL AND q.{self.id} IS NOT NULL\n"
                    f"ORDER BY {order}, right_id"
                )
            )

    def _own_items(self, codes: Frame, found: Frame) -> Frame:
        """Return the items of pairs of codes of one frame."""
        text = Text(self.layout, DIALECTS["spark"], self.id)
        with views(self.left, codes, found) as [left, text.left, pairs]:
            text.right = text.left
            select = f"SELECT left_code, right_code, distance FROM {pairs}"
            return self.left.sparkSession.sql(text.select_items(select, left, None))
