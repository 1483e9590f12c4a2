"""Groups from pairs of codes, in rounds of SQL that any engine runs: components and stars.

Tables of codes have the columns `code` and `n_items`, tables of pairs `left_code` and `right_code`:
two different codes, each pair once. What comes out has a row for each code that has a pair: `code`
and `representative`, the code that stands for its group.
"""

from typing import Protocol

from kinhash.arguments import check_choice
from kinhash.engines.text import checked_name
from kinhash.linkage import LINKAGES, Linkage


class Tables(Protocol):
    """What an engine does with the text of a SELECT."""

    def create(self, name: str, select: str) -> None:
        """Store the rows as a table, which may be temporary."""

    def drop(self, name: str) -> None:
        """Remove a table that `create` made."""

    def number(self, select: str) -> int:
        """Return the one number that it gives."""


def group_codes(
    tables: Tables,
    name: str,
    *,
    codes: str = "codes",
    pairs: str = "pairs",
    linkage: Linkage = "star",
) -> int:
    """Create a table of the codes that have pairs and of their representatives.

    Both linkages are those of `HammingIndex.duplicates`; of a code, all items are neighbours.

    Args:
        tables: The engine. Tables called `name` with a suffix come and go.
        name: The table to create: `code`, `representative`.
        codes: The table of codes.
        pairs: The table of pairs.
        linkage: "star": codes are visited by most neighbours, then by the lowest code; each that
            has no group yet takes all its neighbours that have none. "connected": connected
            components; the member that a star would visit first represents each.

    Returns:
        How many rounds it took.

    Raises:
        InvalidInputError: `linkage` is unknown, or a name is no plain SQL name.
    """
    check_choice("linkage", linkage, LINKAGES)
    for argument, table in (("name", name), ("codes", codes), ("pairs", pairs)):
        checked_name(argument, table)
    near = f"{name}_near"
    tables.create(near, _near(codes, pairs))
    rounds = (_stars if linkage == "star" else _components)(tables, name, near, pairs)
    tables.drop(near)
    return rounds


def _near(codes: str, pairs: str) -> str:
    """Return the text of how many items are neighbours of those of a code that has pairs."""
    return (
        "SELECT c.code, c.n_items - 1 + o.n_others AS n_near\n"
        f"FROM {codes} c JOIN (\n"
        "  SELECT b.a AS code, SUM(x.n_items) AS n_others\n"
        f"  FROM ({_both_ways(pairs, 'left_code', 'right_code')}) b\n"
        f"  JOIN {codes} x ON x.code = b.b\n"
        "  GROUP BY b.a\n"
        ") o ON o.code = c.code"
    )


def _both_ways(table: str, a: str, b: str) -> str:
    return f"SELECT {a} AS a, {b} AS b FROM {table} UNION ALL SELECT {b}, {a} FROM {table}"


# Connected components by alternating large-star and small-star (Kiveris and others, 2014): each
# round links codes to lower ones, until all link to the lowest of their component.


def _components(tables: Tables, name: str, near: str, pairs: str) -> int:
    links, after = f"{name}_links", f"{name}_large"
    tables.create(links, _links(pairs))
    rounds = 0
    while tables.number(_unfinished(links)):
        tables.create(after, _large_star(links))
        tables.create(links, _small_star(after))
        tables.drop(after)
        rounds += 1
    labels = f"{name}_labels"
    tables.create(labels, _labels(links, near))
    tables.drop(links)
    tables.create(name, _of_labels(labels))
    tables.drop(labels)
    return rounds


def _links(pairs: str) -> str:
    lower = "left_code < right_code"
    return (
        f"SELECT CASE WHEN {lower} THEN right_code ELSE left_code END AS a,\n"
        f"  CASE WHEN {lower} THEN left_code ELSE right_code END AS b\nFROM {pairs}"
    )


def _large_star(links: str) -> str:
    """Link each higher neighbour of a code to the lowest of the code and its neighbours."""
    both = _both_ways(links, "a", "b")
    return (
        "SELECT DISTINCT n.b AS a, CASE WHEN l.low < n.a THEN l.low ELSE n.a END AS b\n"
        f"FROM ({both}) n\n"
        f"JOIN (SELECT a, MIN(b) AS low FROM ({both}) m GROUP BY a) l ON l.a = n.a\n"
        "WHERE n.b > n.a"
    )


def _small_star(links: str) -> str:
    """Link each code and its lower neighbours to the lowest of them."""
    lowest = f"SELECT a, MIN(b) AS low FROM {links} GROUP BY a"
    return (
        f"SELECT n.b AS a, l.low AS b\nFROM {links} n JOIN ({lowest}) l ON l.a = n.a\n"
        f"WHERE n.b > l.low\nUNION\n{lowest}"
    )


