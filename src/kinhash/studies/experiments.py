"""The experiments of `kinhash reproduce` by name: of one modality, and of several."""

import dataclasses
from pathlib import Path

from kinhash.datasets import Dataset
from kinhash.errors import unknown_name
from kinhash.progress import Report
from kinhash.show.tables import Row
from kinhash.studies.multimodal import reproduction as multimodal_reproduction
from kinhash.studies.multimodal.protocols import N_SEEDS, PROTOCOLS
from kinhash.studies.paper import reproduction

SPLITS = {"cifar10": 5, **dict.fromkeys(PROTOCOLS, N_SEEDS)}
"""How many splits or seeds each experiment is averaged over, unless said otherwise."""


@dataclasses.dataclass(frozen=True)
class Tables:
    """What an experiment found.

    Attributes:
        numbers: Lines with raw numbers, for programs.
        shown: Lines for people.
    """

    numbers: list[Row]
    shown: list[Row]


def check_name(experiment: str) -> None:
    """Raise unless there is such an experiment.

    Raises:
        InvalidInputError: There is none; the message names all.
    """
    if experiment not in SPLITS:
        raise unknown_name("experiment", experiment, SPLITS)


def reproduce(
    experiment: str,
    data: Dataset,
    out: Path,
    *,
    splits: int | None = None,
    report: Report | None = None,
) -> Tables:
    """Run an experiment, and write its records and a report to a folder.

    Args:
        experiment: One of `SPLITS`, which is also the name of its data set.
        data: The data set itself.
        out: A folder; it is made if needed. Records that it has are not computed again.
        splits: How many splits or seeds to average over; by default as many as `SPLITS` says.
        report: Called with (records done, records in all, what comes next).

    Raises:
        InvalidInputError: There is no such experiment, or the data do not fit it.
    """
    check_name(experiment)
    seeds = range(splits or SPLITS[experiment])
    if experiment in PROTOCOLS:
        found = multimodal_reproduction.reproduce(experiment, data, out, seeds=seeds, report=report)
        return Tables(
            multimodal_reproduction.table(experiment, found),
            multimodal_reproduction.shown(experiment, found),
        )
    compared = reproduction.reproduce(
        experiment, data, out, seeds=seeds, unseen_seeds=seeds[:2], report=report
    )
    return Tables(
        reproduction.table(experiment, compared), reproduction.shown(experiment, compared)
    )
