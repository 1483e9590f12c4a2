"""`Modality`: one kind of vectors, or texts, as a method with several modalities takes them in."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_array

from kinhash.arrays import Array, Matrix, Vectors
from kinhash.encoders import check_finite, is_sparse
from kinhash.encoders.frames import as_modality
from kinhash.errors import ConstantColumnWarning, InvalidInputError, unknown_name, warn
from kinhash.methods.standardisation import check_varies, standardisation
from kinhash.vocabulary import Words, are_texts

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, eq=False)
class Modality:
    """The training rows of one modality.

    Attributes:
        name: What the user calls it.
        vectors: `(n, n_features)`, an array, or csr if it was sparse or texts.
        present: `(n,)` booleans: which items have this modality at all.
        words: The vocabulary, if it was texts.
        mean: What to take from the columns; 0 for sparse vectors, which stay sparse that way.
        scale: What to multiply them by then.
    """

    name: str
    vectors: Matrix
    present: Array
    words: Words | None
    mean: Array
    scale: Array

    @classmethod
    def read(cls, name: str, values: Vectors, *, n_words: int) -> Self:
        """Return the modality of what the user has: an array, a sparse matrix, or texts.

        Rows of NaN, sparse rows without an entry, and texts without a known word are not there.

        Raises:
            InvalidInputError: There is nothing to learn from, or something is not a number.
        """
        words, values = None, as_modality(values)
        if are_texts(values):
            words = Words.of(values, n_words=n_words)
            values = words.bags(values)
        vectors = as_rows(name, values)
        if is_sparse(vectors):
            present = np.diff(vectors.indptr) > 0
            mean, scale, constant = standardisation(vectors)
        else:
            missing = np.isnan(vectors).all(axis=1) if vectors.dtype.kind == "f" else None
            present = np.ones(len(vectors), bool) if missing is None else ~missing
            if not present.any():
                raise InvalidInputError(f"All {len(vectors)} rows of {name!r} are empty.")
            known = vectors if present.all() else vectors[present]
            mean, scale, constant = _named(name, lambda: standardisation(known))
        if not present.any():
            raise InvalidInputError(f"All {vectors.shape[0]} rows of {name!r} are empty.")
        if constant.all():
            raise InvalidInputError(
                f"All columns of {name!r} are constant: there is nothing to learn."
            )
        if constant.any():
            warn(
                f"{constant.sum()} of {len(constant)} columns of {name!r} are constant and are "
                "ignored.",
                ConstantColumnWarning,
            )
        return cls(name, vectors, present, words, mean, scale)

    @classmethod
    def only(cls, vectors: Matrix) -> Self:
        """Return the rows `X` of a method of one modality, which all are there.

        Raises:
            InvalidInputError: A row is not finite, or no column varies.
        """
        mean, scale, constant = standardisation(vectors)
        check_varies(constant)
        return cls("X", vectors, np.ones(vectors.shape[0], bool), None, mean, scale)

    @property
    def label(self) -> str:
        """How a message calls it."""
        return "`X`" if self.name == "X" else repr(self.name)

    @property
    def is_sparse(self) -> bool:
        """Whether the vectors are sparse."""
        return is_sparse(self.vectors)

    @property
    def n_rows(self) -> int:
        """How many items there are, with or without this modality."""
        return int(self.vectors.shape[0])

    def there(self) -> Matrix:
        """Return the vectors of the items that have this modality."""
        return self.vectors if self.present.all() else self.vectors[self.present]

    def filled(self) -> Matrix:
        """Return all vectors; rows that are not there are never dealt, but must not spread NaN."""
        return self.vectors if self.is_sparse or self.present.all() else np.nan_to_num(self.vectors)

    def unit_rows(self) -> Matrix:
        """Return the rows standardised and of unit length, float32; those not there as zeros."""
        if self.is_sparse:
            scaled = self.vectors.multiply(self.scale).tocsr()
            lengths = np.sqrt(np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel())
            inverse = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
            return scipy.sparse.csr_array(scaled.multiply(inverse[:, None])).astype(np.float32)
        rows = (np.asarray(self.vectors, np.float32) - self.mean) * self.scale
        rows[~self.present] = 0
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def read_modalities(X: Mapping[str, Any], *, n_words: int) -> dict[str, Modality]:
    """Return the modalities of a dict of one or more.

    Raises:
        InvalidInputError: It is none, or one of them cannot be used.
    """
    if not isinstance(X, Mapping):
        raise InvalidInputError(
            "`X` must be a dict with the vectors of each modality, such as "
            f"{{'image': ..., 'text': ...}}, got {type(X).__name__}."
        )
    if not X:
        raise InvalidInputError("`X` must have at least one modality, got none.")
    for name in X:
        if not isinstance(name, str) or not name or "/" in name:
            raise InvalidInputError(
                f"A modality's name must be a text without a slash, got {name!r}."
            )
    return {name: Modality.read(name, values, n_words=n_words) for name, values in X.items()}


def check_paired(modalities: Mapping[str, Modality], instead: str) -> int:
    """Return how many rows all modalities have.

    Raises:
        InvalidInputError: They differ; `instead` says what the user may do then.
    """
    sizes = {name: modality.n_rows for name, modality in modalities.items()}
    (first, n_rows), *others = sizes.items()
    for name, n in others:
        if n != n_rows:
            raise InvalidInputError(
                f"Row i of each modality must be item i, but {first!r} has {n_rows} rows and "
                f"{name!r} has {n}. Put NaN, or '' for a text, where an item lacks one{instead}."
            )
    return n_rows


def per_modality(
    name: str, value: T | Mapping[str, T], known: Mapping[str, Any], default: T
) -> dict[str, T]:
    """Return a parameter's value for each modality: one for all, or a dict of one for each.

    Raises:
        InvalidInputError: The dict names a modality that there is not.
    """
    if not isinstance(value, Mapping):
        return dict.fromkeys(known, value)
    for key in value:
        if key not in known:
            raise unknown_name(f"modality in `{name}`", str(key), tuple(known))
    return {key: value.get(key, default) for key in known}


def as_rows(name: str, values: Vectors) -> Matrix:
    """Return vectors as a 2-D array of numbers or csr; what is not finite is left to others.

    Raises:
        InvalidInputError: They are no numbers, or not in two dimensions.
    """
    try:
        checked = check_array(
            values,
            accept_sparse="csr",
            dtype="numeric",
            ensure_all_finite=False,
            ensure_min_samples=0,
            input_name=name,
        )
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"Modality {name!r} cannot be used: {error}") from error
    if not is_sparse(checked):
        return np.asarray(checked)
    rows = scipy.sparse.csr_array(checked)
    _named(name, lambda: check_finite(rows))
    rows = rows.astype(np.float32)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def _named(name: str, call: Callable[[], T]) -> T:
    """Return what a call returns; its complaint about `X` is one about this modality."""
    try:
        return call()
    except InvalidInputError as error:
        message = (
            str(error).replace("Input X contains", f"{name!r} contains").replace("`X`", repr(name))
        )
        raise InvalidInputError(message) from error
