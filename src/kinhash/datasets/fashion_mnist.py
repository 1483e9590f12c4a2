"""Fashion-MNIST: 70,000 grey images of 28 x 28 pixels in ten classes (Xiao et al., 2017)."""

import gzip
import math
import struct
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kinhash.datasets.dataset import Dataset
from kinhash.datasets.locations import data_root, missing_data, user_cache
from kinhash.errors import InvalidInputError, unknown_name
from kinhash.progress import Progress

FOLDER = "fashion-mnist"
# Where the Debian package dataset-fashion-mnist puts the files.
SYSTEM_FOLDER = Path("/usr/share/datasets/fashion-mnist")
PARTS = (
    ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
)
NAMES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
SIDE = 28

_UNSIGNED_BYTES = 0x08  # IDX: the type of the values, third byte of the file


def load_fashion_mnist(
    root: Path, features: str | None = None, _progress: Progress | None = None
) -> Dataset:
    """Return all images, the 60,000 training images first; the vectors are pixels in [0, 1].

    Args:
        root: A folder that holds the four IDX files, gzipped or not, or has a subfolder
            `fashion-mnist` that does. The default root and the Debian package are tried next.
        features: "pixels", the default.

    Raises:
        InvalidInputError: A file is missing or has the wrong size or content, or `features` is
            unknown.
    """
    if features not in (None, "pixels"):
        raise unknown_name("kind of features for fashion-mnist", features, ("pixels",))
    files = _find(root)
    parts = [_read_part(files[images], files[labels]) for images, labels in PARTS]
    images = np.concatenate([part[0] for part in parts])
    labels = np.concatenate([part[1] for part in parts])
    return Dataset(
        "fashion-mnist",
        np.divide(images.reshape(len(images), -1), 255, dtype=np.float32),
        labels=labels.astype(np.int64),
        images=images,
        names=NAMES,
    )


def _find(root: Path) -> dict[str, Path]:
    """Return the path of each of the four files, all from the first folder that has them."""
    folders = (
        root,
        root / FOLDER,
        data_root() / FOLDER,
        user_cache() / FOLDER,
        SYSTEM_FOLDER,
    )
    names = [name for part in PARTS for name in part]
    for folder in folders:
        found: dict[str, Path] = {}
        for name in names:
            for path in (folder / name, folder / f"{name}.gz"):
                if path.is_file():
                    found.setdefault(name, path)
        if len(found) == len(names):
            return found
    raise missing_data(
        "Fashion-MNIST",
        [f"{name}[.gz]" for name in names],
        folders,
        "Install the Debian package dataset-fashion-mnist, or put the four files from "
        "https://github.com/zalandoresearch/fashion-mnist in one of these folders.",
    )


def _read_part(
    image_path: Path, label_path: Path
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    images, labels = _read_idx(image_path, 3), _read_idx(label_path, 1)
    n, height, width = images.shape
    if (height, width) != (SIDE, SIDE):
        raise InvalidInputError(
            f"{image_path} must hold images of {SIDE} x {SIDE} pixels, but has {height} x {width}."
        )
    if len(labels) != n:
        raise InvalidInputError(
            f"{label_path} has {len(labels)} labels but {image_path} has {n} images."
        )
    if labels.max(initial=0) >= len(NAMES):
        raise InvalidInputError(
            f"{label_path} must hold labels in [0, {len(NAMES) - 1}], but has {labels.max()}."
        )
    return images, labels


def _read_idx(path: Path, n_axes: int) -> npt.NDArray[np.uint8]:
    """Return the array of an IDX file: two zeros, type, number of axes, their lengths, values."""
    content = _read_bytes(path)
    header_size = 4 + 4 * n_axes
    if content[:4] != bytes((0, 0, _UNSIGNED_BYTES, n_axes)) or len(content) < header_size:
        raise InvalidInputError(
            f"{path} must be an IDX file of unsigned bytes with {n_axes} axes, but starts with "
            f"{content[:4].hex(' ') or 'nothing'}. Download it again."
        )
    shape = struct.unpack(f">{n_axes}I", content[4:header_size])
    expected = header_size + math.prod(shape)
    if len(content) != expected:
        raise InvalidInputError(
            f"{path} must have {expected} bytes for an array of {shape}, but has {len(content)}. "
            "Download it again."
        )
    return np.frombuffer(content, dtype=np.uint8, offset=header_size).reshape(shape)


def _read_bytes(path: Path) -> bytes:
    """Return a file's content, unzipped."""
    try:
        if path.suffix != ".gz":
            return path.read_bytes()
        with gzip.open(path) as file:
            return file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}. Download it again.") from error
