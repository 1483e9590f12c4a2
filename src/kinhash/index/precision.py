"""How sure the answers of an index are: its calibration, and what its own distances say."""

import functools
from typing import NamedTuple

import numpy as np

from kinhash.arrays import Array
from kinhash.calibration import Calibration, Observation
from kinhash.codes import Codes
from kinhash.errors import InvalidInputError
from kinhash.index.segments import Segment, State, rank_words
from kinhash.matches import Matches

N_SAMPLED = 2_000  # items whose pairs are looked at, at most
FEWEST = 100  # items, with fewer of which distances say too little
_PIECE = 2**20  # ids that are hashed at a time


class Seen(NamedTuple):
    """What the distances of a state say, by a calibration; None with too few items."""

    calibration: Calibration
    observation: Observation | None


def checked(
    calibration: object, n_bits: int, n_rank_bits: int, *, signed: bool, made_by: str | None
) -> Calibration | None:
    """Return the calibration, if it is of codes like these.

    Raises:
        InvalidInputError: It is something else, or of other codes or of another encoder.
    """
    if calibration is None:
        return None
    if not isinstance(calibration, Calibration):
        raise InvalidInputError(
            "`calibration` must be a kinhash.calibration.Calibration or None, got "
            f"{type(calibration).__name__}. A fitted model has one as calibration_."
        )
    calibration.check_fits(n_bits, n_rank_bits, signed=signed, made_by=made_by)
    return calibration


def needed(calibration: Calibration | None) -> Calibration:
    """Return the calibration.

    Raises:
        InvalidInputError: There is none.
    """
    if calibration is None:
        raise InvalidInputError(
            "This index has no calibration, so it cannot tell how precise answers are. Give it "
            "that of the model that made the codes: index.calibration = model.calibration_"
        )
    return calibration


def similar_share(state: State, calibration: Calibration, kind: tuple[int, int, bool]) -> float:
    """Return the share of similar pairs that explains the distances of the items best.

    Of few items it is that of the calibration. Looked at once for each state.

    Args:
        state: All items.
        calibration: Of their codes.
        kind: Their `n_bits`, `n_rank_bits` and `signed`.

    Warns:
        DriftWarning: The distances are not those that the calibration was made from.
    """
    seen = state.seen
    if not isinstance(seen, Seen) or seen.calibration is not calibration:
        observation = None
        if state.n_items >= FEWEST:
            observation = calibration.observe(sampled(state, kind))
            observation.warn_of_drift("This index")
        state.seen = seen = Seen(calibration, observation)
    if seen.observation is None:
        return calibration.similar_share
    return seen.observation.similar_share


def observed(
    state: State, calibration: Calibration, kind: tuple[int, int, bool], queries: Codes | None
) -> Observation:
    """Return what the distances between the items say, or those of queries to the items.

    Raises:
        InvalidInputError: There are too few items or queries to make a pair.
    """
    if state.n_items < 2:
        raise InvalidInputError(f"The index must hold two items or more, it has {state.n_items}.")
    items = sampled(state, kind)
    if queries is None:
        return calibration.observe(items)
    return calibration.observe(queries, items)


def sampled(state: State, kind: tuple[int, int, bool]) -> Codes:
    """Return the codes of some items, drawn by their ids: the same however the index was made."""
    wanted = min(1.0, 2 * N_SAMPLED / state.n_items)
    limit = np.uint64(min(2**64 - 1, int(wanted * 2**64)))
    parts = [_drawn(segment, limit) for segment in state.segments]
    keys = np.concatenate([keys for keys, _ in parts])
    lowest = np.sort(keys)[: N_SAMPLED + 1]
    below = lowest[-1] if len(lowest) > N_SAMPLED else None
    words, ranks, order = [], [], []
    for segment, (drawn, items) in zip(state.segments, parts, strict=True):
        kept = slice(None) if below is None else drawn < below
        words.append(segment.words_of(items[kept]))
        ranks.append(segment.ranks_of(items[kept]))
        order.append(drawn[kept])
    places = np.argsort(np.concatenate(order))
    n_bits, n_rank_bits, signed = kind
    return Codes(
        np.concatenate(words)[places],
        n_bits,
        signed=signed,
        rank_words=rank_words(np.concatenate(ranks)[places], n_rank_bits),
        n_rank_bits=n_rank_bits,
    )


def _drawn(segment: Segment, limit: np.uint64) -> tuple[Array, Array]:
    """Return the hashes of ids up to a limit, and the items that have them."""
    keys, items = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    for start in range(0, segment.n_items, _PIECE):
        hashed = _mixed(segment.ids[start : start + _PIECE].astype(np.int64).view(np.uint64))
        near = hashed <= limit
        if segment.alive is not None:
            near &= segment.alive[start : start + _PIECE]
        at = np.flatnonzero(near)
        keys.append(hashed[at])
        items.append(at + start)
    return np.concatenate(keys), np.concatenate(items)


def _mixed(ids: Array) -> Array:
    """Return each number as one that looks random, different ones for different ids: SplitMix64."""
    mixed = ids + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: Array = mixed ^ (mixed >> np.uint64(31))
    return found


def rated(matches: Matches, calibration: Calibration, share: float) -> Matches:
    """Return the same matches, which say how likely each of them is similar to its query."""
    rate = functools.partial(calibration.precisions, similar_share=share)
    return matches._rated(rate)  # noqa: SLF001 - what `Matches.precision` comes from
