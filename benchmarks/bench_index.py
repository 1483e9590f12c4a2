"""How fast is exact search? Against FAISS, usearch and NumPy on the same codes.

    python benchmarks/bench_index.py [--quick] [--only real,clustered1m] [--huge] [--repeats 5]

Prints one table and writes benchmarks/results/index.jsonl (see index_record.py); draw it with
plot_index.py and write README.md with render.py. With --only, the other code sets of an earlier
record stay in it. The sets that a change of the core is judged by:

    python benchmarks/bench_index.py --only real,real-fine,clustered1m,uniform1m,dense1m,wide

How it is measured
- Each peer is built, checked and measured in a process of its own, with ours beside it. Its answers
  must equal ours (the same ids and distances in every row; at the last distance of a top-k any of
  the tied ids) before a time is taken. Beyond a million matches, rows are compared by counts and
  sums, some in full.
- Both sides get 64 queries in a call (for each thread): enough to hide the cost of a call, and few
  enough for answers to stay in the processor's cache. Searches by radius are measured once more
  with all queries in one call: the column `large`. There answers of hundreds of megabytes are bound
  by memory, and FAISS asks the system for fresh pages each time.
- Ours and the peer's runs alternate, and the fastest of each counts: what takes longer, other
  programs took. They do so for a while, so a cell is visited several times, its runs spread among
  the visits. Only ratios of the two beside each other mean anything.
- Ours gets `out=` the previous answer, as a user who cares would; FAISS allocates its own results.
  `fresh` in the record is ours without `out=`.
- A peer more than 8 times slower than another on one thread is not tried on all cores.
- A slow peer gets fewer queries, as many as fit the time budget, spread evenly over the numbers of
  matches, and ours is then timed with the same ones. Time per query is what counts.
- Ids are 8 bytes and distances 4 on both sides. FAISS and usearch give some distances as float32;
  they are not converted.
- The best peer of a cell is the one with the lowest time per query. `±` in the table (`spread`) is
  our slowest time over our fastest in the cell's alternations: far above 1, the machine was busy
  and the cell says little.
- The index is `HammingIndex(codes)` with its default memory setting.
"""

import argparse
import contextlib
import datetime as dt
import functools
import importlib.metadata
import itertools
import math
import platform
import statistics
import tempfile
from pathlib import Path

import faiss
import index_peers
import index_record
import index_sets
from index_measure import (
    N_CORES,
    VISITS,
    apart,
    clock,
    measure_ours,
    measure_peer,
    progress,
)
from index_record import GROUPS, HUGE, QUICK, SETS, WIDE

from kinhash import HammingIndex, _native

RESULTS = Path(__file__).parent / "results"
BUILD_ROUNDS = 3


# One code set


def sizes(folder, *, peers):
    """Return the bytes per item of each memory setting, and the seconds to build."""
    codeset = index_sets.load(folder)
    items, data, n = codeset.items, codeset.items.to_bytes(), len(codeset.items)
    per_item = {}

    def build(memory):
        per_item[memory] = HammingIndex(items, memory=memory).n_bytes / n

    calls = {f"ours, {m}": functools.partial(build, m) for m in ("lean", "balanced")}
    for b in index_peers.HASH_BITS if peers and codeset.name not in WIDE else ():
        calls[f"Hash, b = {b}"] = functools.partial(index_peers.filled_hash, data, b)
    times = {name: [] for name in calls}
    for _ in range(BUILD_ROUNDS):
        for name, call in calls.items():
            progress(f"{codeset.name}: building {name}")
            times[name].append(clock(call))
    if peers:  # a huge one would need half a kilobyte for each item
        build("fast")
    medians = {name: statistics.median(seconds) for name, seconds in times.items()}
    return {"bytes_per_item": per_item, "build_seconds": medians}


def measured(name, options):
    """Return the record of one code set."""
    peers = name not in HUGE
    with tempfile.TemporaryDirectory() as folder:
        progress(f"{name}: drawing codes")
        apart(index_sets.save, name, folder)
        record = apart(measure_ours, folder, options.repeats)
        cells = {(c["task"], c["value"], c["n_threads"]): c for c in record["cells"]}
        known = {}
        for number in itertools.count() if peers else ():
            found = apart(measure_peer, folder, number, options, known)
            if found is None:
                break
            for task, value, n_threads, peer in found:
                cells[task, value, n_threads]["peers"].append(peer)
                if n_threads == 1 and peer["us"] and not peer["large"]:
                    known[task, value] = min(known.get((task, value), math.inf), peer["us"])
        for cell in record["cells"]:
            if cell["task"] == "single" and cell["peers"]:
                cell["ours_us"] = min(peer["ours_us"] for peer in cell["peers"])
        built = apart(functools.partial(sizes, peers=peers), folder)
    return record | {"machine": machine(options), "sizes": built}


# Its lines in the record


def lines_of(name, found):
    """Return what the record keeps of a code set: its facts, our times, and the best peers."""
    kept = ("about", "n_items", "n_queries", "n_unique", "mean_active", "n_bits", "signed")
    facts = {key: found[key] for key in kept}
    facts |= {"bytes_per_item": found["sizes"]["bytes_per_item"], "machine": found["machine"]}
    cells = {(c["task"], c["value"], c["n_threads"]): c for c in found["cells"]}
    rows = []
    for (task, value, n_threads), cell in cells.items():
        if n_threads == 1:
            every = cells.get((task, value, N_CORES))
            rows += [_row(name, kind, value, cell, every) for kind in KINDS[task]]
    rows += _size_rows(found)
    return [
        {"set": name, "of": "set", **facts},
        *({"set": name, "of": "time", **_times(cell)} for cell in found["cells"]),
        *({"set": name, "of": "ratio", **row} for row in rows if row is not None),
    ]


