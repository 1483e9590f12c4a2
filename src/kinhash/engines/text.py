"""A SELECT in the making: pairs of near codes as named subqueries, in the words of a dialect."""

import re
from collections.abc import Sequence
from typing import Literal

from kinhash.arguments import check_choice, check_integer
from kinhash.engines.dialects import Dialect
from kinhash.engines.layout import Layout
from kinhash.errors import InvalidInputError

FEWEST_CHUNKED = 4  # the radius from which on chunks find candidates, unless told otherwise

By = Literal["keys", "chunks"]
BY = ("keys", "chunks")

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*){0,2}")
_SIGN = "(-9223372036854775807 - 1)"  # written as one number it would be a wider type


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


def distinct_codes(layout: Layout, items: str, id_column: str) -> str:
    """Return the SELECT that gives each different bucket once."""
    words = ", ".join(layout.words)
    return (
        f"SELECT MIN({id_column}) AS code, {words}, COUNT(*) AS n_items\n"
        f"FROM {items}\nWHERE {_known([id_column, *layout.words])}\nGROUP BY {words}"
    )


def misfits(layout: Layout, items: str) -> str:
    """Return the SELECT of how many rows have bits that no code of this layout has."""
    unused = dict.fromkeys(layout.columns, 2**64 - 1)
    for word, bit in layout.bits:
        unused[f"w{word}"] ^= 1 << bit
    for bit in range(layout.n_rank_bits):
        unused[f"r{bit // 64}"] ^= 1 << bit % 64
    wrong = [f"({name} & {literal(mask)}) <> 0" for name, mask in unused.items() if mask]
    if layout.signed:  # an entry that is +1 and -1 at once
        n_words = len(layout.words) // 2
        wrong += [f"(w{i} & w{n_words + i}) <> 0" for i in range(n_words)]
    return f"SELECT COUNT(*) FROM {items} WHERE {' OR '.join(wrong) or '1 = 0'}"


def _known(columns: Sequence[str]) -> str:
    return " AND ".join(f"{name} IS NOT NULL" for name in columns)


def checked_radius(radius: int) -> int:
    """Return a radius, which must be an integer of at least 0."""
    check_integer("radius", radius, 0)
    return int(radius)


class Text:
    """A SELECT in the making: its named subqueries, in order."""

    def __init__(self, layout: Layout, dialect: Dialect, id_column: str) -> None:
        self.layout, self.dialect, self.id = layout, dialect, id_column
        self.words = layout.words
        self.parts: dict[str, str] = {}
        self.left = self.right = ""  # what the codes of both sides are called
        self.keys: dict[str, str] = {}  # what their deletion keys are called, with a number

    def add(self, name: str, text: str, *, once: bool = True) -> None:
        """Name a subquery."""
        recursive = name.startswith("reach")
        as_ = f"AS {self.dialect.once}" if once and not recursive else "AS "
        indented = "\n".join(f"  {line}" for line in text.splitlines())
        self.parts[name] = f"{name} {as_}(\n{indented}\n)"

    def select(self, text: str) -> str:
        """Return the whole."""
        if not self.parts:
            return text
        recursive = "RECURSIVE " if any(name.startswith("reach") for name in self.parts) else ""
        return f"WITH {recursive}".rstrip() + "\n" + ",\n".join(self.parts.values()) + f"\n{text}"

    def equal(self, left: str, right: str) -> str:
        """Return the condition that two tables have equal buckets."""
        return all_equal(self.words, f"{left}.", f"{right}.")

    def add_codes(self, left: str, right: str | None) -> None:
        """Name the different codes of both sides."""
        sides = {"codes": left} if right is None else {"left_codes": left, "right_codes": right}
        for name, items in sides.items():
            self.add(name, distinct_codes(self.layout, checked_name("items", items), self.id))
        names = list(sides)
        self.left, self.right = names[0], names[-1]
        self.keys = {name: name for name in names}

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
            name = f"{self.keys[side]}_{i}"
            if name in self.parts:
                continue
            source, key = (side, "w") if i == 1 else (f"{self.keys[side]}_{i - 1}", "k")
            columns = range(len(self.words))
            keys = ", ".join(f"s.{key}{c} & ~b.b{c} AS k{c}" for c in columns)
            has = " OR ".join(f"(s.{key}{c} & b.b{c}) <> 0" for c in columns)
            # In ascending order of bits, so that each set is removed in one order only.
            after = "" if i == 1 else "b.n > s.n AND "
            own = ", ".join(f"s.{name}" for name in self.words)
            self.add(
                name,
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
        sides = [
            side if n == 0 else f"{self.keys[side]}_{n}"
            for side, n in ((self.left, i), (self.right, j))
        ]
        return f"{self._pair(i + j)}\nFROM {sides[0]} x JOIN {sides[1]} q ON {on}"

    def _pair(self, distance: int | str) -> str:
        return f"SELECT x.code AS left_code, q.code AS right_code, {distance} AS distance"

    # By chunks: within `radius`, at least one of radius + 1 chunks has no differing bit.

    def _by_chunks(self, radius: int) -> list[str]:
        masks = self._chunk_masks(radius + 1)
        self.add_singles()
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

    def add_singles(self) -> None:
        """Name the table of single bits, where `n_differing` needs it."""
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
                f"FROM {items} i JOIN {own} c ON {self.equal('i', 'c')}\n"
                f"WHERE i.{self.id} IS NOT NULL",
                once=False,
            )
        low, high = "x.id", "q.id"
        if is_self:
            low = "CASE WHEN x.id < q.id THEN x.id ELSE q.id END"
            high = "CASE WHEN x.id < q.id THEN q.id ELSE x.id END"
        columns, order = [f"{low} AS left_id", f"{high} AS right_id", "p.distance"], "distance"
        if ranks:
            self.add_singles()
            columns.append(f"{self.n_differing(ranks, 'x.', 'q.')} AS rank_distance")
            order += ", rank_distance"
        where = "\nWHERE p.left_code <> p.right_code OR x.id < q.id" if is_self else ""
        return self.select(
            f"SELECT {', '.join(columns)}\nFROM pairs p\n"
            "JOIN left_items x ON x.code = p.left_code\n"
            f"JOIN right_items q ON q.code = p.right_code{where}\n"
            f"ORDER BY left_id, {order}, right_id"
        )
