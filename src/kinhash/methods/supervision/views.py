"""From what the user has (labels, tags, pairs, paired rows) to a source of pairs of views.

A view is a row of a modality. Views are numbered through: those of the first modality, then those
of the second, and so on; see `kinhash.pairs.Views`.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse

from kinhash.arrays import Array, Labels, Matrix
from kinhash.encoders import is_sparse
from kinhash.errors import InvalidInputError, unknown_name
from kinhash.labels import check_complete, joined, label_array, missing_rows
from kinhash.methods.modalities.modality import Modality, check_paired
from kinhash.methods.supervision.rows import from_labels, nearest
from kinhash.pairs import LabelSource, Pairs, PairSource, Source, TagSource, Views

Listed = tuple[Array, Array, Array]  # view, view, whether they are similar

_WITHOUT = ", or leave `y` out"
_UNPAIRED = ", or give labels for each: y={'image': ..., 'text': ...}"


def view_source(
    modalities: Mapping[str, Modality],
    y: Labels | Mapping[str, Any] | None,
    pairs: Pairs | Mapping[Any, Pairs] | None,
    *,
    n_neighbors: int,
    seed: int,
) -> Views:
    """Return the source of training pairs.

    Args:
        modalities: By name.
        y: Class labels or a 0/1 matrix of tags for the items, or a dict of them for the rows of
            each modality; or None.
        pairs: `Pairs` of items; or a dict of `Pairs`: of rows of one modality, by its name, and
            across two, by their names; or None.
        n_neighbors: With neither: an item is similar to this many nearest ones in each modality.
        seed: Chooses the items among which neighbours are sought, when there are too many.

    Raises:
        InvalidInputError: Both or unusable kinds of supervision.
    """
    if y is not None and pairs is not None:
        raise InvalidInputError("Give either `y` or `pairs`, got both.")
    present = np.concatenate([modality.present for modality in modalities.values()])
    starts = np.cumsum([0, *(modality.n_rows for modality in modalities.values())])
    source: Source
    if y is not None:
        source, _ = label_views(modalities, y)
        n_rows = {modality.n_rows for modality in modalities.values()}
        if len(n_rows) == 1 and not (isinstance(y, Mapping) and len(y) > 1):  # rows are paired
            of_items = next(iter(y.values())) if isinstance(y, Mapping) else y
            there = np.asarray(present.reshape(len(modalities), -1).any(axis=0))
            items = from_labels(of_items, n_rows.pop(), else_=_WITHOUT, needed=there)
            items = dataclasses.replace(items, units=np.flatnonzero(there))
            return Views(source, starts, items=items, present=present)
    else:
        if pairs is None:
            listed = _neighbours(modalities, n_neighbors, seed)
        elif isinstance(pairs, Mapping):
            listed = list(
                _pairs_by_name(modalities, dict(zip(modalities, starts, strict=False)), pairs)
            )
        else:
            listed = _pairs_of_items(modalities, pairs)
        source = _from_views(listed, present)
    return Views(source, starts)


def label_views(
    modalities: Mapping[str, Modality], y: Labels | Mapping[str, Any]
) -> tuple[LabelSource | TagSource, Matrix]:
    """Return the source for the labels of all views, and the labels as they were given.

    Views that are there are dealt.

    Args:
        modalities: By name.
        y: As `view_source` takes it.

    Raises:
        InvalidInputError: The labels cannot be used.
    """
    present = np.concatenate([modality.present for modality in modalities.values()])
    stacked = _stacked_labels(modalities, y)
    source = from_labels(stacked, len(present), else_=_WITHOUT, needed=present)
    return dataclasses.replace(source, units=np.flatnonzero(present)), stacked


def _stacked_labels(modalities: Mapping[str, Modality], y: Labels | Mapping[str, Any]) -> Matrix:
    """Return the labels of all views; none of a view that is there may be missing."""
    by_name = isinstance(y, Mapping)
    if not isinstance(y, Mapping):
        check_paired(modalities, _UNPAIRED)
        y = dict.fromkeys(modalities, y)
    for name in y:
        if name not in modalities:
            raise unknown_name("modality in `y`", str(name), tuple(modalities))
    labels: dict[str, Any] = {name: label_array("`y`", one) for name, one in y.items()}
    for name, one in labels.items():
        n_rows, n_labels = modalities[name].n_rows, one.shape[0] if one.ndim else 0
        if n_labels != n_rows:
            raise InvalidInputError(f"`y` has {n_labels} labels but {name!r} has {n_rows} rows.")
    stacked = [_labels_of(name, modalities, labels) for name in modalities]
    for modality, one in zip(modalities.values(), stacked, strict=True):
        what = f"`y` of {modality.name!r}" if by_name else "`y`"
        missing = missing_rows(one) & modality.present
        check_complete(what, missing, drop="Drop those rows from `X` and `y`")
    return _stack(stacked)


def _labels_of(
    name: str, modalities: Mapping[str, Modality], labels: Mapping[str, Matrix]
) -> Matrix:
    """Return a modality's own labels, or those of another whose rows are paired with its own."""
    if name in labels:
        return labels[name]
    n_rows = modalities[name].n_rows
    for other, one in labels.items():
        if modalities[other].n_rows == n_rows:
            return one
    raise InvalidInputError(
        f"`y` has no labels for {name!r}, whose {n_rows} rows are not paired with those of "
        f"{', '.join(map(repr, labels))}. Add them."
    )