def _times(cell):
    """Return our times of a cell, and those of FAISS where the plot of growth shows them."""
    kept = ("task", "value", "n_threads", "matches", "ours_us", "fresh_us", "count_us")
    times = {key: cell[key] for key in kept}
    if (cell["task"], cell["value"], cell["n_threads"]) == ("range", 2, 1):
        times["flat_us"] = [peer["us"] for peer in cell["peers"] if peer["name"] == "Flat"]
    return times


KINDS = {
    "range": ("range", "unique", "best range"),
    "single": ("single",),
    "top_k": ("flat", "ivf", "best top_k"),
}


def _rivals(kind, cell, *, large=False):
    """Return the peers of a cell that one kind of row compares with."""
    belongs = {
        "range": lambda name: not name.startswith(index_peers.UNIQUE),
        "unique": lambda name: name.startswith(index_peers.UNIQUE),
        "single": lambda name: not name.startswith(index_peers.UNIQUE),
        "flat": lambda name: name == "Flat, no heap",
        "ivf": lambda name: name.startswith("IVF"),
    }.get(kind, lambda name: not name.startswith(index_peers.ROUNDED))
    return [
        peer
        for peer in cell["peers"]
        if peer["us"] is not None and peer["large"] == large and belongs(peer["name"])
    ]


def _row(name, kind, value, cell, every):
    uneasy = name.startswith(("uniform", "dense", "wide"))
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
    in_one = min(_rivals(kind, cell, large=True), key=lambda peer: peer["us"], default=None)
    own = [p["ours_us"] for p in cell["peers"] if p["us"] is not None and not p["large"]]
    return {
        "kind": kind,
        "value": value,
        "matches": cell["matches"],
        "ours": best["ours_us"],
        "peer": best["name"],
        "theirs": best["us"],
        "ratio": best["ratio"],
        "large": in_one and in_one["ratio"],
        "all_cores": fastest and fastest["ratio"],
        "spread": max(own) / min(own),
    }


def _fastest_to_search(record, names):
    """Return which of the peers has the lowest geometric mean of times at r = 0, 1, 2."""

    def mean(name):
        return statistics.geometric_mean(
            next((p["us"] for p in _rivals("range", cell) if p["name"] == name), math.inf)
            for cell in record["cells"]
            if cell["task"] == "range" and cell["n_threads"] == 1 and cell["value"] <= 2
        )

    return min(names, key=mean)


def _size_rows(record):
    sizes = record["sizes"]
    build = sizes["build_seconds"]
    hashes = {key: seconds for key, seconds in build.items() if key.startswith("Hash")}
    rows = [("bytes", sizes["bytes_per_item"]["lean"], None, None, None)]
    if record["n_bits"] > 64:
        rows.append(("balanced bytes", sizes["bytes_per_item"]["balanced"], None, None, None))
    if hashes:
        ours = build["ours, balanced"]
        for kind, peer in (
            ("build", _fastest_to_search(record, hashes)),
            ("build, least", min(hashes, key=hashes.get)),
        ):
            rows.append((kind, ours / hashes[peer], peer, 1e6 * ours, 1e6 * hashes[peer]))
    return [
        {
            "kind": kind,
            "value": None,
            "matches": None,
            "ours": ours,
            "peer": peer,
            "theirs": theirs,
            "ratio": ratio,
            "large": None,
            "all_cores": None,
            "spread": None,
        }
        for kind, ratio, peer, ours, theirs in rows
    ]


# The table


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
            "large",
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
        last = (*(show(row[key]) for key in ("large", "all_cores", "spread")), row["peer"] or "-")
        lines.append((row["set"], cell, *map(show, numbers), mark, *last))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = [
            text.ljust(width) if i in {0, 1, 12} else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(padded).rstrip())


# Options


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
        "visits": VISITS,
    }


def parse():
    """Return the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help=f"only {', '.join(QUICK)}, roughly")
    parser.add_argument(
        "--only", help="code sets, separated by commas; `wide` for all of wide codes"
    )
    parser.add_argument("--huge", action="store_true", help=f"also {', '.join(HUGE)}, ours alone")
    parser.add_argument(
        "--repeats", type=int, help=f"runs of each kind (default {VISITS}; quick: 3)"
    )
    parser.add_argument("--budget", type=float, help="seconds per peer and cell (2; quick: 0.1)")
    parser.add_argument("--out", type=Path, help="the record (default results/index.jsonl)")
    options = parser.parse_args()
    options.repeats = options.repeats or (3 if options.quick else VISITS)
    options.budget = options.budget or (0.1 if options.quick else 2.0)
    name = "index-quick.jsonl" if options.quick else "index.jsonl"
    options.out = options.out or RESULTS / name
    return options


def main():
    """Measure, print the table, write the record."""
    options = parse()
    names = QUICK if options.quick else (*SETS, *WIDE)
    if options.only:
        names = tuple(n for only in options.only.split(",") for n in GROUPS.get(only, (only,)))
    names += HUGE if options.huge else ()
    lines = []
    if options.only and options.out.exists():
        lines = index_record.read(options.out)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for name in names:
        found = lines_of(name, measured(name, options))
        lines = [*(line for line in lines if line["set"] != name), *found]
        index_record.write(options.out, lines)
    print_table(index_record.record(lines)["table"])
    progress(f"wrote {options.out}")


if __name__ == "__main__":
    main()
