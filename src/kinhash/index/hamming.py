"""`HammingIndex`: exact search over codes that come and go."""

import copy
import os
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from kinhash import _native
from kinhash.arguments import MAX_THREADS, check_choice, checked_threads, default_threads
from kinhash.arrays import Array, Bytes, Integers
from kinhash.codes import ORDERS, Codes, Order
from kinhash.errors import InvalidInputError, SearchTimeout
from kinhash.index import duplicates, explain, file
from kinhash.index import memory as settings
from kinhash.index.locks import ForkSafeLock
from kinhash.index.segments import Segment, State, packed_ranks, rank_words
from kinhash.linkage import LINKAGES, Groups, Linkage
from kinhash.matches import Matches

_LONGEST = 1e9  # seconds that a search may be given; the core's clock counts nanoseconds


class HammingIndex:
    """Finds every item within a Hamming radius, or the k nearest, exactly.

    Items that share a code share a bucket, so the work grows with the number of different codes
    near a query, not with the number of items. Rank bits of the codes, if they have any, take no
    part in that: they order what is found. Changes are visible to the next search; searches
    may run in several threads, beside one thread at a time that changes the index. An index can be
    copied and pickled; a copy takes no memory for what it shares with the original.

    Args:
        codes: The items' codes.
        ids: int64, any numbers, each once; 0, 1, 2, ... by default.
        memory: "lean" (codes, ids and a hash table), "balanced" (plus look-up tables of up to 48
            bytes per item) or "fast" (up to 512).
        made_by: Fingerprint of the encoder that made the codes, if known; kept in the file, so
            that `kinhash search` can refuse another model.

    Raises:
        InvalidInputError: The ids do not fit the codes, or repeat.

    Example:
        >>> codes = Codes.from_dense([[0, 1, 1], [0, 0, 1], [0, 1, 1]])
        >>> index = HammingIndex(codes, ids=[10, 20, 30])
        >>> matches = index.search_radius(codes[:1], radius=1)
        >>> matches.ids.tolist(), matches.distances.tolist()
        ([10, 30, 20], [0, 0, 1])
    """

    __slots__ = (
        "__weakref__",
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
    ) -> None:
        wanted = settings.structures(memory)
        _check_are_codes(codes, "`codes`")
        checked = None if ids is None else _checked_ids(ids, len(codes))
        if not isinstance(made_by, str | None):
            raise InvalidInputError(
                f"`made_by` must be a string or None, got {type(made_by).__name__}."
            )
        self._set_up(
            codes.n_bits,
            (Segment.build(codes.words, checked, wanted, _ranks(codes)),),
            signed=codes.signed,
            memory=memory,
            made_by=made_by,
            n_rank_bits=codes.n_rank_bits,
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
    ) -> None:
        self._wanted = settings.structures(memory)
        self._memory, self._made_by = memory, made_by
        self._n_bits, self._n_rank_bits, self._signed = n_bits, n_rank_bits, signed
        self._farthest = (n_bits - n_rank_bits) * (2 if signed else 1)
        self._lock = ForkSafeLock()
        self._state = State(segments)

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
    def n_codes(self) -> int:
        """How many different buckets are stored; an upper bound while changes are pending."""
        return sum(len(segment.arrays["offsets"]) - 1 for segment in self._state.segments)

    @property
    def n_bytes(self) -> int:
        """The size of all arrays."""
        return sum(
            array.nbytes for segment in self._state.segments for array in segment.arrays.values()
        )

    @property
    def ids(self) -> Integers:
        """All ids, in ascending order: int64."""
        return np.sort(np.concatenate([segment.alive_ids for segment in self._state.segments]))

    def __len__(self) -> int:
        return self._state.n_items

    def __contains__(self, item: object) -> bool:
        """Return whether an item of this id is stored."""
        if isinstance(item, (bool, np.bool_)) or not isinstance(item, (int, np.integer)):
            return False
        if not -(2**63) <= item < 2**63:
            return False
        ids = np.array([item], np.int64)
        return any(segment.positions(ids)[0] >= 0 for segment in self._state.segments)

    def codes(self, ids: npt.ArrayLike) -> Codes:
        """Return the codes of stored items, in the order of `ids`.

        Args:
            ids: `(n,)` integers; one may stand there several times.

        Raises:
            InvalidInputError: An id is not stored, or no integer.
        """
        wanted = _checked_integers(ids)
        segments = self._state.segments
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
            raise InvalidInputError(f"`ids` hold {wanted[missing][0]}, which is not in the index.")
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
        return {
            "n_bits": self._n_bits,
            "n_rank_bits": self._n_rank_bits,
            "segments": self._state.segments,
            "signed": self._signed,
            "memory": self._memory,
            "made_by": self._made_by,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set_up(**state)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        memo[id(self)] = copied = copy.copy(self)
        return copied

    # Searching

    def search_radius(
        self,
        queries: Codes,
        radius: int,
        *,
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
            sort: Order each row, equal distances too. Only then are rank bits compared, and
                `rank_distances` known.
            order: Of sorted rows: "nested" by distance, then rank distance, then id; "total" by
                the sum of both distances, then id. The same without rank bits.
            allowed: Only these items: their ids, of which unknown ones are ignored, or a mask over
                `index.ids`.
            out: An earlier answer whose memory may be reused; it must not be used afterwards.
            n_threads: Threads to use; all cores by default.
            timeout: Seconds after which the search gives up; none by default.

        Raises:
            InvalidInputError: `queries` differ in length, `radius` is negative, or an `order` is
                given without `sort`.
            SearchTimeout: The search took longer than `timeout`.
        """
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
            _check_order(order, sort=sort)
        if type(radius) is not int or not 0 <= radius <= self._farthest:
            radius = min(_checked_integer("radius", radius, 0), self._farthest)
        if n_threads is None:
            n_threads = default_threads()
        elif type(n_threads) is not int or not 1 <= n_threads <= MAX_THREADS:
            n_threads = checked_threads("n_threads", n_threads)
        if timeout is not None:
            timeout = _checked_timeout(timeout)
        searcher = self._state.searcher if allowed is None else self._restricted(allowed)
        if out is not None:
            _release(out)
        try:
            if sort and self._n_rank_bits:
                found = searcher.ranked_radius(
                    queries.words, queries.rank_words, radius, order == "total", n_threads, timeout
                )
            else:
                found = searcher.radius(queries.words, radius, bool(sort), n_threads, "", timeout)
        except _native.Timeout:
            raise SearchTimeout(timeout or 0) from None
        return Matches._of(found)  # noqa: SLF001 - an answer of the core

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
        k = _checked_integer("k", k, 1)
        check_choice("order", order, ORDERS)
        n_threads = checked_threads("n_threads", n_threads)
        timeout = _checked_timeout(timeout)
        searcher = self._state.searcher if allowed is None else self._restricted(allowed)
        if out is not None:
            _release(out)
        k = min(k, searcher.n_items())
        try:
            found = _nearest(searcher, queries, k, order, n_threads, timeout)
        except _native.Timeout:
            raise SearchTimeout(timeout or 0) from None
        return Matches._of(found)  # noqa: SLF001 - an answer of the core

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
        radius = min(_checked_integer("radius", radius, 0), self._farthest)
        n_threads = checked_threads("n_threads", n_threads)
        timeout = _checked_timeout(timeout)
        counts = np.zeros((len(queries), radius + 1), np.int64)
        searcher = self._state.searcher if allowed is None else self._restricted(allowed)
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
            radius = min(_checked_integer("radius", radius, 0), self._farthest)
            counts = np.zeros((len(queries), radius + 1), np.int64)
            work, what = searcher.count(queries.words, counts, 1), f"Radius {radius}"
        else:
            k = min(_checked_integer("k", k, 1), searcher.n_items())
            work, what = {}, f"The {k} nearest"
            _nearest(searcher, queries, k, order, 1, None, work)
        return explain.in_words(
            work, what=what, n_queries=len(queries), n_codes=self.n_codes, n_items=len(self)
        )

    def iter_buckets(self) -> Iterator[tuple[Codes, Integers]]:
        """Yield each different bucket, as Codes of length 1, with the ids that have it."""
        segment = self._merged(self._state.segments)
        words = segment.arrays["codes"].reshape(-1, segment.numbers["n_words"])
        offsets = segment.arrays["offsets"]
        codes = Codes(words, self.n_bits - self.n_rank_bits, signed=self.signed)
        for row, code in enumerate(codes):
            yield code, segment.ids[offsets[row] : offsets[row + 1]].astype(np.int64)

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
        radius = min(_checked_integer("radius", radius, 0), self._farthest)
        check_choice("linkage", linkage, LINKAGES)
        merged = self._merged(self._state.segments)
        return duplicates.groups(merged, radius, self._wanted, linkage)

    # Changing

    def add(self, codes: Codes, ids: npt.ArrayLike) -> None:
        """Store more items; the next search sees all of them.

        The cost is in proportion to what is added, amortised: small segments are merged into
        larger ones as they grow.

        Raises:
            InvalidInputError: An id is stored already or given twice; then nothing changes.
        """
        self._check_codes(codes)
        checked = _checked_ids(ids, len(codes))
        with self._lock:
            self._check_absent(checked)
            self._put(self._state.segments, codes, checked)

    def remove(self, ids: npt.ArrayLike) -> None:
        """Drop items; the next search finds none of them.

        Raises:
            InvalidInputError: An id is not stored or given twice; then nothing changes.
        """
        checked = _checked_ids(ids, None)
        with self._lock:
            self._state = State(self._without(checked))

    def update(self, codes: Codes, ids: npt.ArrayLike) -> None:
        """Replace the codes of items that are stored; no search sees half of the change.

        Raises:
            InvalidInputError: An id is not stored or given twice; then nothing changes.
        """
        self._check_codes(codes)
        checked = _checked_ids(ids, len(codes))
        with self._lock:
            self._put(self._without(checked), codes, checked)

    def _put(self, segments: tuple[Segment, ...], codes: Codes, ids: Array) -> None:
        """Make the given segments and the new items the state."""
        if not len(ids):
            return
        parts = [*segments, Segment.build(codes.words, ids, self._wanted, _ranks(codes))]
        # Sizes at least double from one to the one before: few segments, and each item is merged
        # about log n times.
        while len(parts) > 1 and parts[-2].n_alive < 2 * parts[-1].n_alive:
            parts[-2:] = [self._merged(tuple(parts[-2:]))]
        self._state = State(tuple(parts))

    def _without(self, ids: Array) -> tuple[Segment, ...]:
        left = np.ones(len(ids), bool)
        parts = []
        for segment in self._state.segments:
            items = segment.positions(ids)
            hit = items >= 0
            left &= ~hit
            part = segment.without(items[hit]) if hit.any() else segment
            if part.n_alive < (1 - settings.MANY_DEAD) * part.n_items:
                part = self._merged((part,))
            parts.append(part)
        if left.any():
            raise InvalidInputError(
                f"`ids` hold {ids[left][0]}, which is not in the index. Nothing was changed."
            )
        return tuple(part for part in parts if part.n_items) or (parts[0],)

    def _merged(self, segments: tuple[Segment, ...]) -> Segment:
        if len(segments) == 1 and segments[0].alive is None:
            return segments[0]
        contents = [segment.contents() for segment in segments]
        words, ids, ranks = (np.concatenate(parts) for parts in zip(*contents, strict=True))
        return Segment.build(words, ids, self._wanted, ranks)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, all or nothing: docs/formats.md specifies it.

        Raises:
            InvalidInputError: The folder does not exist or cannot be written.
        """
        segment = self._merged(self._state.segments)
        file.write(
            path,
            segment.arrays,
            segment.numbers,
            n_bits=self.n_bits,
            n_rank_bits=self.n_rank_bits,
            signed=self.signed,
            memory=self.memory,
            made_by=self.made_by,
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
        _check_are_codes(codes, name)
        none = Codes.from_dense(
            np.zeros((0, self._n_bits - self._n_rank_bits)),
            signed=self._signed,
            rank=np.zeros((0, self._n_rank_bits)) if self._n_rank_bits else None,
        )
        codes.check_comparable(none, name, "the index")

    def _check_absent(self, ids: Array) -> None:
        for segment in self._state.segments:
            stored = segment.positions(ids) >= 0
            if stored.any():
                raise InvalidInputError(
                    f"`ids` hold {ids[stored][0]}, which is in the index already. "
                    "Use update to replace it; nothing was changed."
                )

    def _restricted(self, allowed: npt.ArrayLike) -> _native.Searcher:
        """Return what searches the allowed items."""
        state = self._state
        ids = self._allowed_ids(allowed, state)
        items = [segment.positions(ids) for segment in state.segments]
        n_allowed = sum(int((found >= 0).sum()) for found in items)
        if n_allowed <= settings.FEW_ALLOWED * state.n_items:
            # A small index of their own costs less than looking at everything else.
            kept = [found[found >= 0] for found in items]
            parts = list(zip(state.segments, kept, strict=True))
            plain = settings.Structures(0, 0, groups=False, far=0.0, listed=0.0, budget=0.0)
            few = Segment.build(
                np.concatenate([segment.words_of(some) for segment, some in parts]),
                np.concatenate([ids[found >= 0] for found in items]),
                plain,
                np.concatenate([segment.ranks_of(some) for segment, some in parts]),
            )
            return _native.Searcher([few.native])
        restricted = []
        for segment, found in zip(state.segments, items, strict=True):
            alive = np.zeros(segment.n_items, bool)
            alive[found[found >= 0]] = True
            restricted.append(segment.restricted(alive))
        return _native.Searcher(restricted)

    def _allowed_ids(self, allowed: npt.ArrayLike, state: State) -> Array:
        array = np.asarray(allowed)
        if array.dtype == bool:
            if array.shape != (state.n_items,):
                raise InvalidInputError(
                    f"`allowed` as a mask must have shape ({state.n_items},), one per id in "
                    f"ascending order, got {array.shape}."
                )
            stored: Array = np.sort(np.concatenate([s.alive_ids for s in state.segments]))
            chosen: Array = stored[array]
            return chosen
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise InvalidInputError(
                f"`allowed` must be ids or a mask, got {array.dtype} of shape {array.shape}."
            )
        return np.unique(_fitting("`allowed`", array))


def _ranks(codes: Codes) -> Bytes:
    """Return the rank bits of codes as a segment takes them."""
    return packed_ranks(codes.rank_words, codes.n_rank_bits)


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


def _check_order(order: Order, *, sort: bool) -> None:
    check_choice("order", order, ORDERS)
    if not sort:
        raise InvalidInputError(f"`order` {order!r} needs sorted rows. Pass sort=True.")


def _check_are_codes(codes: Codes, name: str) -> None:
    if not isinstance(codes, Codes):
        raise InvalidInputError(
            f"{name} must be kinhash.Codes, got {type(codes).__name__}. "
            "Encode vectors with a model, or use Codes.from_dense."
        )


def _checked_timeout(timeout: float | None) -> float | None:
    if timeout is None:
        return None
    number = isinstance(timeout, (int, float, np.number)) and not isinstance(
        timeout, (bool, np.bool_)
    )
    if not number or not timeout > 0:
        raise InvalidInputError(f"`timeout` must be a positive number of seconds, got {timeout!r}.")
    return min(float(timeout), _LONGEST)


def _release(out: Matches) -> None:
    if not isinstance(out, Matches):
        raise InvalidInputError(f"`out` must be kinhash.Matches, got {type(out).__name__}.")
    out._release()  # noqa: SLF001 - its owner gives it up


def _checked_integer(name: str, value: int | None, low: int) -> int:
    if type(value) is int and value >= low:
        return value
    if (
        isinstance(value, (bool, np.bool_))
        or not isinstance(value, (int, np.integer))
        or value < low
    ):
        raise InvalidInputError(f"`{name}` must be an integer of at least {low}, got {value!r}.")
    return int(value)


def _fitting(name: str, array: Array) -> Array:
    """Return integers as int64, and refuse those that would become others."""
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise InvalidInputError(f"{name} must fit into int64, got {array.max()}.")
    return np.ascontiguousarray(array, np.int64)


def _checked_integers(ids: npt.ArrayLike) -> Array:
    array = np.asarray(ids)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InvalidInputError(
            f"`ids` must be integers, one per code, got {array.dtype} of shape {array.shape}."
        )
    return _fitting("`ids`", array)


def _checked_ids(ids: npt.ArrayLike, n: int | None) -> Array:
    """Return ids as int64, each once, `n` of them if given."""
    checked = _checked_integers(ids)
    if n is not None and len(checked) != n:
        raise InvalidInputError(f"`ids` has {len(checked)} entries for {n} codes.")
    if checked.size > 1 and not np.all(checked[1:] > checked[:-1]):
        ordered = np.sort(checked)
        twice = ordered[1:][ordered[1:] == ordered[:-1]]
        if twice.size:
            raise InvalidInputError(
                f"`ids` hold {twice[0]} twice. Give each item an id of its own."
            )
    return checked
