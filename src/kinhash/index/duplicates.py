"""Groups of duplicates: items with equal or similar codes."""

import dataclasses

import numpy as np

from kinhash import _native
from kinhash.arguments import default_threads
from kinhash.arrays import Array, Integers
from kinhash.index.memory import Structures
from kinhash.index.segments import Segment
from kinhash.linkage import Groups, Linkage, representatives, warn_if_large

QUERIES = 4096  # codes whose neighbours are found at a time


def groups(segment: Segment, radius: int, wanted: Structures, linkage: Linkage = "star") -> Groups:
    """Return groups of two or more ids; a link joins items whose codes are within `radius`.

    Args:
        segment: The items, all of which count.
        radius: Largest distance of a link.
        wanted: The structures to build for the search.
        linkage: How links make groups.
    """
    offsets = segment.arrays["offsets"].astype(np.int64)
    sizes = np.diff(offsets)
    words = segment.arrays["codes"].reshape(len(sizes), segment.numbers["n_words"])
    # Items of one code have the same neighbours, and the one of them that is visited first takes
    # all the others, or is taken together with them. So codes are linked, and pairs of items,
    # of which there may be very many, are never listed.
    lowest = np.minimum.reduceat(segment.ids, offsets[:-1]) if len(sizes) else segment.ids
    chosen = representatives(
        *_links(words, radius, wanted), len(sizes), linkage=linkage, weights=sizes, ranks=lowest
    )
    n_members = np.bincount(chosen, sizes, len(sizes)).astype(np.int64)
    warn_if_large(n_members, segment.n_items)
    codes = np.flatnonzero(n_members[chosen] > 1)
    n_before = np.cumsum(sizes[codes]) - sizes[codes]
    items = np.arange(sizes[codes].sum()) + np.repeat(offsets[codes] - n_before, sizes[codes])
    distances = np.bitwise_count(words[codes] ^ words[chosen[codes]]).sum(axis=1, dtype=np.int32)
    return Groups.of(
        segment.ids[items].astype(np.int64),
        np.repeat(lowest[chosen[codes]].astype(np.int64), sizes[codes]),
        distance=np.repeat(distances, sizes[codes]),
    )


def _links(words: Array, radius: int, wanted: Structures) -> tuple[Integers, Integers]:
    """Return all pairs of different codes within a radius, each once."""
    links = [np.zeros((2, 0), np.int64)]
    if radius > 0:
        # Codes as items, so that a pair of codes is found once and not once per pair of items.
        # With every code as a query, chunks pay, and they are not kept.
        wanted = dataclasses.replace(wanted, wide_chunks=True)
        searcher = _native.Searcher([Segment.build(words, None, wanted).native])
        for start in range(0, len(words), QUERIES):
            chunk = np.ascontiguousarray(words[start : start + QUERIES])
            answer = searcher.radius(chunk, radius, sort=False, n_threads=default_threads())
            starts, near, *_ = _native.answer_arrays(answer)
            rows = np.repeat(np.arange(start, start + len(chunk)), np.diff(starts))
            links.append(np.stack([rows, near])[:, rows < near])
    left, right = np.ascontiguousarray(np.concatenate(links, axis=1))
    return left, right
