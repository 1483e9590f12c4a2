"""Searches among some of the items only: `allowed=`."""

import numpy as np
import numpy.typing as npt

from kinhash import _native
from kinhash.arrays import Integers
from kinhash.errors import InvalidInputError
from kinhash.ids import as_ids
from kinhash.index import memory
from kinhash.index.changes import check_kind
from kinhash.index.segments import Segment, State


def restricted(allowed: npt.ArrayLike, state: State) -> _native.Searcher:
    """Return what searches the allowed items.

    Args:
        allowed: Ids, of which unknown ones are ignored, or a mask over all of them.
        state: The items.

    Raises:
        InvalidInputError: The mask has another length, or ids are of another kind.
    """
    ids = _allowed_numbers(allowed, state)
    items = [segment.positions(ids) for segment in state.segments]
    n_allowed = sum(int((found >= 0).sum()) for found in items)
    if n_allowed <= memory.FEW_ALLOWED * state.n_items:
        # A small index of their own costs less than looking at everything else.
        kept = [found[found >= 0] for found in items]
        parts = list(zip(state.segments, kept, strict=True))
        plain = memory.Structures(0, 0, groups=False, far=0.0, listed=0.0, budget=0.0)
        few = Segment.build(
            np.concatenate([segment.words_of(some) for segment, some in parts]),
            np.concatenate([ids[found >= 0] for found in items]),
            plain,
            np.concatenate([segment.ranks_of(some) for segment, some in parts]),
        )
        return _native.Searcher([few.native])
    masked = []
    for segment, found in zip(state.segments, items, strict=True):
        alive = np.zeros(segment.n_items, bool)
        alive[found[found >= 0]] = True
        masked.append(segment.restricted(alive))
    return _native.Searcher(masked)


def _allowed_numbers(allowed: npt.ArrayLike, state: State) -> Integers:
    """Return the numbers of allowed items, in ascending order."""
    are_texts = isinstance(allowed, list | tuple) and bool(allowed) and isinstance(allowed[0], str)
    array = np.zeros(0, np.str_) if are_texts else np.asarray(allowed)
    if array.dtype != bool:
        asked = as_ids(allowed, "allowed")
        check_kind(asked, state, "allowed")
        return np.unique(state.numbers_of(asked))
    if array.shape != (state.n_items,):
        raise InvalidInputError(
            f"`allowed` as a mask must have shape ({state.n_items},), one per id in the order of "
            f"`index.ids`, got {array.shape}."
        )
    chosen: Integers = state.numbers()[array]
    return chosen
