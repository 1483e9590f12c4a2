"""Groups of duplicates: the connected components of items with equal or similar codes."""

import dataclasses

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph

from kinhash import _native
from kinhash.arguments import default_threads
from kinhash.arrays import Array
from kinhash.index.memory import Structures
from kinhash.index.segments import Segment

QUERIES = 4096  # codes whose neighbours are found at a time


def groups(segment: Segment, radius: int, wanted: Structures) -> list[Array]:
    """Return the connected components of two or more ids; an edge joins codes within `radius`.

    Args:
        segment: The items, all of which count.
        radius: Largest distance of an edge.
        wanted: The structures to build for the search.
    """
    group_of = _components(segment, radius, wanted)
    # By group, the ids of one code after the other: sorting all items would take longer, and
    # nothing could interrupt it.
    codes = np.argsort(group_of, kind="stable")
    offsets = segment.arrays["offsets"].astype(np.int64)
    sizes = np.diff(offsets)
    n_before = np.cumsum(sizes[codes]) - sizes[codes]
    items = np.arange(segment.n_items) + np.repeat(offsets[codes] - n_before, sizes[codes])
    ids = segment.ids[items].astype(np.int64)
    ends = np.cumsum(np.bincount(group_of, sizes)).astype(np.int64)
    parts = np.split(ids, ends[:-1]) if len(ids) else []
    return sorted((np.sort(part) for part in parts if len(part) > 1), key=lambda part: int(part[0]))


def _components(segment: Segment, radius: int, wanted: Structures) -> Array:
    """Return the number of the component that each code belongs to."""
    n_codes = len(segment.arrays["offsets"]) - 1
    if radius == 0:
        return np.arange(n_codes)
    words = segment.arrays["codes"].reshape(n_codes, segment.numbers["n_words"])
    # Codes as items, so that a pair of codes is found once and not once per pair of items.
    # With every code as a query, chunks pay, and they are not kept.
    wanted = dataclasses.replace(wanted, wide_chunks=True)
    searcher = _native.Searcher([Segment.build(words, None, wanted).native])
    links = [np.zeros((2, 0), np.int64)]
    for start in range(0, n_codes, QUERIES):
        chunk = np.ascontiguousarray(words[start : start + QUERIES])
        answer = searcher.radius(chunk, radius, sort=False, n_threads=default_threads())
        starts, near, *_ = _native.answer_arrays(answer)
        rows = np.arange(start, start + len(chunk))
        links.append(np.stack([np.repeat(rows, np.diff(starts)), near]))
    left, right = np.concatenate(links, axis=1)
    graph = scipy.sparse.coo_array((np.ones(len(left), bool), (left, right)), (n_codes, n_codes))
    group_of: Array = scipy.sparse.csgraph.connected_components(graph, directed=False)[1]
    return group_of
