"""The text of exact joins, groups and codes, for any engine that reads SQL.

Every text is one SELECT over tables of items: a column of ids that are all different, and the
columns of `Layout`. It joins codes, not items: `code` is the lowest id that has it. Near codes are
found by the equality of deletion keys, as `kinhash.index.keys` specifies them, so that any engine
answers with its own hash join. Rows without an id or with a NULL in a code never match.
"""

import re
from collections.abc import Sequence
from typing import Literal

from kinhash.arguments import check_choice, check_integer
from kinhash.engines.dialects import Dialect, dialect_of
from kinhash.engines.layout import Layout
from kinhash.errors import InvalidInputError

__all__ = ["FEWEST_CHUNKED", "Layout", "codes", "group", "join"]

FEWEST_CHUNKED = 4  # the radius from which on chunks find candidates, unless told otherwise

By = Literal["keys", "chunks"]
BY = ("keys", "chunks")

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*){0,2}")
_SIGN = "(-9223372036854775807 - 1)"  # written as one number it would be a wider type


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
    words = ", ".join(layout.words)
    return (
        f"SELECT MIN({checked_name('id', id)}) AS code, {words}, COUNT(*) AS n_items\n"
        f"FROM {checked_name('items', items)}\nWHERE {_known(layout.words)}\nGROUP BY {words}"
    )


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
          WHERE w0 IS NOT NULL
          GROUP BY w0
        ),
        right_codes AS MATERIALIZED (
          SELECT MIN(id) AS code, w0, COUNT(*) AS n_items
          FROM others
          WHERE w0 IS NOT NULL
          GROUP BY w0
        )
        SELECT x.code AS left_code, q.code AS right_code, 0 AS distance
        FROM left_codes x JOIN right_codes q ON x.w0 = q.w0
    """
    check_choice("pairs", pairs, ("codes", "items"))
    text = _Text(layout, dialect_of(dialect), checked_name("id", id))
    text.add_codes(left, right)
    found = text.pairs(_checked_radius(radius), by)
    if pairs == "codes":
        return text.select(found)
    return text.select_items(found, left, right)


def group(
    layout: Layout,
    *,
    items: str = "items",
    radius: int = 0,
    id: str = "id",  # noqa: A002 - the column's name
    by: By | None = None,
    dialect: str = "duckdb",
) -> str:
    """Return the text that gives the groups of two or more items, as `HammingIndex.duplicates`.

    Groups are connected components; an edge joins codes within `radius`. The columns are
    `group_id`, the lowest id of the group, and `id`, ordered by both.

    With a radius, components grow by a recursion whose rows are, at worst, a component's codes
    times those of them without a lower neighbour; `engines.components` has the rounds for large
    ones.

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
    text = _Text(layout, named, id_column)
    text.add_codes(items, None)
    if _checked_radius(radius) == 0:
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
        "ORDER BY group_id, id"
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


def checked_name(argument: str, name: str) -> str:
    """Return a table's or column's name, which may have a schema before it.

    Raises:
        InvalidInputError: It needs quotes, or is no name.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInputError(
            f"`{argument}` must be a plain SQL name (letters, digits and _, after a schema and a "
            f"dot if need be), got {name!r}."
        )
    return name


def single_bits(layout: Layout) -> str:
    """Return rows of a number and a word per column: each stored bit of a bucket by itself."""
    n_words = len(layout.words)
    rows = []
    for n, (word, bit) in enumerate(layout.bits):
        numbers = ["0"] * n_words
        numbers[word] = literal(1 << bit)
        rows.append(f"({n}, {', '.join(numbers)})")
    return _values(rows)


def literal(word: int) -> str:
    """Return the 64 bits of a word as a BIGINT in two's complement."""
    if word >= 1 << 63:
        word -= 1 << 64
    return _SIGN if word == -(1 << 63) else str(word)


def all_equal(words: Sequence[str], left: str, right: str) -> str:
    """Return the condition that two rows have equal words; the names end before the column."""
    return " AND ".join(f"{left}{name} = {right}{name}" for name in words)


def _values(rows: Sequence[str]) -> str:
    lines = [", ".join(rows[start : start + 8]) for start in range(0, len(rows), 8)]
    return "VALUES\n" + ",\n".join(f"  {line}" for line in lines)


def _known(columns: Sequence[str]) -> str:
    return " AND ".join(f"{name} IS NOT NULL" for name in columns)


