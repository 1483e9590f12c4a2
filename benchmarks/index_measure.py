"""Measures the index, or a peer beside it, in a process of its own.

What earlier work left behind in a process decides whether `malloc` hands out warm pages or asks
the system for fresh ones, and so up to half of a peer's time. So each peer starts in a new process,
as in a program that uses just this one; ours is built beside it, and the two take turns.

Queries come `AT_ONCE` in a call, so that answers stay in the processor's cache and `malloc` hands
out the same memory again: then it is the search that is measured. With all in one call (`large`),
answers of thousands of matches are bound by memory, and FAISS gets fresh pages for each.
"""

import concurrent.futures
import functools
import math
import multiprocessing
import os
import sys
import time

import index_peers
import index_sets
import numpy as np
from index_record import RADII, TOP, WIDE, WIDE_TOP

from kinhash import HammingIndex

N_CORES = os.cpu_count()
AT_ONCE = 64  # queries in a call, for each thread
SMALLEST = 0.02  # seconds; quicker calls are repeated
TOO_SLOW = 2.0  # seconds per query from which a peer is left out
SINGLE_UP_TO = 100_000  # items up to which queries are also asked one at a time
CHECKED = (
    1_000_000  # matches of a batch up to which each is compared, beyond which those of some rows
)
VISITS = 12  # times that each cell of a peer comes up, the runs spread among them
HOPELESS = 8.0  # times slower than the best peer, from which one thread is enough to know


def apart(function, *args):
    """Return what the function returns in a new process."""
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(function, *args).result()


def progress(text):
    """Say on stderr what is being done."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)


def clock(call, n=1):
    """Return the seconds of one call, as the mean of n."""
    start = time.perf_counter()
    for _ in range(n):
        call()
    return (time.perf_counter() - start) / n


class Turns:
    """Calls that take turns; the fewest seconds of each count. What is more is the machine's."""

    def __init__(self, calls):
        self.calls = calls
        self.runs = [math.ceil(SMALLEST / max(clock(call), 1e-6)) for call in calls]
        self.seconds = [math.inf for _ in calls]

    def take(self, repeats):
        """Let each run that often, and return the fewest seconds so far."""
        for _ in range(repeats):
            times = [clock(call, n) for call, n in zip(self.calls, self.runs, strict=True)]
            self.seconds = [min(pair) for pair in zip(self.seconds, times, strict=True)]
        return self.seconds


def batches(rows, n):
    """Return the rows in parts of n."""
    return [rows[start : start + n] for start in range(0, len(rows), n)]


def arrays(found):
    """Return the arrays of an answer, which are made as they are asked for: peers give theirs."""
    return found.offsets, found.ids, found.distances


class Ours:
    """The index with the faces of a peer; the previous answer's memory is used again."""

    def __init__(self, codeset):
        self.index = HammingIndex(codeset.items)
        self.queries = codeset.queries
        self.out = None

    def search(self, task, value, n_threads, queries=None):
        """Answer a batch; `queries` are all by default."""
        queries = self.queries if queries is None else queries
        search = self.index.search_radius if task == "range" else self.index.search_top_k
        self.out = search(queries, value, out=self.out, n_threads=n_threads)
        return self.out

    def search_all(self, task, value, n_threads, parts):
        """Answer one batch after the other."""
        for queries in parts:
            arrays(self.search(task, value, n_threads, queries))

    def fresh(self, task, value, n_threads, parts):
        """Answer one batch after the other, each into new memory."""
        search = self.index.search_radius if task == "range" else self.index.search_top_k
        for queries in parts:
            arrays(search(queries, value, n_threads=n_threads))

    def count(self, radius, n_threads, parts):
        """Count the matches of one batch after the other."""
        for queries in parts:
            self.index.count_radius(queries, radius, n_threads=n_threads)

    def single(self, queries, radius):
        """Answer some queries one at a time."""
        search = self.index.search_radius
        for query in queries:
            found = search(query, radius, n_threads=1)
            _ = found.ids, found.distances


