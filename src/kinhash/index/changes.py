"""What an index holds after a change: a new `State`, made from the one before it."""

import numpy as np

from kinhash.arrays import Array, Bytes
from kinhash.codes import Codes
from kinhash.errors import InvalidInputError
from kinhash.ids import Ids, Texts, shown
from kinhash.index import memory
from kinhash.index.names import Names
from kinhash.index.segments import Segment, State, packed_ranks


def added(state: State, wanted: memory.Structures, codes: Codes, ids: Ids) -> State:
    """Return the state with more items, whose ids are different ones.

    The cost is in proportion to what is added, amortised.

    Raises:
        InvalidInputError: An id is stored already, or of another kind than those that are.
    """
    if not len(ids):
        return state
    if state.n_items:
        _check_absent(ids, state)
    names = None
    if isinstance(ids, Texts):
        before = state.names if state.names is not None and state.n_items else Names([])
        names = before.with_more(ids)
        ids = np.arange(len(before), len(names))  # from here on, their numbers
    return State(_with(state.segments, wanted, codes, ids), names)


def removed(state: State, wanted: memory.Structures, ids: Ids) -> State:
    """Return the state without these items.

    Raises:
        InvalidInputError: An id is not stored.
    """
    return _compacted(State(_without(state, wanted, ids), state.names), wanted)


def updated(state: State, wanted: memory.Structures, codes: Codes, ids: Ids) -> State:
    """Return the state with other codes for these items.

    Raises:
        InvalidInputError: An id is not stored.
    """
    numbers = state.numbers_of(ids)
    return State(_with(_without(state, wanted, ids), wanted, codes, numbers), state.names)


def merged(segments: tuple[Segment, ...], wanted: memory.Structures) -> Segment:
    """Return all items that count as one segment."""
    if len(segments) == 1 and segments[0].alive is None:
        return segments[0]
    contents = [segment.contents() for segment in segments]
    words, ids, ranks = (np.concatenate(parts) for parts in zip(*contents, strict=True))
    return Segment.build(words, ids, wanted, ranks)


def numbered_anew(state: State, wanted: memory.Structures) -> tuple[Segment, Names | None]:
    """Return all items as one segment, and names without those of removed items."""
    segment, names = merged(state.segments, wanted), state.names
    if names is None or (len(names.parts) == 1 and len(names) == segment.n_items):
        return segment, names
    numbers = np.sort(segment.ids)
    return segment.called(np.searchsorted(numbers, segment.ids)), Names([names.kept(numbers)])


def ranks_of(codes: Codes) -> Bytes:
    """Return the rank bits of codes as a segment takes them."""
    return packed_ranks(codes.rank_words, codes.n_rank_bits)


def check_kind(ids: Ids, state: State, name: str = "ids") -> None:
    """Raise InvalidInputError unless ids are of the kind that is stored."""
    if not state.has_kind(ids):
        kinds = ("integers", "strings")[:: 1 if state.names is None else -1]
        raise InvalidInputError(
            f"`{name}` must be {kinds[0]}, as those of the index are, got {kinds[1]}, such as "
            f"{shown(ids, 0)}."
        )


def unknown(ids: Ids, missing: Array, more: str = "") -> InvalidInputError:
    """Return what says which of some ids is the first that is not stored."""
    told = f"`ids` hold {shown(ids, int(np.argmax(missing)))}, which is not in the index. {more}"
    return InvalidInputError(told.rstrip())


def _check_absent(ids: Ids, state: State) -> None:
    check_kind(ids, state)
    numbers = state.numbers_of(ids)
    for segment in state.segments:
        stored = segment.positions(numbers) >= 0
        if stored.any():
            raise InvalidInputError(
                f"`ids` hold {shown(ids, int(np.argmax(stored)))}, which is in the index already. "
                "Use update to replace it; nothing was changed."
            )


def _with(
    segments: tuple[Segment, ...], wanted: memory.Structures, codes: Codes, ids: Array
) -> tuple[Segment, ...]:
    """Return the given segments and the new items."""
    if not len(ids):
        return segments
    parts = [*segments, Segment.build(codes.words, ids, wanted, ranks_of(codes))]
    # Sizes at least double from one to the one before: few segments, and each item is merged
    # about log n times.
    while len(parts) > 1 and parts[-2].n_alive < 2 * parts[-1].n_alive:
        parts[-2:] = [merged(tuple(parts[-2:]), wanted)]
    return tuple(parts)


def _without(state: State, wanted: memory.Structures, ids: Ids) -> tuple[Segment, ...]:
    """Return the segments without these items."""
    check_kind(ids, state)
    numbers = state.numbers_of(ids)
    left = np.ones(len(numbers), bool)
    parts = []
    for segment in state.segments:
        items = segment.positions(numbers)
        hit = items >= 0
        left &= ~hit
        part = segment.without(items[hit]) if hit.any() else segment
        if part.n_alive < (1 - memory.MANY_DEAD) * part.n_items:
            part = merged((part,), wanted)
        parts.append(part)
    if left.any():
        raise unknown(ids, left, "Nothing was changed.")
    return tuple(part for part in parts if part.n_items) or (parts[0],)


def _compacted(state: State, wanted: memory.Structures) -> State:
    """Return a state without the strings of removed items if they are many."""
    if state.names is None or state.n_items >= (1 - memory.MANY_DEAD) * len(state.names):
        return state
    segment, names = numbered_anew(state, wanted)
    return State((segment,), names)
