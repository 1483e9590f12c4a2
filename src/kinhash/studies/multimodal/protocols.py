"""The experiments with several modalities: who is searched with what, and with which settings."""

import dataclasses
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from kinhash.arrays import Array
from kinhash.datasets import Dataset
from kinhash.errors import InvalidInputError, unknown_name
from kinhash.evaluation.multimodal import Parts, Rows, Search
from kinhash.studies.records import L2, Settings

N_BITS = 64
N_SEEDS = 3
RAW, CROSS_MODAL_SSH, OURS = "L2", "CM-SSH", "MM-SparseHash"
RECIPE, ACROSS_ONLY, UNTUNED, DEFAULTS = (
    "the paper's recipe",
    "MM-SparseHash, mu 0",
    "MM-SparseHash, untuned",
    "MM-SparseHash, defaults",
)

# As the paper prints it: no Gaussian units, no weight decay, codes with signs, plain descent.
_RECIPE: Settings = {
    "margin": 7,
    "alpha": 0.001,
    "lam": 0.1,
    "similar_share": 0.22,
    "mu": 1,
    "beta": 3,
    "signed": True,
    "n_anchors": 0,
    "weight_decay": 0,
    "optimizer": "sgd",
}
# What differs from MultimodalSparseHash(recipe="paper"), chosen on held-out parts of the training
# rows: units under the words of titles, too, with hardly any decay; and on Wikipedia, whose
# networks learn noisy features by heart, much decay and a wide margin. Corel-5k is not tuned.
_OURS: dict[str, Settings] = {
    "wikipedia": {
        "margin": 32,
        "lam": 0.2,
        "alpha": 0.001,
        "weight_decay": 10,
        "n_anchors": 1000,
    },
    "fashion-products": {
        "margin": 14,
        "lam": 1.5,
        "alpha": 0.05,
        "weight_decay": 0.01,
        "learning_rate": 0.003,
        "n_anchors": 2000,
    },
    "corel5k": {"n_anchors": 2000},
    "nus-wide": {},
}
# Fewer active bits and more collisions, for a little of the order in the long tail.
_SPARSER: Settings = {"margin": 8, "lam": 2, "alpha": 0.1}


@dataclasses.dataclass(frozen=True)
class Protocol:
    """How a data set is used.

    Attributes:
        name: What tells it from the others on the same data.
        about: The same in sentences: who is searched with what, and what is similar.
        at: Ranking lengths, ten and those whose precision is shown.
        parts: Gives the rows, from the data set and a seed.
        labels: Gives what is similar: `(n,)` classes or a 0/1 matrix.
    """

    name: str
    about: str
    at: tuple[int, ...]
    parts: Callable[[Dataset, int], Parts]
    labels: Callable[[Dataset], Array]


def plan(experiment: str) -> dict[str, Settings]:
    """Return what is run, by the name it has in tables.

    Raises:
        InvalidInputError: There is no such experiment.
    """
    checked(experiment)
    defaults: Settings = {"method": "multimodal-sparsehash", "n_bits": N_BITS}
    sparse = defaults | {"recipe": "paper"}
    ours = sparse | _OURS[experiment]
    rows: dict[str, Settings] = {
        RAW: {"method": L2},
        "CCA-ITQ": {"method": "cca-itq", "n_bits": N_BITS},
        CROSS_MODAL_SSH: {"method": "cmssh", "n_bits": N_BITS},
        RECIPE: sparse | _RECIPE,
        OURS: ours,
        ACROSS_ONLY: ours | {"mu": 0},
    }
    if experiment == "fashion-products":
        rows["MM-SparseHash, sparser"] = ours | _SPARSER
    if ours != sparse:
        rows[UNTUNED] = sparse
    return rows | {DEFAULTS: defaults}


def checked(experiment: str) -> str:
    """Return the experiment's name.

    Raises:
        InvalidInputError: There is no such experiment.
    """
    if experiment not in PROTOCOLS:
        raise unknown_name("experiment", experiment, tuple(PROTOCOLS))
    return experiment


def own_labels(data: Dataset) -> Array:
    """Return the labels that a data set came with.

    Raises:
        InvalidInputError: There are none.
    """
    if data.labels is None:
        raise InvalidInputError(f"Data set {data.name!r} has no labels. Use one that has.")
    return data.labels


