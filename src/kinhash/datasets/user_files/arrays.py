"""NumPy's own files, .npy and .npz, as data sets."""

import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.npyio import NpzFile

from kinhash.datasets.dataset import Dataset
from kinhash.datasets.user_files.fields import (
    as_ids,
    as_images,
    as_labels,
    as_modality,
    as_vectors,
    check_paired,
    choose,
    first_vectors,
)
from kinhash.errors import InvalidInputError

# What NumPy and the modules under it raise on a damaged file; RuntimeError is zipfile's for an
# unknown compression or a password.
_UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    RuntimeError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


def read_npy(path: Path) -> Dataset:
    """Return the two-dimensional array of an .npy file; if float32, it stays on disk."""
    return Dataset(path.stem, as_vectors(mapped_npy(path), str(path)))


def mapped_npy(path: Path) -> npt.NDArray[Any]:
    """Return the array of an .npy file, of any type and shape, which stays on disk.

    Raises:
        InvalidInputError: It cannot be read, or holds Python objects.
    """
    _check_magic(path, b"\x93NUMPY")
    try:
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except _UNREADABLE as error:
        raise _unreadable(str(path), error) from error
    return array


def read_npz(
    path: Path, *, features: str | None = None, labels: str | None = None, ids: str | None = None
) -> Dataset:
    """Return the arrays `vectors`, `labels`, `ids`, `images` and `names` of an .npz file.

    All but the vectors may be missing; other arrays are left alone.
    """
    with _opened(path) as archive:
        found = archive.files
        label_array = choose("labels", labels, ("labels", "label"), found, str(path))
        id_array = choose("ids", ids, ("ids", "id"), found, str(path))
        vector_array = choose("features", features, ("vectors",), found, str(path))
        if vector_array is None:
            vector_array = _only_matrix(path, archive, {label_array, id_array, "names"})
        vectors = as_vectors(*_read(path, archive, vector_array))
        numbers, names = None, None
        if label_array is not None:
            numbers, names = as_labels(*_read(path, archive, label_array))
            if names is None and "names" in found:
                names = tuple(str(name) for name in _read(path, archive, "names")[0].ravel())
        return Dataset(
            path.stem,
            vectors,
            labels=numbers,
            images=as_images(*_read(path, archive, "images")) if "images" in found else None,
            names=names,
            ids=None if id_array is None else as_ids(*_read(path, archive, id_array)),
        )


def read_npz_modalities(
    path: Path, modalities: Sequence[str], *, labels: str | None = None, ids: str | None = None
) -> Dataset | None:
    """Return the arrays of an .npz file that are called like the modalities, with labels and ids.

    None if a single one is asked for and is not there: then the file may hold nothing else.
    """
    with _opened(path) as archive:
        found = archive.files
        missing = [name for name in modalities if name not in found]
        if missing and len(modalities) == 1:
            return None
        if missing:
            raise InvalidInputError(
                f"{path} has no modality {', '.join(map(repr, missing))}. Its arrays: "
                f"{', '.join(found)}."
            )
        label_array = choose("labels", labels, ("labels", "label"), found, str(path))
        id_array = choose("ids", ids, ("ids", "id"), found, str(path))
        values = {name: as_modality(*_read(path, archive, name)) for name in modalities}
        check_paired(values, str(path))
        numbers, names = None, None
        if label_array is not None:
            numbers, names = as_labels(*_read(path, archive, label_array))
        return Dataset(
            path.stem,
            first_vectors(values),
            labels=numbers,
            names=names,
            ids=None if id_array is None else as_ids(*_read(path, archive, id_array)),
            modalities=values,
        )


def array_names(path: Path) -> tuple[str, ...]:
    """Return the names of the arrays of an .npz file."""
    with _opened(path) as archive:
        return tuple(archive.files)


def read_arrays(path: Path, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Return the named arrays of an .npz file, all of which must be there."""
    with _opened(path) as archive:
        missing = [name for name in names if name not in archive.files]
        if missing:
            raise InvalidInputError(
                f"{path} must have the arrays {', '.join(names)}, but has no {', '.join(missing)}."
            )
        return {name: _read(path, archive, name)[0] for name in names}


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Give the archive of an .npz file."""
    _check_magic(path, b"PK")
    # NumPy leaves a file that it opened itself open when its content is damaged.
    with path.open("rb") as file:
        try:
            archive = np.load(file, allow_pickle=False)
        except _UNREADABLE as error:
            raise _unreadable(str(path), error) from error
        yield archive


def _only_matrix(path: Path, archive: NpzFile, others: set[str | None]) -> str:
    """Return the name of the one two-dimensional array that has no other role."""
    matrices: list[str] = [
        name
        for name in archive.files
        if name not in others and _read(path, archive, name)[0].ndim == 2
    ]
    if len(matrices) != 1:
        has = f"two-dimensional arrays {', '.join(matrices)}" if matrices else "none"
        raise InvalidInputError(
            f"{path} must have an array `vectors` or a single two-dimensional array, but has "
            f"{has}. Name the array with `features`."
        )
    return matrices[0]


def _read(path: Path, archive: NpzFile, name: str) -> tuple[npt.NDArray[Any], str]:
    """Return an array of the archive, and how to call it in a message."""
    source = f"`{name}` in {path}"
    try:
        array = archive[name]
    except _UNREADABLE as error:
        raise _unreadable(source, error) from error
    if not isinstance(array, np.ndarray):
        raise InvalidInputError(f"{source} is not an array, but a file of another kind.")
    return array, source


def _check_magic(path: Path, magic: bytes) -> None:
    """Tell a foreign file here: NumPy takes one for a pickle and advises to load it unsafely."""
    try:
        with path.open("rb") as file:
            start = file.read(len(magic))
    except OSError as error:
        raise _unreadable(str(path), error) from error
    if start != magic:
        is_empty = "is empty" if not start else f"starts with {start!r}"
        raise InvalidInputError(f"{path} must be a NumPy {path.suffix} file, but {is_empty}.")


def _unreadable(source: str, error: Exception) -> InvalidInputError:
    if any(words in str(error) for words in ("Object arrays", "Python objects")):
        return InvalidInputError(
            f"{source} holds Python objects, which are not loaded because that can run code. "
            "Store numbers, or text as array.astype(str)."
        )
    return InvalidInputError(f"{source} cannot be read: {error}.")
