"""Queries for a plate, by a rule that favours no method: those on which methods differ most."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt


def most_disputed(
    n_right: Mapping[str, npt.ArrayLike], groups: npt.ArrayLike, n: int, *, but: Sequence[int] = ()
) -> list[int]:
    """Return the queries whose numbers of right answers have the largest variance over methods.

    At most one query of each group, so that one hard class does not fill the plate; at equal
    variance the first query comes first. Queries on which all agree are never taken.

    Args:
        n_right: By method, how many of its answers to each query are right.
        groups: The group of each query, such as its class.
        n: The most queries to return.
        but: Queries that are not taken.

    Example:
        >>> most_disputed({"a": [5, 0, 9, 3], "b": [5, 8, 0, 2]}, groups=[0, 1, 1, 2], n=2)
        [2, 3]
    """
    spread = np.var([np.asarray(counts, dtype=float) for counts in n_right.values()], axis=0)
    groups = np.asarray(groups)
    taken: list[int] = []
    for query in np.argsort(-spread, kind="stable").tolist():
        is_new = query not in but and groups[query] not in groups[taken]
        if is_new and spread[query] > 0 and len(taken) < n:
            taken.append(query)
    return taken