def _stack(labels: list[Matrix]) -> Matrix:
    widths = {one.shape[1] if one.ndim == 2 else 1 for one in labels}
    if len(widths) > 1:
        raise InvalidInputError(
            "`y` must have the same kind of labels for each modality, got "
            f"{' and '.join(f'{width} columns' for width in sorted(widths))}."
        )
    if any(is_sparse(one) for one in labels):
        return scipy.sparse.vstack([scipy.sparse.csr_array(one) for one in labels])
    return joined(labels)


def _pairs_of_items(modalities: Mapping[str, Modality], pairs: object) -> list[Listed]:
    if not isinstance(pairs, Pairs):
        raise InvalidInputError(
            f"`pairs` must be kinhash.Pairs, or a dict of them, got {type(pairs).__name__}."
        )
    n = check_paired(modalities, ", or give pairs for each: pairs={('image', 'text'): ...}")
    pairs.check_rows(n)
    return _between_all(len(modalities), n, pairs.i, pairs.j, pairs.similar)


def _neighbours(modalities: Mapping[str, Modality], n_neighbors: int, seed: int) -> list[Listed]:
    n = check_paired(modalities, _UNPAIRED)
    near = []
    for modality in modalities.values():
        rows = np.flatnonzero(modality.present)
        left, right, _ = nearest(modality.unit_rows()[rows], n_neighbors, seed)
        near.append(np.stack([rows[left], rows[right]]))
    left, right = np.concatenate(near, axis=1)
    return _between_all(len(modalities), n, left, right, np.ones(len(left), bool))


def _between_all(k: int, n: int, i: Array, j: Array, similar: Array) -> list[Listed]:
    """Return the pairs of items within and across k modalities, and each item with itself."""
    own = np.arange(n)
    listed = []
    for a, b in itertools.combinations_with_replacement(range(k), 2):
        listed.append((i + a * n, j + b * n, similar))
        if a != b:
            listed.append((j + a * n, i + b * n, similar))
            listed.append((own + a * n, own + b * n, np.ones(n, bool)))
    return listed


def _pairs_by_name(
    modalities: Mapping[str, Modality], starts: Mapping[str, int], pairs: Mapping[Any, Any]
) -> Iterator[Listed]:
    for key, one in pairs.items():
        names = (key, key) if isinstance(key, str) else key
        if not isinstance(names, tuple) or len(names) != 2:
            raise InvalidInputError(
                f"A key of `pairs` must be a modality or two of them, got {key!r}."
            )
        for name in names:
            if name not in modalities:
                raise unknown_name("modality in `pairs`", str(name), tuple(modalities))
        if not isinstance(one, Pairs):
            raise InvalidInputError(f"`pairs` must hold kinhash.Pairs, got {type(one).__name__}.")
        left, right = names
        one.check_rows(modalities[left].n_rows, modalities[right].n_rows)
        yield one.i + starts[left], one.j + starts[right], one.similar


def _from_views(listed: list[Listed], present: Array) -> PairSource:
    left, right, similar = (np.concatenate(parts) for parts in zip(*listed, strict=True))
    there = present[left] & present[right] & (left != right)
    if not similar[there].any():
        raise InvalidInputError("No two views are similar: `pairs` list none that is there.")
    return PairSource.from_pairs(Pairs(left[there], right[there], similar[there]), len(present))
