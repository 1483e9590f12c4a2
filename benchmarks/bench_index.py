"""How fast is exact search? Against FAISS, usearch and NumPy on the same codes.

    python benchmarks/bench_index.py [--quick] [--only real,clustered1m] [--huge] [--repeats 5]

Prints one table and writes benchmarks/results/index.json; draw it with plot_index.py and write
README.md with render.py. With --only, the other code sets of an earlier record stay in it.

How it is measured
- Each peer is built, checked, measured and freed before the next. Its answers must equal ours (the
  same ids and distances in every row; at the last distance of a top-k any of the tied ids) before
  a time is taken. Beyond a million matches, rows are compared by counts and sums, some in full.
- Ours and the peer's runs alternate; times are medians, and a ratio is of the two medians of one
  alternation: only ratios mean anything.
- Ours gets 1,000 queries at a time, and `out=` the previous answer, as a user who cares would;
  FAISS allocates its own results. `fresh` in the record is ours without `out=`.
- A peer more than 8 times slower than another on one thread is not tried on all cores.
- A slow peer gets fewer queries, as many as fit the time budget, spread evenly over the numbers of
  matches, and ours is then timed with the same ones. Time per query is what counts.
- Ids are 8 bytes and distances 4 on both sides. FAISS and usearch give some distances as float32;
  they are not converted.
- The best peer of a cell is the one with the lowest time per query. `±` in the table (`spread`) is
  our slowest median over our fastest in the cell's alternations: far above 1, the machine was busy
  and the cell says little.
- The index is `HammingIndex(codes)` with its default memory setting.
"""

import argparse
import contextlib
import datetime as dt
import functools
import gc
import importlib.metadata
import json
import math
import os
import platform
import statistics
import sys
import time
from pathlib import Path

import faiss
import index_peers
import index_sets
import numpy as np

from kinhash import HammingIndex, _native

RESULTS = Path(__file__).parent / "results"
SETS = (
    "real",
    "real-fine",
    "real-signed",
    "clustered100k",
    "clustered1m",
    "clustered10m",
    "uniform1m",
    "dense1m",
)
QUICK = ("real", "clustered100k", "uniform100k", "dense100k")
HUGE = ("clustered50m",)  # ours alone: how it grows

RADII = (0, 1, 2, 3)
TOP = (10, 100, 5000)
N_CORES = os.cpu_count()
SMALLEST = 0.01  # seconds; quicker calls are repeated
TOO_SLOW = 2.0  # seconds per query from which a peer is left out
SINGLE_UP_TO = 100_000  # items up to which queries are also asked one at a time
BUILD_ROUNDS = 3
CHECKED = (
    1_000_000  # matches of a batch up to which each is compared, beyond which those of some rows
)
HOPELESS = 8.0  # times slower than the best peer, from which one thread is enough to know


# Goals: (must, aim) of a ratio, by radius or k


def goals(name, kind):
    """Return what the ratios of one kind of row must and should reach, by radius or k."""
    if name.startswith(("uniform", "dense")) and kind in {"best range", "best top_k"}:
        return dict.fromkeys((*RADII, *TOP), (1.5, 5))
    family = "real" if name.startswith("real") else name
    musts, aims = {
        ("real", "range"): ((20, 12, 20, 12), (30, 20, 35, 20)),
        ("clustered1m", "range"): ((8, 15, 45, 55), (15, 25, 80, 90)),
        ("clustered10m", "range"): ((8, 14, 28, 90), (12, 22, 50, 150)),
        ("real", "unique"): ((5,) * 4, (8,) * 4),
        ("clustered1m", "unique"): ((2,) * 4, (5,) * 4),
        ("real", "single"): ((12, 18, 25, 16), (20, 30, 40, 25)),
        ("clustered1m", "flat"): ((1000, 400, 18), (1600, 600, 40)),
        ("clustered1m", "ivf"): ((10, 8, 8), (20, 15, 20)),
    }.get((family, kind), ((), ()))
    values = TOP if kind in {"flat", "ivf"} else RADII
    return dict(zip(values, zip(musts, aims, strict=True), strict=False))


LEAN_BYTES = (8.5, 7)
BUILD_OVER_HASH = (0.5, 0.2)


# Measuring


