"""`HammingIndex`: exact search over codes that come and go."""

import copy
import dataclasses
import os
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from kinhash import _native
from kinhash.arguments import (
    MAX_THREADS,
    check_choice,
    check_number,
    checked_threads,
    default_threads,
)
from kinhash.arrays import Array, Integers
from kinhash.calibration import Calibration, Cut, Observation
from kinhash.codes import ORDERS, Codes, Order
from kinhash.errors import InvalidInputError, SearchTimeout
from kinhash.ids import Texts, as_ids, as_new_ids, check_distinct, is_integer
from kinhash.index import changes, duplicates, explain, file, precision
from kinhash.index import memory as settings
from kinhash.index.locks import ForkSafeLock
from kinhash.index.names import Names
from kinhash.index.questions import (
    check_are_codes,
    check_order,
    checked_count,
    checked_timeout,
    release,
)
from kinhash.index.restriction import restricted
from kinhash.index.segments import Segment, State, rank_words
from kinhash.linkage import LINKAGES, Groups, Linkage
from kinhash.matches import Matches


class HammingIndex:
    """Finds every item within a Hamming radius, or the k nearest, exactly.

    Items that share a code share a bucket, so the work grows with the number of different codes
    near a query, not with the number of items. Rank bits of the codes, if they have any, take no
    part in that: they order what is found. Changes are visible to the next search; searches
    may run in several threads, beside one thread at a time that changes the index. An index can be
    copied and pickled; a copy takes no memory for what it shares with the original.

    Args:
        codes: The items' codes.
        ids: int64, any numbers, each once; or strings, each once, whose order is that of adding;
            0, 1, 2, ... by default. An index has one kind; while it is empty, it takes both.
        memory: "lean" (codes, ids and a hash table), "balanced" (plus look-up tables of up to 48
            bytes per item) or "fast" (up to 512).
        made_by: Fingerprint of the encoder that made the codes, if known; kept in the file, so
            that `kinhash search` can refuse another model.
        calibration: What tells how precise answers are, `model.calibration_`; kept in the file.

    Raises:
        InvalidInputError: The ids do not fit the codes, or repeat; or the calibration is of other
            codes.

    Example:
        >>> codes = Codes.from_dense([[0, 1, 1], [0, 0, 1], [0, 1, 1]])
        >>> index = HammingIndex(codes, ids=[10, 20, 30])
        >>> matches = index.search_radius(codes[:1], radius=1)
        >>> matches.ids.tolist(), matches.distances.tolist()
        ([10, 30, 20], [0, 0, 1])
    """

    __slots__ = (
        "__weakref__",
        "_calibration",
        "_farthest",
        "_lock",
        "_made_by",
        "_memory",
        "_n_bits",
        "_n_rank_bits",
        "_signed",
        "_state",
        "_wanted",
    )

    def __init__(
        self,
        codes: Codes,
        ids: npt.ArrayLike | None = None,
        *,
        memory: str = "balanced",
        made_by: str | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        wanted = settings.structures(memory)
        check_are_codes(codes, "`codes`")
        checked = None if ids is None else as_new_ids(ids, len(codes))
        if not isinstance(made_by, str | None):
            raise InvalidInputError(
                f"`made_by` must be a string or None, got {type(made_by).__name__}."
            )
        kind = codes.n_bits, codes.n_rank_bits
        precision.checked(calibration, *kind, signed=codes.signed, made_by=made_by)
        numbers = None if isinstance(checked, Texts) else checked  # strings count from 0
        self._set_up(
            codes.n_bits,
            (Segment.build(codes.words, numbers, wanted, changes.ranks_of(codes)),),
            signed=codes.signed,
            memory=memory,
            made_by=made_by,
            n_rank_bits=codes.n_rank_bits,
            names=Names.of(checked),
            calibration=calibration,
        )

    def _set_up(
        self,
        n_bits: int,
        segments: tuple[Segment, ...],
        *,
        signed: bool,
        memory: str,
        made_by: str | None,
        n_rank_bits: int = 0,
        names: Names | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        self._calibration = calibration
        self._wanted = settings.structures(memory)
        self._memory, self._made_by = memory, made_by
        self._n_bits, self._n_rank_bits, self._signed = n_bits, n_rank_bits, signed
        self._farthest = (n_bits - n_rank_bits) * (2 if signed else 1)
        self._lock = ForkSafeLock()
        self._state = State(segments, names)

    @property
    def n_bits(self) -> int:
        """Entries per code, bucket and rank."""
        return self._n_bits

    @property
    def n_rank_bits(self) -> int:
        """How many of the entries are rank bits."""
        return self._n_rank_bits

    @property
    def signed(self) -> bool:
        """Whether entries of the buckets may be -1."""
        return self._signed

    @property
    def memory(self) -> str:
        """The memory setting it was made with."""
        return self._memory

    @property
    def made_by(self) -> str | None:
        """Fingerprint of the encoder that made the codes, if known."""
        return self._made_by

    @property
    def calibration(self) -> Calibration | None:
        """What tells how precise answers are; None if nobody has given it.

        Setting it raises InvalidInputError unless it is of codes like these.
        """
        return self._calibration

    @calibration.setter
    def calibration(self, calibration: Calibration | None) -> None:
        n_bits, n_rank_bits, signed = self._kind
        self._calibration = precision.checked(
            calibration, n_bits, n_rank_bits, signed=signed, made_by=self._made_by
        )

    @property
    def _kind(self) -> tuple[int, int, bool]:
        return self._n_bits, self._n_rank_bits, self._signed

    @property
    def n_codes(self) -> int:
        """How many different buckets are stored; an upper bound while changes are pending."""
        return sum(len(segment.arrays["offsets"]) - 1 for segment in self._state.segments)

    @property
    def n_bytes(self) -> int:
        """The size of all arrays."""
        state = self._state
        n_bytes = sum(
            array.nbytes for segment in state.segments for array in segment.arrays.values()
        )
        return n_bytes + (0 if state.names is None else state.names.n_bytes)

    @property
    def ids(self) -> Array:
        """All ids: int64 in ascending order, or `str` in the order of adding."""
        state = self._state
        return state.called(state.numbers())

    def __len__(self) -> int:
        return self._state.n_items

    def __contains__(self, item: object) -> bool:
        """Return whether an item of this id is stored."""
        state = self._state
        if state.names is not None:
            numbers = state.names.number_of(item)
        elif is_integer(item) and -(2**63) <= item < 2**63:
            numbers = np.array([item], np.int64)
        else:
            return False
        return any(segment.positions(numbers)[0] >= 0 for segment in state.segments)

    def codes(self, ids: npt.ArrayLike) -> Codes:
        """Return the codes of stored items, in the order of `ids`.

        Args:
            ids: `(n,)` ids; one may stand there several times.

        Raises:
            InvalidInputError: An id is not stored, or of another kind than those that are.
        """
        state, asked = self._state, as_ids(ids)
        changes.check_kind(asked, state)
        wanted, segments = state.numbers_of(asked), state.segments
        words = np.zeros((len(wanted), segments[0].numbers["n_words"]), np.uint64)
        ranks = np.zeros((len(wanted), segments[0].numbers["rank_bytes"]), np.uint8)
        missing = np.ones(len(wanted), bool)
        for segment in segments:
            items = segment.positions(wanted)
            hit = items >= 0
            words[hit] = segment.words_of(items[hit])
            ranks[hit] = segment.ranks_of(items[hit])
            missing &= ~hit
        if missing.any():
            raise changes.unknown(asked, missing)
        return Codes(
            words,
            self._n_bits,
            signed=self._signed,
            rank_words=rank_words(ranks, self._n_rank_bits),
            n_rank_bits=self._n_rank_bits,
        )

    def __repr__(self) -> str:
        kind = f"n_rank_bits={self.n_rank_bits}, " if self.n_rank_bits else ""
        kind += "signed, " if self.signed else ""
        return f"HammingIndex(n={len(self)}, n_bits={self.n_bits}, {kind}memory={self.memory!r})"

    # Copies share the segments, which never change; each then changes on its own.

    def __getstate__(self) -> dict[str, Any]:
        state = self._state
        return {
            "n_bits": self._n_bits,
            "n_rank_bits": self._n_rank_bits,
            "segments": state.segments,
            "signed": self._signed,
            "memory": self._memory,
            "made_by": self._made_by,
            "names": state.names,
            "calibration": self._calibration,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set_up(**state)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        memo[id(self)] = copied = copy.copy(self)
        return copied

    # Searching

    def search_radius(  # noqa: C901 - comparisons instead of calls, see below
        self,
        queries: Codes,
        radius: int | None = None,
        *,
        min_precision: float | None = None,
        similar_share: float | None = None,
        sort: bool = False,
        order: Order = "nested",
        allowed: npt.ArrayLike | None = None,
        out: Matches | None = None,
        n_threads: int | None = None,
        timeout: float | None = None,
    ) -> Matches:
        """Return every stored item whose bucket is within `radius` bit flips of each query's.

        Exact: equals a linear scan. Each row is ordered by distance; `sort=True` orders all of it.

        Args:
            queries: `n_queries` codes with the index's lengths.
            radius: Largest accepted distance; 0 means identical buckets.
            min_precision: Instead of a radius: go as far as this share of all answers is similar
                to its query, by the calibration. May stop at a rank distance within a distance;
                then rows are sorted. The matches have a `precision`.
            similar_share: With `min_precision`, the share of similar ones among all pairs of a
                query and an item; by default it is estimated from distances between the items.
            sort: Order each row, equal distances too. Only then are rank bits compared, and
                `rank_distances` known.
            order: Of sorted rows: "nested" by distance, then rank distance, then id; "total" by
                the sum of both distances, then id. The same without rank bits. Strings go by the
                order of adding.
            allowed: Only these items: their ids, of which unknown ones are ignored, or a mask over
                `index.ids`.
            out: An earlier answer whose memory may be reused; it must not be used afterwards.
            n_threads: Threads to use; all cores by default.
            timeout: Seconds after which the search gives up; none by default.

        Raises:
            InvalidInputError: `queries` differ in length, `radius` is negative, or an `order` is
                given without `sort`; or the codes do not reach `min_precision`, or there is no
                calibration.
            SearchTimeout: The search took longer than `timeout`.

        Warns:
            DriftWarning: With `min_precision`: the distances between the items are not those that
                the calibration was made from.
        """
        if radius is None or min_precision is not None or similar_share is not None:
            return self._search_precision(
                queries,
                self._asked_for(radius, min_precision, similar_share),
                sort=sort,
                order=order,
                allowed=allowed,
                out=out,
                n_threads=n_threads,
                timeout=timeout,
            )
        # Comparisons instead of calls where arguments are plain: for a few queries at radius 0,
        # the calls would take as long as the search.
        if (
            type(queries) is not Codes
            or queries.n_bits != self._n_bits
            or queries.n_rank_bits != self._n_rank_bits
            or queries.signed is not self._signed
        ):
            self._check_codes(queries, "`queries`")
        if order != "nested":
            check_order(order, sort=sort)
        if type(radius) is not int or not 0 <= radius <= self._farthest:
            radius = min(checked_count("radius", radius, 0), self._farthest)
        if n_threads is None:
            n_threads = default_threads()
        elif type(n_threads) is not int or not 1 <= n_threads <= MAX_THREADS:
            n_threads = checked_threads("n_threads", n_threads)
        if timeout is not None:
            timeout = checked_timeout(timeout)
        state = self._state
        searcher = state.searcher if allowed is None else restricted(allowed, state)
        if out is not None:
            release(out)
        try:
            if sort and self._n_rank_bits:
                found = searcher.ranked_radius(
                    queries.words, queries.rank_words, radius, order == "total", n_threads, timeout
                )
            else:
                found = searcher.radius(queries.words, radius, bool(sort), n_threads, "", timeout)
        except _native.Timeout:
            raise SearchTimeout(timeout or 0) from None
        return state.matches(found)

    def _asked_for(
        self, radius: int | None, min_precision: float | None, similar_share: float | None
    ) -> tuple[Cut, float]:
        """Return how far to search, and the share of similar pairs."""
        if min_precision is None and radius is not None:
            raise InvalidInputError(
                "`similar_share` goes with `min_precision`, which is not given."
            )
        if min_precision is None or radius is not None:
            got = "none" if min_precision is None else "both"
            raise InvalidInputError(f"Give either `radius` or `min_precision`, got {got}.")
        return self._cut(min_precision, similar_share)

    def _search_precision(
        self,
        queries: Codes,
        asked_for: tuple[Cut, float],
        *,
        sort: bool,
        order: Order,
        allowed: npt.ArrayLike | None,
        out: Matches | None,
        n_threads: int | None,
        timeout: float | None,
    ) -> Matches:
        """Return the items as far as a cut."""
        cut, share = asked_for
        if cut.rank_distance == self._n_rank_bits:
            found = self.search_radius(
                queries,
                cut.distance,
                sort=sort,
                order=order,
                allowed=allowed,
                out=out,
                n_threads=n_threads,
                timeout=timeout,
            )
            return precision.rated(found, precision.needed(self._calibration), share)
        self._check_codes(queries, "`queries`")
        if order != "nested":
            check_order(order, sort=sort)
        n_threads = checked_threads("n_threads", n_threads)
        timeout = checked_timeout(timeout)
        state = self._state
        searcher = state.searcher if allowed is None else restricted(allowed, state)
        if out is not None:
            release(out)
        reach = cut.distance, cut.rank_distance, order == "total"
        try:
            answer = searcher.ranked_within(
                queries.words, queries.rank_words, *reach, n_threads, timeout
            )
        except _native.Timeout:
            raise SearchTimeout(timeout or 0) from None
        found = state.matches(answer)
        return precision.rated(found, precision.needed(self._calibration), share)

    def cut(self, min_precision: float, *, similar_share: float | None = None) -> Cut:
        """Return how far `search_radius` goes for a precision, and what it expects to find.

        Args:
            min_precision: The share of all answers that are similar to their query, greater than 0
                and at most 1.
            similar_share: As for `search_radius`.

        Raises:
            InvalidInputError: The codes do not reach that precision, or there is no calibration.

        Warns:
            DriftWarning: As `search_radius`.
        """
        return self._cut(min_precision, similar_share)[0]

    def with_precision(self, matches: Matches, *, similar_share: float | None = None) -> Matches:
        """Return matches of this index that say how likely each is similar to its query.

        Args:
            matches: What any search has found.
            similar_share: As for `search_radius`.

        Raises:
            InvalidInputError: There is no calibration.

        Warns:
            DriftWarning: As `search_radius`.
        """
        if not isinstance(matches, Matches):
            raise InvalidInputError(
                f"`matches` must be kinhash.Matches, got {type(matches).__name__}."
            )
        calibration = precision.needed(self._calibration)
        return precision.rated(matches, calibration, self._share(calibration, similar_share))

    def observe(self, queries: Codes | None = None) -> Observation:
        """Return what distances say: the share of similar pairs, and how far they have drifted.

        Args:
            queries: Of these to the items; by default between the items. A search that is given
                no `similar_share` takes the latter, so that its answers to a query do not depend
                on the others. Where queries are unlike the items, tell it the former.

        Raises:
            InvalidInputError: There is no calibration, `queries` differ in length, or there are
                fewer than two items or no queries.
        """
        calibration = precision.needed(self._calibration)
        if queries is not None:
            self._check_codes(queries, "`queries`")
        return precision.observed(self._state, calibration, self._kind, queries)

    def _cut(self, min_precision: float, similar_share: float | None) -> tuple[Cut, float]:
        calibration = precision.needed(self._calibration)
        check_number("min_precision", min_precision, 0, 1, open_low=True)
        share = self._share(calibration, similar_share)
        return calibration.cut(min_precision, similar_share=share), share

    def _share(self, calibration: Calibration, given: float | None) -> float:
        seen = precision.similar_share(self._state, calibration, self._kind)
        return seen if given is None else calibration.checked_share(given)

    def search_top_k(
        self,
        queries: Codes,
        k: int,
        *,
        order: Order = "nested",
        allowed: npt.ArrayLike | None = None,
        out: Matches | None = None,
        n_threads: int | None = None,
        timeout: float | None = None,
    ) -> Matches:
        """Return the `k` nearest items of each query, or all if there are fewer.

        Exact. `distances` are those of the buckets, whatever the order.

        Args:
            queries: `n_queries` codes with the index's lengths.
            k: How many, at least 1.
            order: What is near: "nested" by distance, then rank distance, then id; "total" by the
                sum of both distances, then id. Without rank bits both are by distance, then id.
                Strings go by the order of adding.
            allowed: Only these items: their ids, of which unknown ones are ignored, or a mask over
                `index.ids`.
            out: An earlier answer whose memory may be reused; it must not be used afterwards.
            n_threads: Threads to use; all cores by default.
            timeout: Seconds after which the search gives up; none by default.

        Raises:
            InvalidInputError: `queries` differ in length, `k` is not a positive integer, or there
                is no such `order`.
            SearchTimeout: The search took longer than `timeout`.
        """
        self._check_codes(queries, "`queries`")
        k = checked_count("k", k, 1)
        check_choice("order", order, ORDERS)
        n_threads = checked_threads("n_threads", n_threads)
        timeout = checked_timeout(timeout)
        state = self._state
        searcher = state.searcher if allowed is None else restricted(allowed, state)
        if out is not None:
            release(out)
        k = min(k, searcher.n_items())
        try:
            found = _nearest(searcher, queries, k, order, n_threads, timeout)
        except _native.Timeout:
            raise SearchTimeout(timeout or 0) from None
        return state.matches(found)

    def count_radius(
        self,
        queries: Codes,
        radius: int,
        *,
        allowed: npt.ArrayLike | None = None,
        n_threads: int | None = None,
        timeout: float | None = None,
    ) -> Integers:
        """Return how many items lie at each distance: int64, `(n_queries, radius + 1)`.

        A radius beyond the farthest that two buckets can be apart (their number of bits, or twice
        that when signed) is taken as that one.

        Raises:
            SearchTimeout: Counting took longer than `timeout` seconds.
        """
        self._check_codes(queries, "`queries`")
        radius = min(checked_count("radius", radius, 0), self._farthest)
        n_threads = checked_threads("n_threads", n_threads)
        timeout = checked_timeout(timeout)
        counts = np.zeros((len(queries), radius + 1), np.int64)
        state = self._state
        searcher = state.searcher if allowed is None else restricted(allowed, state)
        try:
            searcher.count(queries.words, counts, n_threads, "", timeout)
        except _native.Timeout:
            raise SearchTimeout(timeout or 0) from None
        return counts

    def explain(
        self,
        queries: Codes,
        *,
        radius: int | None = None,
        k: int | None = None,
        order: Order = "nested",
    ) -> str:
        """Return in words which structure answers, and how many codes it compares.

        Args:
            queries: What to search for.
            radius: Explain `search_radius` with this radius ...
            k: ... or `search_top_k` with this many ...
            order: ... in this order.
        """
        check_choice("order", order, ORDERS)
        if (radius is None) == (k is None):
            raise InvalidInputError("Give either `radius` or `k` to explain.")
        self._check_codes(queries, "`queries`")
        searcher = self._state.searcher
        if radius is not None:
            radius = min(checked_count("radius", radius, 0), self._farthest)
            counts = np.zeros((len(queries), radius + 1), np.int64)
            work, what = searcher.count(queries.words, counts, 1), f"Radius {radius}"
        else:
            k = min(checked_count("k", k, 1), searcher.n_items())
            work, what = {}, f"The {k} nearest"
            _nearest(searcher, queries, k, order, 1, None, work)
        return explain.in_words(
            work, what=what, n_queries=len(queries), n_codes=self.n_codes, n_items=len(self)
        )

    def iter_buckets(self) -> Iterator[tuple[Codes, Array]]:
        """Yield each different bucket, as Codes of length 1, with the ids that have it."""
        state = self._state
        segment = changes.merged(state.segments, self._wanted)
        words = segment.arrays["codes"].reshape(-1, segment.numbers["n_words"])
        offsets = segment.arrays["offsets"]
        codes = Codes(words, self.n_bits - self.n_rank_bits, signed=self.signed)
        for row, code in enumerate(codes):
            numbers = segment.ids[offsets[row] : offsets[row + 1]].astype(np.int64)
            yield code, state.called(numbers)

    def duplicates(self, radius: int = 0, *, linkage: Linkage = "star") -> Groups:
        """Return groups of two or more items; a link joins items whose buckets are near.

        Near is within `radius`. With "star", items are visited by most neighbours, counted once,
        then by lowest id; each that has no group yet takes its neighbours that have none. So every
        member is within `radius` of its representative. With "connected", groups are the connected
        components, whose members may be far apart.

        Args:
            radius: Largest distance of a link; 0 means identical buckets.
            linkage: "star" or "connected".

        Raises:
            InvalidInputError: `radius` is negative, or there is no such `linkage`.

        Warns:
            LargeGroupWarning: A group holds more than a hundredth of the items, and more than 10.
        """
        radius = min(checked_count("radius", radius, 0), self._farthest)
        check_choice("linkage", linkage, LINKAGES)
        state = self._state
        merged = changes.merged(state.segments, self._wanted)
        found = duplicates.groups(merged, radius, self._wanted, linkage)
        if state.names is None:
            return found
        names = (state.called(found.id), state.called(found.representative))
        return dataclasses.replace(found, id=names[0], representative=names[1])

    # Changing

    def add(self, codes: Codes, ids: npt.ArrayLike) -> None:
        """Store more items; the next search sees all of them.

        The cost is in proportion to what is added, amortised: small segments are merged into
        larger ones as they grow. An id that was removed may come back; a string is then the last
        in the order of adding.

        Raises:
            InvalidInputError: An id is stored already or given twice, or of another kind than those
                that are stored; then nothing changes.
        """
        self._check_codes(codes)
        checked = as_new_ids(ids, len(codes))
        with self._lock:
            self._state = changes.added(self._state, self._wanted, codes, checked)

    def remove(self, ids: npt.ArrayLike) -> None:
        """Drop items; the next search finds none of them.

        Raises:
            InvalidInputError: An id is not stored or given twice; then nothing changes.
        """
        checked = as_ids(ids)
        check_distinct(checked)
        with self._lock:
            self._state = changes.removed(self._state, self._wanted, checked)

    def update(self, codes: Codes, ids: npt.ArrayLike) -> None:
        """Replace the codes of items that are stored; no search sees half of the change.

        Strings keep their place in the order of adding.

        Raises:
            InvalidInputError: An id is not stored or given twice; then nothing changes.
        """
        self._check_codes(codes)
        checked = as_new_ids(ids, len(codes))
        with self._lock:
            self._state = changes.updated(self._state, self._wanted, codes, checked)

    def merge(self, other: "HammingIndex") -> None:
        """Store all items of another index, too, after its own; the next search sees all of them.

        Raises:
            InvalidInputError: Its codes have other lengths or were made by another encoder, or an
                id is in both; then nothing changes.
        """
        if not isinstance(other, HammingIndex):
            raise InvalidInputError(f"`other` must be a HammingIndex, got {type(other).__name__}.")
        if other.made_by not in (None, self._made_by) and self._made_by is not None:
            raise InvalidInputError(
                f"`other` was made by encoder {other.made_by}, but this index by {self._made_by}. "
                "Encode the items again with the same encoder."
            )
        ids = other.ids
        codes, checked = other.codes(ids), as_ids(ids)
        self._check_codes(codes, "the codes of `other`")
        with self._lock:
            self._state = changes.added(self._state, self._wanted, codes, checked)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, all or nothing: docs/formats.md specifies it.

        Raises:
            InvalidInputError: The folder does not exist or cannot be written.
        """
        segment, names = changes.numbered_anew(self._state, self._wanted)
        file.write(
            path,
            segment.arrays,
            segment.numbers,
            names=None if names is None else names.parts[0],
            n_bits=self.n_bits,
            n_rank_bits=self.n_rank_bits,
            signed=self.signed,
            memory=self.memory,
            made_by=self.made_by,
            calibration=self._calibration,
        )

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, mmap: bool = True, verify: bool | None = None
    ) -> Self:
        """Return the index in a file that `save` wrote.

        Changes are kept in memory; the file stays as it is until the next `save`.

        Args:
            path: The file.
            mmap: Leave the arrays in the file, whose pages are read as searches need them and
                shared between processes; `False` reads all into memory.
            verify: Check all content, which reads it once; by default for files below 256 MB.
                Without, a damaged file gives wrong answers at worst.

        Raises:
            InvalidInputError: There is no such file, or it cannot be read.
            FormatError: It is truncated, damaged, of another program, or of another format.
        """
        stored = file.read(path, mmap=mmap, verify=verify)
        segment = Segment(stored.arrays, stored.numbers, stored.segment, None)
        names = ("n_bits", "n_rank_bits", "signed", "memory", "made_by")
        kept = {name: stored.header[name] for name in names}
        index = cls.__new__(cls)
        kept |= {"names": Names.of(stored.names), "calibration": stored.calibration}
        index._set_up(segments=(segment,), **kept)  # noqa: SLF001 - its own class
        return index

    # Checks

    def _check_codes(self, codes: Codes, name: str = "`codes`") -> None:
        if (
            type(codes) is Codes
            and codes.n_bits == self._n_bits
            and codes.n_rank_bits == self._n_rank_bits
            and codes.signed == self._signed
        ):
            return
        check_are_codes(codes, name)
        none = Codes.from_dense(
            np.zeros((0, self._n_bits - self._n_rank_bits)),
            signed=self._signed,
            rank=np.zeros((0, self._n_rank_bits)) if self._n_rank_bits else None,
        )
        codes.check_comparable(none, name, "the index")


def _nearest(
    searcher: _native.Searcher,
    queries: Codes,
    k: int,
    order: Order,
    *limits: Any,  # noqa: ANN401 - threads, seconds, and a dict for the work done
) -> "_native.Answer":
    """Return the k nearest."""
    if not queries.n_rank_bits:
        return searcher.top_k(queries.words, k, *limits)
    return searcher.ranked_top_k(queries.words, queries.rank_words, k, order == "total", *limits)
