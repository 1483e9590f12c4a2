"""Corel-5k: 4,999 photographs with 1 to 5 of 374 tags, in 50 classes (Duygulu et al., 2002)."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kinhash.datasets.dataset import Dataset
from kinhash.datasets.locations import find_folder
from kinhash.datasets.photos import read_photos, read_rows, whole_numbers
from kinhash.errors import InvalidInputError, unknown_name
from kinhash.features.photographs import cached_photo_features
from kinhash.progress import Progress

FOLDER = "corel5k"
TABLE = "photos.csv"
PHOTOS = "images.tar"
COLUMNS = ("id", "split", "label", "tags")
# 192 x 128 and 128 x 192 pixels, both stretched to one square: neither is distorted much.
SIZE = (128, 128)


@dataclass(frozen=True, eq=False)
class PhotoTable:
    """What the table says of each photograph, in its order.

    Attributes:
        ids: `(n,)` int64.
        labels: `(n,)` int64, the class.
        split: `(n,)`, "train" or "test".
        texts: The tags with spaces between.
        tags: `(n, n_tags)` uint8 of 0 and 1.
        tag_names: The name of each column of `tags`, in alphabetical order.
    """

    ids: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]
    split: npt.NDArray[np.str_]
    texts: tuple[str, ...]
    tags: npt.NDArray[np.uint8]
    tag_names: tuple[str, ...]

    def attributes(self) -> dict[str, npt.NDArray[Any]]:
        """Return what a `Dataset` of these photographs knows of each beside its label."""
        return {"class": self.labels, "tags": self.tags, "split": self.split}


def load_corel5k(
    root: Path, features: str | None = None, progress: Progress | None = None
) -> Dataset:
    """Return all photographs in the order of the table, with their classes.

    `texts` are the tags with spaces between. `attributes` hold `class`, `(n,)` int64; `tags`, a 0/1
    matrix with the tags in alphabetical order; and `split`, the usual one, "train" or "test".
    `modalities` are "image", the vectors, and "text".

    Args:
        root: The folder that holds `corel5k`, or that folder itself. Features are stored in its
            subfolder `features` when first asked for, which takes a quarter of a minute.
        features: "gist", the default: 672 per photograph, see `photo_features`.
        progress: Called with (images done, images in all) while features are extracted.

    Raises:
        InvalidInputError: A file is missing or has the wrong content, or `features` is unknown.
        MissingExtraError: Pillow is not installed.
    """
    return _load(root, features, progress)[0]


def load_corel5k_tags(
    root: Path, features: str | None = None, progress: Progress | None = None
) -> Dataset:
    """Return the same with the 0/1 matrix of tags as labels: photographs that share one are alike.

    Arguments and errors are those of `load_corel5k`.
    """
    data, table = _load(root, features, progress)
    return replace(data, name="corel5k-tags", labels=table.tags, names=table.tag_names)


def read_photo_table(path: Path) -> PhotoTable:
    """Return the content of `photos.csv`.

    Raises:
        InvalidInputError: It cannot be read, lacks a column, or a photograph has no tag.
    """
    rows = read_rows(path, COLUMNS)
    ids = whole_numbers(rows["id"], f"`id` in {path}")
    labels = whole_numbers(rows["label"], f"`label` in {path}")
    tags, names = _tag_matrix(rows["tags"], f"`tags` in {path}")
    return PhotoTable(ids, labels, np.array(rows["split"]), tuple(rows["tags"]), tags, names)


def _load(
    root: Path, features: str | None, progress: Progress | None
) -> tuple[Dataset, PhotoTable]:
    if features not in (None, "gist"):
        raise unknown_name("kind of features for corel5k", features, ("gist",))
    folder = find_folder(
        "Corel-5k",
        root,
        FOLDER,
        (TABLE, PHOTOS),
        "Its photographs may not be passed on by us: where you have them, write a table with the "
        "columns id, split, label, tags, and a tar file with a photograph <id>.jpg for each row.",
    )
    table = read_photo_table(folder / TABLE)
    images = read_photos(folder / PHOTOS, read_rows(folder / TABLE, ("id",))["id"], SIZE)
    vectors = cached_photo_features("corel5k", images, root, progress)
    data = Dataset(
        "corel5k",
        vectors,
        labels=table.labels,
        images=images,
        ids=table.ids,
        texts=table.texts,
        attributes=table.attributes(),
        modalities={"image": vectors, "text": table.texts},
    )
    return data, table


def _tag_matrix(texts: list[str], source: str) -> tuple[npt.NDArray[np.uint8], tuple[str, ...]]:
    names = tuple(sorted({tag for text in texts for tag in text.split()}))
    columns = {name: j for j, name in enumerate(names)}
    tags = np.zeros((len(texts), len(names)), dtype=np.uint8)
    for row, text in enumerate(texts):
        if not text.split():
            raise InvalidInputError(
                f"{source} must have a tag for each photograph, but row {row} has none."
            )
        tags[row, [columns[tag] for tag in text.split()]] = 1
    return tags, names