# Checking


def keys(lims, ids, distances, rows):
    """Return (row, id, distance) of every match of some rows as one sorted number each."""
    parts = [slice(int(lims[row]), int(lims[row + 1])) for row in rows]
    ids = np.concatenate([np.asarray(ids[part], np.int64) for part in parts])
    distances = np.concatenate([np.asarray(distances[part], np.int64) for part in parts])
    row_of = np.repeat(np.arange(len(parts)), [part.stop - part.start for part in parts])
    return np.sort(row_of << 44 | ids << 12 | distances)


def sums(lims, ids, distances):
    """Return a number for each row that depends on all its ids and distances, in any order."""
    mixed = (np.asarray(ids, np.int64) + 1) * (2 * np.asarray(distances, np.int64) + 3)
    return np.diff(np.concatenate([[0], np.cumsum(mixed)])[np.asarray(lims, np.int64)])


def check_range(mine, answer, what):
    """Fail unless both answers agree: all counts and sums, and each match of up to `CHECKED`."""
    lims, distances, ids = answer
    ours, theirs = (mine.offsets, mine.ids, mine.distances), (lims, ids, distances)
    assert np.array_equal(mine.offsets, lims), f"{what}: numbers of matches differ from ours"
    assert np.array_equal(sums(*ours), sums(*theirs)), f"{what} differs from ours"
    rows = range(0, len(mine), 1 + len(mine.ids) // CHECKED)
    assert np.array_equal(keys(*ours, rows), keys(*theirs, rows)), f"{what} differs from ours"


def check_top_k(mine, answer, what, codeset, rows):
    """Fail unless distances are equal, and ids too but for ties at a row's last distance."""
    distances, ids = np.asarray(answer[0], np.int64), np.asarray(answer[1], np.int64)
    n, k = ids.shape
    wanted = mine.distances.reshape(n, k)
    assert np.array_equal(wanted, distances), f"{what}: distances differ from ours"
    inner = (wanted < wanted[:, -1:]).ravel()
    row_of = np.repeat(np.arange(n), k)
    ours, theirs = (row_of << 34 | found for found in (mine.ids, ids.ravel()))
    assert np.array_equal(np.sort(ours[inner]), np.sort(theirs[inner])), f"{what}: ids differ"
    asked, stored = codeset.queries.words[rows], codeset.items.words
    for tied in (ours[~inner], theirs[~inner]):
        assert len(np.unique(tied)) == len(tied), f"{what}: an id is found twice"
        row, item = tied >> 34, tied & ((1 << 34) - 1)
        true = np.bitwise_count(asked[row] ^ stored[item]).sum(axis=1)
        assert np.array_equal(true, wanted[row, -1]), f"{what}: a distance is wrong"


# In a process of its own


def values_of(codeset):
    """Return the radii and the k that are asked of a code set."""
    n = len(codeset.items)
    if codeset.name in WIDE:
        return {"range": (codeset.items.n_bits // 5,), "top_k": WIDE_TOP}
    return {"range": RADII, "top_k": tuple(k for k in TOP if k <= n)}


def measure_ours(folder, repeats):
    """Return what there is to know of a code set, and a cell per task, value and threads."""
    codeset = index_sets.load(folder)
    items, n_queries = codeset.items, len(codeset.queries)
    progress(f"{codeset.name}: ours among {len(items):,} items")
    ours = Ours(codeset)
    cells = []
    for task, value in [(task, v) for task, values in values_of(codeset).items() for v in values]:
        for n_threads in sorted({1, N_CORES}):
            counts = ours.search(task, value, n_threads).counts
            parts = batches(ours.queries, AT_ONCE * n_threads)
            calls = [
                functools.partial(ours.search_all, task, value, n_threads, parts),
                functools.partial(ours.fresh, task, value, n_threads, parts),
            ]
            if task == "range":
                calls.append(functools.partial(ours.count, value, n_threads, parts))
            micro = [1e6 * seconds / n_queries for seconds in Turns(calls).take(repeats)]
            explained = None
            if n_threads == 1:
                by = {"radius": value} if task == "range" else {"k": value}
                explained = ours.index.explain(ours.queries, **by)
            cell = {
                "task": task,
                "value": value,
                "n_threads": n_threads,
                "matches": float(counts.mean()),
                "ours_us": micro[0],
                "fresh_us": micro[1],
                "count_us": micro[2] if task == "range" else None,
                "explain": explained,
                "peers": [],
            }
            cells.append(cell)
            if task == "range" and n_threads == 1 and len(items) <= SINGLE_UP_TO:
                cells.append(
                    cell | {"task": "single", "fresh_us": None, "count_us": None, "peers": []}
                )
    return {
        "about": codeset.about,
        "n_items": len(items),
        "n_queries": n_queries,
        "n_unique": ours.index.n_codes,
        "mean_active": float(items.n_active.mean()),
        "n_bits": items.n_bits,
        "signed": items.signed,
        "cells": cells,
    }


def measure_peer(folder, number, options, known):
    """Return a list of (task, value, n_threads, what was measured) of one peer beside ours.

    Args:
        folder: Where the code set is.
        number: Which of the peers; beyond the last, the answer is None.
        options: `repeats`, runs of each kind, and `budget`, seconds for each task and value.
        known: By task and value the fastest peer's microseconds so far, on one thread.
    """
    codeset = index_sets.load(folder)
    builders = index_peers.builders(codeset.items)
    if number >= len(builders):
        return None
    return Beside(codeset, builders[number](), options, known).run()


class Cell:
    """A peer and ours at one task, over and over."""

    def __init__(self, key, calls, about, prepare):
        self.key, self.about, self.prepare = key, about, prepare
        self.turns = Turns(calls)

    def visit(self, repeats):
        """Measure some more; return the peer's microseconds for a query so far."""
        self.prepare()
        ours, theirs = self.turns.take(repeats)
        n_queries = self.about["n_queries"]
        self.about |= {
            "us": 1e6 * theirs / n_queries,
            "ours_us": 1e6 * ours / n_queries,
            "ratio": theirs / ours,
        }
        return self.about["us"]


class Beside:
    """A peer and ours at all that the peer can do."""

    def __init__(self, codeset, peer, options, known):
        self.codeset, self.peer, self.known = codeset, peer, known
        self.repeats, self.budget = options.repeats, options.budget
        self.bytes = codeset.queries.to_bytes()
        self.ours = Ours(codeset)
        self.cells = []

    def run(self):
        """Measure, and return what was found.

        The runs of a cell are not all in one go: when other programs keep the machine busy, they
        do so for longer than a cell takes.
        """
        n_items, values = len(self.codeset.items), values_of(self.codeset)
        promising = []
        for task in self.peer.tasks:
            for value in values[task]:
                progress(f"{self.codeset.name}: {self.peer.name}, {task} {value}")
                us = self._compare(task, value, 1)
                best = self.known.get((task, value), math.inf)
                if us is None or us > HOPELESS * best:
                    continue  # more threads, or single queries, will not change the order
                promising.append((task, value))
                if N_CORES > 1:
                    self._compare(task, value, N_CORES)
                if task == "range" and n_items <= SINGLE_UP_TO:
                    self._compare_single(value)
        self._visit_again(self.cells)
        # Last, because large answers change what malloc does from then on.
        before = len(self.cells)
        for task, value in promising:
            if task == "range":
                self._compare(task, value, 1, large=True)
        self._visit_again(self.cells[before:])
        return [(*cell.key, cell.about) for cell in self.cells]

    def _visit_again(self, cells):
        for visit in range(1, VISITS):
            progress(f"{self.codeset.name}: {self.peer.name}, visit {visit + 1} of {VISITS}")
            for cell in cells:
                if cell.about["us"] is not None:
                    cell.visit(self._repeats_in(visit))

    def _repeats_in(self, visit):
        return self.repeats // VISITS + (visit < self.repeats % VISITS)

    def _compare(self, task, value, n_threads, *, large=False):
        index_peers.set_threads(n_threads)
        peer, setting = self.peer, None
        mine = self.ours.search(task, value, n_threads)
        order = np.argsort(mine.counts, kind="stable")
        if isinstance(peer, index_peers.IVF):
            wanted = mine.distances.reshape(-1, value)
            index_peers.set_threads(N_CORES)
            setting = peer.tune(self.bytes, value, wanted, lambda call: clock(call, 2))

        def prepare():
            index_peers.set_threads(n_threads)
            if setting:
                peer.use(setting)

        prepare()
        key = (task, value, n_threads)
        rows = self._affordable(task, value, n_threads, order)
        if rows is None:
            return self._add(key, None, 0, prepare, setting=setting, large=large)
        what = f"{self.codeset.name}: {peer.name}, {task} {value}, {n_threads} threads"
        parts = batches(rows, len(rows) if large else AT_ONCE * n_threads)
        asked = [np.ascontiguousarray(self.bytes[part]) for part in parts]
        queries = [self.ours.queries[part] for part in parts]
        search = getattr(peer, task)
        for part, theirs, own in zip(parts, asked, queries, strict=True):
            answer = search(theirs, value, n_threads)
            mine = self.ours.search(task, value, n_threads, own)
            if task == "range":
                check_range(mine, answer, what)
            elif not peer.name.startswith(index_peers.ROUNDED):
                check_top_k(mine, answer, what, self.codeset, part)

        def theirs():
            for part in asked:
                search(part, value, n_threads)

        own = functools.partial(self.ours.search_all, task, value, n_threads, queries)
        return self._add(key, (own, theirs), len(rows), prepare, setting=setting, large=large)

    def _affordable(self, task, value, n_threads, order):
        """Return the rows of as many queries as the budget allows; None if not even a few."""
        few = order[np.linspace(0, len(order) - 1, 4).astype(int)]
        asked = np.ascontiguousarray(self.bytes[few])
        each = clock(lambda: getattr(self.peer, task)(asked, value, n_threads)) / len(few)
        if each > TOO_SLOW:
            return None
        # Queries differ; and FAISS uses several threads for larger batches only.
        least = 4 if each > 0.01 else 128
        n = np.clip(int(self.budget / self.repeats / each), least, len(order))
        return np.sort(order[np.linspace(0, len(order) - 1, n).astype(int)])

    def _compare_single(self, radius):
        index_peers.set_threads(1)
        counts = self.ours.search("range", radius, 1).counts
        rows = self._affordable("range", radius, 1, np.argsort(counts, kind="stable"))
        if rows is None:
            return
        asked = [np.ascontiguousarray(self.bytes[row : row + 1]) for row in rows]

        def theirs():
            search = self.peer.range
            for query in asked:
                search(query, radius, 1)

        own = functools.partial(self.ours.single, list(self.ours.queries[rows]), radius)
        prepare = functools.partial(index_peers.set_threads, 1)
        self._add(("single", radius, 1), (own, theirs), len(rows), prepare)

    def _add(self, key, calls, n_queries, prepare, *, setting=None, large=False):
        """Note a cell and visit it; without calls, that it takes too long."""
        about = {
            "name": self.peer.name,
            "setting": setting,
            "large": large,
            "us": None,
            "ours_us": None,
            "ratio": None,
            "n_queries": int(n_queries),
        }
        self.cells.append(Cell(key, calls or (), about, prepare))
        return self.cells[-1].visit(self._repeats_in(0)) if calls else None
