"""NumPy's own files, .npy and .npz, as data sets."""

import dataclasses
import gzip
import io
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

from kinhash.arrays import Array, Floats
from kinhash.datasets.dataset import Dataset
from kinhash.datasets.user_files.batches import BATCH_ROWS, Batch
from kinhash.datasets.user_files.columns import (
    USUAL_IDS,
    USUAL_LABELS,
    Columns,
    Wanted,
    choose,
    of_modalities,
)
from kinhash.datasets.user_files.fields import (
    as_ids,
    as_images,
    as_labels,
    as_modality,
    as_texts,
    as_vectors,
    check_paired,
    first_vectors,
)
from kinhash.errors import InvalidInputError
from kinhash.tables import listed, matching

_NPY, _NPZ = b"\x93NUMPY", b"PK"  # how the files start

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


@dataclasses.dataclass(frozen=True, eq=False)
class ArrayItems:
    """Vectors without anything else: one array after the other, in memory or mapped."""

    name: str
    source: str
    arrays: Sequence[Array]
    columns: Columns

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(len(array) for array in self.arrays)

    def batches(self, n_rows: int = BATCH_ROWS, *, with_ids: bool = True) -> Iterator[Batch]:  # noqa: ARG002 - there are none
        """Yield all rows in order, at most `n_rows` at a time."""
        row = 0
        for array in self.arrays:
            for start in range(0, len(array), n_rows):
                vectors = as_vectors(array[start : start + n_rows], self.source)
                yield self._batch(row + start, vectors)
            row += len(array)

    def read(self, *, with_ids: bool = True) -> Dataset:  # noqa: ARG002 - there are none
        """Return all rows; float32 in a file stays there."""
        vectors = [as_vectors(array, self.source) for array in self.arrays]
        whole = self._batch(0, vectors[0] if len(vectors) == 1 else np.concatenate(vectors))
        return Dataset(self.name, whole.vectors, modalities=whole.modalities)

    def _batch(self, row: int, vectors: Floats) -> Batch:
        own = dict.fromkeys(self.columns.modalities, vectors)
        return Batch(row, vectors=vectors, modalities=own or None)


def array_items(name: str, source: str, arrays: Sequence[Array], wanted: Wanted) -> ArrayItems:
    """Return the rows of arrays, which have no names to choose from.

    Raises:
        InvalidInputError: Something is asked for by name, or an array is no matrix of numbers.
    """
    for option in ("features", "labels", "ids", "text"):
        if getattr(wanted, option) is not None:
            raise InvalidInputError(
                f"`{option}` names an array, but {source} holds a single one without a name. "
                "Store several arrays in an .npz file."
            )
    modalities = tuple(wanted.modalities or ())
    if len(modalities) > 1:
        raise InvalidInputError(
            f"{source} holds a single array without a name. Store the modalities "
            f"{', '.join(modalities)} in an .npz file."
        )
    for array in arrays:
        as_vectors(array[:1] if array.ndim else array, source, shape=array.shape)
    return ArrayItems(name, source, arrays, Columns(modalities=dict.fromkeys(modalities, ())))


def npy_items(name: str, paths: Sequence[Path], wanted: Wanted) -> ArrayItems:
    """Return the rows of .npy files, one after the other; they stay on disk, mapped.

    Raises:
        InvalidInputError: A file cannot be read, is no matrix of numbers, or has another width
            than the first.
    """
    arrays = [mapped_npy(path) for path in paths]
    for path, array in zip(paths, arrays, strict=True):
        found = array_items(name, str(path), [array], wanted)
        if array.shape[1] != arrays[0].shape[1]:
            raise InvalidInputError(
                f"All parts must have the columns of {paths[0]}, which has {arrays[0].shape[1]}, "
                f"but {path} has {array.shape[1]}."
            )
    return dataclasses.replace(found, arrays=arrays)


def mapped_npy(path: Path) -> Array:
    """Return the array of an .npy file, of any type and shape: mapped, or of an .npy.gz file, read.

    Raises:
        InvalidInputError: It cannot be read, or holds Python objects.
    """
    is_compressed = path.suffix.lower() == ".gz"
    if not is_compressed:
        _check_magic(path, _NPY)
    try:
        if is_compressed:
            with gzip.open(path, "rb") as file:
                content = io.BytesIO(file.read())
            _check_start(path, content.getvalue()[: len(_NPY)], _NPY)
            return np.asanyarray(np.lib.format.read_array(content, allow_pickle=False))
        return np.asanyarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except _UNREADABLE as error:
        if isinstance(error, InvalidInputError):
            raise
        raise _unreadable(str(path), error) from error


