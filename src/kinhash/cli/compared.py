"""What `kinhash dedup` compares: vectors, texts, pictures or codes, and what shows them."""

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinhash.arrays import Array
from kinhash.cli import inputs
from kinhash.cli.data import STDIN, Looked, load_data
from kinhash.cli.messages import counted, note
from kinhash.codes import Codes
from kinhash.datasets import DATASETS
from kinhash.datasets.user_files.arrays import mapped_npy
from kinhash.datasets.user_files.packed import Form
from kinhash.datasets.user_files.reader import ending
from kinhash.errors import InvalidInputError

PICTURES = frozenset((".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"))
LIST = ".txt"  # of the paths of pictures, one in a line

_NO_VECTORS = "must have numeric columns for the vectors"
_AS_THEY_ARE = (np.float32, np.float16, np.int8)  # types that stay in their file


@dataclasses.dataclass(frozen=True)
class Described:
    """What the options say of the data.

    Attributes:
        looked: Which columns are what.
        pictures: The column of paths of pictures.
        column: Where the codes of another tool are.
        n_bits: How long these are.
    """

    looked: Looked
    pictures: str | None = None
    column: str | None = None
    n_bits: int | None = None

    @property
    def has_codes(self) -> bool:
        """Whether the data are codes of another tool."""
        return self.column is not None or self.n_bits is not None


@dataclasses.dataclass(frozen=True, eq=False)
class Compared:
    """Rows to compare.

    Attributes:
        name: What they are called.
        rows: Vectors, texts, paths of pictures, or codes.
        ids: Of the rows; None for row numbers.
        texts: What shows the rows, if anything does ...
        pictures: ... or files, or ...
        images: ... pixels that do.
        made_by: The encoder that made the codes, if that is known.
    """

    name: str
    rows: Any
    ids: Array | None = None
    texts: Sequence[str] | None = None
    pictures: Sequence[Path] | None = None
    images: Array | None = None
    made_by: str | None = None


def read(data: str, described: Described) -> Compared:
    """Return the rows of data: a data set, a file, a folder or stdin.

    Raises:
        KinhashError: They cannot be read, or options do not fit them.
    """
    path = Path(data).expanduser()
    if data == STDIN or data in DATASETS:
        return _of_table(data, described)
    if described.has_codes:
        form = Form(described.n_bits)
        stored = inputs.load_any_codes(
            path, form, column=described.column, ids=described.looked.ids
        )
        return Compared(path.name, stored.codes, stored.ids)
    listed = _listed_pictures(path)
    if listed is not None:
        return _of_pictures(path, listed)
    if ending(path) is None and path.is_file() and path.suffix.lower() not in PICTURES:
        return _of_own_file(path)
    if path.suffix.lower() == ".npy" and path.is_file():
        mapped = mapped_npy(path)
        if mapped.ndim == 2 and mapped.dtype in _AS_THEY_ARE:
            return Compared(path.name, mapped)
    return _of_table(data, described)


def _of_table(data: str, described: Described) -> Compared:
    looked = described.looked
    column = described.pictures
    if column is not None:
        looked = dataclasses.replace(looked, text=column)
    try:
        found = load_data(
            data,
            features=looked.features,
            labels=looked.labels,
            ids=looked.ids,
            root=looked.root,
            text=looked.text,
            delimiter=looked.delimiter,
        )
    except InvalidInputError as error:
        if _NO_VECTORS not in str(error):
            raise
        raise InvalidInputError(
            f"{error} Name a column of texts with --text, or one of paths of pictures with "
            "--pictures."
        ) from error
    texts = found.texts if looked.text is not None else None
    if column is None or texts is None:
        own: Any = found.texts if found.vectors is None else found.vectors
        own = list(own) if isinstance(own, tuple) else own
        return Compared(found.name, own, found.ids, texts, images=found.images)
    folder = Path() if data == STDIN or data in DATASETS else Path(data).expanduser()
    folder = folder if folder.is_dir() else folder.parent
    empty = next((row for row, name in enumerate(texts) if not name), None)
    if empty is not None:
        raise InvalidInputError(
            f"`{column}` in {data} must have a path in each row, but has none in row {empty}."
        )
    paths = [folder / name for name in texts]
    rows: Any = paths if found.vectors is None else found.vectors
    return Compared(found.name, rows, found.ids, pictures=paths)


def _listed_pictures(path: Path) -> list[str] | None:
    """Return the paths of pictures in a folder, or in a list of them; None if it is neither."""
    if path.is_dir():
        return [str(one.relative_to(path)) for one in _pictures_in(path)] or None
    if path.suffix.lower() != LIST or not path.is_file():
        return None
    listed = [line for line in _lines(path) if line.strip()]
    if not listed:
        raise InvalidInputError(f"{path} must list pictures, one in a line, but is empty.")
    return listed


def _of_pictures(path: Path, listed: Sequence[str]) -> Compared:
    note(f"{path.name}: {counted(len(listed), 'picture')}.")
    folder = path if path.is_dir() else path.parent
    paths = [folder / name for name in listed]
    ids = np.empty(len(listed), object)
    ids[:] = listed
    return Compared(path.name, paths, ids, pictures=paths)


def _of_own_file(path: Path) -> Compared:
    """Return the codes of a file that kinhash wrote."""
    if inputs.holds_index(path):
        index = inputs.load_index(path)
        return Compared(path.name, index.codes(index.ids), index.ids, made_by=index.made_by)
    stored = inputs.load_codes(
        path, "codes or an index, such as `kinhash encode` or `kinhash index` writes"
    )
    return Compared(path.name, stored.codes, stored.ids, made_by=stored.made_by)


def _pictures_in(folder: Path) -> list[Path]:
    """Return the pictures in a folder and the folders in it, by name; without hidden ones."""
    found = []
    for where, inner, names in os.walk(folder):
        inner[:] = [name for name in inner if not name.startswith(".")]
        found += [
            Path(where, name)
            for name in names
            if Path(name).suffix.lower() in PICTURES and not name.startswith(".")
        ]
    return sorted(found)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}.") from error


def check_codes_fit(compared: Compared, index: Any, path: Path) -> None:  # noqa: ANN401 - an index
    """Raise unless codes are such as an index holds.

    Raises:
        InvalidInputError: They have another length, or were made by another encoder.
    """
    codes = compared.rows
    if not isinstance(codes, Codes):
        return
    ranked = codes.n_rank_bits != index.n_rank_bits
    holds, wanted = (inputs.kind_of(one, ranked=ranked) for one in (codes, index))
    if holds != wanted:
        raise InvalidInputError(f"{compared.name} holds {holds}, but {path} has {wanted}.")
    if None not in (compared.made_by, index.made_by) and compared.made_by != index.made_by:
        raise InvalidInputError(
            f"{compared.name} was made by encoder {compared.made_by}, but {path} by "
            f"{index.made_by}. Encode the items with the model of the index."
        )
