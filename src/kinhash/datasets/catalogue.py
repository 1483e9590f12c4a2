"""The table of known data sets, and the one function that loads any of them or a file."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from kinhash.datasets.cifar10 import load_cifar10
from kinhash.datasets.corel5k import load_corel5k, load_corel5k_tags
from kinhash.datasets.dataset import Dataset, with_modalities
from kinhash.datasets.deep_features import (
    load_cifar10_deep,
    load_corel5k_deep,
    load_corel5k_variants,
    load_titles,
)
from kinhash.datasets.digit_words import load_digit_words
from kinhash.datasets.digits import load_digits
from kinhash.datasets.fashion_mnist import load_fashion_mnist
from kinhash.datasets.fashion_products import load_fashion_products
from kinhash.datasets.locations import data_root
from kinhash.datasets.nus_wide import load_nus_wide
from kinhash.datasets.user_files.batches import Items
from kinhash.datasets.user_files.reader import SUFFIXES, ending, open_items
from kinhash.datasets.wikipedia import load_wikipedia
from kinhash.errors import InvalidInputError, unknown_name
from kinhash.progress import Progress

DATASETS: dict[str, Callable[[Path, str | None, Progress | None], Dataset]] = {
    "cifar10": load_cifar10,
    "cifar10-deep": load_cifar10_deep,
    "corel5k": load_corel5k,
    "corel5k-deep": load_corel5k_deep,
    "corel5k-tags": load_corel5k_tags,
    "corel5k-variants": load_corel5k_variants,
    "digits": load_digits,
    "digits-words": load_digit_words,
    "fashion-mnist": load_fashion_mnist,
    "fashion-products": load_fashion_products,
    "nus-wide": load_nus_wide,
    "titles": load_titles,
    "wikipedia": load_wikipedia,
}
"""Each data set's loader, called with the root folder, the kind of features, and `progress`."""

_SUFFIX_LIST = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"


def load(
    name: str | os.PathLike[str],
    *,
    root: str | os.PathLike[str] | None = None,
    features: str | Sequence[str] | None = None,
    labels: str | None = None,
    ids: str | None = None,
    text: str | None = None,
    modalities: Sequence[str] | None = None,
    delimiter: str | None = None,
    progress: Progress | None = None,
) -> Dataset:
    """Return a data set by its name, or the content of a file or a folder of parts by its path.

    Named data sets are read from their published files; only "digits" and "digits-words" need
    none. Of a file, the vectors are, where `features` does not say otherwise,

    - .npz: the array `vectors`, or the only two-dimensional one;
    - .npy: the array, memory-mapped if it is float32;
    - .parquet, .arrow, .feather, .jsonl: the only column of lists, or else all numeric columns in
      their order;
    - .csv, .tsv: all numeric columns in their order; the first line holds the columns' names.

    Other columns are left alone. A numeric column that looks like an id, a price or a date brings
    a warning.

    Args:
        name: One of `DATASETS`, or a path with such an ending; text files and .npy also with .gz
            after it; or a folder of files with one ending and the same columns.
        root: The folder of the data sets; by default `$KINHASH_DATA` or else `~/.cache/kinhash`.
        features: Of a data set, the kind of features, such as "gist" or "pixels"; of a file, the
            array or list column that holds the vectors, or the numeric columns that they are made
            of: names or patterns such as "e*", separated by commas or as a list.
        labels: Of a file, the array or column that holds the labels; by default `label` or
            `labels`, if it is there. Text becomes class numbers in alphabetical order.
        ids: Likewise the items' ids, whole numbers or strings; by default `id` or `ids`.
        text: Likewise texts. If it is given and `features` is not, no vectors are read.
        modalities: Their names, if several kinds of vectors or texts are wanted. Of a data set,
            those to keep; of an .npz file arrays, one-dimensional ones of strings for texts; of a
            table columns: of text, of lists, or numbers called `image_0`, `image_1`, ... for
            "image". `features` and `text` name the columns of one without columns of its name,
            and a single one may also be the vectors of data that has nothing of that name.
        delimiter: What separates the cells of a .csv or .tsv file, if not comma or tab.
        progress: Called with (items done, items in all) while features are extracted.

    Raises:
        InvalidInputError: The name is unknown, a file is missing or malformed, or an option does
            not apply.
        MissingExtraError: A table is to be read and pyarrow is not installed, or photographs and
            Pillow is not.

    Example:
        >>> data = load("digits")
        >>> data.vectors.shape
        (1797, 64)
    """
    if isinstance(name, str) and name in DATASETS:
        of_files = {"labels": labels, "ids": ids, "text": text, "delimiter": delimiter}
        given = next((option for option, value in of_files.items() if value is not None), None)
        if given is not None:
            raise InvalidInputError(
                f"`{given}` is about the columns of a file; data set {name!r} has its own."
            )
        if features is not None and not isinstance(features, str):
            raise InvalidInputError(
                f"`features` must name one kind of features of data set {name!r}, got {features!r}."
            )
        found = DATASETS[name](data_root(root), features, progress)
        return found if modalities is None else with_modalities(found, modalities)
    return open_path(
        name,
        root=root,
        features=features,
        labels=labels,
        ids=ids,
        text=text,
        modalities=modalities,
        delimiter=delimiter,
    ).read()


def open_path(
    name: str | os.PathLike[str],
    *,
    root: str | os.PathLike[str] | None = None,
    features: str | Sequence[str] | None = None,
    labels: str | None = None,
    ids: str | None = None,
    text: str | None = None,
    modalities: Sequence[str] | None = None,
    delimiter: str | None = None,
) -> Items:
    """Return what `open_items` does of a path; another name is answered as `load` does.

    Raises:
        InvalidInputError: It is no path of a file that can be read, or as `open_items`.
        MissingExtraError: It is a table, and pyarrow is not installed.
    """
    path = Path(name).expanduser()
    if ending(path) is None and not path.is_dir():
        if path.suffix or path.is_file():
            raise InvalidInputError(f"{path} must be a {_SUFFIX_LIST} file, got {path.suffix!r}.")
        unknown = unknown_name("data set", str(name), DATASETS)
        raise InvalidInputError(f"{unknown} A path to a {_SUFFIX_LIST} file works, too.")
    if root is not None:
        raise InvalidInputError(
            f"`root` is the folder of the named data sets; give the whole path of {path}."
        )
    return open_items(
        path,
        features=features,
        labels=labels,
        ids=ids,
        text=text,
        modalities=modalities,
        delimiter=delimiter,
    )