def progress(text):
    """Say on stderr what is being done."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)


def clock(call, n=1):
    """Return the seconds of one call, as the mean of n."""
    start = time.perf_counter()
    for _ in range(n):
        call()
    return (time.perf_counter() - start) / n


def alternate(calls, repeats):
    """Return the median seconds of each call; they take turns."""
    runs = [math.ceil(SMALLEST / max(clock(call), 1e-6)) for call in calls]
    times = [[clock(call, n) for call, n in zip(calls, runs, strict=True)] for _ in range(repeats)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


class Ours:
    """The index with the faces of a peer; the previous answer's memory is used again."""

    def __init__(self, codeset):
        self.index = HammingIndex(codeset.items)
        self.queries = codeset.queries
        self.one_by_one = list(codeset.queries)
        self.out = None

    def search(self, task, value, n_threads, queries=None):
        """Answer a batch; `queries` are all by default."""
        queries = self.queries if queries is None else queries
        search = self.index.search_radius if task == "range" else self.index.search_top_k
        self.out = search(queries, value, out=self.out, n_threads=n_threads)
        return self.out

    def fresh(self, task, value, n_threads):
        """Answer all queries into new memory."""
        search = self.index.search_radius if task == "range" else self.index.search_top_k
        search(self.queries, value, n_threads=n_threads)

    def single(self, rows, radius):
        """Answer some queries one at a time."""
        for row in rows:
            self.index.search_radius(self.one_by_one[row], radius, n_threads=1)


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


# One code set


