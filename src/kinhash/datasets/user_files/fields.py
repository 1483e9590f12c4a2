"""How a user's arrays become the fields of a `Dataset`, and what is said when they cannot."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from kinhash.arrays import Array
from kinhash.errors import InvalidInputError
from kinhash.labels import check_complete, missing_rows
from kinhash.tables import whole_numbers

Labels = npt.NDArray[np.int64] | npt.NDArray[np.uint8]
Modality = npt.NDArray[np.float32] | tuple[str, ...]  # vectors or texts


def as_vectors(
    array: Array, source: str, *, shape: tuple[int, ...] | None = None
) -> npt.NDArray[np.float32]:
    """Return numbers of shape (n, d) as float32; float32 itself is not copied.

    Args:
        array: The numbers.
        source: What messages call them.
        shape: What messages say of an array of which this is a part.
    """
    if array.ndim != 2 or array.dtype.kind not in "fiub" or 0 in array.shape:
        raise InvalidInputError(
            f"{source} must hold numbers of shape (n, d), n and d at least 1, "
            f"got {array.dtype} of shape {shape or array.shape}."
        )
    # A value too large for float32 becomes infinite: whoever uses the vectors names its row.
    with np.errstate(over="ignore"):
        return array.astype(np.float32, copy=False)


def as_labels(array: Array, source: str) -> tuple[Labels, tuple[str, ...] | None]:
    """Return class numbers, or a 0/1 matrix, and the names if the classes were given by name.

    Raises:
        InvalidInputError: Labels are missing (NaN or empty), or cannot be used.
    """
    if array.ndim == 1 and array.dtype.kind in "UST":
        array = _decoded(array, source)
        missing = array == ""
    else:
        missing = missing_rows(array)
    check_complete(source, missing, drop="Remove those rows from the file")
    if array.ndim == 2 and array.dtype.kind in "fiub":
        if not np.isin(array, (0, 1)).all():
            raise InvalidInputError(
                f"{source} is two-dimensional and must hold 0 and 1 only. "
                "Give one class per item as a one-dimensional array."
            )
        return array.astype(np.uint8), None
    if array.ndim != 1 or array.dtype.kind not in "fiubUST":
        raise InvalidInputError(
            f"{source} must hold class numbers, class names or a 0/1 matrix, "
            f"got {array.dtype} of shape {array.shape}."
        )
    if array.dtype.kind in "UST":
        names, numbers = np.unique(array, return_inverse=True)
        return numbers.astype(np.int64), tuple(str(name) for name in names)
    return whole_numbers(array, source), None


def as_modality(array: Array, source: str) -> Modality:
    """Return numbers of shape (n, d) as float32, or strings of shape (n,) as texts."""
    if array.ndim == 1 and array.dtype.kind in "UST":
        return as_texts(array, source)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise InvalidInputError(
            f"{source} must hold vectors, numbers of shape (n, d), or texts, strings of shape "
            f"(n,), got {array.dtype} of shape {array.shape}."
        )
    return as_vectors(array, source)


def as_texts(array: Array, source: str) -> tuple[str, ...]:
    """Return strings of shape (n,)."""
    if array.ndim != 1 or array.dtype.kind not in "UST":
        raise InvalidInputError(
            f"{source} must hold texts, strings of shape (n,), got {array.dtype} of shape "
            f"{array.shape}."
        )
    return tuple(str(text) for text in _decoded(array, source))


def check_paired(modalities: Mapping[str, Any], source: str) -> None:
    """Raise unless all modalities have the same number of rows."""
    (first, rows), *others = modalities.items()
    for name, values in others:
        if len(values) != len(rows):
            raise InvalidInputError(
                f"Row i of each modality must be item i, but in {source} {first!r} has "
                f"{len(rows)} rows and {name!r} has {len(values)}."
            )


def first_vectors(modalities: Mapping[str, Any]) -> npt.NDArray[np.float32] | None:
    """Return what stands for the items where one kind of vectors is wanted; None of texts alone."""
    return next((one for one in modalities.values() if isinstance(one, np.ndarray)), None)


def _decoded(array: Array, source: str) -> Array:
    """Return strings; bytes are text in UTF-8."""
    if array.dtype.kind != "S":
        return array
    try:
        return np.char.decode(array, "utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{source} must hold text in UTF-8: {error}.") from error


def as_ids(array: Array, source: str) -> Array:
    """Return whole numbers of shape (n,) as int64, or strings as an object array."""
    if array.ndim == 1 and array.dtype.kind in "UST":
        return np.array([*as_texts(array, source), None], dtype=object)[:-1]
    if array.ndim != 1 or array.dtype.kind not in "fiu":
        raise InvalidInputError(
            f"{source} must hold one whole number or text per item, "
            f"got {array.dtype} of shape {array.shape}."
        )
    return whole_numbers(array, source)


def as_images(array: Array, source: str) -> npt.NDArray[np.uint8]:
    """Return images as they are if they are bytes."""
    if array.dtype != np.uint8:
        raise InvalidInputError(f"{source} must be uint8, got {array.dtype}. Scale it to 0..255.")
    return array
