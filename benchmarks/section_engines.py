"""The section of README.md on other engines."""

from pathlib import Path

import index_record
from render_numbers import show

RECORD = Path(__file__).parent / "results" / "engines.jsonl"

INTRO = """
## Other engines

    python benchmarks/bench_engines.py    # measures: results/engines.jsonl; --only duckdb, ...

Each ratio compares two ways in one engine, in turns in one run; answers are compared before they
are timed. *share*: of the rate of one process. *DuckDB*: deletion keys against a join that compares
all pairs by `bit_count(xor(...))`, of which a tenth is timed. *PostgreSQL*: the medians of 300
queries by index probes and of 15 by a scan that compares all rows, of a million clustered codes;
bytes are those of all tables and indexes but the items and their primary key; growth is that of
queries with 50 to 500 answers. *Spark*: on `local[2]`; brute force broadcasts a tenth of the codes
asked for and compares all pairs, MinHashLSH has its defaults and gets only as many as is said,
whose time is not scaled: its ratios are lower bounds. *shuffled*: bytes that workers send to each
other, compressed.

Encoding, with a model that is one matrix product (ITQ, 64 bits), is bound by reading: workers read
the files themselves, with Arrow (`encode_files`), because Spark hands lists of numbers over row by
row. `encode` takes any frame, and has the second rate.

"""

UNITS = {"times": "", "min": " min", "bytes": " bytes"}


def table(lines):
    """Return a Markdown table of the engines."""
    about = []
    for line in lines:
        machine = line["machine"]
        versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
        about.append(f"{machine['date']}, {machine['n_cores']} cores; {versions}.\n")
    parts = [
        *dict.fromkeys(about),
        "\n| engine | what | measured | must | aim | | more |\n|---|---|---:|---:|---:|---|---|\n",
    ]
    for line in lines:
        sign = "≤ " if line["at_most"] else ""
        unit = UNITS[line["unit"]]
        goals = [f"{sign}{show(line[key])}" if line[key] else "" for key in ("must", "aim")]
        mark = {None: "", True: "✓", False: "✗"}[line["reached"]]
        more = ", ".join(f"{name.replace('_', ' ')} {show(n)}" for name, n in line["more"].items())
        what = line["what"].replace("|", "")
        measured = f"**{show(line['value'])}**{unit}"
        cells = [line["part"], what, measured, *goals, mark, more]
        parts.append(f"| {' | '.join(cells)} |\n")
    return "".join(parts)


def section():
    """Return the section, from the record."""
    return INTRO + table(index_record.read(RECORD))