class Bench:
    """Measures one code set; `cells` holds a dictionary per task, value and number of threads."""

    def __init__(self, codeset, repeats, budget):
        self.codeset, self.repeats, self.budget = codeset, repeats, budget
        self.n = len(codeset.items)
        self.bytes = codeset.queries.to_bytes()
        progress(f"{codeset.name}: building the index of {self.n:,} items")
        self.ours = Ours(codeset)
        self.cells = {}
        tops = tuple(k for k in TOP if k <= self.n)
        for task, value in [*(("range", r) for r in RADII), *(("top_k", k) for k in tops)]:
            for n_threads in sorted({1, N_CORES}):
                self._ours_alone(task, value, n_threads)
        self.values = {"range": RADII, "top_k": tops}

    def _ours_alone(self, task, value, n_threads):
        ours, n_queries = self.ours, len(self.bytes)
        ours.search(task, value, n_threads)
        calls = [
            functools.partial(ours.search, task, value, n_threads),
            functools.partial(ours.fresh, task, value, n_threads),
        ]
        if task == "range":
            count = functools.partial(ours.index.count_radius, n_threads=n_threads)
            calls.append(functools.partial(count, ours.queries, value))
        micro = [1e6 * seconds / n_queries for seconds in alternate(calls, self.repeats)]
        explained = {"radius": value} if task == "range" else {"k": value}
        counts = ours.search(task, value, n_threads).counts
        self.cells[task, value, n_threads] = {
            "task": task,
            "value": value,
            "n_threads": n_threads,
            "matches": float(counts.mean()),
            "by_matches": np.argsort(counts, kind="stable"),  # dropped before it is written
            "ours_us": micro[0],
            "fresh_us": micro[1],
            "count_us": micro[2] if task == "range" else None,
            "explain": ours.index.explain(ours.queries, **explained) if n_threads == 1 else None,
            "peers": [],
        }
        if task == "range" and n_threads == 1 and self.n <= SINGLE_UP_TO:
            cell = self.cells[task, value, 1]
            self.cells["single", value, 1] = cell | {"task": "single", "peers": []}

    def compare(self, build):
        """Build one peer and measure all that it can do."""
        peer = build()
        for task in peer.tasks:
            for value in self.values[task]:
                progress(f"{self.codeset.name}: {peer.name}, {task} {value}")
                self._compare(peer, task, value, 1)
                if N_CORES > 1 and not self._hopeless(peer, task, value):
                    self._compare(peer, task, value, N_CORES)
                if ("single", value, 1) in self.cells and task == "range":
                    self._compare_single(peer, value)

    def _hopeless(self, peer, task, value):
        """Whether other peers are so much faster that more threads will not change the order."""
        ratios = {p["name"]: p["ratio"] for p in self.cells[task, value, 1]["peers"] if p["us"]}
        return ratios.get(peer.name, math.inf) > HOPELESS * min(ratios.values(), default=math.inf)

    def _compare(self, peer, task, value, n_threads):
        cell = self.cells[task, value, n_threads]
        index_peers.set_threads(n_threads)
        setting = None
        if isinstance(peer, index_peers.IVF):
            mine = self.ours.search(task, value, n_threads)
            wanted = mine.distances.reshape(-1, value)
            index_peers.set_threads(N_CORES)
            setting = peer.tune(self.bytes, value, wanted, lambda call: clock(call, 2))
            index_peers.set_threads(n_threads)
        rows = self._affordable(peer, task, value, n_threads, cell["by_matches"])
        if rows is None:
            cell["peers"].append({"name": peer.name, "us": None, "n_queries": 0})
            return
        what = f"{self.codeset.name}: {peer.name}, {task} {value}, {n_threads} threads"
        asked = np.ascontiguousarray(self.bytes[rows])
        search = functools.partial(getattr(peer, task), asked, value, n_threads)
        queries = self.ours.queries[rows]
        mine = self.ours.search(task, value, n_threads, queries)
        if task == "range":
            check_range(mine, search(), what)
        elif not peer.name.startswith(index_peers.ROUNDED):
            check_top_k(mine, search(), what, self.codeset, rows)
        own = functools.partial(self.ours.search, task, value, n_threads, queries)
        ours, theirs = alternate([own, search], self.repeats)
        self._add(cell, peer, ours / len(rows), theirs / len(rows), len(rows), setting=setting)

    def _affordable(self, peer, task, value, n_threads, order):
        """Return the rows of as many queries as the budget allows; None if not even a few."""
        few = order[np.linspace(0, len(order) - 1, 4).astype(int)]
        asked = np.ascontiguousarray(self.bytes[few])
        each = clock(lambda: getattr(peer, task)(asked, value, n_threads)) / len(few)
        if each > TOO_SLOW:
            return None
        least = 4 if n_threads == 1 or each > 0.01 else 128  # FAISS splits larger batches only
        n = np.clip(int(self.budget / self.repeats / each), least, len(order))
        return np.sort(order[np.linspace(0, len(order) - 1, n).astype(int)])

    def _compare_single(self, peer, radius):
        if self._hopeless(peer, "range", radius):
            return
        index_peers.set_threads(1)
        cell = self.cells["single", radius, 1]
        rows = self._affordable(peer, "range", radius, 1, cell["by_matches"])
        if rows is None:
            return
        asked = [np.ascontiguousarray(self.bytes[row : row + 1]) for row in rows]

        def theirs():
            for query in asked:
                peer.range(query, radius, 1)

        own = functools.partial(self.ours.single, rows, radius)
        times = alternate([own, theirs], self.repeats)
        self._add(cell, peer, times[0] / len(rows), times[1] / len(rows), len(rows))

    @staticmethod
    def _add(cell, peer, ours, theirs, n_queries, *, setting=None):
        cell["peers"].append(
            {
                "name": peer.name,
                "setting": setting,
                "us": 1e6 * theirs,
                "ours_us": 1e6 * ours,
                "ratio": theirs / ours,
                "n_queries": int(n_queries),
            }
        )

    def record(self):
        """Return all that was measured."""
        cells = [dict(cell) for cell in self.cells.values()]
        for cell in cells:
            del cell["by_matches"]
            if cell["task"] == "single" and cell["peers"]:
                cell["ours_us"] = statistics.median(peer["ours_us"] for peer in cell["peers"])
                cell["fresh_us"] = cell["count_us"] = None
        items = self.codeset.items
        return {
            "about": self.codeset.about,
            "n_items": self.n,
            "n_queries": len(self.bytes),
            "n_unique": self.ours.index.n_codes,
            "mean_active": float(items.n_active.mean()),
            "n_bits": items.n_bits,
            "signed": items.signed,
            "cells": cells,
        }


def sizes(codeset):
    """Return the bytes per item of each memory setting, and the seconds to build."""
    items, data, n = codeset.items, codeset.items.to_bytes(), len(codeset.items)
    per_item = {}

    def build(memory):
        per_item[memory] = HammingIndex(items, memory=memory).n_bytes / n

    calls = {f"ours, {m}": functools.partial(build, m) for m in ("lean", "balanced")}
    for b in index_peers.HASH_BITS if codeset.name not in HUGE else ():
        calls[f"Hash, b = {b}"] = functools.partial(index_peers.filled_hash, data, b)
    times = {name: [] for name in calls}
    for _ in range(BUILD_ROUNDS):
        for name, call in calls.items():
            progress(f"{codeset.name}: building {name}")
            times[name].append(clock(call))
    build("fast")
    medians = {name: statistics.median(seconds) for name, seconds in times.items()}
    return {"bytes_per_item": per_item, "build_seconds": medians}


