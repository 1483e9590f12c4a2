"""Dataset: items with what is known about them, and how it is split for evaluation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from kinhash.arrays import Array
from kinhash.errors import InvalidInputError, unknown_name

N_TRAIN_PER_CLASS, N_QUERY_PER_CLASS = 200, 100  # the paper's, on CIFAR-10
N_QUERY = 1000  # without labels


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers of a `Dataset`, int64 and ascending.

    Attributes:
        train: Rows to learn from; they are part of the database too.
        query: Rows to search with.
        database: Rows to search in: all that are not queries.
    """

    train: npt.NDArray[np.int64]
    query: npt.NDArray[np.int64]
    database: npt.NDArray[np.int64]


Modality = Any  # an array, a sparse matrix or texts: rows of these have no type in common


@dataclass(frozen=True, eq=False)
class Dataset:
    """What is known about some items: vectors, pictures or texts, and labels.

    Attributes:
        name: What the data set is called.
        vectors: `(n, d)`, float32; or None where there are only images, texts or modalities.
        labels: `(n,)` int64 class numbers, or `(n, n_labels)` uint8 of 0 and 1, or None.
        images: `(n, h, w)` or `(n, h, w, 3)`, uint8, or None.
        names: One name per class, `names[label]`, or per column of a 0/1 matrix; or None.
        ids: `(n,)`, the caller's own ids of the items: int64, or an object array of strings; or
            None.
        texts: One text per item, such as a title or tags with spaces between; or None.
        attributes: What else is known, by name: arrays with one row per item; or None.
        modalities: Several kinds of vectors, sparse matrices or texts of the same items, by name,
            such as "image" and "text", for `kinhash.MultimodalSparseHash`; or None.

    Raises:
        InvalidInputError: An array has another type or shape than listed here, there are no items
            or `vectors` have no columns, the lengths differ, or a label has no name.

    Example:
        >>> import numpy as np
        >>> data = Dataset("mine", np.eye(12, 4, dtype=np.float32), labels=np.arange(12) % 2)
        >>> len(data), data.split(seed=0).query.size
        (12, 2)
    """

    name: str
    vectors: npt.NDArray[np.float32] | None = None
    labels: npt.NDArray[np.int64] | npt.NDArray[np.uint8] | None = None
    images: npt.NDArray[np.uint8] | None = None
    names: tuple[str, ...] | None = None
    ids: Array | None = None
    texts: tuple[str, ...] | None = None
    attributes: Mapping[str, npt.NDArray[Any]] | None = None
    modalities: Mapping[str, Modality] | None = None

    def __post_init__(self) -> None:
        if self.vectors is not None:
            _check_vectors(self.vectors)
        if self.labels is not None:
            _check_labels(self.labels, self.names)
        if self.images is not None:
            _check_array("images", self.images, np.uint8, "(n, h, w) or (n, h, w, 3)", (3, 4))
        if self.ids is not None:
            _check_ids(self.ids)
        content, known = self._content(), {"labels": self.labels, "ids": self.ids}
        known |= {f"attributes[{name!r}]": one for name, one in (self.attributes or {}).items()}
        if not content:
            raise InvalidInputError(
                "A data set must have `vectors`, `images`, `texts` or `modalities`, got none."
            )
        first = next(iter(content))
        if len(self) == 0:
            raise InvalidInputError(f"`{first}` must have at least one item, got none.")
        for field, values in (content | known).items():
            if values is not None and _n_items(values) != len(self):
                raise InvalidInputError(
                    f"`{field}` has {_n_items(values)} items but `{first}` has {len(self)}."
                )

    def _content(self) -> dict[str, Any]:
        """Return what the items consist of, by the name of the field."""
        content = {field: getattr(self, field) for field in ("vectors", "images", "texts")}
        content |= {f"modalities[{name!r}]": one for name, one in (self.modalities or {}).items()}
        return {field: values for field, values in content.items() if values is not None}

    def __len__(self) -> int:
        return _n_items(next(iter(self._content().values())))

    def split(
        self, seed: int = 0, *, n_train: int | None = None, n_query: int | None = None
    ) -> Split:
        """Return a random split with the same numbers of training and query items in every class.

        Training and query items are disjoint; the database is everything that is not a query. A
        class of `n_c` items gives at most `n_c // 6` queries and `n_c // 2` training items, so that
        in a small class, too, a query has something to find. A class of fewer than 6 items
        therefore gives no query, and one of a single item gives nothing: both are only searched in.

        With a 0/1 matrix, each label counts as a class of the items that have it, and no item is
        drawn twice: queries first, then training items, both from the rarest label to the most
        frequent. The limits of a sixth and a half count all items with the label that were drawn
        so far, for whichever label. Items without any label are only searched in.

        Without labels, at most a sixth of all items are queries, and all others are searched and,
        as far as `n_train` allows, trained on.

        Args:
            seed: Equal seeds give equal splits.
            n_train: Training items per class or label, by default 200; without labels, in all, by
                default as many as there are.
            n_query: Queries per class or label, by default 100; without labels, in all, by default
                1,000.

        Raises:
            InvalidInputError: `n_train` or `n_query` is less than 1, `seed` is negative, or there
                are fewer than 6 items, or every class or label has fewer.
        """
        _check_integer("seed", seed, 0)
        if n_train is not None:
            _check_integer("n_train", n_train, 1)
        if n_query is not None:
            _check_integer("n_query", n_query, 1)
        if self.labels is None:
            return self._split_without_labels(seed, n_train, n_query or N_QUERY)
        n_train, n_query = n_train or N_TRAIN_PER_CLASS, n_query or N_QUERY_PER_CLASS
        draw = _draw_by_class if self.labels.ndim == 1 else _draw_by_label
        query, train = draw(self.labels, np.random.default_rng(seed), n_query, n_train)
        if not query.size:
            kind = "class" if self.labels.ndim == 1 else "label"
            raise InvalidInputError(
                f"A split needs a {kind} of at least 6 items, but the largest {kind} of data set "
                f"{self.name!r} has {_largest(self.labels)}."
            )
        is_query = np.zeros(len(self), dtype=bool)
        is_query[query] = True
        return Split(np.sort(train), np.sort(query), np.flatnonzero(~is_query))

    def _split_without_labels(self, seed: int, n_train: int | None, n_query: int) -> Split:
        if len(self) < 6:
            raise InvalidInputError(
                f"A split needs at least 6 items, but data set {self.name!r} has {len(self)}."
            )
        rows = np.random.default_rng(seed).permutation(len(self))
        query, rest = np.split(rows, [min(n_query, len(self) // 6)])
        return Split(np.sort(rest[:n_train]), np.sort(query), np.sort(rest))


def vectors_of(data: Dataset) -> npt.NDArray[np.float32]:
    """Return the vectors of a data set, for what cannot do without them.

    Raises:
        InvalidInputError: It has none.
    """
    if data.vectors is None:
        content = ", ".join(f"`{field}`" for field in data._content())  # noqa: SLF001 - same module
        raise InvalidInputError(
            f"This needs vectors, but data set {data.name!r} has only {content}. Turn these into "
            "vectors, or learn from several modalities with kinhash.MultimodalSparseHash."
        )
    return data.vectors


def with_modalities(data: Dataset, names: Sequence[str]) -> Dataset:
    """Return the data set with these modalities only; a single one may be its only vectors.

    Raises:
        InvalidInputError: It does not have one of them.
    """
    known = data.modalities
    if known is None and len(names) == 1:
        known = {names[0]: vectors_of(data)}
    if known is None:
        raise InvalidInputError(f"Data set {data.name!r} has one kind of vectors, no modalities.")
    for name in names:
        if name not in known:
            raise unknown_name(f"modality of {data.name}", name, known)
    return replace(data, modalities={name: known[name] for name in names})


def rows_of(values: Modality, rows: npt.NDArray[np.int64]) -> Modality:
    """Return some rows of a modality: an array, a sparse matrix, or a list of texts."""
    return values[rows] if hasattr(values, "shape") else [values[row] for row in rows]


def _draw_by_class(
    labels: npt.NDArray[Any], rng: np.random.Generator, n_query: int, n_train: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the rows of the queries and of the training items."""
    counts = np.unique(labels, return_counts=True)[1]
    by_class = np.split(np.argsort(labels, kind="stable"), np.cumsum(counts)[:-1])
    query, train = [], []
    for n_c, rows in zip(counts.tolist(), by_class, strict=True):
        shuffled = rng.permutation(rows)
        n_queries = min(n_query, n_c // 6)
        n_training = min(n_train, n_c // 2)
        query.append(shuffled[:n_queries])
        train.append(shuffled[n_queries : n_queries + n_training])
    return np.concatenate(query), np.concatenate(train)


def _draw_by_label(
    labels: npt.NDArray[Any], rng: np.random.Generator, n_query: int, n_train: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the rows of the queries and of the training items."""
    counts = labels.sum(axis=0, dtype=np.int64)
    is_free = np.ones(len(labels), dtype=bool)
    parts = []
    for n_wanted, share in ((n_query, 6), (n_train, 2)):
        is_drawn = np.zeros(len(labels), dtype=bool)
        # A rare label has few items to give, so frequent ones must not take them first.
        for label in np.argsort(counts, kind="stable"):
            has_label = labels[:, label] != 0
            n_left = int(counts[label]) // share - int(np.sum(has_label & is_drawn))
            rows = rng.permutation(np.flatnonzero(has_label & is_free))
            drawn = rows[: max(0, min(n_wanted, n_left))]
            is_drawn[drawn], is_free[drawn] = True, False
        parts.append(np.flatnonzero(is_drawn))
    return parts[0], parts[1]


def _largest(labels: npt.NDArray[Any]) -> int:
    """Return the number of items in the largest class, or with the most frequent label."""
    counts = np.unique(labels, return_counts=True)[1] if labels.ndim == 1 else labels.sum(axis=0)
    return int(counts.max(initial=0))


def _n_items(values: Any) -> int:  # noqa: ANN401 - an array, a sparse matrix, or texts
    return int(values.shape[0]) if hasattr(values, "shape") else len(values)


def _check_vectors(vectors: npt.NDArray[np.float32]) -> None:
    _check_array("vectors", vectors, np.float32, "(n, d)", (2,))
    if 0 in vectors.shape:
        raise InvalidInputError(
            f"`vectors` must have at least one row and one column, got {vectors.shape}."
        )


def _check_ids(ids: Array) -> None:
    if isinstance(ids, np.ndarray) and ids.dtype == object and ids.ndim == 1:
        wrong = next((one for one in ids.tolist() if type(one) is not str), None)
        if wrong is None:
            return
        raise InvalidInputError(f"`ids` must be int64 or strings, got {wrong!r} among objects.")
    _check_array("ids", ids, np.int64, "(n,)", (1,))


def _check_array(
    field: str, array: object, dtype: type[np.generic], shape: str, n_axes: tuple[int, ...]
) -> None:
    if not isinstance(array, np.ndarray):
        raise InvalidInputError(f"`{field}` must be a NumPy array, got {type(array).__name__}.")
    has_colours = array.ndim != 4 or array.shape[3] == 3
    if array.dtype != dtype or array.ndim not in n_axes or not has_colours:
        raise InvalidInputError(
            f"`{field}` must be {np.dtype(dtype)} of shape {shape}, "
            f"got {array.dtype} of shape {array.shape}."
        )


def _check_labels(
    labels: npt.NDArray[np.int64] | npt.NDArray[np.uint8], names: tuple[str, ...] | None
) -> None:
    if np.ndim(labels) != 2:
        _check_array("labels", labels, np.int64, "(n,)", (1,))
        low, high = int(labels.min(initial=0)), int(labels.max(initial=0))
        if names is not None and (low < 0 or high >= len(names)):
            raise InvalidInputError(
                f"`labels` must be in [0, {len(names) - 1}] to have one of the {len(names)} "
                f"`names`, got {low} to {high}."
            )
        return
    _check_array("labels", labels, np.uint8, "(n, n_labels)", (2,))
    if labels.max(initial=0) > 1:
        raise InvalidInputError(
            f"`labels` of shape (n, n_labels) must hold 0 and 1 only, got {labels.max()}."
        )
    if names is not None and len(names) != labels.shape[1]:
        raise InvalidInputError(
            f"`names` has {len(names)} names but `labels` has {labels.shape[1]} columns."
        )


def _check_integer(name: str, value: int, low: int) -> None:
    if not isinstance(value, Integral) or value < low:
        raise InvalidInputError(f"`{name}` must be an integer of at least {low}, got {value!r}.")
