"""Wikipedia: 2,866 pictures with the texts beside them, in ten categories (Rasiwasia et al., 2010).

Of both only features are read: 128 visual words of a picture, 10 topics of a text.
"""

import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.io
from scipy.io.matlab import MatReadError

from kinhash.datasets.dataset import Dataset
from kinhash.datasets.locations import missing_data
from kinhash.datasets.user_files.arrays import read_arrays
from kinhash.datasets.user_files.fields import as_labels, as_vectors
from kinhash.errors import InvalidInputError, unknown_name
from kinhash.progress import Progress

FOLDERS = ("wikipedia", "wikipedia_dataset")
ARRAYS = "wikipedia.npz"
# As published: the features of both parts, and lists with text, picture and category of each item.
FEATURES = "raw_features.mat"
LISTS = ("trainset_txt_img_cat.list", "testset_txt_img_cat.list")
CATEGORIES = "categories.list"
PARTS = np.array(["train", "test"])

# What SciPy raises on a damaged file, and on one of another version.
_UNREADABLE = (MatReadError, OSError, ValueError, TypeError, NotImplementedError, zlib.error)


class _Content(NamedTuple):
    """What a file holds, unchecked; `split` is 0 for training items and 1 for test items."""

    image: npt.NDArray[Any]
    text: npt.NDArray[Any]
    label: npt.NDArray[Any]
    split: npt.NDArray[Any]
    categories: npt.NDArray[Any]


def load_wikipedia(
    root: Path, features: str | None = None, _progress: Progress | None = None
) -> Dataset:
    """Return all items, the 2,173 training items first.

    `attributes` hold `image`, `(n, 128)`, and `text`, `(n, 10)`, float32; and `split`, the official
    one, "train" or "test". `modalities` are these two.

    Args:
        root: A folder that holds wikipedia.npz (`image`, `text`, `label`, `split`, `categories`) or
            the published files, or that has a subfolder `wikipedia` or `wikipedia_dataset` that
            does.
        features: What the vectors are: "image", the default, or "text".

    Raises:
        InvalidInputError: A file is missing or has the wrong content, or `features` is unknown.
    """
    kind = "image" if features is None else features
    if kind not in ("image", "text"):
        raise unknown_name("kind of features for wikipedia", kind, ("image", "text"))
    source, content = _read(root)
    modalities = {
        "image": as_vectors(content.image, f"`image` in {source}"),
        "text": as_vectors(content.text, f"`text` in {source}"),
    }
    labels, _ = as_labels(content.label, f"`label` in {source}")
    if content.split.ndim != 1 or not np.isin(content.split, (0, 1)).all():
        raise InvalidInputError(
            f"`split` in {source} must hold 0 for training and 1 for test items only."
        )
    return Dataset(
        "wikipedia",
        modalities[kind],
        labels=labels,
        names=tuple(str(name) for name in content.categories.ravel()),
        attributes={**modalities, "split": PARTS[content.split.astype(np.int64)]},
        modalities=modalities,
    )


def _read(root: Path) -> tuple[Path, _Content]:
    folders = (*(root / name for name in FOLDERS), root)
    published = (FEATURES, *LISTS, CATEGORIES)
    for folder in folders:
        if (folder / ARRAYS).is_file():
            path = folder / ARRAYS
            return path, _Content(**read_arrays(path, _Content._fields))
        if all((folder / file).is_file() for file in published):
            return folder / FEATURES, _read_published(folder)
    raise missing_data(
        "Wikipedia",
        (f"{ARRAYS}, or {published[0]}", *published[1:]),
        folders,
        "Unpack wikipedia_dataset.zip from http://www.svcl.ucsd.edu/projects/crossmodal in "
        f"{root}, or name another folder with `root` or $KINHASH_DATA.",
    )


def _read_published(folder: Path) -> _Content:
    names = ("I_tr", "I_te", "T_tr", "T_te")
    try:
        matrices = scipy.io.loadmat(folder / FEATURES, variable_names=names)
        images, texts = (
            np.concatenate([matrices[f"{side}_tr"], matrices[f"{side}_te"]]) for side in "IT"
        )
    except KeyError as error:
        raise InvalidInputError(
            f"{folder / FEATURES} must have the matrices {', '.join(names)}, but has no {error}."
        ) from error
    except _UNREADABLE as error:
        raise InvalidInputError(f"{folder / FEATURES} cannot be read: {error}.") from error
    labels = [_read_list(folder / file) for file in LISTS]
    categories = (folder / CATEGORIES).read_text("utf-8", errors="replace").split()
    return _Content(
        images,
        texts,
        np.concatenate(labels),
        np.repeat((0, 1), [len(part) for part in labels]),
        np.array(categories),
    )


def _read_list(path: Path) -> npt.NDArray[np.int64]:
    """Return the third column, categories from 1, as numbers from 0."""
    lines = path.read_text("utf-8", errors="replace").splitlines()
    try:
        return np.array([int(line.split("\t")[2]) - 1 for line in lines if line], dtype=np.int64)
    except (ValueError, LookupError) as error:
        raise InvalidInputError(
            f"{path} must have a text, a picture and the number of a category, with tabs between, "
            f"in each line: {error}."
        ) from error
