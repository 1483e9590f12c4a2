"""CIFAR-10: 60,000 colour images of 32 x 32 pixels in ten classes (Krizhevsky, 2009)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from kinhash.arrays import Bytes
from kinhash.datasets.dataset import Dataset
from kinhash.datasets.locations import missing_data
from kinhash.datasets.pickles import read_pickle
from kinhash.errors import InvalidInputError, unknown_name
from kinhash.features.cache import cached_features, fingerprint
from kinhash.features.gist import GIST_VERSION, N_FEATURES, gist
from kinhash.progress import Progress

BATCHES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")
NAMES_FILE = "batches.meta"
ITEMS_PER_BATCH = 10_000
N_CLASSES = 10
SIDE = 32

T = TypeVar("T")

_IMAGE_BYTES = 3 * SIDE * SIDE  # the red, green and blue planes


class Layout(NamedTuple):
    """One of the two forms in which CIFAR-10 is published.

    Attributes:
        folder: Where its archive unpacks to.
        batch_suffix: What the names of `BATCHES` end in.
        names_suffix: What the name of `NAMES_FILE` ends in.
        read_batch: Returns labels, unchecked, and images as rows of bytes.
        read_names: Returns the names of the classes.
    """

    folder: str
    batch_suffix: str
    names_suffix: str
    read_batch: Callable[[Path], tuple[Bytes, Bytes]]
    read_names: Callable[[Path], tuple[str, ...]]

    def batch_files(self) -> tuple[str, ...]:
        """Return the names of the files with images, in their order."""
        return tuple(f"{batch}{self.batch_suffix}" for batch in BATCHES)

    def names_file(self) -> str:
        """Return the name of the file with the names of the classes."""
        return f"{NAMES_FILE}{self.names_suffix}"


def load_cifar10(
    root: Path, features: str | None = None, progress: Progress | None = None
) -> Dataset:
    """Return all 60,000 images, the five training batches first, in the official order.

    Both published forms are read, binary and Python; of the pickles of the latter, nothing is run.

    Args:
        root: The folder that holds `cifar-10-batches-bin` or `cifar-10-batches-py`, or that folder
            itself. GIST features are stored in its subfolder `features` when first asked for, which
            takes a minute or so.
        features: "gist" (384 per image, the default) or "pixels" (3,072 in [0, 1]; rows, columns,
            then red, green, blue).
        progress: Called with (images done, images in all) while GIST is extracted.

    Raises:
        InvalidInputError: A file is missing or has the wrong size or content, or `features` is
            unknown.
    """
    kind = "gist" if features is None else features
    if kind not in ("gist", "pixels"):
        raise unknown_name("kind of features for cifar10", kind, ("gist", "pixels"))
    folder, layout = _find(root)
    names = _read_names(folder / layout.names_file(), layout)
    n = len(BATCHES) * ITEMS_PER_BATCH
    labels = np.empty(n, dtype=np.int64)
    images = np.empty((n, SIDE, SIDE, 3), dtype=np.uint8)
    for i, file in enumerate(layout.batch_files()):
        rows = slice(i * ITEMS_PER_BATCH, (i + 1) * ITEMS_PER_BATCH)
        labels[rows], images[rows] = _read_batch(folder / file, layout)
    if kind == "gist":
        vectors = _cached_gist(images, root, progress)
    else:
        vectors = np.divide(images.reshape(n, -1), 255, dtype=np.float32)
    return Dataset("cifar10", vectors, labels=labels, images=images, names=names)


def _find(root: Path) -> tuple[Path, Layout]:
    for layout in LAYOUTS:
        for folder in (root / layout.folder, root):
            files = (*layout.batch_files(), layout.names_file())
            if all((folder / file).is_file() for file in files):
                return folder, layout
    raise missing_data(
        "CIFAR-10",
        (*(f"{batch}[.bin]" for batch in BATCHES), f"{NAMES_FILE}[.txt]"),
        (*(root / layout.folder for layout in LAYOUTS), root),
        "Unpack the binary or the Python version, cifar-10-binary.tar.gz or "
        f"cifar-10-python.tar.gz from https://www.cs.toronto.edu/~kriz/cifar.html, in {root}, or "
        "name another folder with `root` or $KINHASH_DATA.",
    )


def _read_batch(path: Path, layout: Layout) -> tuple[Bytes, Bytes]:
    """Return the labels and the images of one file, colours last."""
    labels, rows = layout.read_batch(path)
    if labels.max() >= N_CLASSES:
        raise InvalidInputError(
            f"{path} must hold labels in [0, {N_CLASSES - 1}], but has {labels.max()}. "
            "Unpack the archive again."
        )
    return labels, rows.reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1)


def _read_names(path: Path, layout: Layout) -> tuple[str, ...]:
    names = layout.read_names(path)
    if len(names) != N_CLASSES:
        raise InvalidInputError(
            f"{path} must hold {N_CLASSES} class names, but has {len(names)}. "
            "Unpack the archive again."
        )
    return names


def _binary_batch(path: Path) -> tuple[Bytes, Bytes]:
    """Read images one after the other, each a label and then its planes."""
    content = _read_bytes(path)
    expected = ITEMS_PER_BATCH * (1 + _IMAGE_BYTES)
    if len(content) != expected:
        raise InvalidInputError(
            f"{path} must have {expected} bytes, but has {len(content)}. Unpack the archive again."
        )
    items = np.frombuffer(content, dtype=np.uint8).reshape(ITEMS_PER_BATCH, -1)
    return items[:, 0], items[:, 1:]


def _binary_names(path: Path) -> tuple[str, ...]:
    return tuple(_read_bytes(path).decode("utf-8", errors="replace").split())


def _python_batch(path: Path) -> tuple[Bytes, Bytes]:
    """Read a dictionary with `data`, an array with a row per image, and `labels`, a list."""
    batch = read_pickle(path)
    images = _entry(batch, "data", np.ndarray, path)
    expected = (ITEMS_PER_BATCH, _IMAGE_BYTES)
    if images.shape != expected:
        raise InvalidInputError(
            f"`data` in {path} must have the shape {expected}, but has {images.shape}. "
            "Unpack the archive again."
        )
    labels = _entry(batch, "labels", list, path)
    if len(labels) != ITEMS_PER_BATCH:
        raise InvalidInputError(
            f"{path} has {len(labels)} labels but {ITEMS_PER_BATCH} images. "
            "Unpack the archive again."
        )
    if not all(isinstance(label, int) and 0 <= label < 256 for label in labels):
        raise InvalidInputError(f"`labels` in {path} must be small whole numbers.")
    return np.array(labels, dtype=np.uint8), images


def _python_names(path: Path) -> tuple[str, ...]:
    names = _entry(read_pickle(path), "label_names", list, path)
    return tuple(
        name.decode("utf-8", errors="replace") if isinstance(name, bytes) else str(name)
        for name in names
    )


def _entry(batch: dict[str, Any], key: str, kind: type[T], path: Path) -> T:
    value = batch.get(key)
    if not isinstance(value, kind):
        found = ", ".join(batch) or "nothing"
        raise InvalidInputError(
            f"{path} must have an entry `{key}` of type {kind.__name__}; it has {found}. "
            "Unpack the archive again."
        )
    return value


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error}.") from error


def _cached_gist(
    images: npt.NDArray[np.uint8], root: Path, progress: Progress | None
) -> npt.NDArray[np.float32]:
    key = fingerprint(f"gist {GIST_VERSION}", images)
    return cached_features(
        root / "features" / f"cifar10-gist-{key}.npy",
        (len(images), N_FEATURES),
        lambda: gist(images, progress=progress),
    )


BINARY = Layout("cifar-10-batches-bin", ".bin", ".txt", _binary_batch, _binary_names)
PYTHON = Layout("cifar-10-batches-py", "", "", _python_batch, _python_names)
LAYOUTS = (BINARY, PYTHON)