def _checked_radius(radius: int) -> int:
    check_integer("radius", radius, 0)
    return int(radius)


class _Text:
    """A SELECT in the making: its named subqueries, in order."""

    def __init__(self, layout: Layout, dialect: Dialect, id_column: str) -> None:
        self.layout, self.dialect, self.id = layout, dialect, id_column
        self.words = layout.words
        self.parts: dict[str, str] = {}
        self.left = self.right = ""  # what the codes of both sides are called

    def add(self, name: str, text: str, *, once: bool = True) -> None:
        """Name a subquery."""
        recursive = name.startswith("reach")
        as_ = f"AS {self.dialect.once}" if once and not recursive else "AS "
        indented = "\n".join(f"  {line}" for line in text.splitlines())
        self.parts[name] = f"{name} {as_}(\n{indented}\n)"

    def select(self, text: str) -> str:
        """Return the whole."""
        recursive = "RECURSIVE " if any(name.startswith("reach") for name in self.parts) else ""
        return f"WITH {recursive}".rstrip() + "\n" + ",\n".join(self.parts.values()) + f"\n{text}"

    def equal(self, left: str, right: str) -> str:
        return all_equal(self.words, f"{left}.", f"{right}.")

    def add_codes(self, left: str, right: str | None) -> None:
        """Name the different codes of both sides."""
        sides = {"codes": left} if right is None else {"left_codes": left, "right_codes": right}
        for name, items in sides.items():
            text = codes(self.layout, items=items, id=self.id, dialect=self.dialect.name)
            self.add(name, text)
        names = list(sides)
        self.left, self.right = names[0], names[-1]

    def pairs(self, radius: int, by: By | None) -> str:
        """Return the SELECT of all pairs of codes, naming what it needs."""
        check_choice("by", by or "keys", BY)
        if radius == 0:
            by = "keys"
        if by is None:
            by = "keys" if radius < FEWEST_CHUNKED else "chunks"
        branches = self._by_keys(radius) if by == "keys" else self._by_chunks(radius)
        return "\nUNION ALL\n".join(branches)

    # By deletion keys: x without i of its bits equals q without j of its bits, i + j <= radius.

    def _by_keys(self, radius: int) -> list[str]:
        is_self = self.left == self.right
        combinations = [
            (i, j)
            for i in range(radius + 1)
            for j in range(radius + 1 - i)
            if (i + j > 0 and i <= j if is_self else True)
        ]
        if radius == 0 and is_self:
            return [f"{self._pair(0)}\nFROM {self.left} x JOIN {self.right} q ON 1 = 0"]
        if radius:
            names = ", ".join(f"b{i}" for i in range(len(self.words)))
            self.add(f"bits(n, {names})", single_bits(self.layout))
        self._add_deletions(self.left, max(i for i, _ in combinations))
        self._add_deletions(self.right, max(j for _, j in combinations))
        return [self._key_branch(i, j) for i, j in combinations]

    def _add_deletions(self, side: str, most: int) -> None:
        """Name the codes of a side without each set of 1, ..., `most` of their bits."""
        for i in range(1, most + 1):
            if f"{side}_{i}" in self.parts:
                continue
            source, key = (side, "w") if i == 1 else (f"{side}_{i - 1}", "k")
            columns = range(len(self.words))
            keys = ", ".join(f"s.{key}{c} & ~b.b{c} AS k{c}" for c in columns)
            has = " OR ".join(f"(s.{key}{c} & b.b{c}) <> 0" for c in columns)
            # In ascending order of bits, so that each set is removed in one order only.
            after = "" if i == 1 else "b.n > s.n AND "
            own = ", ".join(f"s.{name}" for name in self.words)
            self.add(
                f"{side}_{i}",
                f"SELECT s.code, {own}, {keys}, b.n AS n\n"
                f"FROM {source} s JOIN bits b ON {after}({has})",
                once=False,
            )

    def _key_branch(self, i: int, j: int) -> str:
        columns = range(len(self.words))
        left, right = ("w{c}" if n == 0 else "k{c}" for n in (i, j))
        on = " AND ".join(f"x.{left.format(c=c)} = q.{right.format(c=c)}" for c in columns)
        if i and j:
            # A key that is less than the common part says the same pair at a larger distance.
            on += "".join(f" AND (x.w{c} & q.w{c}) = x.k{c}" for c in columns)
        if self.left == self.right and i == j:
            on += " AND x.code < q.code"
        sides = [side if n == 0 else f"{side}_{n}" for side, n in ((self.left, i), (self.right, j))]
        return f"{self._pair(i + j)}\nFROM {sides[0]} x JOIN {sides[1]} q ON {on}"

    def _pair(self, distance: int | str) -> str:
        return f"SELECT x.code AS left_code, q.code AS right_code, {distance} AS distance"

    # By chunks: within `radius`, at least one of radius + 1 chunks has no differing bit.

    def _by_chunks(self, radius: int) -> list[str]:
        masks = self._chunk_masks(radius + 1)
        self._add_singles()
        distance = self.n_differing(self.words, "x.", "q.")
        each = f"{distance} <= {radius}"
        if self.left == self.right:
            each += " AND x.code < q.code"
        sides = f"FROM {self.left} x JOIN {self.right} q"
        if len(masks) <= radius:  # no pair is farther than `radius`
            return [f"{self._pair(distance)}\n{sides} ON {each}"]
        return [
            f"{self._pair(distance)}\n{sides}\n"
            # A pair is found by the first chunk in which it agrees.
            f"  ON {' AND '.join([self._agree(masks[n]), *map(self._differ, masks[:n])])}\n"
            f"  AND {each}"
            for n in range(radius + 1)
        ]

    def _chunk_masks(self, n_chunks: int) -> list[dict[str, str]]:
        """Return for each chunk, as far as there are bits, the mask of each word that has any."""
        bits = self.layout.bits
        masks: list[dict[str, str]] = []
        for n in range(min(n_chunks, len(bits))):
            words: dict[str, int] = {}
            for word, bit in bits[n::n_chunks]:
                words[f"w{word}"] = words.get(f"w{word}", 0) | 1 << bit
            masks.append({name: literal(mask) for name, mask in words.items()})
        return masks

    @staticmethod
    def _agree(masks: dict[str, str]) -> str:
        return " AND ".join(f"(x.{w} & {mask}) = (q.{w} & {mask})" for w, mask in masks.items())

    @staticmethod
    def _differ(masks: dict[str, str]) -> str:
        differ = (f"(x.{w} & {mask}) <> (q.{w} & {mask})" for w, mask in masks.items())
        return f"({' OR '.join(differ)})"

    def _add_singles(self) -> None:
        if self.dialect.singles:
            self.add("singles(b)", _values([f"({literal(1 << bit)})" for bit in range(64)]))

    def n_differing(self, columns: Sequence[str], left: str, right: str) -> str:
        """Return how many bits of two rows differ in these columns."""
        counts = (
            self.dialect.n_differing.format(f"{left}{name}", f"{right}{name}") for name in columns
        )
        return " + ".join(counts)

    # Pairs of items, only where asked for.

    def select_items(self, pairs: str, left: str, right: str | None) -> str:
        """Return the whole, with the items of each pair of codes."""
        is_self = right is None
        if is_self:  # items of one code are pairs, too
            pairs += f"\nUNION ALL\nSELECT code, code, 0 FROM {self.left} WHERE n_items > 1"
        self.add("pairs", pairs, once=False)
        sides = {"left_items": (left, self.left)}
        sides["right_items"] = sides["left_items"] if right is None else (right, self.right)
        ranks = self.layout.rank_words
        for name, (items, own) in sides.items():
            more = "".join(f", i.{rank}" for rank in ranks)
            self.add(
                name,
                f"SELECT i.{self.id} AS id, c.code{more}\n"
                f"FROM {items} i JOIN {own} c ON {self.equal('i', 'c')}",
                once=False,
            )
        low, high = "x.id", "q.id"
        if is_self:
            low = "CASE WHEN x.id < q.id THEN x.id ELSE q.id END"
            high = "CASE WHEN x.id < q.id THEN q.id ELSE x.id END"
        columns, order = [f"{low} AS left_id", f"{high} AS right_id", "p.distance"], "distance"
        if ranks:
            self._add_singles()
            columns.append(f"{self.n_differing(ranks, 'x.', 'q.')} AS rank_distance")
            order += ", rank_distance"
        where = "\nWHERE p.left_code <> p.right_code OR x.id < q.id" if is_self else ""
        return self.select(
            f"SELECT {', '.join(columns)}\nFROM pairs p\n"
            "JOIN left_items x ON x.code = p.left_code\n"
            f"JOIN right_items q ON q.code = p.right_code{where}\n"
            f"ORDER BY left_id, {order}, right_id"
        )
