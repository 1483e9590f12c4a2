"""Comparing methods on a data set: a record of each, a table of means, and figures."""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinhash.codes import Order
from kinhash.datasets import Dataset
from kinhash.errors import InvalidInputError, unknown_name
from kinhash.measures import COMPARISON, NEIGHBOURS
from kinhash.methods import METHODS
from kinhash.metrics import Metric
from kinhash.progress import Report, silent
from kinhash.show import plots
from kinhash.show.html import Section, write_report
from kinhash.show.tables import Row, show, title
from kinhash.studies import own_methods
from kinhash.studies.records import CURVE_RADII, N_NEIGHBOURS, RAW, Record, Settings, named, record

REPORT = "report.html"
NOTE = (
    "F1 means little without mAP, the number of unique codes and the number of answers beside it: "
    "one code for everything has the F1 of guessing."
)
NOTE_WITHOUT_LABELS = (
    "Recall is the share of each query's true 10 nearest vectors. Within a radius it means little "
    "without the number of answers beside it: one code for everything finds all."
)
MAX_CURVES = 8  # beyond which nobody can tell them apart


@dataclasses.dataclass(frozen=True)
class Compared:
    """What one method reached, over all splits.

    Attributes:
        name: The method and what distinguishes it, as tables show it.
        settings: The method's name and parameters.
        records: One record per seed.
    """

    name: str
    settings: Settings
    records: list[Record]

    def mean(self, measure: str) -> float:
        """Return the mean over the splits; nan if the method does not have the measure."""
        return float(np.mean([r["metrics"].get(measure, np.nan) for r in self.records]))

    def spread(self, measure: str) -> float:
        """Return the standard deviation over the splits."""
        return float(np.std([r["metrics"].get(measure, np.nan) for r in self.records]))

    @property
    def figures(self) -> Record:
        """What the figures need, of the first split; empty if it has none."""
        return dict(self.records[0].get("figures", {}))


def compare(
    file: Path | None,
    data: Dataset,
    plan: Sequence[Settings],
    seeds: Sequence[int],
    *,
    protocol: str = "paper",
    order: Order = "nested",
    figures: bool = True,
    metric: Metric = "cosine",
    report: Report | None = None,
    refused: list[str] | None = None,
) -> list[Compared]:
    """Return what each method of the plan reaches on each split; records in `file` are kept.

    Args:
        file: Where the records are: what is there is not computed again. None keeps nothing.
        data: The data set.
        plan: The methods, as `records.record` takes them.
        seeds: Of the splits.
        protocol: One of `records.RECORD_PROTOCOLS`.
        order: Of rankings by codes with rank bits, "nested" or "total".
        figures: Keep what the figures need of the first seed, except with "unseen".
        metric: What near means where there are no labels: "cosine" or "l2".
        report: Called with (records done, records in all, what comes next).
        refused: Takes a sentence for each method that refuses the data, which is then left out;
            without, that is an error.

    Raises:
        InvalidInputError: A method is unknown, or refuses the data and `refused` is not given; or
            all of them refuse.
    """
    report = report or silent
    done, total, compared = 0, len(plan) * len(seeds), []
    for settings in plan:
        name, found = named(settings), []
        try:
            for seed in seeds:
                report(done, total, f"{name}, seed {seed}")
                drawn = figures and protocol != "unseen" and seed == seeds[0]
                drawn &= settings["method"] not in RAW and "n_bits" in settings
                found.append(
                    record(
                        file,
                        data,
                        settings,
                        seed,
                        protocol=protocol,
                        order=order,
                        figures=drawn,
                        metric=metric,
                    )
                )
                done += 1
        except InvalidInputError as error:
            if refused is None:
                raise
            refused.append(f"{name} is left out: {error}")
            done += len(seeds) - len(found)
            continue
        compared.append(Compared(name, settings, found))
    if refused and not compared:
        raise InvalidInputError(" ".join(refused))
    report(total, total, "done")
    return compared


def records_file(out: Path, data: Dataset) -> Path:
    """Return where a folder of comparisons keeps the records of a data set."""
    return out / f"{data.name}.jsonl"


