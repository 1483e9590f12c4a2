"""CIFAR-10: 60,000 colour images of 32 x 32 pixels in ten classes (Krizhevsky, 2009)."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from kinhash.datasets.dataset import Dataset, Progress
from kinhash.datasets.feature_cache import cached_features, fingerprint
from kinhash.datasets.gist import GIST_VERSION, N_FEATURES, gist
from kinhash.datasets.locations import missing_data
from kinhash.errors import InvalidInputError, unknown_name

FOLDER = "cifar-10-batches-bin"
BATCHES = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
NAMES_FILE = "batches.meta.txt"
ITEMS_PER_BATCH = 10_000
N_CLASSES = 10
SIDE = 32

_ITEM_BYTES = 1 + 3 * SIDE * SIDE  # a label, then the red, green and blue planes


def load_cifar10(
    root: Path, features: str | None = None, progress: Progress | None = None
) -> Dataset:
    """Return all 60,000 images, the five training batches first, in the official order.

    Args:
        root: The folder that holds `cifar-10-batches-bin`, or that folder itself. GIST features
            are stored in its subfolder `features` when first asked for, which takes a minute or so.
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
    folder = _folder(root)
    names = _read_names(folder / NAMES_FILE)
    n = len(BATCHES) * ITEMS_PER_BATCH
    labels = np.empty(n, dtype=np.int64)
    images = np.empty((n, SIDE, SIDE, 3), dtype=np.uint8)
    for i, file in enumerate(BATCHES):
        rows = slice(i * ITEMS_PER_BATCH, (i + 1) * ITEMS_PER_BATCH)
        labels[rows], images[rows] = _read_batch(folder / file)
    if kind == "gist":
        vectors = _cached_gist(images, root, progress)
    else:
        vectors = np.divide(images.reshape(n, -1), 255, dtype=np.float32)
    return Dataset("cifar10", vectors, labels=labels, images=images, names=names)


def _folder(root: Path) -> Path:
    folders = (root / FOLDER, root)
    for folder in folders:
        if all((folder / file).is_file() for file in (*BATCHES, NAMES_FILE)):
            return folder
    raise missing_data(
        "CIFAR-10",
        (*BATCHES, NAMES_FILE),
        folders,
        "Unpack the binary version, cifar-10-binary.tar.gz from "
        f"https://www.cs.toronto.edu/~kriz/cifar.html, in {root}, or name another folder with "
        "`root` or $KINHASH_DATA.",
    )


def _read_batch(path: Path) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Return the labels and the images of one file, colours last."""
    content = _read_bytes(path)
    expected = ITEMS_PER_BATCH * _ITEM_BYTES
    if len(content) != expected:
        raise InvalidInputError(
            f"{path} must have {expected} bytes, but has {len(content)}. Unpack the archive again."
        )
    items = np.frombuffer(content, dtype=np.uint8).reshape(ITEMS_PER_BATCH, _ITEM_BYTES)
    labels = items[:, 0]
    if labels.max() >= N_CLASSES:
        raise InvalidInputError(
            f"{path} must hold labels in [0, {N_CLASSES - 1}], but has {labels.max()}. "
            "Unpack the archive again."
        )
    planes = items[:, 1:].reshape(-1, 3, SIDE, SIDE)
    return labels, planes.transpose(0, 2, 3, 1)


def _read_names(path: Path) -> tuple[str, ...]:
    names = tuple(_read_bytes(path).decode("utf-8", errors="replace").split())
    if len(names) != N_CLASSES:
        raise InvalidInputError(
            f"{path} must hold {N_CLASSES} class names, but has {len(names)}. "
            "Unpack the archive again."
        )
    return names


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
