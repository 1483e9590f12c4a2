"""Fashion products: 34,667 shop photographs with titles, in 23 types of article."""

from pathlib import Path

import numpy as np

from kinhash.datasets.dataset import Dataset
from kinhash.datasets.locations import find_folder
from kinhash.datasets.photos import read_photos, read_rows, whole_numbers
from kinhash.datasets.user_files.fields import as_labels
from kinhash.errors import unknown_name
from kinhash.features.photographs import cached_photo_features
from kinhash.progress import Progress

FOLDER = "fashion-products"
TABLE = "products.csv"
PHOTOS = "images.tar"
ATTRIBUTES = ("masterCategory", "subCategory", "baseColour", "usage")
SIZE = (60, 80)  # width, height; a few photographs differ and are resized


def load_fashion_products(
    root: Path, features: str | None = None, progress: Progress | None = None
) -> Dataset:
    """Return all photographs in the order of the table; the classes are the types of article.

    `texts` are the titles, `ids` the shop's numbers, and `attributes` hold masterCategory,
    subCategory, baseColour and usage as text. `modalities` are "image", the vectors, and "text".

    Args:
        root: The folder that holds `fashion-products`, or that folder itself. Features are stored
            in its subfolder `features` when first asked for, which takes a minute or two.
        features: "gist", the default: 672 per photograph, see `photo_features`.
        progress: Called with (images done, images in all) while features are extracted.

    Raises:
        InvalidInputError: A file is missing or has the wrong content, or `features` is unknown.
        MissingExtraError: Pillow is not installed.
    """
    if features not in (None, "gist"):
        raise unknown_name("kind of features for fashion-products", features, ("gist",))
    folder = find_folder(
        "Fashion products",
        root,
        FOLDER,
        (TABLE, PHOTOS),
        "It is made of Fashion Product Images (Small) from https://www.kaggle.com: a table with "
        f"the columns id, title, articleType, {', '.join(ATTRIBUTES)}, and a tar file with a "
        "photograph <id>.jpg for each row.",
    )
    path = folder / TABLE
    rows = read_rows(path, ("id", "title", "articleType", *ATTRIBUTES))
    ids = whole_numbers(rows["id"], f"`id` in {path}")
    labels, names = as_labels(np.array(rows["articleType"]), f"`articleType` in {path}")
    images = read_photos(folder / PHOTOS, rows["id"], SIZE)
    vectors = cached_photo_features("fashion-products", images, root, progress)
    texts = tuple(rows["title"])
    return Dataset(
        "fashion-products",
        vectors,
        labels=labels,
        images=images,
        names=names,
        ids=ids,
        texts=texts,
        attributes={name: np.array(rows[name]) for name in ATTRIBUTES},
        modalities={"image": vectors, "text": texts},
    )