def planned(methods: Sequence[str], bits: Sequence[int]) -> list[Settings]:
    """Return the plan of some methods at some lengths; "agh" stands for both of its kinds.

    Args:
        methods: Names in `METHODS`, import paths such as "mine:MyHash", "l2" or "cosine".
        bits: The lengths, for all that have one.

    Raises:
        InvalidInputError: A method is unknown, or its class cannot be used.
    """
    plan: list[Settings] = []
    for name in methods:
        if name in RAW:
            plan.append({"method": name})
        elif own_methods.is_path(name):
            kind = own_methods.load_class(name)
            own = {"method": name, "source": own_methods.source_digest(kind)}
            has_length = "n_bits" in own_methods.arguments_of(kind)
            plan += [own | {"n_bits": n} for n in bits] if has_length else [own]
        elif name == "agh":
            plan += [{"method": name, "n_bits": n, "n_layers": k} for n in bits for k in (1, 2)]
        elif name in METHODS:
            plan += [{"method": name, "n_bits": n} for n in bits]
        else:
            raise unknown_name("method", name, (*METHODS, *RAW))
    return plan


def write(out: Path, data: Dataset, compared: Sequence[Compared]) -> None:
    """Write the report of a comparison to a folder, and its figures one by one beside it."""
    write_report(
        out / REPORT,
        title=f"Which method suits {data.name}?",
        lead=" ".join(verdict(compared)),
        sections=[
            Section(
                "All measures",
                rows=rows(compared),
                note=NOTE if data.labels is not None else NOTE_WITHOUT_LABELS,
            ),
            *sections(compared, data, out / "figures"),
        ],
    )


def rows(compared: Sequence[Compared]) -> list[Row]:
    """Return a line of means for each method, for `tables.render`."""
    columns = NEIGHBOURS if _is_without_labels(compared) else COMPARISON
    return [
        {
            "method": one.name,
            "n_bits": one.settings.get("n_bits"),
            **{measure: one.mean(measure) for measure in columns},
            "fit_seconds": statistics.fmean(r["fit_seconds"] for r in one.records),
        }
        for one in compared
    ]


def verdict(compared: Sequence[Compared]) -> list[str]:
    """Return, in sentences, which method is ahead in what; and what to be careful about."""
    if _is_without_labels(compared):
        return _verdicts(
            [one for one in compared if one.settings["method"] not in RAW],
            {
                "recall@100": "for finding the true neighbours by ranking",
                "recall@500": "for candidates that the vectors themselves rank again",
                "recall@r2": "for finding them by lookup",
            },
        )
    sentences = _verdicts(
        compared,
        {
            "f1@r2": "for finding similar items by lookup",
            "f1@r0": "for equal codes, as in a join",
            "map": "for ranking everything",
        },
    )
    few = [one.name for one in compared if one.mean("unique_codes") <= 32]
    if few:
        sentences.append(
            f"Few different codes: {', '.join(dict.fromkeys(few))} tell classes apart and nothing "
            "within a class; F1 alone flatters them."
        )
    return sentences


def _verdicts(compared: Sequence[Compared], why_of: Mapping[str, str]) -> list[str]:
    """Return a sentence for each measure that any of these has."""
    sentences = []
    for measure, why in why_of.items():
        known = [one for one in compared if not np.isnan(one.mean(measure))]
        best = max(known, key=lambda one: one.mean(measure), default=None)
        if best is None:
            continue
        what = title(measure, " at ")
        bits = best.settings.get("n_bits")
        length = f" with {bits} bits" if bits else ""
        sentences.append(
            f"Ahead in {what}, {why}: {best.name}{length} "
            f"({show(measure, best.mean(measure))} %{_spread(best, measure)})."
        )
    return sentences


def _is_without_labels(compared: Sequence[Compared]) -> bool:
    """Return whether these were measured by true neighbours: nothing else has no mAP."""
    return bool(compared) and all("map" not in one.records[0]["metrics"] for one in compared)


def _spread(one: Compared, measure: str) -> str:
    """Return the standard deviation over the splits, of which a single one has none."""
    n = len(one.records)
    if n == 1:
        return ", one split"
    return f", standard deviation {100 * one.spread(measure):.2f} over {n} splits"


