"""How a search was answered, in words."""

from typing import Any

_WORDS = {
    "lookup": "by looking up the query's own code",
    "deletions": "by deletion keys: looking up the query without some of its active bits",
    "chunks": "by chunks: looking up parts of the query that must be equal, or nearly so",
    "groups": "by groups: comparing leaders, then the codes around the near ones",
    "neighbours": "by the listed neighbours of the query's own code",
    "scan": "by scanning: comparing every different code",
}


def in_words(work: dict[str, Any], *, what: str, n_queries: int, n_codes: int, n_items: int) -> str:
    """Return how a search was answered: which structure, and how many codes were compared."""
    parts = [
        f"{count:,} {'time' if count == 1 else 'times'} {_WORDS[name]}"
        for name, count in work.items()
        if name in _WORDS and count
    ]
    compared = work["compared"] / max(1, n_queries)
    return (
        f"{what} for {n_queries:,} queries among {n_items:,} items with {n_codes:,} different "
        f"codes: {'; '.join(parts) or 'nothing to compare'}. "
        f"{compared:,.1f} codes were compared per query."
    )
