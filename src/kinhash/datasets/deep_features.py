"""Deep features: vectors of pretrained networks, in .npz files under the folder `deep`."""

from pathlib import Path

import numpy as np

from kinhash.datasets.dataset import Dataset
from kinhash.datasets.locations import find_folder
from kinhash.datasets.user_files.arrays import read_arrays
from kinhash.datasets.user_files.fields import as_ids, as_labels, as_vectors
from kinhash.errors import InvalidInputError, unknown_name
from kinhash.progress import Progress

FOLDER = "deep"
CIFAR10_FILE = "cifar10-efficientnet-lite0.npz"
TITLES_FILE = "titles-use-lite.npz"
CIFAR10_NAMES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)


def load_cifar10_deep(
    root: Path, features: str | None = None, _progress: Progress | None = None
) -> Dataset:
    """Return images of CIFAR-10 as an EfficientNet-Lite0 trained on ImageNet sees them.

    `ids` are the numbers of the images in the official order: the training batches, then the test
    batch.

    Args:
        root: The folder that holds `deep`, or that folder itself, with a file of the arrays
            `vectors`, `(n, d)`; `labels`, class numbers from 0 to 9; and `rows`, whole numbers.
        features: "efficientnet-lite0", the default.

    Raises:
        InvalidInputError: The file is missing or has the wrong content, or `features` is unknown.
    """
    path, arrays = _read(
        "CIFAR-10 in deep features", root, CIFAR10_FILE, features, ("vectors", "labels", "rows")
    )
    labels, names = as_labels(arrays["labels"], f"`labels` in {path}")
    if names is not None or labels.ndim != 1 or not np.isin(labels, range(10)).all():
        raise InvalidInputError(f"`labels` in {path} must be class numbers from 0 to 9.")
    return Dataset(
        "cifar10-deep",
        as_vectors(arrays["vectors"], f"`vectors` in {path}"),
        labels=labels,
        names=CIFAR10_NAMES,
        ids=as_ids(arrays["rows"], f"`rows` in {path}"),
    )


def load_titles(
    root: Path, features: str | None = None, _progress: Progress | None = None
) -> Dataset:
    """Return titles of shop products as a sentence encoder sees them, with their article types.

    `ids` are the products' numbers in the table of "fashion-products".

    Args:
        root: The folder that holds `deep`, or that folder itself, with a file of the arrays
            `vectors`, `(n, d)`; `labels`, the names of article types; and `ids`, numbers as text.
        features: "use-lite", the default.

    Raises:
        InvalidInputError: The file is missing or has the wrong content, or `features` is unknown.
    """
    path, arrays = _read(
        "Titles in deep features", root, TITLES_FILE, features, ("vectors", "labels", "ids")
    )
    labels, names = as_labels(arrays["labels"], f"`labels` in {path}")
    try:
        ids = arrays["ids"].astype(np.int64)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidInputError(f"`ids` in {path} must be whole numbers: {error}.") from error
    return Dataset(
        "titles",
        as_vectors(arrays["vectors"], f"`vectors` in {path}"),
        labels=labels,
        names=names,
        ids=as_ids(ids, f"`ids` in {path}"),
    )


def _read(
    title: str, root: Path, file: str, features: str | None, names: tuple[str, ...]
) -> tuple[Path, dict[str, np.ndarray]]:
    _, _, kind = Path(file).stem.partition("-")
    if features not in (None, kind):
        raise unknown_name(f"kind of features for {title}", str(features), (kind,))
    remedy = (
        f"Its features may not be passed on by us: write an .npz file with the arrays "
        f"{', '.join(names)}."
    )
    path = find_folder(title, root, FOLDER, (file,), remedy) / file
    return path, read_arrays(path, names)