def sections(compared: Sequence[Compared], data: Dataset, folder: Path | None) -> list[Section]:
    """Return the figures of a comparison; with a folder, they are also saved there one by one."""
    drawn = _briefly([one for one in compared if one.figures])
    if not drawn:
        return []
    lengths = sorted({one.settings["n_bits"] for one in drawn})
    made: list[Section] = []

    def add(name: str, title: str, figure: Any, caption: str, picture: bool = False) -> None:  # noqa: ANN401, FBT001, FBT002 - a figure
        if folder is not None:
            plots.save_figure(figure, folder / name)
        uri = plots.data_uri(figure, "png" if picture else "svg")
        made.append(Section(title, image=uri, caption=caption))

    of_length = {n: [one for one in drawn if one.settings["n_bits"] == n] for n in lengths}
    for n_bits, some in of_length.items():
        panels = {
            _within(radius): {
                one.name: one.figures["curves"]["all" if radius is None else str(radius)]
                for one in some[:MAX_CURVES]
            }
            for radius in CURVE_RADII
        }
        add(
            f"precision-recall-{n_bits}",
            f"Precision against recall, {n_bits} bits",
            plots.plot_precision_recall(panels),
            "Mean precision of the shortest ranking that reaches a recall, among all items within "
            "the radius; 0 where the radius does not reach so far.",
        )
    both = [one for n in {lengths[0], lengths[-1]} for one in of_length[n][:MAX_CURVES]]
    for measure, draw in (
        ("recall", plots.plot_recall_against_radius),
        ("precision", plots.plot_precision_against_radius),
    ):
        curves = {(one.name, one.settings["n_bits"]): one.figures[measure] for one in both}
        add(
            f"{measure}-radius",
            f"{measure.capitalize()} against radius",
            draw(curves),
            f"Mean {measure} within each radius, the shortest and the longest codes.",
        )
    last = of_length[lengths[0]][:MAX_CURVES]
    points = {
        one.name: [
            (
                one.figures["recall"][r],
                one.figures["precision"][r],
                one.figures["microseconds"][str(r)],
            )
            for r in (0, 1, 2)
        ]
        for one in last
    }
    brute = statistics.fmean(one.figures["microseconds"]["brute force"] for one in last)
    add(
        "trade-off",
        f"Recall, precision and time, {lengths[0]} bits",
        plots.plot_trade_off(points, brute_force=brute),
        "Each line joins radius 0, 1 and 2 of a method: time per query in the index (one thread, "
        "batches) against comparing everything in NumPy.",
    )
    add(
        "active-bits",
        f"Active bits, {lengths[0]} bits",
        plots.plot_active_counts({one.name: one.figures["active"] for one in last}, lengths[0]),
        "How many bits of the codes of the database are active.",
    )
    if data.images is not None:
        for one in last:
            plate = _plate(one, data)
            add(
                f"neighbours-{one.settings['method'].replace(':', '-')}-{lengths[0]}-"
                f"{last.index(one)}",
                f"What {one.name} finds with {lengths[0]} bits",
                plate,
                f"The {N_NEIGHBOURS} nearest of a few queries that nobody picked; at equal "
                "distance the lowest row number comes first. Green frame: correct. Dashed red "
                "frame with a cross: wrong.",
                picture=True,
            )
    return made


def collisions(compared: Sequence[Compared]) -> list[Row]:
    """Return how many different codes there are and how many items a query meets: the paper's."""
    return [
        {
            "method": one.name,
            "n_bits": one.settings["n_bits"],
            "unique_codes": one.mean("unique_codes"),
            **{f"mean_matches@r{r}": one.mean(f"mean_matches@r{r}") for r in (0, 1, 2)},
        }
        for one in compared
        if "n_bits" in one.settings
    ]


def _briefly(compared: Sequence[Compared]) -> list[Compared]:
    """Return the same under the method's name alone, where that says which is meant."""
    brief = [(one.name.split(",")[0], one.settings["n_bits"]) for one in compared]
    return [
        dataclasses.replace(one, name=name) if brief.count((name, n_bits)) == 1 else one
        for one, (name, n_bits) in zip(compared, brief, strict=True)
    ]


def _within(radius: int | None) -> str:
    return {None: "all items", 0: "radius 0"}.get(
        radius, f"radius \N{LESS-THAN OR EQUAL TO} {radius}"
    )


def _plate(one: Compared, data: Dataset) -> Any:  # noqa: ANN401 - a figure
    figures = one.figures
    labels, images = np.asarray(data.labels), np.asarray(data.images)
    queries, neighbours = np.array(figures["queries"]), [np.array(n) for n in figures["neighbours"]]
    if labels.ndim == 1:
        correct = [labels[n] == labels[q] for q, n in zip(queries, neighbours, strict=True)]
    else:
        correct = [
            (labels[n] & labels[q]).any(axis=1) for q, n in zip(queries, neighbours, strict=True)
        ]
    return plots.plot_neighbours(images, queries, neighbours, correct)
