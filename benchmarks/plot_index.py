"""Draws benchmarks/results/index.jsonl: the ratios to the best peers, and how times grow.

    python benchmarks/plot_index.py [--record benchmarks/results/index.jsonl]

Writes index-ratios and index-growth, as .svg, beside the record.
"""

import argparse
from pathlib import Path

import index_record
import matplotlib as mpl
import matplotlib.pyplot as plt

RECORD = Path(__file__).parent / "results" / "index.jsonl"
LETTERS = {"range": "r", "unique": "r", "single": "r", "best range": "r"}
SHADES = ("0.15", "0.45", "0.7", "0.88")  # readable in grey
LINES = (("o", "-"), ("s", "--"), ("^", "-."), ("D", ":"), ("v", (0, (5, 1, 1, 1, 1, 1))))


def ratios(record):
    """Return a figure with a panel per code set: a bar per cell, ticks at must and aim."""
    rows = [row for row in record["table"] if row["value"] is not None]
    names = list(dict.fromkeys(row["set"] for row in rows))
    heights = [sum(row["set"] == name for row in rows) + 1.5 for name in names]
    figure, axes = plt.subplots(
        len(names),
        1,
        figsize=(9, 0.24 * sum(heights) + 1),
        gridspec_kw={"height_ratios": heights},
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    kinds = list(index_record.ABOUT)
    for name, ax in zip(names, axes[:, 0], strict=True):
        mine = [row for row in rows if row["set"] == name]
        labels = [
            f"{row['kind']}, {LETTERS.get(row['kind'], 'k')} = {row['value']}" for row in mine
        ]
        shades = [SHADES[kinds.index(row["kind"]) % len(SHADES)] for row in mine]
        ax.barh(labels, [row["ratio"] for row in mine], color=shades, edgecolor="0.1", height=0.75)
        for place, row in enumerate(mine):
            ends = {"must": "-", "aim": ":"}
            for goal, style in ends.items():
                if row[goal] is not None:
                    ax.plot([row[goal]] * 2, [place - 0.45, place + 0.45], "k", ls=style, lw=1.8)
                    ax.plot([row[goal]] * 2, [place - 0.45, place + 0.45], "w", ls=style, lw=0.6)
            text = f" {row['ratio']:,.3g}  {row['peer']}"
            ax.text(max(row["ratio"], row["aim"] or 0), place, text, va="center", fontsize=7)
        ax.set_title(f"{name}: {record['sets'][name]['n_items']:,} items", loc="left", fontsize=9)
        ax.set_xscale("log")
        ax.axvline(1, color="0.3", lw=0.8)
        ax.invert_yaxis()
        ax.tick_params(labelsize=7)
        ax.spines[["top", "right"]].set_visible(False)
    low = min(1.0, *(row["ratio"] for row in rows))
    axes[0, 0].set_xlim(low / 1.5, 12 * max(row["ratio"] for row in rows))
    axes[-1, 0].set_xlabel(
        "best exact peer's time / ours, one thread (solid tick: must reach; dotted: aim)",
        fontsize=8,
    )
    return figure


def growth(record):
    """Return a figure of the time per query against the number of clustered items."""
    sets = [s for name, s in record["sets"].items() if name.startswith("clustered")]
    sets.sort(key=lambda s: s["n_items"])
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
    panels = (
        ("ours_us", "all results written"),
        ("count_us", "only counting matches (top 10: with results)"),
    )
    tasks = [*(("range", r) for r in (0, 1, 2, 3)), ("top_k", 10)]
    for ax, (key, title) in zip(axes, panels, strict=True):
        for (task, value), (marker, line) in zip(tasks, LINES, strict=True):
            points = [
                (s["n_items"], cell[key] or cell["ours_us"])
                for s in sets
                for cell in s["times"]
                if (cell["task"], cell["value"], cell["n_threads"]) == (task, value, 1)
            ]
            label = f"r = {value}" if task == "range" else f"top {value}"
            shade = SHADES[value] if task == "range" and value < 3 else "0.3"
            ax.plot(*zip(*points, strict=True), marker=marker, ls=line, color=shade, label=label)
        flat = [
            (s["n_items"], us)
            for s in sets
            for cell in s["times"]
            for us in cell.get("flat_us", ())
        ]
        if flat:
            ax.plot(*zip(*flat, strict=True), "k+:", label="FAISS Flat, r = 2")
        ax.set(xscale="log", yscale="log", xlabel="items", title=title)
        ax.grid(which="major", color="0.9")
    axes[0].set_ylabel("microseconds per query, one thread")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    return figure


def main():
    """Draw both figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, default=RECORD)
    path = parser.parse_args().record
    record = index_record.record(index_record.read(path))
    mpl.rcParams["svg.fonttype"] = "none"  # text stays text: a tenth of the size
    mpl.rcParams["svg.hashsalt"] = "kinhash"  # the same record gives the same file
    figures = {"ratios": ratios(record)}
    if sum(name.startswith("clustered") for name in record["sets"]) > 1:
        figures["growth"] = growth(record)
    for name, figure in figures.items():
        target = path.with_name(f"{path.stem}-{name}.svg")
        figure.savefig(target, metadata={"Date": None})
        print(target)


if __name__ == "__main__":
    main()