def _unfinished(links: str) -> str:
    """Return the text of how many links lead on, or lead from a code that has another one."""
    return (
        f"SELECT (SELECT COUNT(*) - COUNT(DISTINCT a) FROM {links})\n"
        f"  + (SELECT COUNT(*) FROM {links} WHERE b IN (SELECT a FROM {links}))"
    )


def _labels(links: str, near: str) -> str:
    return (
        "SELECT l.code, l.label, n.n_near\n"
        f"FROM (SELECT a AS code, b AS label FROM {links} UNION SELECT b, b FROM {links}) l\n"
        f"JOIN {near} n ON n.code = l.code"
    )


def _of_labels(labels: str) -> str:
    return (
        "SELECT l.code, f.first AS representative\n"
        f"FROM {labels} l JOIN (\n{_first(labels, 'label', 'code')}\n) f ON f.label = l.label"
    )


def _first(rows: str, group: str, code: str) -> str:
    """Return the text that gives of each group what a star visits first."""
    return (
        f"  SELECT r.{group}, MIN(r.{code}) AS first\n"
        f"  FROM {rows} r JOIN (\n"
        f"    SELECT {group}, MAX(n_near) AS most FROM {rows} GROUP BY {group}\n"
        f"  ) m ON m.{group} = r.{group} AND m.most = r.n_near\n"
        f"  GROUP BY r.{group}"
    )


# Stars: visiting codes one by one, those that stand for a group are the first maximal set without
# neighbours. Whoever comes before all its undecided neighbours is sure to be one of them, and its
# neighbours are sure not to be, so a round decides many. Then each takes the first of its own.


def _stars(tables: Tables, name: str, near: str, pairs: str) -> int:
    edges = f"{name}_edges"
    tables.create(edges, _edges(near, pairs))
    undecided: list[str] = [edges]
    decided: list[str] = []
    while tables.number(f"SELECT COUNT(*) FROM {undecided[-1]}"):
        decided.append(f"{name}_decided_{len(decided)}")
        tables.create(decided[-1], _decided(undecided[-1]))
        undecided.append(f"{name}_undecided_{len(decided)}")
        tables.create(undecided[-1], _undecided(undecided[-2], decided[-1]))
    members, options = f"{name}_members", f"{name}_options"
    # Without a pair there is no code either, and any empty table will do.
    each = [f"SELECT code FROM {table}" for table in decided or [near]]
    tables.create(members, "\nUNION ALL\n".join(each))
    tables.create(options, _options(edges, members))
    tables.create(name, _chosen(options, near, members))
    for table in (*undecided, *decided, members, options):
        tables.drop(table)
    return len(decided)


def _edges(near: str, pairs: str) -> str:
    """Return the text of the pairs, each as the code that is visited late and the early one."""
    first = "x.n_near > q.n_near OR (x.n_near = q.n_near AND x.code < q.code)"
    return (
        f"SELECT CASE WHEN {first} THEN q.code ELSE x.code END AS late,\n"
        f"  CASE WHEN {first} THEN x.code ELSE q.code END AS early,\n"
        "  CASE WHEN x.n_near > q.n_near THEN x.n_near ELSE q.n_near END AS n_near\n"
        f"FROM {pairs} p JOIN {near} x ON x.code = p.left_code\n"
        f"JOIN {near} q ON q.code = p.right_code"
    )


def _decided(live: str) -> str:
    """Return the text of the codes with a neighbour that comes before all of its own."""
    return (
        f"SELECT DISTINCT l.late AS code\nFROM {live} l\n"
        f"LEFT JOIN (SELECT DISTINCT late FROM {live}) b ON b.late = l.early\n"
        "WHERE b.late IS NULL"
    )


def _undecided(live: str, members: str) -> str:
    return (
        f"SELECT l.late, l.early\nFROM {live} l\n"
        f"LEFT JOIN {members} m ON m.code = l.late LEFT JOIN {members} n ON n.code = l.early\n"
        "WHERE m.code IS NULL AND n.code IS NULL"
    )


def _options(edges: str, members: str) -> str:
    """Return the text of each member's neighbours that stand for a group."""
    return (
        f"SELECT e.late AS code, e.early, e.n_near\nFROM {edges} e\n"
        f"LEFT JOIN {members} m ON m.code = e.early\nWHERE m.code IS NULL"
    )


def _chosen(options: str, near: str, members: str) -> str:
    return (
        "SELECT f.code, f.first AS representative\n"
        f"FROM (\n{_first(options, 'code', 'early')}\n) f\nUNION ALL\n"
        f"SELECT n.code, n.code FROM {near} n\n"
        f"LEFT JOIN {members} m ON m.code = n.code\nWHERE m.code IS NULL"
    )
