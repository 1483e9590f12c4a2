"""The text of exact joins, groups and codes, for any engine that reads SQL.

Every text is one SELECT over tables of items: a column of ids that are all different, and the
columns of `Layout`. It joins codes, not items: `code` is the lowest id that has it. Near codes are
found by the equality of deletion keys, as `kinhash.index.keys` specifies them, so that any engine
answers with its own hash join. Rows without an id or with a NULL in a code never match.
"""

from typing import Literal

from kinhash.arguments import check_choice
from kinhash.engines.dialects import dialect_of
from kinhash.engines.layout import Layout
from kinhash.engines.text import By, Text, checked_name, checked_radius, distinct_codes
from kinhash.errors import InvalidInputError

__all__ = ["Layout", "code_pairs", "codes", "group", "join", "members"]


def codes(layout: Layout, *, items: str = "items", id: str = "id", dialect: str = "duckdb") -> str:  # noqa: A002 - the column's name
    """Return the text that gives each different bucket once.

    Its columns are `code` (the lowest id that has it), the words of the bucket and `n_items`.

    Args:
        layout: How codes lie in the table.
        items: The table of items.
        id: Its column of ids, which must all be different.
        dialect: "duckdb", "spark", "postgres" or "sqlite".

    Raises:
        InvalidInputError: A name is no plain SQL name, or the dialect is unknown.
    """
    dialect_of(dialect)
    return distinct_codes(layout, checked_name("items", items), checked_name("id", id))


def join(
    layout: Layout,
    *,
    left: str = "items",
    right: str | None = None,
    radius: int,
    pairs: Literal["codes", "items"] = "codes",
    id: str = "id",  # noqa: A002 - the column's name
    by: By | None = None,
    dialect: str = "duckdb",
) -> str:
    """Return the text that gives every pair within `radius`.

    Pairs of codes have the columns `left_code`, `right_code` and `distance`; pairs of items
    `left_id`, `right_id`, `distance` and, with rank bits, `rank_distance`, ordered by `left_id`,
    then by distance, rank distance and `right_id`.

    A table joined with itself gives each pair once: pairs of different codes, `distance` at least
    1, in no order; or pairs of different items, the lower id on the left. Two tables give every
    pair.

    Args:
        layout: How codes lie in both tables.
        left: A table of items.
        right: Another; the same again by default.
        radius: Largest accepted distance; 0 means equal buckets.
        pairs: "codes", or "items": of a million equal codes there are half a billion pairs of
            items, and one code.
        id: The column of ids, which must all be different, in both tables.
        by: How candidates are found. "keys", up to radius 3 unless told otherwise: equal deletion
            keys, and all candidates are answers. "chunks": the stored bits are dealt to
            radius + 1 chunks, two codes within `radius` agree in at least one, and those that do
            are compared; better for dense codes, but sparse ones agree in empty chunks.
        dialect: "duckdb", "spark", "postgres" or "sqlite".

    Raises:
        InvalidInputError: `radius` is no integer of at least 0, a name is no plain SQL name, or a
            choice is unknown.

    Example:
        >>> print(join(Layout(2), radius=0, right="others"))
        WITH
        left_codes AS MATERIALIZED (
          SELECT MIN(id) AS code, w0, COUNT(*) AS n_items
          FROM items
          WHERE id IS NOT NULL AND w0 IS NOT NULL
          GROUP BY w0
        ),
        right_codes AS MATERIALIZED (
          SELECT MIN(id) AS code, w0, COUNT(*) AS n_items
          FROM others
          WHERE id IS NOT NULL AND w0 IS NOT NULL
          GROUP BY w0
        )
        SELECT x.code AS left_code, q.code AS right_code, 0 AS distance
        FROM left_codes x JOIN right_codes q ON x.w0 = q.w0
    """
    check_choice("pairs", pairs, ("codes", "items"))
    text = Text(layout, dialect_of(dialect), checked_name("id", id))
    text.add_codes(left, right)
    found = text.pairs(checked_radius(radius), by)
    if pairs == "codes":
        return text.select(found)
    return text.select_items(found, left, right)


def code_pairs(
    layout: Layout,
    *,
    left: str = "codes",
    right: str | None = None,
    radius: int,
    by: By | None = None,
    dialect: str = "duckdb",
) -> str:
    """Return the text that gives the pairs of codes within `radius`, from tables of codes.

    What `codes` gives, stored as a table, is joined as often as wanted. The answer is that of
    `join` with `pairs="codes"`.

    Args:
        layout: How codes lie in both tables.
        left: A table of different codes: a column `code` and the words of the bucket.
        right: Another; the same again by default.
        radius: Largest accepted distance.
        by: How candidates are found, as in `join`.
        dialect: "duckdb", "spark", "postgres" or "sqlite".

    Raises:
        InvalidInputError: As `join`.
    """
    text = Text(layout, dialect_of(dialect), "id")
    text.left = checked_name("left", left)
    text.right = text.left if right is None else checked_name("right", right)
    text.keys = {text.right: "right_keys"} | {text.left: "keys" if right is None else "left_keys"}
    return text.select(text.pairs(checked_radius(radius), by))


