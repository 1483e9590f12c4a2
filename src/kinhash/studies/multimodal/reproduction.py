"""The paper's experiment with several modalities: records, tables, what they say, a report."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from kinhash.datasets import Dataset
from kinhash.evaluation.multimodal import (
    RADII,
    directions,
    evaluate_multimodal,
    evaluate_multimodal_l2,
    measure_key,
    parts_hash,
)
from kinhash.measures import F1, OF_CODES, is_rate, within
from kinhash.methods import MULTIMODAL_METHODS
from kinhash.progress import Report, silent
from kinhash.record_file import Record
from kinhash.show.html import Section, write_report
from kinhash.show.tables import Row, show, title
from kinhash.studies.comparison import Compared
from kinhash.studies.multimodal import word_plates
from kinhash.studies.multimodal.protocols import (
    CROSS_MODAL_SSH,
    OURS,
    PROTOCOLS,
    RAW,
    Protocol,
    plan,
)
from kinhash.studies.paper.reproduction import RECORDS, REPORT, cell
from kinhash.studies.records import L2, Settings, built, kept, record_key

Results = dict[str, list[Compared]]  # by the name of the protocol, what each method reached

MODALITIES = ("image", "text")
DIRECTIONS = directions(MODALITIES)
PLATES = (CROSS_MODAL_SSH, OURS)  # above, below

_WITHIN = tuple(key for radius in RADII for key in within(radius) if is_rate(key))

# Of the paper's table on NUS-WIDE, 64 bits, in percent; the directions in our order.
_PAPER = {
    "map@10": {
        RAW: (68.67, 71.38),
        CROSS_MODAL_SSH: (75.19, 83.05, 55.55, 50.43),
        OURS: (73.79, 84.49, 61.52, 59.52),
    },
    "mp@5000": {
        RAW: (32.77, 32.85),
        CROSS_MODAL_SSH: (49.69, 61.60, 37.05, 39.13),
        OURS: (58.13, 66.59, 57.35, 57.29),
    },
}
WITHIN = (
    "Precision, recall and F1 of what has the same code as the query, or one that differs in at "
    "most two bits, and the share of queries without any answer. F1 means little without mAP and "
    "the number of different codes of the database, which stand beside it."
)
NOT_THE_PAPERS_DATA = (
    "The paper's own numbers, 64 bits, are of NUS-WIDE: other data, so that they are no measure "
    "of what stands above."
)


def paper(method: str, measure: str, direction: tuple[str, str]) -> float | None:
    """Return a number of the paper, as a fraction; None if it has none."""
    printed = _PAPER.get(measure, {}).get(method, ())
    at = DIRECTIONS.index(direction)
    return printed[at] / 100 if at < len(printed) else None


def record(
    file: Path | None,
    data: Dataset,
    protocol: Protocol,
    settings: Settings,
    seed: int,
    *,
    figures: bool = False,
) -> Record:
    """Return the record of one method under one protocol; it is computed unless `file` has it.

    Args:
        file: Where records are kept, made if needed; None keeps nothing.
        data: The data set.
        protocol: Which rows, and what is similar.
        settings: The method's name in `MULTIMODAL_METHODS`, or "l2", and parameters that differ
            from its defaults.
        seed: Of the parts and of the method.
        figures: Also keep what the pictures need.

    Raises:
        InvalidInputError: The method or a parameter is unknown, or the method refuses the data.
    """
    key = record_key(settings, seed, protocol.name)
    about = {"dataset": data.name, "settings": settings, "protocol": protocol.name, "seed": seed}

    def compute() -> Record:
        labels, parts = protocol.labels(data), protocol.parts(data, seed)
        made: Record = {"split_hash": parts_hash(parts)}
        if settings["method"] == L2:
            metrics = evaluate_multimodal_l2(data, labels, parts, at=protocol.at)
            return made | {"metrics": metrics, "fit_seconds": 0.0}
        method = built(settings, seed, MULTIMODAL_METHODS)
        found = evaluate_multimodal(method, data, labels, parts, at=protocol.at)
        codes = next(iter(found.codes.values()))
        made |= {
            "metrics": found.metrics,
            "fit_seconds": round(found.fit_seconds, 2),
            "stored_bits": codes.n_bits * (2 if codes.signed else 1),
            "warnings": found.warnings,
            "parameters": method.get_params(),
        }
        if figures:
            made["figures"] = word_plates.found_by_words_and_pictures(
                method, data, found.codes, parts
            )
        return made

    return kept(file, key, about, compute, figures=figures)


def run(
    experiment: str,
    data: Dataset,
    file: Path | None,
    seeds: Sequence[int],
    *,
    report: Report | None = None,
) -> Results:
    """Return what each method reaches under each protocol; records in `file` are kept.

    Args:
        experiment: One of `PROTOCOLS`.
        data: Its data set.
        file: Where the records are: what is there is not computed again. None keeps nothing.
        seeds: Of the parts and of the methods.
        report: Called with (records done, records in all, what comes next).

    Raises:
        InvalidInputError: There is no such experiment, or the data do not fit it.
    """
    report = report or silent
    rows, protocols = plan(experiment), PROTOCOLS[experiment]
    done, total = 0, len(rows) * len(seeds) * len(protocols)
    results: Results = {protocol.name: [] for protocol in protocols}
    for protocol in protocols:
        for name, settings in rows.items():
            found = []
            for seed in seeds:
                report(done, total, f"{protocol.name}, {name}, seed {seed}")
                figures = name in PLATES and seed == seeds[0] and word_plates.has_plates(data)
                found.append(record(file, data, protocol, settings, seed, figures=figures))
                done += 1
            results[protocol.name].append(Compared(name, settings, found))
    report(total, total, "done")
    return results


def reproduce(
    experiment: str,
    data: Dataset,
    out: Path,
    *,
    seeds: Sequence[int],
    report: Report | None = None,
) -> Results:
    """Run an experiment with several modalities and write records and a report.

    Records that `out` has are not computed again, so that work goes on where it was stopped.

    Args:
        experiment: One of `PROTOCOLS`.
        data: Its data set.
        out: A folder; it is made if needed.
        seeds: Of the parts and of the methods.
        report: Called with (records done, records in all, what comes next).
    """
    start = time.perf_counter()
    results = run(experiment, data, out / RECORDS, seeds, report=report)
    sections = [
        section
        for protocol in PROTOCOLS[experiment]
        for section in _sections(experiment, protocol, data, results[protocol.name])
    ]
    if experiment != "nus-wide":
        sections.append(Section("The paper", paragraphs=[NOT_THE_PAPERS_DATA], rows=_paper_lines()))
    n_bits = max(s["n_bits"] for s in plan(experiment).values() if "n_bits" in s)
    write_report(
        out / REPORT,
        title=f"Words find pictures: {data.name}",
        lead=(
            f"{len(data):,} items with {' and '.join(data.modalities or ())}, codes of "
            f"{n_bits} bits. Means and standard deviations over "
            f"{len(seeds)} seeds, in percent"
            f"{', the numbers of the paper in brackets' if experiment == 'nus-wide' else ''}."
        ),
        sections=sections,
        footer=f"Made by kinhash reproduce in {(time.perf_counter() - start) / 60:.1f} minutes.",
    )
    return results


def _sections(
    experiment: str, protocol: Protocol, data: Dataset, compared: Sequence[Compared]
) -> list[Section]:
    """Return the tables of each search, what they say, and the pictures, of one protocol."""
    kind = protocol.name.capitalize()
    made = [Section(f"{kind}: what is asked", paragraphs=[protocol.about])]
    for search in searches(compared):
        about = f"{kind}, database: {search}"
        made += [
            Section(
                f"{about}: ranking everything",
                paragraphs=verdict(protocol, compared, search),
                rows=_lines(experiment, compared, search, ranking_measures(protocol)),
            ),
            Section(
                f"{about}: looking up codes",
                paragraphs=[WITHIN, *warned(compared)],
                rows=_lines(experiment, compared, search, (*_WITHIN, *OF_CODES)),
            ),
        ]
    drawn = {one.name: one.figures for one in compared if one.figures}
    return [*made, *(word_plates.sections(kind, drawn, data) if drawn else [])]


def searches(compared: Sequence[Compared]) -> list[str]:
    """Return what was searched, as the records of a protocol name it."""
    return list(dict.fromkeys(key.split("/")[0] for key in compared[0].records[0]["metrics"]))


def ranking_measures(protocol: Protocol) -> tuple[str, ...]:
    """Return the measures of rankings that a protocol shows.

    Example:
        >>> ranking_measures(PROTOCOLS["wikipedia"][0])
        ('map', 'map@10', 'mp@50')
    """
    ten, *others = protocol.at
    return ("map", f"map@{ten}", *(f"mp@{k}" for k in others))


def table(experiment: str, results: Results) -> list[Row]:
    """Return a line for each protocol, database, method and direction: means and their spreads."""
    lines = []
    for protocol in PROTOCOLS[experiment]:
        measures = (*ranking_measures(protocol), *_WITHIN, *OF_CODES)
        for search in searches(results[protocol.name]):
            for one in results[protocol.name]:
                for query, database in DIRECTIONS:
                    keys = {m: measure_key(search, query, database, m) for m in measures}
                    if np.isnan(one.mean(keys["map"])):
                        continue
                    line: Row = {"similar": protocol.name, "searched": search, "method": one.name}
                    line |= {"query": query, "database": database}
                    for measure, key in keys.items():
                        line[measure] = one.mean(key)
                        line[f"sd {measure}"] = one.spread(key)
                        if experiment == "nus-wide":
                            theirs = paper(one.name, measure, (query, database))
                            line[f"paper {measure}"] = theirs
                    lines.append(line)
    return lines


def shown(experiment: str, results: Results) -> list[Row]:
    """Return the same for people: a line for each measure and method, the directions beside."""
    lines: list[Row] = []
    for protocol in PROTOCOLS[experiment]:
        compared = results[protocol.name]
        measures = (*ranking_measures(protocol), *F1)
        for search in searches(compared):
            about = {"similar": protocol.name, "searched": search}
            lines += [
                about | line
                for line in _lines(experiment, compared, search, (*measures, *OF_CODES))
            ]
    return lines


def _lines(
    experiment: str, compared: Sequence[Compared], search: str, measures: Sequence[str]
) -> list[Row]:
    """Return a line for each measure and method, with a cell for each direction."""
    lines = []
    for measure in measures:
        for one in compared:
            cells = {
                f"{query}-{database}": _cell(experiment, one, search, measure, (query, database))
                for query, database in DIRECTIONS
            }
            if set(cells.values()) != {"-"}:
                lines.append({"measure": title(measure), "method": one.name, **cells})
    return lines


def _cell(
    experiment: str, one: Compared, search: str, measure: str, direction: tuple[str, str]
) -> str:
    key = measure_key(search, *direction, measure)
    if measure in OF_CODES:
        return show(measure, one.mean(key))
    theirs = paper(one.name, measure, direction) if experiment == "nus-wide" else None
    return cell(one.mean(key), one.spread(key), theirs)


def _paper_lines() -> list[Row]:
    lines = []
    for measure, printed in _PAPER.items():
        for name in printed:
            cells = {f"{q}-{d}": _percent(paper(name, measure, (q, d))) for q, d in DIRECTIONS}
            lines.append({"measure": title(measure), "method": name, **cells})
    return lines


def verdict(protocol: Protocol, compared: Sequence[Compared], search: str) -> list[str]:
    """Return, in sentences from the numbers, where vectors beat codes, and others beat ours."""
    measures = (*ranking_measures(protocol), *F1)
    cells = {
        measure_key(search, *direction, measure): f"{'-'.join(direction)} {title(measure)}"
        for measure in measures
        for direction in DIRECTIONS
    }
    by_name = {one.name: one for one in compared}
    raw, ours = by_name.pop(RAW), by_name.pop(OURS)
    wins = []
    for key, where in cells.items():
        best = max((ours, *by_name.values()), key=lambda one: one.mean(key))
        if raw.mean(key) > best.mean(key):  # never where L2 has no number
            numbers = f"{_percent(raw.mean(key))}, {best.name} {_percent(best.mean(key))}"
            wins.append(f"{where} ({numbers})")
    if wins:
        said = [f"The vectors themselves, by L2, are ahead of all codes in {'; '.join(wins)}."]
    else:
        said = ["No ranking of the vectors themselves by L2 is ahead of the best codes."]
    return [*said, *(_against(ours, rival, cells) for rival in by_name.values())]


def _against(ours: Compared, rival: Compared, cells: Mapping[str, str]) -> str:
    n_ahead = sum(ours.mean(key) > rival.mean(key) for key in cells)
    behind = [
        f"{where} ({_percent(ours.mean(key))}, {_percent(rival.mean(key))})"
        for key, where in cells.items()
        if ours.mean(key) < rival.mean(key)
    ]
    ahead = f"{ours.name} is ahead of {rival.name} in {n_ahead} of {len(cells)} comparisons"
    return f"{ahead}, and behind in {'; '.join(behind)}." if behind else f"{ahead}."


def warned(compared: Sequence[Compared]) -> list[str]:
    """Return what methods warned of while they were fitted, once each."""
    return [
        f"{one.name}: {text}"
        for one in compared
        for text in dict.fromkeys(w for r in one.records for w in r.get("warnings", ()))
    ]


def compact(experiment: str, protocol: Protocol, results: Results, search: str) -> list[Row]:
    """Return a line for each method, all directions of a measure in one cell, without spreads."""
    measures = (*ranking_measures(protocol), *F1)
    lines = []
    for one in results[protocol.name]:
        line: Row = {"method": one.name}
        for measure in measures:
            line[title(measure)] = " / ".join(
                _percent(one.mean(measure_key(search, *direction, measure)), 1)
                for direction in DIRECTIONS
            )
            if experiment == "nus-wide":
                theirs = [paper(one.name, measure, direction) for direction in DIRECTIONS]
                if theirs[0] is not None:
                    line[title(measure)] += f" ({' / '.join(_percent(v, 1) for v in theirs)})"
        for measure in OF_CODES:
            line[title(measure)] = " / ".join(
                show(measure, one.mean(measure_key(search, name, name, measure)))
                for name in MODALITIES
            )
        lines.append(line)
    return lines


def largest_spread(protocol: Protocol, compared: Sequence[Compared], search: str) -> float:
    """Return the largest standard deviation over the seeds of all that `compact` shows."""
    found = [
        one.spread(measure_key(search, *direction, measure))
        for one in compared
        for direction in DIRECTIONS
        for measure in (*ranking_measures(protocol), *F1)
    ]
    return float(np.nanmax(found))


def _percent(value: float | None, digits: int = 2) -> str:
    return "-" if value is None or np.isnan(value) else f"{100 * value:.{digits}f}"