def type_or_colour_and_usage(data: Dataset) -> Array:
    """Return a 0/1 matrix of fashion products: types of article, then pairs of colour and usage.

    Two that have a column in common have the same type, or the same colour and usage.
    """
    colours, usages = _attribute(data, "baseColour"), _attribute(data, "usage")
    both = np.array([f"{colour}/{usage}" for colour, usage in zip(colours, usages, strict=True)])
    return np.hstack([_one_column_each(own_labels(data)), _one_column_each(both)])


def tags(data: Dataset) -> Array:
    """Return the 0/1 matrix of tags of a data set that has them beside its classes."""
    return _attribute(data, "tags")


def _one_column_each(values: Array) -> npt.NDArray[np.uint8]:
    different, column = np.unique(values, return_inverse=True)
    matrix = np.zeros((len(values), len(different)), np.uint8)
    matrix[np.arange(len(values)), column.reshape(-1)] = 1
    return matrix


def _attribute(data: Dataset, name: str) -> Array:
    if data.attributes is None or name not in data.attributes:
        raise InvalidInputError(f"Data set {data.name!r} does not say the {name} of its items.")
    return data.attributes[name]


def _official(data: Dataset) -> tuple[Rows, Rows]:
    """Return the training rows and the test rows of the split that the data set came with."""
    split = _attribute(data, "split")
    return np.flatnonzero(split == "train"), np.flatnonzero(split == "test")


def _wikipedia(data: Dataset, _seed: int) -> Parts:
    train, test = _official(data)
    return Parts(
        train,
        {
            "test items": Search(test, test, np.arange(len(test))),
            "training items": Search(test, train),
        },
    )


def _corel5k(data: Dataset, _seed: int) -> Parts:
    train, test = _official(data)
    return Parts(
        train,
        {
            "training items": Search(test, train),
            "test items": Search(test, test, np.arange(len(test))),
        },
    )


def _fashion_products(data: Dataset, seed: int) -> Parts:
    rows = np.random.default_rng(seed).permutation(len(data))
    n_query = min(2_000, len(data) // 6)
    query, rest = np.sort(rows[:n_query]), rows[n_query:]
    return Parts(np.sort(rest[:10_000]), {"all but the queries": Search(query, np.sort(rest))})


def _nus_wide(data: Dataset, seed: int) -> Parts:
    part = data.split(seed, n_query=100)
    rest = np.random.default_rng((seed, 1)).permutation(part.database)
    return Parts(
        np.sort(rest[:100_000]), {"all but the queries": Search(part.query, part.database)}
    )


_FASHION = (
    "2,000 random queries; learned from 10,000 random pairs of a photograph (GIST and colours) and "
    "a title (words) among the others. All of these, learned from or not, are searched."
)
_COREL = (
    "The usual split: learned from the training photographs (GIST and colours) with their tags, "
    "which are then searched with the test photographs and their tags. That rewards learning by "
    "heart, so the test items are searched among themselves, too."
)

PROTOCOLS: dict[str, tuple[Protocol, ...]] = {
    "wikipedia": (
        Protocol(
            "classes",
            "The official split: learned from the 2,173 training items, and searched with the 693 "
            "test items, once among themselves, where neither a query nor its other half counts, "
            "and once among the training items, which rewards learning by heart. Similar: the same "
            "of ten categories.",
            (10, 50),
            _wikipedia,
            own_labels,
        ),
    ),
    "fashion-products": (
        Protocol(
            "classes",
            f"{_FASHION} Similar: the same of 23 types of article.",
            (10, 300, 5000),
            _fashion_products,
            own_labels,
        ),
        Protocol(
            "attributes",
            f"{_FASHION} Similar: the same type of article, or the same colour and usage.",
            (10, 300, 5000),
            _fashion_products,
            type_or_colour_and_usage,
        ),
    ),
    "corel5k": (
        Protocol(
            "classes", f"{_COREL} Similar: the same of 50 classes.", (10, 50), _corel5k, own_labels
        ),
        Protocol(
            "tags",
            f"{_COREL} Similar: a tag in common. The texts are the tags, so that text-text asks "
            "only whether the codes keep what the query says itself.",
            (10, 50),
            _corel5k,
            tags,
        ),
    ),
    "nus-wide": (
        Protocol(
            "concepts",
            "100 queries for each of the 21 most frequent concepts; learned from 100,000 random "
            "pairs of a photograph (visual words) and its tags among the others. All of these, "
            "learned from or not, are searched. Similar: a concept in common.",
            (10, 5000),
            _nus_wide,
            own_labels,
        ),
    ),
}
"""The protocols of each experiment, which is called as its data set is."""
