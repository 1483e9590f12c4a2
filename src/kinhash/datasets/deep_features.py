"""Deep features: vectors of pretrained networks, in .npz files under the folder `deep`."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from kinhash.arrays import Array
from kinhash.datasets import corel5k
from kinhash.datasets.dataset import Dataset
from kinhash.datasets.locations import find_folder
from kinhash.datasets.user_files.arrays import read_arrays
from kinhash.datasets.user_files.fields import as_ids, as_labels, as_vectors
from kinhash.errors import InvalidInputError, unknown_name
from kinhash.progress import Progress

FOLDER = "deep"
CIFAR10_FILE = "cifar10-efficientnet-lite0.npz"
TITLES_FILE = "titles-use-lite.npz"
COREL5K_FILE = "corel5k-efficientnet-lite0.npz"
VARIANTS_FILE = "corel5k-variants.npz"
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
    return Dataset(
        "titles",
        as_vectors(arrays["vectors"], f"`vectors` in {path}"),
        labels=labels,
        names=names,
        ids=_ids(arrays["ids"], f"`ids` in {path}"),
    )


def load_corel5k_deep(
    root: Path, features: str | None = None, _progress: Progress | None = None
) -> Dataset:
    """Return the photographs of Corel-5k as an EfficientNet-Lite0 trained on ImageNet sees them.

    Rows are in the order of the table of "corel5k", with the same labels, ids, texts, attributes
    and modalities; photographs without features are left out.

    Args:
        root: The folder that holds `deep`, with a file of the arrays `vectors`, `(n, d)`, and
            `ids`, numbers as text; and `corel5k`, with `photos.csv`. Or a folder of both files.
        features: "efficientnet-lite0", the default.

    Raises:
        InvalidInputError: A file is missing or has the wrong content, or `features` is unknown.
    """
    path, arrays = _read(
        "Corel-5k in deep features", root, COREL5K_FILE, features, ("vectors", "ids")
    )
    vectors = as_vectors(arrays["vectors"], f"`vectors` in {path}")
    ids = _ids(arrays["ids"], f"`ids` in {path}")
    if len(ids) != len(vectors):
        raise InvalidInputError(
            f"{path} must have one id per vector, got {len(ids)} ids of {len(vectors)} vectors."
        )
    title = "The table of Corel-5k"
    remedy = f"Write one with the columns {', '.join(corel5k.COLUMNS)}."
    table_path = find_folder(title, root, corel5k.FOLDER, (corel5k.TABLE,), remedy) / corel5k.TABLE
    table = corel5k.read_photo_table(table_path)
    row_of = dict(zip(ids.tolist(), range(len(ids)), strict=True))
    if len(row_of) != len(ids):
        raise InvalidInputError(f"`ids` in {path} must differ, but some are there twice.")
    unknown = np.setdiff1d(ids, table.ids)
    if unknown.size:
        raise InvalidInputError(
            f"Each photograph with features needs its row, but {table_path} has none for id "
            f"{unknown[0]} of {path}."
        )
    kept = np.flatnonzero(np.isin(table.ids, ids))
    vectors = vectors[[row_of[number] for number in table.ids[kept].tolist()]]
    texts = tuple(table.texts[row] for row in kept)
    return Dataset(
        "corel5k-deep",
        vectors,
        labels=table.labels[kept],
        ids=table.ids[kept],
        texts=texts,
        attributes={name: values[kept] for name, values in table.attributes().items()},
        modalities={"image": vectors, "text": texts},
    )


def load_corel5k_variants(
    root: Path, features: str | None = None, _progress: Progress | None = None
) -> Dataset:
    """Return photographs of Corel-5k, and after them altered copies of some, for near-duplicates.

    `labels` are the sources: the row of the photograph that an item is, or is a copy of, so items
    of one label are near-duplicates. `attributes` hold `source`, the same; `kind`, "photo" or how
    the copy was made, such as "crop90"; and `phash`, `(n, 8)` uint8, a perceptual hash of 64 bits
    for `Codes.from_bytes`.

    Args:
        root: The folder that holds `deep`, or that folder itself, with two files: the photographs'
            `vectors`, `(n, d)`, and the copies' `vectors`, `source`, rows of the photographs;
            `kind`, names; `phash`, `(n_copies, 8)`; and `phash_of_photos`, `(n, 8)`.
        features: "efficientnet-lite0", the default.

    Raises:
        InvalidInputError: A file is missing or has the wrong content, or `features` is unknown.
    """
    title = "Corel-5k with altered copies"
    path, photos = _read(title, root, COREL5K_FILE, features, ("vectors",))
    names = ("vectors", "source", "kind", "phash", "phash_of_photos")
    copies_path, copies = _read(title, root, VARIANTS_FILE, None, names)
    first = as_vectors(photos["vectors"], f"`vectors` in {path}")
    second = as_vectors(copies["vectors"], f"`vectors` in {copies_path}")
    source = as_ids(copies["source"], f"`source` in {copies_path}")
    if first.shape[1] != second.shape[1]:
        raise InvalidInputError(
            f"`vectors` in {copies_path} must have {first.shape[1]} columns as those in {path}, "
            f"got {second.shape[1]}."
        )
    if not np.isin(source, range(len(first))).all():
        raise InvalidInputError(
            f"`source` in {copies_path} must be rows of the {len(first)} photographs in {path}, "
            f"got {source.min()} to {source.max()}."
        )
    for name, n_items in [("phash_of_photos", len(first)), ("phash", len(second))]:
        if copies[name].dtype != np.uint8 or copies[name].shape != (n_items, 8):
            raise InvalidInputError(
                f"`{name}` in {copies_path} must be uint8 of shape ({n_items}, 8), "
                f"got {copies[name].dtype} of shape {copies[name].shape}."
            )
    sources = np.concatenate([np.arange(len(first)), source])
    return Dataset(
        "corel5k-variants",
        np.concatenate([first, second]),
        labels=sources,
        attributes={
            "source": sources,
            "kind": np.concatenate([np.full(len(first), "photo"), copies["kind"].astype(str)]),
            "phash": np.concatenate([copies["phash_of_photos"], copies["phash"]]),
        },
    )


def _ids(array: Array, source: str) -> npt.NDArray[np.int64]:
    """Return whole numbers, which may be written as text."""
    try:
        return as_ids(array.astype(np.int64), source)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidInputError(f"{source} must be whole numbers: {error}.") from error


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