def measured(name, options):
    """Return the record of one code set."""
    progress(f"{name}: drawing codes")
    codeset = index_sets.make(name)
    bench = Bench(codeset, options.repeats, options.budget)
    if name not in HUGE:
        for build in index_peers.builders(codeset.items):
            bench.compare(build)
            gc.collect()
    record = bench.record()
    del bench
    gc.collect()
    rest = {"machine": machine(options), "sizes": sizes(codeset)}
    return record | rest


# The table


def table(sets):
    """Return a dictionary per row: each ratio beside what it must and should reach."""
    rows = []
    for name, record in sets.items():
        cells = {(c["task"], c["value"], c["n_threads"]): c for c in record["cells"]}
        for (task, value, n_threads), cell in cells.items():
            if n_threads == 1:
                every = cells.get((task, value, N_CORES))
                rows += [
                    row
                    for kind in KINDS[task]
                    if (row := _row(name, kind, value, cell, every)) is not None
                ]
        rows += _size_rows(name, record)
    order = {kind: i for i, kind in enumerate(ABOUT)}
    return sorted(rows, key=lambda row: (list(sets).index(row["set"]), order[row["kind"]]))


KINDS = {
    "range": ("range", "unique", "best range"),
    "single": ("single",),
    "top_k": ("flat", "ivf", "best top_k"),
}
ABOUT = {
    "range": "range against the best index over items",
    "unique": "range against FAISS over unique codes + NumPy",
    "single": "one query at a time from Python",
    "flat": "top k against Flat without heap",
    "ivf": "top k against IVF at recall 1.000",
    "best range": "range against the best of all",
    "best top_k": "top k against the best of all",
    "bytes": "lean index, bytes per item",
    "build": "build, time over the add of the IndexBinaryHash that is fastest at r = 0, 1, 2",
    "build, least": "build, time over the fastest add of any IndexBinaryHash",
}


def _rivals(kind, cell):
    """Return the peers of a cell that one kind of row compares with."""
    belongs = {
        "range": lambda name: not name.startswith(index_peers.UNIQUE),
        "unique": lambda name: name.startswith(index_peers.UNIQUE),
        "single": lambda name: not name.startswith(index_peers.UNIQUE),
        "flat": lambda name: name == "Flat, no heap",
        "ivf": lambda name: name.startswith("IVF"),
    }.get(kind, lambda name: not name.startswith(index_peers.ROUNDED))
    return [peer for peer in cell["peers"] if peer["us"] is not None and belongs(peer["name"])]


def _row(name, kind, value, cell, every):
    uneasy = name.startswith(("uniform", "dense"))
    if kind == "best range" and not uneasy:  # "range" and "unique" say it already
        return None
    if kind in {"range", "unique", "flat", "ivf"} and uneasy:  # "best ..." covers all
        return None
    rivals = _rivals(kind, cell)
    if not rivals:
        return None
    # The fastest peer, not the lowest ratio: that would pick the run in which ours was disturbed.
    best = min(rivals, key=lambda peer: peer["us"])
    others = _rivals(kind, every) if every else []
    fastest = min(others, key=lambda peer: peer["us"], default=None)
    own = [peer["ours_us"] for peer in cell["peers"] if peer["us"] is not None]
    must, aim = goals(name, kind).get(value, (None, None))
    return {
        "set": name,
        "kind": kind,
        "value": value,
        "matches": cell["matches"],
        "ours": best["ours_us"],
        "peer": best["name"],
        "theirs": best["us"],
        "ratio": best["ratio"],
        "all_cores": fastest and fastest["ratio"],
        "spread": max(own) / min(own),
        "must": must,
        "aim": aim,
        "reached": None if must is None else bool(best["ratio"] >= must),
    }


def _fastest_to_search(record, names):
    """Return which of the peers has the lowest geometric mean of times at r = 0, 1, 2."""

    def mean(name):
        return statistics.geometric_mean(
            next((p["us"] for p in cell["peers"] if p["name"] == name and p["us"]), math.inf)
            for cell in record["cells"]
            if cell["task"] == "range" and cell["n_threads"] == 1 and cell["value"] <= 2
        )

    return min(names, key=mean)


