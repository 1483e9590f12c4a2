"""Comparing methods on a data set: a record of each, and a table of means."""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from kinhash.codes import Order
from kinhash.datasets import Dataset
from kinhash.errors import InvalidInputError, unknown_name
from kinhash.measures import COMPARISON, NEIGHBOURS
from kinhash.methods import METHODS
from kinhash.metrics import Metric
from kinhash.progress import Report, silent
from kinhash.record_file import Record
from kinhash.show.tables import Row, show, title
from kinhash.studies import own_methods
from kinhash.studies.records import RAW, Settings, named, record


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


def rows(compared: Sequence[Compared]) -> list[Row]:
    """Return a line of means for each method, for `tables.render`."""
    columns = NEIGHBOURS if is_without_labels(compared) else COMPARISON
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
    if is_without_labels(compared):
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


def is_without_labels(compared: Sequence[Compared]) -> bool:
    """Return whether these were measured by true neighbours: nothing else has no mAP."""
    return bool(compared) and all("map" not in one.records[0]["metrics"] for one in compared)


def _spread(one: Compared, measure: str) -> str:
    """Return the standard deviation over the splits, of which a single one has none."""
    n = len(one.records)
    if n == 1:
        return ", one split"
    return f", standard deviation {100 * one.spread(measure):.2f} over {n} splits"


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
