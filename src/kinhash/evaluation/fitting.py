"""Fitting and encoding rows of a data set, with methods of one modality and of several alike."""

import inspect
from collections.abc import Callable
from typing import Any, Literal, Protocol

import numpy as np

from kinhash.arrays import Array, Vectors
from kinhash.codes import Codes
from kinhash.datasets import Dataset
from kinhash.datasets.dataset import rows_of, vectors_of
from kinhash.methods import HashMethod, MultimodalMethod

Method = HashMethod | MultimodalMethod


class Hasher(Protocol):
    """Anything that learns codes of vectors: a method of `kinhash.methods`, or a user's own."""

    @property
    def fit(self) -> Callable[..., Any]:
        """Take vectors, and labels if it learns from any."""

    @property
    def encode(self) -> Callable[..., Codes]:
        """Take vectors; return one code per row."""


def learns_from_labels(method: Hasher) -> bool:
    """Return whether `fit` takes labels after the vectors, and the method does not ignore them."""
    if getattr(method, "unsupervised", False):
        return False
    kinds = [one.kind for one in inspect.signature(method.fit).parameters.values()]
    ordered = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(kind in ordered for kind in kinds) > 1 or inspect.Parameter.VAR_POSITIONAL in kinds


def learns_from_unlabelled(method: Method) -> bool:
    """Return whether `fit` takes further vectors without labels, beside those with labels."""
    return "unlabelled" in inspect.signature(method.fit).parameters


def own_rows(data: Dataset, part: Literal["train", "test"]) -> Array | None:
    """Return the rows of a part of the split that a data set comes with; None if it has none."""
    split = (data.attributes or {}).get("split")
    return None if split is None else np.flatnonzero(split == part)


def fit_rows(
    method: Method, data: Dataset, rows: Array | slice, *, unlabelled: Vectors | None = None
) -> None:
    """Fit a method on some rows, with their labels if there are any.

    Args:
        method: It is fitted in place.
        data: With the method's modalities, if it takes several.
        rows: Row numbers, or a slice, of which vectors are not copied.
        unlabelled: Further vectors, for a method that learns from them, too.

    Raises:
        InvalidInputError: The method refuses the data.
    """
    labels = None if data.labels is None else data.labels[rows]
    if isinstance(method, HashMethod):
        more = {} if unlabelled is None else {"unlabelled": unlabelled}
        method.fit(vectors_of(data)[rows], labels, **more)
        return
    chosen = np.arange(len(data))[rows]
    views = {name: rows_of(values, chosen) for name, values in (data.modalities or {}).items()}
    method.fit(views, labels)


def codes_of_some(
    method: Method, data: Dataset, rows: Array | slice, *, most: int
) -> dict[str, Codes]:
    """Return the codes of at most `most` of the rows, evenly spread.

    Items that lack a modality are left out of its codes.

    Returns:
        The codes by modality; under "" those of a method that takes one.
    """
    chosen = np.arange(len(data))[rows]
    some = chosen[:: max(1, -(-len(chosen) // most))]
    if isinstance(method, HashMethod):
        return {"": method.encode(vectors_of(data)[some])}
    return {
        name: method.encode(_present(rows_of(values, some)), modality=name)
        for name, values in (data.modalities or {}).items()
    }


def _present(values: Any) -> Any:  # noqa: ANN401 - an array, csr or texts
    """Return the rows without those of NaN: items that lack this modality."""
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        return values
    return values[~np.isnan(values).all(axis=1)]