def _size_rows(name, record):
    sizes = record["sizes"]
    goal_of = dict.fromkeys(("bytes", "build", "build, least"), (None, None))
    if name in {"clustered1m", "clustered10m"}:
        goal_of["bytes"] = LEAN_BYTES
    if name == "clustered10m":
        goal_of["build"] = goal_of["build, least"] = BUILD_OVER_HASH
    build = sizes["build_seconds"]
    hashes = {key: seconds for key, seconds in build.items() if key.startswith("Hash")}
    rows = [("bytes", sizes["bytes_per_item"]["lean"], None, None, None)]
    if hashes:
        ours = build["ours, balanced"]
        for kind, peer in (
            ("build", _fastest_to_search(record, hashes)),
            ("build, least", min(hashes, key=hashes.get)),
        ):
            rows.append((kind, ours / hashes[peer], peer, 1e6 * ours, 1e6 * hashes[peer]))
    return [
        {
            "set": name,
            "kind": kind,
            "value": None,
            "matches": None,
            "ours": ours,
            "peer": peer,
            "theirs": theirs,
            "ratio": ratio,
            "all_cores": None,
            "spread": None,
            "must": goal_of[kind][0],
            "aim": goal_of[kind][1],
            "reached": None if goal_of[kind][0] is None else bool(ratio <= goal_of[kind][0]),
        }
        for kind, ratio, peer, ours, theirs in rows
    ]


def show(number):
    """Return a number with three digits, or a dash."""
    if number is None:
        return "-"
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


def print_table(rows):
    """Print the rows, aligned."""
    lines = [
        (
            "set",
            "cell",
            "matches",
            "ours, us",
            "peer, us",
            "ratio",
            "must",
            "aim",
            "",
            "all",
            "±",
            "by",
        )
    ]
    for row in rows:
        kind = row["kind"]
        at = {"range": "r", "unique": "r", "single": "r", "best range": "r"}.get(kind, "k")
        cell = kind if row["value"] is None else f"{kind}, {at} = {row['value']}"
        mark = {None: "", True: "✓", False: "✗"}[row["reached"]]
        numbers = [row[key] for key in ("matches", "ours", "theirs", "ratio", "must", "aim")]
        last = (mark, show(row["all_cores"]), show(row["spread"]), row["peer"] or "-")
        lines.append((row["set"], cell, *map(show, numbers), *last))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = [
            text.ljust(width) if i in {0, 1, 11} else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(padded).rstrip())


# The record


def machine(options):
    """Return what the times depend on besides the code."""
    cpu = platform.processor()
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        cpu = next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), cpu)
    packages = ("kinhash", "numpy", "faiss-cpu", "usearch")
    return {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "cpu": cpu,
        "n_cores": N_CORES,
        "instruction_set": _native.instruction_set(),
        "faiss_options": faiss.get_compile_options().strip(),
        "python": platform.python_version(),
        "versions": {package: importlib.metadata.version(package) for package in packages},
        "repeats": options.repeats,
        "budget": options.budget,
    }


def parse():
    """Return the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help=f"only {', '.join(QUICK)}, roughly")
    parser.add_argument("--only", help="code sets, separated by commas")
    parser.add_argument("--huge", action="store_true", help=f"also {', '.join(HUGE)}, ours alone")
    parser.add_argument("--repeats", type=int, help="runs of each kind (default 7; quick: 3)")
    parser.add_argument("--budget", type=float, help="seconds per peer and cell (2; quick: 0.1)")
    parser.add_argument("--out", type=Path, help="the record (default results/index.json)")
    options = parser.parse_args()
    options.repeats = options.repeats or (3 if options.quick else 7)
    options.budget = options.budget or (0.1 if options.quick else 2.0)
    name = "index-quick.json" if options.quick else "index.json"
    options.out = options.out or RESULTS / name
    return options


def main():
    """Measure, print the table, write the record."""
    options = parse()
    names = QUICK if options.quick else SETS
    names = tuple(options.only.split(",")) if options.only else names
    names += HUGE if options.huge else ()
    sets = {}
    if options.only and options.out.exists():
        sets = json.loads(options.out.read_text(encoding="utf-8"))["sets"]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for name in names:
        sets[name] = measured(name, options)
        known = {name: i for i, name in enumerate(dict.fromkeys((*SETS, *HUGE, *QUICK)))}
        sets = dict(sorted(sets.items(), key=lambda item: known.get(item[0], len(known))))
        record = {"sets": sets, "table": table(sets), "about": ABOUT}
        options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print_table(table(sets))
    progress(f"wrote {options.out}")


if __name__ == "__main__":
    main()