@dataclasses.dataclass(frozen=True, eq=False)
class NpzItems:
    """The arrays of an .npz file, which are read as a whole."""

    path: Path
    columns: Columns
    n_rows = None

    @property
    def name(self) -> str:
        """The name of the file without its ending."""
        return self.path.stem

    def batches(self, n_rows: int = BATCH_ROWS, *, with_ids: bool = True) -> Iterator[Batch]:
        """Yield all rows in order, at most `n_rows` at a time."""
        data = self._read(with_ids=with_ids, with_labels=False)
        for start in range(0, len(data), n_rows):
            rows = slice(start, start + n_rows)
            modalities = {name: one[rows] for name, one in (data.modalities or {}).items()}
            yield Batch(
                start,
                ids=None if data.ids is None else data.ids[rows],
                vectors=None if data.vectors is None else data.vectors[rows],
                texts=None if data.texts is None else data.texts[rows],
                modalities=modalities or None,
            )

    def read(self, *, with_ids: bool = True) -> Dataset:
        """Return all rows, with the labels, and with the arrays `images` and `names`."""
        return self._read(with_ids=with_ids, with_labels=True)

    def _read(self, *, with_ids: bool, with_labels: bool) -> Dataset:
        path, columns = self.path, self.columns
        with _opened(path) as archive:
            found = archive.files
            values = {
                name: as_modality(*_read(path, archive, own[0]))
                for name, own in columns.modalities.items()
            }
            vectors = first_vectors(values)
            if values:
                check_paired(values, str(path))
            elif columns.features:
                vectors = as_vectors(*_read(path, archive, columns.features[0]))
            numbers, names = None, None
            if with_labels and columns.labels is not None:
                numbers, names = as_labels(*_read(path, archive, columns.labels))
                if names is None and "names" in found and not values:
                    names = tuple(str(name) for name in _read(path, archive, "names")[0].ravel())
            has_images = with_labels and "images" in found and not values
            ids, texts = None, None
            if with_ids and columns.ids is not None:
                ids = as_ids(*_read(path, archive, columns.ids))
            if columns.text is not None and not values:
                texts = as_texts(*_read(path, archive, columns.text))
            return Dataset(
                path.stem,
                vectors,
                labels=numbers,
                images=as_images(*_read(path, archive, "images")) if has_images else None,
                names=names,
                ids=ids,
                texts=texts,
                modalities=values or None,
            )


def npz_items(path: Path, wanted: Wanted) -> NpzItems:
    """Return the rows of an .npz file: of `vectors`, or of the only two-dimensional array.

    Raises:
        InvalidInputError: It cannot be read, or an array is not there.
    """
    with _opened(path) as archive:
        return NpzItems(path, _choose_arrays(path, archive, wanted))


def _choose_arrays(path: Path, archive: NpzFile, wanted: Wanted) -> Columns:
    """Return which arrays are read, as what."""
    found, source = archive.files, str(path)
    labels = choose("labels", wanted.labels, USUAL_LABELS, found, source, kind="array")
    ids = choose("ids", wanted.ids, USUAL_IDS, found, source, kind="array")
    text = None
    if wanted.text is not None:
        text = choose("text", wanted.text, (), found, source, kind="array")
    features: tuple[str, ...] = ()
    modalities: dict[str, tuple[str, ...]] = {}
    if wanted.modalities is not None:
        modalities = of_modalities(found, wanted, text, source, numbered=False)
    alone = [name for name, own in modalities.items() if not own]
    if wanted.features is not None:
        matched = matching(found, wanted.features, option="features", source=source, kind="array")
        if len(matched) > 1:
            raise InvalidInputError(
                f"`features` matches several arrays of {path}: {listed(matched)}. Choose one."
            )
        features = tuple(matched)
    elif alone or (text is None and not modalities):
        vectors = "vectors" if "vectors" in found else None
        others = {labels, ids, text, "names", *(own[0] for own in modalities.values() if own)}
        features = (vectors or _only_matrix(path, archive, others),)
    if alone:
        modalities[alone[0]] = features
    used = {labels, ids, text, "images", "names", *features}.union(*modalities.values())
    left = tuple(name for name in found if name not in used)
    return Columns(features, labels, ids, text, modalities, left)


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
    _check_magic(path, _NPZ)
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
    _check_start(path, start, magic)


def _check_start(path: Path, start: bytes, magic: bytes) -> None:
    if start != magic:
        is_empty = "is empty" if not start else f"starts with {start!r}"
        kind = ".npy" if magic == _NPY else ".npz"
        raise InvalidInputError(f"{path} must be a NumPy {kind} file, but {is_empty}.")


def _unreadable(source: str, error: Exception) -> InvalidInputError:
    if any(words in str(error) for words in ("Object arrays", "Python objects")):
        return InvalidInputError(
            f"{source} holds Python objects, which are not loaded because that can run code. "
            "Store numbers, or text as array.astype(str)."
        )
    return InvalidInputError(f"{source} cannot be read: {error}.")
