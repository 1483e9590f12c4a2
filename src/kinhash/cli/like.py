"""Items of the index as queries: `kinhash search --like`."""

import itertools
from collections.abc import Sequence

import numpy as np

from kinhash.cli.changing import as_stored
from kinhash.codes import Codes
from kinhash.errors import InvalidInputError
from kinhash.index.hamming import HammingIndex
from kinhash.matches import Matches


def items_like(typed: Sequence[str], index: HammingIndex) -> tuple[list[int] | list[str], Codes]:
    """Return ids that were typed as those of the index, each once, and the items' codes.

    Raises:
        InvalidInputError: One is not in the index.
    """
    ids = as_stored(typed, index)
    for item in ids:
        if item not in index:
            raise InvalidInputError(f"--like names {item!r}, which is not in the index.")
    return ids, index.codes(ids)


def without_own(matches: Matches, own: Sequence[int | str], k: int | None) -> Matches:
    """Return the matches without each query's own item: of the others, the first `k` if given."""
    ids = matches.ids
    rows = []
    for (start, end), item in zip(itertools.pairwise(matches.offsets.tolist()), own, strict=True):
        others = np.flatnonzero([one != item for one in ids[start:end].tolist()])
        rows.append(start + others[:k])
    kept = np.concatenate([np.zeros(0, np.int64), *rows])
    offsets = np.cumsum([0, *map(len, rows)])
    return matches._chosen(offsets, kept)  # noqa: SLF001 - the same with fewer