def group(
    layout: Layout,
    *,
    items: str = "items",
    radius: int = 0,
    id: str = "id",  # noqa: A002 - the column's name
    by: By | None = None,
    dialect: str = "duckdb",
) -> str:
    """Return the text that gives the groups of two or more items.

    Groups are connected components, as those of `HammingIndex.duplicates(linkage="connected")`; an
    edge joins codes within `radius`. The columns are
    `group_id`, the lowest id of the group, and `id`, ordered by both.

    With a radius, components grow by a recursion whose rows are, at worst, a component's codes
    times those of them without a lower neighbour; `kinhash.engines.components` has the rounds for
    large ones, and stars.

    Args:
        layout: How codes lie in the table.
        items: The table of items.
        radius: Largest distance of an edge; 0 means equal buckets.
        id: Its column of ids, which must all be different.
        by: How candidates are found, as in `join`.
        dialect: "duckdb", "postgres" or "sqlite", and with radius 0 "spark".

    Raises:
        InvalidInputError: As `join`; or the dialect has no recursion that ends.
    """
    named, id_column = dialect_of(dialect), checked_name("id", id)
    text = Text(layout, named, id_column)
    text.add_codes(items, None)
    if checked_radius(radius) == 0:
        labels = "SELECT code, code AS label, n_items FROM codes"
    elif not named.recursive:
        raise InvalidInputError(
            f"Groups with `radius` {radius} take a recursion that {named.name} does not have. "
            "Use group_duplicates of kinhash.engines."
        )
    else:
        text.add("pairs", text.pairs(radius, by))
        text.add("links", _BOTH_WAYS)
        text.add("reach(code, label)", _REACH)
        labels = (
            "SELECT c.code, MIN(r.label) AS label, MIN(c.n_items) AS n_items\n"
            "FROM reach r JOIN codes c ON c.code = r.code\nGROUP BY c.code"
        )
    text.add("labels", labels)
    text.add(
        "large", "SELECT label FROM labels\nGROUP BY label\nHAVING SUM(n_items) > 1", once=False
    )
    return text.select(
        f"SELECT l.label AS group_id, i.{id_column} AS id\n"
        f"FROM {checked_name('items', items)} i\n"
        f"JOIN codes c ON {text.equal('i', 'c')}\n"
        "JOIN labels l ON l.code = c.code\nJOIN large g ON g.label = l.label\n"
        f"WHERE i.{id_column} IS NOT NULL\nORDER BY group_id, id"
    )


def members(
    layout: Layout,
    *,
    items: str = "items",
    codes: str = "codes",
    chosen: str,
    id: str = "id",  # noqa: A002 - the column's name
    dialect: str = "duckdb",
) -> str:
    """Return the text that gives the items of groups of two or more, in no order.

    The columns are `group_id` (the lowest id of the group), `id`, `representative` (the id that
    stands for the group), `keep` (whether it is this one) and `distance` from its code.

    Args:
        layout: How codes lie in the table.
        items: The table of items.
        codes: Its codes, as `codes` gives them, stored as a table.
        chosen: A table of codes and their representatives, as
            `kinhash.engines.components.group_codes` creates it. Codes that it lacks are groups of
            their own.
        id: The column of ids, which must all be different.
        dialect: "duckdb", "spark", "postgres" or "sqlite".

    Raises:
        InvalidInputError: A name is no plain SQL name, or the dialect is unknown.
    """
    text = Text(layout, dialect_of(dialect), checked_name("id", id))
    text.add_singles()
    text.add(
        "grouped",
        "SELECT c.code, c.n_items, COALESCE(r.representative, c.code) AS representative\n"
        f"FROM {checked_name('codes', codes)} c\n"
        f"LEFT JOIN {checked_name('chosen', chosen)} r ON r.code = c.code",
    )
    text.add(
        "large",
        "SELECT representative, MIN(code) AS group_id\nFROM grouped\nGROUP BY representative\n"
        "HAVING SUM(n_items) > 1",
    )
    return text.select(
        f"SELECT l.group_id, i.{text.id} AS id, l.representative,\n"
        f"  i.{text.id} = l.representative AS keep,\n"
        f"  {text.n_differing(layout.words, 'c.', 'r.')} AS distance\n"
        f"FROM {checked_name('items', items)} i\n"
        f"JOIN {codes} c ON {text.equal('i', 'c')}\n"
        "JOIN grouped g ON g.code = c.code\nJOIN large l ON l.representative = g.representative\n"
        f"JOIN {codes} r ON r.code = l.representative\nWHERE i.{text.id} IS NOT NULL"
    )


_BOTH_WAYS = """SELECT left_code AS a, right_code AS b FROM pairs
UNION ALL
SELECT right_code, left_code FROM pairs"""

# The lowest code of a component has no lower neighbour, and the way from it to any code of its
# component leads over higher ones only: labels that meet a lower code can stop there.
_REACH = """SELECT code, code FROM codes
WHERE NOT EXISTS (SELECT 1 FROM links WHERE a = codes.code AND b < a)
UNION
SELECT l.b, r.label FROM reach r JOIN links l ON l.a = r.code AND l.b > r.label"""
