"""The record of bench_index.py: its lines in a file, and the table with goals that pages show.

A line is a JSON object of one code set. Its entry `of` says what it holds: "set" (facts of the
set, and the machine), "time" (ours: microseconds per query of a task, a value and a number of
threads) or "ratio" (a row of the table: the best peer beside ours). Lines are sorted.
"""

import json

RADII = (0, 1, 2, 3)
TOP = (10, 100, 5000)
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
WIDE_BITS = (96, 128, 256, 384, 768, 1024, 3072)
WIDE = (*(f"wide{n_bits}-200k" for n_bits in WIDE_BITS), "wide256-1m", "wide768-1m")
WIDE_TOP = (10, 100)
GROUPS = {"wide": WIDE}  # sets that one name stands for
HUGE = ("clustered50m",)  # ours alone: how it grows
QUICK = ("real", "clustered100k", "uniform100k", "dense100k")

ABOUT = {
    "range": "range against the best index over items",
    "unique": "range against FAISS over unique codes + NumPy",
    "single": "one query at a time from Python",
    "flat": "top k against Flat without heap",
    "ivf": "top k against IVF at recall 1.000",
    "best range": "range against the best of all",
    "best top_k": "top k against the best of all",
    "bytes": "lean index, bytes per item",
    "balanced bytes": "balanced index, bytes per item",
    "build": "build, time over the add of the IndexBinaryHash that is fastest at r = 0, 1, 2",
    "build, least": "build, time over the fastest add of any IndexBinaryHash",
}
LESS_IS_BETTER = ("bytes", "balanced bytes", "build", "build, least")
LEAN_BYTES = (8.5, 7)
BESIDE_CODE = (17, 16)  # bytes per item of a balanced index, beside a wide code in whole words
BUILD_OVER_HASH = (0.5, 0.2)


BEST = ("best range", "best top_k")


def wide_bits(name):
    """Return the number of bits of a set of wide codes."""
    return int(name.removeprefix("wide").split("-")[0])


def goals(name, kind):
    """Return what the ratios of one kind of row must and should reach, by radius or k."""
    if name.startswith(("uniform", "dense")) and kind in {"best range", "best top_k"}:
        return dict.fromkeys((*RADII, *TOP), (1.5, 5))
    if name in WIDE:
        n_bits = wide_bits(name)
        if kind == "balanced bytes":
            return {None: tuple(8 * -(-n_bits // 64) + beside for beside in BESIDE_CODE)}
        return dict.fromkeys((n_bits // 5, *WIDE_TOP), (1.0, 1.5)) if kind in BEST else {}
    if kind == "bytes" and name in {"clustered1m", "clustered10m"}:
        return {None: LEAN_BYTES}
    if kind == "build" and name == "clustered10m":
        return {None: BUILD_OVER_HASH}
    family = "real" if name.startswith("real") else name
    musts, aims = {
        ("real", "range"): ((20, 12, 20, 12), (30, 20, 35, 20)),
        ("clustered1m", "range"): ((8, 15, 45, 55), (15, 25, 80, 90)),
        ("clustered10m", "range"): ((8, 14, 28, 90), (12, 22, 50, 150)),
        ("real", "unique"): ((5,) * 4, (8,) * 4),
        ("clustered1m", "unique"): ((2,) * 4, (5,) * 4),
        ("real", "single"): ((8,) * 4, (20, 30, 40, 25)),
        ("clustered1m", "flat"): ((1000, 400, 18), (1600, 600, 40)),
        ("clustered1m", "ivf"): ((10, 8, 8), (20, 15, 20)),
    }.get((family, kind), ((), ()))
    values = TOP if kind in {"flat", "ivf"} else RADII
    return dict(zip(values, zip(musts, aims, strict=True), strict=False))


def judged(row):
    """Return a row of the table with its goals, and whether it reaches what it must."""
    kind, ratio = row["kind"], row["ratio"]
    must, aim = goals(row["set"], kind).get(row["value"], (None, None))
    reached = None
    if must is not None:
        reached = ratio <= must if kind in LESS_IS_BETTER else ratio >= must
        if row["set"] in WIDE and row["all_cores"] is not None:
            reached = reached and row["all_cores"] >= must
    return row | {"must": must, "aim": aim, "reached": reached}


def read(path):
    """Return the lines of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path, lines):
    """Write lines, sorted; numbers that are not whole get five digits."""
    lines = sorted(lines, key=_place)
    text = "".join(json.dumps(_rounded(line), separators=(",", ":")) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")


def record(lines):
    """Return the sets by name in their usual order, each with its `times`, and the table."""
    order = {name: i for i, name in enumerate(dict.fromkeys((*SETS, *WIDE, *HUGE, *QUICK)))}
    kinds = list(ABOUT)
    facts = [line for line in lines if line["of"] == "set"]
    facts.sort(key=lambda line: order.get(line["set"], len(order)))
    sets = {line["set"]: line | {"times": []} for line in facts}
    for line in sorted((line for line in lines if line["of"] == "time"), key=_place):
        sets[line["set"]]["times"].append(line)
    rows = [judged(line) for line in lines if line["of"] == "ratio"]
    names = list(sets)
    rows.sort(key=lambda row: (names.index(row["set"]), kinds.index(row["kind"]), _value(row)))
    return {"sets": sets, "table": rows}


def _place(line):
    what = line.get("task") or line.get("kind") or ""
    return line["set"], line["of"], what, _value(line), line.get("n_threads", 0)


def _value(line):
    return -1 if line.get("value") is None else line["value"]


def _rounded(value):
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value
