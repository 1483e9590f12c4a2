"""Groups of duplicates on Spark, in rounds of SQL."""

import secrets

import numpy as np

from kinhash.arguments import check_choice, check_integer
from kinhash.engines import sql
from kinhash.engines.components import group_codes
from kinhash.engines.layout import Layout
from kinhash.engines.spark import columns
from kinhash.engines.spark.radius import BY, By, radius_join
from kinhash.engines.spark.session import Frame, Session, failures, pyspark
from kinhash.linkage import LINKAGES, Linkage, warn_if_large


def group_duplicates(
    df: Frame,
    radius: int = 0,
    *,
    linkage: Linkage = "star",
    by: By | None = None,
    id: str = "id",  # noqa: A002 - the column's name
    layout: Layout | None = None,
) -> Frame:
    """Return groups of two or more items, the same as `HammingIndex.duplicates`.

    Pairs of codes are found as `radius_join` does, and a few rounds make groups of them, all of
    which runs now. What a round leaves is kept by two executors, so that one of them may fail; or
    in the checkpoint directory of the session, if it has one.

    Args:
        df: A frame of ids and codes; other columns do not matter.
        radius: Largest distance of a link; 0 means equal buckets.
        linkage: "star": items are visited by most neighbours, then by lowest id; each that has no
            group yet takes its neighbours that have none. "connected": connected components.
        by: How pairs are found, as in `radius_join`.
        id: The column of ids, which must all be different.
        layout: How the codes lie; by default as in `radius_join`.

    Returns:
        In no order, `group_id` (the lowest id of the group), `id`, `representative` (the id that
        stands for the group), `keep` (whether it is this one) and `distance` from its code.

    Raises:
        MissingExtraError: PySpark is not installed.
        InvalidInputError: `radius` is no integer of at least 0, a column is missing or of the
            wrong type, or a choice is unknown.
    """
    check_integer("radius", radius, 0)
    check_choice("linkage", linkage, LINKAGES)
    check_choice("by", by or "keys", BY)
    items, known = columns.items("df", df, id, layout)
    name = f"kinhash_{secrets.token_hex(8)}"
    tables = _Tables(items.sparkSession)
    try:
        with failures():
            tables.add(f"{name}_items", items)
            named = {"items": f"{name}_items", "id": id, "dialect": "spark"}
            codes = tables.create(f"{name}_codes", sql.codes(known, **named))
            found = f"SELECT code AS left_code, code AS right_code FROM {name}_codes WHERE 1 = 0"
            if radius:
                pairs = radius_join(codes, radius=radius, by=by, id="code", layout=known.bucket)
                tables.add(f"{name}_found", pairs)
                found = f"SELECT left_code, right_code FROM {name}_found"
            tables.create(f"{name}_pairs", found)
            group_codes(
                tables,
                f"{name}_chosen",
                codes=f"{name}_codes",
                pairs=f"{name}_pairs",
                linkage=linkage,
            )
            _warn_if_large(tables, f"{name}_codes", f"{name}_chosen")
            text = sql.members(known, codes=f"{name}_codes", chosen=f"{name}_chosen", **named)
            return items.sparkSession.sql(text)
    finally:
        tables.close()


def _warn_if_large(tables: "_Tables", codes: str, chosen: str) -> None:
    largest = tables.number(
        "SELECT COALESCE(MAX(n), 0) FROM (\n"
        "  SELECT SUM(c.n_items) AS n\n"
        f"  FROM {codes} c LEFT JOIN {chosen} r ON r.code = c.code\n"
        "  GROUP BY COALESCE(r.representative, c.code)\n)"
    )
    n_items = tables.number(f"SELECT COALESCE(SUM(n_items), 0) FROM {codes}")
    warn_if_large(np.array([largest]), n_items)


class _Tables:
    """Tables of rounds as views of frames whose rows are stored."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._names: set[str] = set()

    def add(self, name: str, frame: Frame) -> Frame:
        """Give a frame a name."""
        frame.createOrReplaceTempView(name)
        self._names.add(name)
        return frame

    def create(self, name: str, select: str) -> Frame:
        """Store the rows of a text, now; the name may be taken, even by a table of the text."""
        return self.add(name, _stored(self._session.sql(select)))

    def drop(self, name: str) -> None:
        """Forget a name; Spark removes rows that nobody uses any more."""
        self._session.catalog.dropTempView(name)
        self._names.discard(name)

    def number(self, select: str) -> int:
        """Return the one number that a text gives."""
        return int(self._session.sql(select).collect()[0][0])

    def close(self) -> None:
        """Forget all names."""
        for name in list(self._names):
            self.drop(name)


def _stored(df: Frame) -> Frame:
    """Return the rows, computed once: what comes after does not repeat what came before."""
    context = df.sparkSession.sparkContext
    if context.getCheckpointDir() is not None:
        return df.checkpoint()
    level = pyspark("storagelevel").StorageLevel
    is_local = context.master.startswith("local")  # there is one executor
    return df.localCheckpoint(
        storageLevel=level.MEMORY_AND_DISK if is_local else level.MEMORY_AND_DISK_2
    )
