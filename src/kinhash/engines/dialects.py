"""How SQL differs between engines, in the few places where the text needs it."""

import dataclasses

from kinhash.errors import unknown_name


@dataclasses.dataclass(frozen=True)
class Dialect:
    """What one engine calls what all have."""

    name: str
    n_differing: str  # of two BIGINTs {0} and {1}: how many bits differ, an INTEGER
    once: str  # said of a subquery that is to be computed once
    recursive: bool  # whether UNION in a recursion ends at what is known already
    singles: bool = False  # whether `n_differing` counts by a table of single bits


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect(
            "duckdb",
            n_differing="CAST(bit_count(xor({0}, {1})) AS INTEGER)",
            once="MATERIALIZED ",
            recursive=True,
        ),
        Dialect("spark", n_differing="bit_count({0} ^ {1})", once="", recursive=False),
        Dialect(
            "postgres",
            n_differing="CAST(bit_count(CAST({0} # {1} AS BIT(64))) AS INTEGER)",
            once="MATERIALIZED ",
            recursive=True,
        ),
        Dialect(
            "sqlite",
            n_differing="(SELECT COUNT(*) FROM singles WHERE ({0} & b) <> ({1} & b))",
            once="MATERIALIZED ",
            recursive=True,
            singles=True,
        ),
    )
}


def dialect_of(name: str) -> Dialect:
    """Return the dialect of that name.

    Raises:
        InvalidInputError: There is none.
    """
    if name not in DIALECTS:
        raise unknown_name("dialect", str(name), DIALECTS)
    return DIALECTS[name]
